package scheduler

import (
	"context"
	"time"

	"github.com/callnode/scheduler/calls"
	"github.com/callnode/scheduler/scheduler/journal"
)

// job is a step, or one item of it, that can run.
type job struct {
	step int
	item int // -1: the step itself
}

// queue is a first-in-first-out queue of jobs.
type queue struct {
	jobs []job
	head int
}

func (q *queue) push(j job) { q.jobs = append(q.jobs, j) }
func (q *queue) len() int   { return len(q.jobs) - q.head }

func (q *queue) pop() job {
	j := q.jobs[q.head]
	if q.head++; q.head == len(q.jobs) {
		q.jobs, q.head = q.jobs[:0], 0
	}
	return j
}

// enqueue makes a step ready. The stream is locked.
func (r *run) enqueue(step int, now time.Time) {
	r.states[step].status = statusReady
	ev := r.events.get()
	ev.Type, ev.Step = journal.StepReady, r.prefix+r.flow.Steps[step].ID
	r.push(ev, now)
	r.ready.push(job{step, -1})
}

// spawn starts a worker when there may be work for one. The stream is locked.
func (r *run) spawn() {
	if r.workers < r.exec.parallel() && (r.ready.len() > 0 || r.workers == 0) {
		r.workers++
		go r.work(nil, outcome{})
	}
}

// work runs one job after the other until none is left. The worker that finishes
// a step goes on with one that became ready by it: a chain of steps needs one
// goroutine.
func (r *run) work(t *task, last outcome) {
	defer func() {
		if t != nil { // the call ended the goroutine (runtime.Goexit)
			err := calls.Errorf(calls.Internal, "the call %s ended its goroutine", t.step.Call)
			go r.work(t, t.failed(err))
		}
	}()
	for {
		if t = r.turn(t, last); t == nil {
			return
		}
		last = t.perform()
	}
}

