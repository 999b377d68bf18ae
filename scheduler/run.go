package scheduler

import (
	"context"
	"path/filepath"
	"sync"
	"time"

	"github.com/callnode/scheduler/calls"
	"github.com/callnode/scheduler/llm/prompt"
	"github.com/callnode/scheduler/llm/value"
	"github.com/callnode/scheduler/scheduler/flow"
	"github.com/callnode/scheduler/scheduler/internal/budget"
	"github.com/callnode/scheduler/scheduler/internal/eventlog"
	"github.com/callnode/scheduler/scheduler/internal/order"
	"github.com/callnode/scheduler/scheduler/journal"
)

// run is one flow being run: the whole run, or a sub-flow inside it. It lives from its
// start until done is closed; what a step left behind still holds on to it. Its lock is
// taken before that of the event log, never after, and never together with the lock of
// another run.
type run struct {
	exec *StepExecutor
	flow *flow.Flow
	// outer is the step that runs this flow as a sub-flow; nil for the whole run.
	outer *task
	// prefix stands before the ids of steps in events: "" or "outer/".
	prefix string
	depth  int
	*shared
	env     calls.Env
	vars    calls.Vars
	model   modelName
	meter   budget.Meter
	earlier earlier
	life    lifetime
	isChild bool          // another run waits for its outputs
	began   time.Time     // by the stopwatch
	held    budget.Holder // the outputs in states
	until   *stopPoint    // nil where it runs to its end
	done    chan struct{}

	mu sync.Mutex

	// The following fields are guarded by mu.

	// now is when the lock was taken, the time of the events that are emitted under it.
	now     time.Time
	states  []state
	order   *order.Machine
	workers int
	active  []*task
	pool    pool
	// unsavedSteps counts the steps whose end the journal does not have yet.
	unsavedSteps int
	phase        phase
	result       result
}

// shared is what the whole run and its sub-flows have together.
type shared struct {
	log     *eventlog.Log
	secrets *secrets
	bounds  *budget.Bounds
	flows   *subflowLoader
	waits   waitingSteps
	warned  warnedSteps
}

// lifetime is how long a run may take: until parent ends, and the steps have stopped.
type lifetime struct {
	parent context.Context
	// handOver ends parent with [ErrHandOver].
	handOver context.CancelCauseFunc
	// ctx is that of the steps.
	ctx    context.Context
	cancel context.CancelCauseFunc
	// unwatch ends the journal's watch over the run, nil without one; ignore that over
	// parent.
	unwatch context.CancelFunc
	ignore  func() bool
	// gracePeriod is how long steps may take to stop, shorter in a sub-flow so that it
	// is over before the step around it is left behind.
	gracePeriod time.Duration
	grace       *time.Timer // guarded by run.mu
}

// phase is how far a run has come.
type phase uint8

const (
	running  phase = iota
	stopping       // no further step starts
	ending         // the last worker is at the end of the flow, or its steps are left behind
	over           // done is closed
)

// result is how a run ended. Once it is ending, only its last worker writes it.
type result struct {
	failure   *Failure
	cancelled bool
	// suspended: a step waits for values; waiting is what the whole run then ends with.
	suspended bool
	waiting   *Waiting
	outputs   value.Value
}

// state is what a run knows of a step beside its place in the order.
type state struct {
	input  value.Value
	output value.Value
	reason string // why it was skipped
	each   *fanOut
}

// prepare finds out what the run works with. The error is a *[Failure].
func (r *run) prepare(inputs value.Value) error {
	r.secrets.learnSecrets(r.flow, r.exec.Secrets)
	checked, err := checkInputs(r.flow, inputs)
	if err != nil {
		return err
	}
	r.vars.Inputs = r.secrets.set.Mark(checked)
	question, _ := checked.Get("question")
	r.vars.Question, _ = question.Str()
	if r.flow.Language != "" {
		r.vars.Language = r.flow.Language
	}
	r.env.Dir = filepath.Dir(r.flow.File)
	r.meter.SetLimit(int64(r.flow.MaxTokens))
	limit := r.exec.MaxTokens
	isTighter := r.flow.MaxTokens == 0 || limit < r.flow.MaxTokens
	if r.outer == nil && limit > 0 && isTighter {
		r.meter.SetLimit(int64(limit))
	}
	if r.flow.LLM != "" && r.exec.Provider != nil {
		r.env.LLM, err = r.exec.Provider(r.flow.LLM)
		if err != nil {
			return r.failureOf(err, flow.Position{File: r.flow.File, Line: 1, Col: 1})
		}
	}
	if r.exec.Names != nil {
		r.model.provider, r.model.model = r.exec.Names(r.flow.LLM)
	}
	if err := r.scopeOfMemory(); err != nil {
		return err
	}
	r.done = make(chan struct{})
	r.until, err = r.findStopPoint()
	return err
}

