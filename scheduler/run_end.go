package scheduler

import (
	"context"
	"errors"
	"time"

	"github.com/callnode/scheduler/calls"
	"github.com/callnode/scheduler/llm/prompt"
	"github.com/callnode/scheduler/llm/value"
	"github.com/callnode/scheduler/scheduler/flow"
	"github.com/callnode/scheduler/scheduler/internal/order"
	"github.com/callnode/scheduler/scheduler/journal"
)

// stopSteps prevents further steps from starting, and stops the running ones.
func (r *run) stopSteps() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.stopLocked()
}

// failLocked ends the run because of a step.
func (r *run) failLocked(f *Failure) {
	if r.phase >= ending {
		return
	}
	if r.life.parent.Err() == nil && r.result.failure == nil && r.phase == running {
		r.result.failure = f
	}
	r.stopLocked()
}

// stopLocked is stopSteps. Without a failure it cancels the run.
func (r *run) stopLocked() {
	if r.phase != running {
		return
	}
	r.phase = stopping
	r.result.cancelled = r.result.failure == nil
	r.life.cancel(r.stopCauseLocked())
	r.life.grace = time.AfterFunc(r.life.gracePeriod, r.leaveStepsBehind)
}

// stopCauseLocked returns the error of the stopped steps.
func (r *run) stopCauseLocked() error {
	if r.result.cancelled {
		return context.Cause(r.life.parent)
	}
	if r.result.failure.Info.Step == "" {
		return calls.Errorf(calls.Canceled, "stopped, because the run failed")
	}
	return calls.Errorf(calls.Canceled, "stopped, because the step %s failed", r.result.failure.Info.Step)
}

// leaveStepsBehind leaves the steps behind that did not stop in time.
func (r *run) leaveStepsBehind() {
	r.lockToEmit()
	if r.phase >= ending {
		r.mu.Unlock()
		return
	}
	r.phase = ending
	for _, t := range r.active {
		r.env.Log.Warn("a step did not stop and is left behind",
			"run", r.vars.Run.ID, "step", t.path(), "call", t.step.Call, "grace", r.life.gracePeriod)
		if r.isHandingOver() {
			continue // the process that continues the run does the step again
		}
		err := calls.Errorf(calls.Canceled, "the call %s did not stop within %s and was left behind", t.step.Call, r.life.gracePeriod)
		n := newPendingEvent(journal.StepFailed)
		n.setError(&r.failureOf(err, t.step.Pos).Info)
		n.setPlace(t.id, t.item)
		r.emitLocked(&n.event)
	}
	r.mu.Unlock()
	r.endRun()
}

// endRun renders the outputs, or the reply to a failure, and records how the run ended. The
// phase is ending: nothing else changes the result.
func (r *run) endRun() {
	r.settleResult()
	last := r.newLastEvent()
	r.life.ignore()
	r.life.cancel(nil)
	r.lockWithRoom()
	defer r.mu.Unlock()
	if r.life.grace != nil {
		r.life.grace.Stop()
	}
	if r.outer == nil {
		r.closeLog(last)
	}
	r.held.Release() // of a sub-flow: its outputs belong to the step around it
	r.phase = over
	close(r.done)
}

// isSuspended reports whether the run waits for values, and has not ended otherwise.
func (r *result) isSuspended() bool { return r.suspended && r.failure == nil && !r.cancelled }

// settleResult decides how the run ends, and renders its outputs.
func (r *run) settleResult() {
	end := &r.result
	r.endAtUntil()
	if end.failure == nil && !end.cancelled && !end.suspended {
		end.outputs, end.failure = r.renderOutputs()
		end.cancelled = end.failure != nil && r.life.parent.Err() != nil
		if end.failure == nil {
			end.failure = r.strictFailure()
		}
	}
	if end.cancelled {
		end.failure = r.failureOf(cancellationError(r.life.parent), flow.Position{})
	}
	if end.isSuspended() && r.outer == nil {
		end.waiting = &Waiting{Run: r.vars.Run.ID, For: r.waits.inOrder()}
	}
}