// turn settles the outcome of the last task and takes the next one; nil tells
// the worker to go.
func (r *run) turn(t *task, o outcome) *task {
	r.stream.acquire()
	now := r.stream.clock()
	if t != nil {
		r.settle(t, o, now)
		r.reuse(t, o)
	}
	if next := r.take(now); next != nil {
		r.spawn()
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

// take is the next job that can run, as a task. The stream is locked.
func (r *run) take(now time.Time) *task {
	if r.stopping || r.ready.len() == 0 {
		return nil
	}
	j := r.ready.pop()
	r.states[j.step].status = statusRunning
	t := r.newTask(j, now)
	t.slot = len(r.active)
	r.active = append(r.active, t)
	if t.step.When == nil && t.step.ForEach == nil || j.item >= 0 {
		t.announce(now)
	}
	return t
}

// settle records how a task ended and makes ready what waited for it. The stream
// is locked.
func (r *run) settle(t *task, o outcome, now time.Time) {
	if r.ending {
		return // the run has left this step behind
	}
	r.drop(t)
	if o.note != nil {
		if o.status != statusSkipped && o.status != statusWaiting {
			o.note.took(r.stream, t.began)
		}
		r.tell(o.note, t.id, t.item, now)
		if o.status == statusWaiting {
			r.stream.waits = append(r.stream.waits, journal.NewWaitingFor(t.path(), *o.note.data.Output, *o.note.data.RemainingSchema))
		}
	}
	st := &r.states[t.step.Index]
	switch {
	case o.status == statusWaiting:
		r.suspended = true
		if t.item >= 0 {
			st.each.follow(r, t)
		} else {
			st.status = statusWaiting
		}
	case o.status == statusFailed:
		if t.item >= 0 && st.status == statusRunning && o.note != nil {
			n := newNote(journal.StepFailed) // the step fails with its first item that does
			n.fault(o.note.data.Error)
			n.took(r.stream, st.each.began)
			r.tell(n, t.id, -1, now)
		}
		st.status = statusFailed
		r.fail(o.failure)
	case o.fan != nil:
		st.each = o.fan
		o.fan.begin(r, t, now)
		return
	case t.item >= 0:
		st.each.settle(r, t, o, now)
	default:
		r.complete(t.step.Index, o, now)
	}
}

// drop takes a task out of those that run.
func (r *run) drop(t *task) {
	end := len(r.active) - 1
	r.active[t.slot] = r.active[end]
	r.active[t.slot].slot = t.slot
	r.active[end] = nil
	r.active = r.active[:end]
}

// blankTask is one that was used before, if there is one. The stream is locked.
func (r *run) blankTask() *task {
	last := len(r.idle) - 1
	if last < 0 {
		return r.tasks.get()
	}
	t := r.idle[last]
	r.idle = r.idle[:last]
	return t
}

// reuse keeps a task that was settled, for a later step: tasks are large. One that
// somebody may still hold on to is not used again. The stream is locked.
func (r *run) reuse(t *task, o outcome) {
	if o.status == statusFinished && !t.mute && !t.shared.Load() && !r.ending {
		*t = task{}
		r.idle = append(r.idle, t)
	}
}

// complete records the end of a step that did not fail, and goes on to those that
// need it as soon as that is safe. The stream is locked.
func (r *run) complete(step int, o outcome, now time.Time) {
	st := &r.states[step]
	st.status, st.input, st.output, st.reason = o.status, o.input, o.output, o.reason
	if rec := r.stream.record; rec == nil || o.status != statusFinished || !rec.release(r, step, false) {
		r.release(step, now)
	}
}

// release makes ready or skips what has waited for a step that is over. The stream
// is locked.
func (r *run) release(step int, now time.Time) {
	for skippedNow := []int(nil); ; {
		ran := r.states[step].status == statusFinished
		for _, n := range r.flow.Steps[step].Next {
			ns := &r.states[n]
			ns.ran = ns.ran || ran || r.flow.Steps[n].Implicit
			if ns.pending--; ns.pending > 0 || ns.status != statusPending {
				continue
			}
			if r.begin(n, now) {
				skippedNow = append(skippedNow, n)
			}
		}
		if len(skippedNow) == 0 {
			return
		}
		step, skippedNow = skippedNow[0], skippedNow[1:]
	}
}

// begin makes a step ready whose needs are all over, or skips it when they were
// all skipped. The stream is locked.
func (r *run) begin(n int, now time.Time) (skipped bool) {
	step, st := r.flow.Steps[n], &r.states[n]
	if st.ran || len(step.Needs) == 0 {
		r.enqueue(n, now)
		return false
	}
	st.status, st.reason = statusSkipped, "every step that it needs was skipped"
	skip := newNote(journal.StepSkipped)
	skip.data.Reason = st.reason
	r.tell(skip, r.prefix+step.ID, -1, now)
	return true
}

// fail ends the run because of a step. The stream is locked.
func (r *run) fail(f *Failure) {
	if r.ending || r.over {
		return
	}
	if r.parent.Err() == nil && r.failure == nil && !r.stopping {
		r.failure = f
	}
	r.stop()
}

// stop lets no further step start, and tells those that run to stop. Without a
// failure it cancels the run. The stream is locked.
func (r *run) stop() {
	if r.stopping || r.ending || r.over {
		return
	}
	r.stopping = true
	r.cancelled = r.failure == nil
	r.cancel(r.whyStopped())
	r.grace = time.AfterFunc(r.patience, r.giveUp)
}

// whyStopped is what the steps that are stopped say of it. The stream is locked.
func (r *run) whyStopped() error {
	switch {
	case r.cancelled:
		return context.Cause(r.parent)
	case r.failure.Info.Step == "":
		return calls.Errorf(calls.Canceled, "stopped, because the run failed")
	}
	return calls.Errorf(calls.Canceled, "stopped, because the step %s failed", r.failure.Info.Step)
}
