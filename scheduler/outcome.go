package scheduler

import (
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/callnode/scheduler/calls"
	"github.com/callnode/scheduler/llm/value"
	"github.com/callnode/scheduler/scheduler/internal/budget"
	"github.com/callnode/scheduler/scheduler/internal/order"
	"github.com/callnode/scheduler/scheduler/journal"
)

// outcome is how a task ended, for the worker that ran it to handle.
type outcome struct {
	status  order.Status
	event   *pendingEvent // of the end; nil if there is none, or another event covers it
	input   value.Value
	output  value.Value
	reason  string
	failure *Failure
	fan     *fanOut // the step continues as these items
}

// finishedOutcome returns the outcome of a task that went well.
func (t *task) finishedOutcome(output value.Value) outcome {
	n := t.events.finished.ofType(journal.StepFinished)
	n.setOutput(t.run.secrets.maskOutput(output, t.params))
	n.data.Spans = t.outputSpans(output)
	t.addCosts(n)
	return outcome{status: order.Finished, event: n, input: t.input, output: output}
}

// failedOutcome returns the outcome of a task that did not; with on_error: continue, its
// error is its output.
func (t *task) failedOutcome(err error) outcome {
	if why := context.Cause(t.run.life.ctx); errors.Is(err, context.Canceled) && calls.KindOf(why) == calls.Canceled {
		err = why // it says more than that the context was cancelled
	}
	f := t.run.failureOf(err, t.step.Pos)
	if f.Info.Step == "" {
		f.Info.Step = t.path()
	}
	info := f.Info
	info.Step = ""
	isDenied := info.Kind == calls.Denied && t.step.Approve != nil
	if isDenied && t.step.Approve.Continue {
		return t.finishedOutcome(value.OfMap(value.Pairs("error", value.Pairs("kind", string(info.Kind), "message", info.Message))))
	}
	if t.step.Continue && t.run.life.ctx.Err() == nil && !budget.IsExceeded(err) {
		output := value.OfMap(value.Pairs("error", value.Pairs("kind", string(info.Kind), "message", info.Message)))
		o := t.finishedOutcome(output)
		o.event.setError(&info)
		t.run.warned.add(t.path())
		return o
	}
	if t.run.isHandingOver() {
		return outcome{status: order.Failed, failure: f}
	}
	n := newPendingEvent(journal.StepFailed)
	n.setError(&info)
	t.addCosts(n)
	return outcome{status: order.Failed, event: n, failure: f}
}

// stoppedOutcome returns the outcome of a task that has no output, or not yet.
func (t *task) stoppedOutcome(err error) outcome {
	if t.atUntil.Load() {
		return outcome{status: order.Waiting, event: t.untilEvent()}
	}
	var wait *suspension
	if errors.As(err, &wait) {
		return t.waitingOutcome(wait)
	}
	if t.suspended.Load() {
		return outcome{status: order.Waiting}
	}
	return t.failedOutcome(err)
}

// suspension stops a step until the missing values are given.
type suspension struct {
	// output is the call slot's output so far.
	output, remaining value.Value
	// approval is set where a person has to approve the step; masked are the places in its parameters that secrets were taken out of.
	approval *journal.Approval
	masked   []string
}

func (*suspension) Error() string { return "the step waits for values" } // no reader sees it

// Is tells calls that a tool waits for a person.
func (*suspension) Is(target error) bool { return target == calls.ErrWaiting }

// waitingOutcome returns the outcome of a task that waits for values.
func (t *task) waitingOutcome(s *suspension) outcome {
	n := newPendingEvent(journal.StepWaiting)
	if s.approval != nil {
		n.data.Approval, n.data.Masked = s.approval, s.masked
		n.input = s.approval.WaitingFor(t.path()).RemainingSchema
		n.data.RemainingSchema = &n.input
		t.addCosts(n)
		return outcome{status: order.Waiting, event: n}
	}
	output, masked := t.run.secrets.maskWithPointers(s.output)
	n.setOutput(output, slices.DeleteFunc(masked, func(p string) bool { return !strings.HasPrefix(p, "/slot_data") }))
	n.input = t.run.secrets.maskValue(s.remaining)
	n.data.RemainingSchema = &n.input
	t.addCosts(n)
	return outcome{status: order.Waiting, event: n}
}

// untilEvent is the end of the step at which the run stops: it has the prompt.
func (t *task) untilEvent() *pendingEvent {
	n := newPendingEvent(journal.StepFailed)
	n.setError(&t.run.failureOf(errAtUntil, t.step.Pos).Info)
	t.addCosts(n)
	return n
}

// emitOutcomeLocked records the end of a task, if the outcome has an event for it.
func (r *run) emitOutcomeLocked(t *task, o outcome) {
	if o.event == nil {
		return
	}
	if o.status != order.Skipped && o.status != order.Waiting {
		o.event.setDuration(r.exec.elapsed().Sub(t.began))
	}
	o.event.setPlace(t.id, t.item)
	r.emitLocked(&o.event.event)
	if o.event.event.Type == journal.StepWaiting {
		data := &o.event.data
		if data.Approval != nil {
			r.waits.add(o.event.event.Seq, data.Approval.WaitingFor(t.path()))
			return
		}
		was := t.recordedState()
		modelAnswered := data.LLM.IsAnswered() || was != nil && was.HasModelAnswer()
		w := journal.NewWaitingFor(r.vars.Language, t.path(), *data.Output, *data.RemainingSchema, modelAnswered)
		w.Unread = was != nil && was.IsUnread(*data.RemainingSchema)
		r.waits.add(o.event.event.Seq, w)
	}
}