// endAtUntil ends a run that reached its stop. A sub-flow leaves the step around it set aside.
func (r *run) endAtUntil() {
	end := &r.result
	if r.until == nil || end.failure != nil || end.cancelled {
		return
	}
	if len(r.waits.inOrder()) > 0 { // it waits before it got there
		return
	}
	if r.outer != nil {
		end.suspended = true
		return
	}
	r.life.handOver(ErrUntil)
	end.cancelled = true
}

// newLastEvent returns the event of the run's end.
func (r *run) newLastEvent() *pendingEvent {
	end := &r.result
	switch {
	case end.cancelled:
		return newPendingEvent(journal.FlowCancelled)
	case end.failure != nil:
		n := newPendingEvent(journal.FlowFailed)
		n.setError(&end.failure.Info)
		n.data.Text = r.renderReply()
		return n
	case end.isSuspended():
		n := newPendingEvent(journal.FlowWaiting)
		if end.waiting != nil {
			n.data.Waiting = end.waiting.For
		}
		return n
	}
	n := newPendingEvent(journal.FlowFinished)
	masked := []string(nil)
	n.params, masked = r.secrets.maskWithPointers(end.outputs)
	if r.isChild {
		n.data.Masked = masked
	}
	n.data.Outputs, n.data.Spans = &n.params, end.spans
	return n
}

// closeLog appends the last event of the whole run. A run that was handed over has none.
func (r *run) closeLog(last *pendingEvent) {
	if r.result.cancelled && errors.Is(r.result.failure, ErrHandOver) {
		r.log.Close(nil)
		return
	}
	last.event.Run, last.event.Time = r.vars.Run.ID, r.now
	last.usage = r.meter.Usage()
	last.data.Usage = &last.usage
	last.setDuration(r.exec.elapsed().Sub(r.began))
	r.log.Close(&last.event)
}

// renderOutputs returns the outputs of a flow whose steps are all over. A flow without outputs has the outputs of
// the steps that talk to the user, and of the steps that no other step needs, by their ids.
func (r *run) renderOutputs() (outputs value.Value, failure *Failure) {
	p := r.flow.Outputs
	if p == nil {
		m := value.NewMap(1)
		for i, step := range r.flow.Steps {
			st, isResult := &r.states[i], step.ToUser || len(step.Next) == 0
			if isResult && r.order.Status(i) == order.Finished {
				m.Set(step.ID, st.output)
				if r.outer != nil && len(r.earlier.masked[i]) > 0 {
					return value.Value{}, r.failureOf(errMasked(step.ID, r.earlier.masked[i][0]), step.Pos)
				}
			}
		}
		return value.OfMap(m), nil
	}
	names := r.newScope(r.life.ctx, p)
	traced, err := r.renderSafely(p, names)
	if err != nil {
		return value.Value{}, r.failureOf(err, p.Pos)
	}
	r.result.spans = r.secrets.recordSpans(traced, traced.value, names)
	return traced.value, nil
}

// renderReply returns the flow's on_error text for the user about the failure; "" if the flow has none.
func (r *run) renderReply() string {
	p := r.flow.OnError
	if p == nil {
		return ""
	}
	ctx, cancel := context.WithTimeout(r.life.parent, r.life.gracePeriod)
	defer cancel()
	s := r.newScope(ctx, p)
	s.failure = r.result.failure
	reply, err := r.renderSafely(p, s)
	if err != nil {
		r.env.Log.Warn("the reply of on_error cannot be rendered", "run", r.vars.Run.ID, "error", r.secrets.maskText(err.Error()))
		return ""
	}
	return r.secrets.maskText(prompt.Text(reply.value))
}

// renderSafely makes an error of a panic in a resolver.
func (r *run) renderSafely(p *flow.Param, s *scope) (v tracedValue, err error) {
	defer r.recoverPanic(&err, "rendering "+p.Pos.String())
	return r.secrets.renderTraced(s.ctx, p, s)
}
