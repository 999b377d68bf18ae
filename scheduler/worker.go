package scheduler

import (
	"context"
	"time"

	"github.com/callnode/scheduler/calls"
	"github.com/callnode/scheduler/scheduler/flow"
	"github.com/callnode/scheduler/scheduler/internal/order"
	"github.com/callnode/scheduler/scheduler/journal"
)

// applyLocked tells of the steps that have become ready or were skipped.
func (r *run) applyLocked(changes []order.Change, now time.Time) {
	for _, c := range changes {
		id := r.prefix + r.flow.Steps[c.Step].ID
		if c.Status == order.Ready {
			ev := r.events.get()
			ev.Type, ev.Step = journal.StepReady, id
			r.pushLocked(ev, now)
			continue
		}
		reason := "every step that it needs was skipped"
		r.states[c.Step].reason = reason
		skip := newPendingEvent(journal.StepSkipped)
		skip.data.Reason = reason
		r.tellLocked(skip, id, -1, now)
	}
}

// orderOf returns the machine for the steps of a flow.
func orderOf(f *flow.Flow) *order.Machine {
	steps := make([]order.Step, len(f.Steps))
	for i, s := range f.Steps {
		steps[i] = order.Step{Needs: len(s.Needs), Next: s.Next, Implicit: s.Implicit}
	}
	return order.New(steps)
}

// startWorkerLocked starts a worker when there may be work for one. The stream is locked.
func (r *run) startWorkerLocked() {
	if r.workers < r.exec.maxParallel() && (r.order.HasNext() || r.workers == 0) {
		r.workers++
		go r.workOn(nil, outcome{})
	}
}

// workOn runs one job after the other until none is left. The worker that finishes
// a step goes on with one that became ready by it: a chain of steps needs one
// goroutine.
func (r *run) workOn(t *task, last outcome) {
	defer func() {
		if t != nil { // the call ended the goroutine (runtime.Goexit)
			err := calls.Errorf(calls.Internal, "the call %s ended its goroutine", t.step.Call)
			go r.workOn(t, t.failedOutcome(err))
		}
	}()
	for {
		t = r.nextTask(t, last)
		if t == nil {
			return
		}
		last = t.runToEnd()
	}
}

// nextTask settles the outcome of the last task and takes the next one; nil tells
// the worker to go.
func (r *run) nextTask(t *task, o outcome) *task {
	r.stream.lockWithRoom()
	now := r.stream.clock()
	if t != nil {
		r.handleOutcomeLocked(t, o, now)
		r.recycleTaskLocked(t, o)
	}
	if next := r.takeJobLocked(now); next != nil {
		r.startWorkerLocked()
		r.stream.Unlock()
		return next
	}
	r.workers--
	last := len(r.active) == 0 && r.unsafe == 0 && !r.ending && !r.over
	r.ending = r.ending || last
	r.stream.Unlock()
	if last {
		r.end()
	}
	return nil
}

// takeJobLocked returns the next job that can run, as a task. The stream is locked.
func (r *run) takeJobLocked(now time.Time) *task {
	if r.stopping || !r.order.HasNext() {
		return nil
	}
	j := r.order.Next()
	t := r.newTask(j, now)
	t.slot = len(r.active)
	r.active = append(r.active, t)
	if t.step.When == nil && t.step.ForEach == nil || j.Item >= 0 {
		t.tellStartedLocked(now)
	}
	return t
}

