package scheduler

import (
	"context"

	"github.com/callnode/scheduler/calls"
	"github.com/callnode/scheduler/scheduler/flow"
	"github.com/callnode/scheduler/scheduler/internal/order"
	"github.com/callnode/scheduler/scheduler/journal"
)

// start begins the run in goroutines of its own.
func (r *run) start() {
	r.life.parent, r.life.handOver = context.WithCancelCause(r.life.parent)
	r.life.ctx, r.life.cancel = context.WithCancelCause(r.life.parent)
	r.lockWithRoom()
	defer r.mu.Unlock()
	r.life.ignore = context.AfterFunc(r.life.parent, r.stopSteps)
	r.began = r.exec.elapsed()
	if r.outer == nil {
		r.emitBeginningLocked()
	}
	r.states = make([]state, len(r.flow.Steps))
	r.order = orderOf(r.flow)
	if r.earlier.state != nil {
		r.restoreLocked()
	}
	begin := func() { r.applyLocked(r.order.Start()) }
	// That the run begins or is taken over is safe before a step begins: a process that dies of the step is counted.
	if r.outer == nil && r.afterSavedLocked(begin) {
		return
	}
	begin()
	r.startWorkerLocked()
}

// emitBeginningLocked records that the whole run begins, or continues.
func (r *run) emitBeginningLocked() {
	if r.earlier.state != nil {
		r.emitResumedLocked()
		return
	}
	n := newPendingEvent(journal.FlowStarted)
	n.input, n.data.Masked = r.secrets.maskWithPointers(r.vars.Inputs)
	n.data.Flow, n.data.Inputs, n.data.Worker = r.flow.Name, &n.input, r.exec.Worker
	if !r.vars.Conversation.IsNull() {
		n.data.Conversation = &r.vars.Conversation
	}
	r.emitLocked(&n.event)
}

// orderOf returns the machine for the steps of a flow.
func orderOf(f *flow.Flow) *order.Machine {
	steps := make([]order.Step, len(f.Steps))
	for i, s := range f.Steps {
		steps[i] = order.Step{Needs: len(s.Needs), Next: s.Next, Implicit: s.Implicit}
	}
	return order.New(steps)
}

// applyLocked records the steps that have become ready or were skipped.
func (r *run) applyLocked(changes []order.Change) {
	for _, c := range changes {
		id := r.prefix + r.flow.Steps[c.Step].ID
		if c.Status == order.Skipped {
			skip := r.newSkippedEvent(reasonNeeds)
			r.states[c.Step].reason = reasonNeeds
			skip.setPlace(id, -1)
			r.emitLocked(&skip.event)
			continue
		}
		ev := r.events.takeReady()
		ev.Type, ev.Step = journal.StepReady, id
		r.emitLocked(ev)
	}
}

// startWorkerLocked starts a worker when there may be work for one.
func (r *run) startWorkerLocked() {
	hasWork := r.order.HasNext() || r.workers == 0
	if r.workers < r.exec.maxParallel() && hasWork {
		r.workers++
		go r.workOn(nil, outcome{})
	}
}

// workOn runs one job after the other until none is left. The worker that finishes a step continues with one that
// became ready by it: a chain of steps needs one goroutine.
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

// nextTask handles the outcome of the last task and takes the next one; nil ends the worker.
func (r *run) nextTask(t *task, o outcome) *task {
	r.lockWithRoom()
	if t != nil {
		r.handleOutcomeLocked(t, o)
		if r.phase < ending {
			r.recycleLocked(t, o.status)
		}
	}
	if next := r.takeJobLocked(); next != nil {
		r.startWorkerLocked()
		r.mu.Unlock()
		return next
	}
	r.workers--
	last := len(r.active) == 0 && r.unsavedSteps == 0 && r.phase < ending
	if last {
		if r.phase == running && r.order.HasNext() { // it drains
			r.life.handOver(ErrHandOver)
			r.result.cancelled = true
		}
		r.phase = ending
	}
	r.mu.Unlock()
	if last {
		r.endRun()
	}
	return nil
}