// scopeOfMemory renders whose memory the flow works in.
func (r *run) scopeOfMemory() error {
	for _, target := range []struct {
		param *flow.Param
		text  *string
	}{{r.flow.User, &r.vars.Scope.User}, {r.flow.Session, &r.vars.Scope.Session}} {
		if target.param == nil {
			continue
		}
		v, err := r.secrets.render(r.life.parent, target.param, r.newScope(r.life.parent, target.param))
		if err == nil && v.HasSecret() {
			err = calls.Errorf(calls.Invalid, "whose memory it is comes from a secret, and memories are stored under it")
		}
		if err != nil {
			return r.failureOf(err, target.param.Pos)
		}
		*target.text = prompt.Text(v)
	}
	return r.checkOwner()
}

// checkOwner returns an error where the memory is that of another user than the one
// that the run is bound to. A flow that names no user works in the memory of that one.
func (r *run) checkOwner() error {
	owner, user := r.exec.Owner, &r.vars.Scope.User
	if !owner.Bound {
		return nil
	}
	pos := flow.Position{File: r.flow.File, Line: 1, Col: 1}
	if r.flow.User != nil {
		pos = r.flow.User.Pos
	} else if *user == "" {
		*user = owner.User
	}
	if *user == owner.User {
		return nil
	}
	err := calls.Errorf(calls.Invalid, "the run is bound to the user %q, and the memory of the flow is that of %q", owner.User, *user).
		WithHint("write memory: {user: \"{{ run.user }}\"}")
	return r.failureOf(err, pos)
}

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
	r.applyLocked(r.order.Start())
	r.startWorkerLocked()
}

// emitBeginningLocked records that the whole run begins, or goes on.
func (r *run) emitBeginningLocked() {
	if r.earlier.state != nil {
		r.emitResumedLocked()
		return
	}
	n := newPendingEvent(journal.FlowStarted)
	n.input, n.data.Masked = r.secrets.maskWithPointers(r.vars.Inputs)
	n.data.Flow, n.data.Inputs = r.flow.Name, &n.input
	r.emitLocked(&n.event)
}

// lockWithRoom locks the run, to emit events, once the event log has room.
func (r *run) lockWithRoom() {
	r.log.WaitForRoom()
	r.lockToEmit()
}

// lockToEmit locks the run, to emit events, and reads the clock once for all of them.
func (r *run) lockToEmit() {
	r.mu.Lock()
	r.now = r.env.Clock()
}

// emitLocked appends an event to the log.
func (r *run) emitLocked(ev *journal.Event) {
	ev.Run, ev.Time = r.vars.Run.ID, r.now
	r.log.Append(ev)
}

// stopSteps lets no further step start, and tells those that run to stop.
func (r *run) stopSteps() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.stopLocked()
}

// isDraining reports whether the run begins no further step. Sub-flows belong to a step at
// work, and go on.
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

// stopCauseLocked returns what the steps that are stopped say of it.
func (r *run) stopCauseLocked() error {
	if r.result.cancelled {
		return context.Cause(r.life.parent)
	}
	if r.result.failure.Info.Step == "" {
		return calls.Errorf(calls.Canceled, "stopped, because the run failed")
	}
	return calls.Errorf(calls.Canceled, "stopped, because the step %s failed", r.result.failure.Info.Step)
}

// holdOutput counts an output that the run holds until its end. The error is that of a bound.
func (r *run) holdOutput(output value.Value) error { return r.held.Hold(budget.SizeOf(output)) }