// handleOutcomeLocked records how a task ended and makes ready what waited for it. The stream
// is locked.
func (r *run) handleOutcomeLocked(t *task, o outcome, now time.Time) {
	if r.ending {
		return // the run has left this step behind
	}
	r.removeActiveLocked(t)
	if o.note != nil {
		if o.status != order.Skipped && o.status != order.Waiting {
			o.note.setDuration(r.stream, t.began)
		}
		r.tellLocked(o.note, t.id, t.item, now)
		if o.status == order.Waiting {
			r.stream.waits = append(r.stream.waits, journal.NewWaitingFor(t.path(), *o.note.data.Output, *o.note.data.RemainingSchema))
		}
	}
	step := t.step.Index
	st := &r.states[step]
	switch {
	case o.status == order.Waiting:
		r.suspended = true
		if t.item >= 0 {
			r.followItemLocked(t)
		} else {
			r.order.SetStatus(step, order.Waiting)
		}
	case o.status == order.Failed:
		if t.item >= 0 && o.note != nil && r.order.Status(step) == order.Running {
			n := newPendingEvent(journal.StepFailed) // the step fails with its first item that does
			n.setError(o.note.data.Error)
			n.setDuration(r.stream, st.each.began)
			r.tellLocked(n, t.id, -1, now)
		}
		r.order.SetStatus(step, order.Failed)
		r.failLocked(o.failure)
	case o.fan != nil:
		st.each = o.fan
		o.fan.beginItem(r, t, now)
		return
	case t.item >= 0:
		st.each.settleItem(r, t, o, now)
	default:
		r.completeStepLocked(t.step.Index, o, now)
	}
}

// removeActiveLocked takes a task out of those that run.
func (r *run) removeActiveLocked(t *task) {
	end := len(r.active) - 1
	r.active[t.slot] = r.active[end]
	r.active[t.slot].slot = t.slot
	r.active[end] = nil
	r.active = r.active[:end]
}

// blankTask returns one that was used before, if there is one. The stream is locked.
func (r *run) blankTask() *task {
	last := len(r.idle) - 1
	if last < 0 {
		return r.tasks.get()
	}
	t := r.idle[last]
	r.idle = r.idle[:last]
	return t
}

// recycleTaskLocked keeps a task that was settled, for a later step: tasks are large. One that
// somebody may still hold on to is not used again. The stream is locked.
func (r *run) recycleTaskLocked(t *task, o outcome) {
	if o.status == order.Finished && !t.leftBehind && !t.shared.Load() && !r.ending {
		*t = task{}
		r.idle = append(r.idle, t)
	}
}

// completeStepLocked records the end of a step that did not fail, and goes on to those that
// need it as soon as that is safe. The stream is locked.
func (r *run) completeStepLocked(step int, o outcome, now time.Time) {
	r.order.SetStatus(step, o.status)
	st := &r.states[step]
	st.input, st.output, st.reason = o.input, o.output, o.reason
	if rec := r.stream.record; rec == nil || o.status != order.Finished || !rec.releaseLaterLocked(r, step, false) {
		r.releaseLocked(step, now)
	}
}

// releaseLocked makes ready or skips what has waited for a step that is over. The stream
// is locked.
func (r *run) releaseLocked(step int, now time.Time) { r.applyLocked(r.order.Release(step), now) }

// failLocked ends the run because of a step. The stream is locked.
func (r *run) failLocked(f *Failure) {
	if r.ending || r.over {
		return
	}
	if r.parent.Err() == nil && r.failure == nil && !r.stopping {
		r.failure = f
	}
	r.stopLocked()
}

// stopLocked lets no further step start, and tells those that run to stop. Without a
// failure it cancels the run. The stream is locked.
func (r *run) stopLocked() {
	if r.stopping || r.ending || r.over {
		return
	}
	r.stopping = true
	r.cancelled = r.failure == nil
	r.cancel(r.whyStopped())
	r.grace = time.AfterFunc(r.gracePeriod, r.leaveStepsBehind)
}

// whyStopped returns what the steps that are stopped say of it. The stream is locked.
func (r *run) whyStopped() error {
	if r.cancelled {
		return context.Cause(r.parent)
	}
	if r.failure.Info.Step == "" {
		return calls.Errorf(calls.Canceled, "stopped, because the run failed")
	}
	return calls.Errorf(calls.Canceled, "stopped, because the step %s failed", r.failure.Info.Step)
}