// takeJobLocked returns the next job that can run, as a task.
func (r *run) takeJobLocked() *task {
	if r.until != nil {
		r.until.dropOthers(r.order)
	}
	if r.phase != running || !r.order.HasNext() || r.isDraining() {
		return nil
	}
	t := r.newTaskLocked(r.order.Next())
	t.activeIndex = len(r.active)
	r.active = append(r.active, t)
	if !t.mustDecide() {
		t.emitStartedLocked()
	}
	return t
}

// isDraining reports whether the run begins no further step. Sub-flows belong to a step at work, and continue.
func (r *run) isDraining() bool {
	if r.outer != nil {
		return false
	}
	select {
	case <-r.exec.Drain:
		return true
	default: // also without such a channel
		return false
	}
}

// handleOutcomeLocked records the end of a task and makes the steps ready that waited for it.
func (r *run) handleOutcomeLocked(t *task, o outcome) {
	if r.phase >= ending {
		return // the run has left this step behind
	}
	r.removeActiveLocked(t)
	r.emitOutcomeLocked(t, o)
	step := t.step.Index
	switch {
	case o.status == order.Waiting:
		r.result.suspended = true
		if t.item >= 0 {
			r.followItemLocked(t)
		} else {
			r.order.SetStatus(step, order.Waiting)
		}
	case o.status == order.Failed:
		r.failStepLocked(t, o)
	case o.fan != nil:
		r.states[step].each = o.fan
		o.fan.beginItemsLocked(r, t)
	case t.item >= 0:
		r.states[step].each.handleItemLocked(r, t, o)
	default:
		r.completeStepLocked(step, o)
	}
}

// failStepLocked ends the run because of a task that failed. Its step fails with the first
// item that does.
func (r *run) failStepLocked(t *task, o outcome) {
	step := t.step.Index
	if t.item >= 0 && o.event != nil && r.order.Status(step) == order.Running {
		n := newPendingEvent(journal.StepFailed)
		n.setError(o.event.data.Error)
		n.setDuration(r.exec.elapsed().Sub(r.states[step].each.began))
		n.setPlace(t.id, -1)
		r.emitLocked(&n.event)
	}
	r.order.SetStatus(step, order.Failed)
	r.failLocked(o.failure)
}

// removeActiveLocked removes a task from the running ones.
func (r *run) removeActiveLocked(t *task) {
	end := len(r.active) - 1
	r.active[t.activeIndex] = r.active[end]
	r.active[t.activeIndex].activeIndex = t.activeIndex
	r.active[end] = nil
	r.active = r.active[:end]
}

// completeStepLocked records the end of a step that did not fail, and continues with the steps that need it as
// soon as that is safe.
func (r *run) completeStepLocked(step int, o outcome) {
	r.order.SetStatus(step, o.status)
	st := &r.states[step]
	st.input, st.output, st.reason = o.input, o.output, o.reason
	isSafe := o.status != order.Finished || !r.log.HasStore()
	if isSafe || !r.afterSavedLocked(func() { r.releaseLocked(step) }) {
		r.releaseLocked(step)
	}
}

// releaseLocked makes ready or skips the steps that have waited for a step that is over.
func (r *run) releaseLocked(step int) { r.applyLocked(r.order.Release(step)) }

// afterSavedLocked calls then, with the lock, once the journal has all events so far; the run does not end before.
// It reports false if the journal has them already.
func (r *run) afterSavedLocked(then func()) (later bool) {
	if !r.log.HasStore() || !r.log.AfterSaved(func(err error) { r.handleSaved(then, err) }) {
		return false
	}
	r.unsavedSteps++
	return true
}

// handleSaved runs the function that afterSavedLocked has put off, unless the journal failed.
func (r *run) handleSaved(then func(), err error) {
	r.lockToEmit()
	defer r.mu.Unlock()
	r.unsavedSteps--
	if r.phase >= ending {
		return
	}
	if err == nil {
		then()
	}
	r.startWorkerLocked()
}
