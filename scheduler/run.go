package scheduler

import (
	"context"
	"errors"
	"path/filepath"
	"time"

	"github.com/callnode/scheduler/calls"
	"github.com/callnode/scheduler/llm/prompt"
	"github.com/callnode/scheduler/llm/value"
	"github.com/callnode/scheduler/scheduler/flow"
	"github.com/callnode/scheduler/scheduler/internal/order"
	"github.com/callnode/scheduler/scheduler/journal"
)

// run is one flow being run: the whole run, or a sub-flow inside it. All fields
// below stream are guarded by its lock.
type run struct {
	exec *StepExecutor
	flow *flow.Flow
	// outer is the step that runs this flow as a sub-flow; nil for the whole run.
	outer *task
	// prefix stands before the ids of steps in events: "" or "outer/".
	prefix  string
	depth   int
	ctx     context.Context
	cancel  context.CancelCauseFunc
	parent  context.Context
	unwatch context.CancelFunc // of the journal; nil without one
	ignore  func() bool        // ends the watch over parent
	env     calls.Env
	vars    calls.Vars
	meter   meter
	secrets *secrets
	// provider and model are the names of who answers, for the events.
	provider, model string

	stream *stream
	// recorded is what earlier processes did; nil for a new run, and for a sub-flow
	// whose inputs are others than then.
	recorded *journal.RunState
	// masked are the places in the outputs of earlier processes that secrets were
	// taken out of, by step.
	masked  map[int][]string
	lost    []string        // the same in the inputs
	answers []*pendingEvent // what a resumed run begins with
	states  []state
	order   *order.Machine
	workers int
	active  []*task
	events  slab[journal.Event]
	tasks   slab[task]
	idle    []*task // to be used again
	notes   slab[taskNotes]
	started *journal.Data // see startData
	failure *Failure
	// unsafe counts the steps whose end the journal does not have yet.
	unsafe int
	// suspended: a step waits for values.
	suspended bool
	waiting   *Waiting // what the whole run ended with
	// stopping: no further step starts. ending: the last worker is at the end of
	// the flow. over: done is closed.
	stopping, ending, over bool
	cancelled              bool
	// gracePeriod is how long steps may take to stop, shorter in a sub-flow so that it
	// is over before the step around it is left behind.
	gracePeriod time.Duration
	grace       *time.Timer
	outputs     value.Value
	done        chan struct{}
	began       time.Time // by the stopwatch
}

// state is what a run knows of a step beside its place in the order.
type state struct {
	input  value.Value
	output value.Value
	reason string // why it was skipped
	each   *fanOut
}

// newRun prepares a run. The error is a *[Failure]: nothing was started.
func (e *StepExecutor) newRun(ctx context.Context, f *flow.Flow, inputs value.Value) (*run, error) {
	r, err := e.unrecordedRun(ctx, f, inputs)
	if err != nil || e.Journal == nil {
		return r, err
	}
	header := r.newHeader(inputs)
	log, err := e.Journal.Begin(ctx, header)
	if err != nil {
		return nil, r.refusedError(err)
	}
	r.attachRecorder(log, header, header.Text)
	return r, nil
}

// unrecordedRun prepares a new run that the journal does not know yet.
func (e *StepExecutor) unrecordedRun(ctx context.Context, f *flow.Flow, inputs value.Value) (*run, error) {
	r := e.bareRun(ctx, f)
	r.vars.Run = calls.Run{ID: e.runID(), Flow: f.Name, StartedAt: r.env.Clock(), User: e.Owner.User}
	return r, r.prepare(inputs)
}

// refusedError returns why the journal did not begin the run.
func (r *run) refusedError(err error) error {
	err = journalError(r.vars.Run.ID, "recording the run", err)
	var broken *JournalError
	if errors.As(err, &broken) {
		return err
	}
	return r.failureOf(err, flow.Position{})
}

// bareRun returns a run with what the executor has for it.
func (e *StepExecutor) bareRun(ctx context.Context, flow *flow.Flow) *run {
	env := e.Env
	if env == nil {
		env = calls.NewEnv()
	}
	r := &run{
		exec: e, flow: flow, parent: ctx, env: *env, stream: newStream(env.Clock, e.stopwatch()), secrets: newSecrets(e.Hidden), gracePeriod: e.gracePeriod(),
	}
	r.env.Registry = e.registry()
	r.vars.Language = e.Language
	return r
}

// newSubRun prepares the run of a flow inside the step t.
func (t *task) newSubRun(ctx context.Context, flow *flow.Flow, inputs value.Value) (*run, error) {
	t.shared.Store(true)
	o := t.run
	r := &run{
		exec: o.exec, flow: flow, outer: t, prefix: t.path() + "/", parent: ctx,
		env: o.env, vars: o.vars, stream: o.stream, secrets: o.secrets,
		depth: o.depth + 1, gracePeriod: o.gracePeriod * 3 / 4,
	}
	r.meter.outer = &t.meter
	r.vars.Run.Flow = flow.Name
	if was := t.recordedState(); was != nil && value.Equal(was.Input, r.secrets.maskValue(t.input)) {
		r.recorded = o.recorded
	}
	return r, r.prepare(inputs)
}

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
	r.meter.limit = int64(r.flow.MaxTokens)
	if r.flow.LLM != "" && r.exec.Provider != nil {
		if r.env.LLM, err = r.exec.Provider(r.flow.LLM); err != nil {
			return r.failureOf(err, flow.Position{File: r.flow.File, Line: 1, Col: 1})
		}
	}
	if r.exec.Names != nil {
		r.provider, r.model = r.exec.Names(r.flow.LLM)
	}
	if err := r.scopeOfMemory(); err != nil {
		return err
	}
	r.done = make(chan struct{})
	return nil
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
		v, err := r.render(r.parent, target.param, r.newScope(r.parent, target.param))
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
	r.ctx, r.cancel = context.WithCancelCause(r.parent)
	r.stream.lockWithRoom()
	defer r.stream.Unlock()
	r.ignore = context.AfterFunc(r.parent, func() {
		r.stream.Lock()
		defer r.stream.Unlock()
		r.stopLocked()
	})
	now := r.stream.clock()
	r.began = r.stream.watch()
	switch {
	case r.outer != nil:
	case r.recorded != nil:
		r.tellResumedLocked(now)
	default:
		n := newPendingEvent(journal.FlowStarted)
		n.input, n.data.Masked = r.secrets.maskWithPointers(r.vars.Inputs)
		n.data.Flow, n.data.Inputs = r.flow.Name, &n.input
		r.tellLocked(n, "", -1, now)
	}
	r.states = make([]state, len(r.flow.Steps))
	r.events.size, r.notes.size = len(r.states)/2, len(r.states)/2 // the first chunk is for all steps of a small flow
	r.order = orderOf(r.flow)
	if r.recorded != nil {
		r.restoreLocked(now)
	} else {
		r.applyLocked(r.order.Start(), now)
	}
	r.startWorkerLocked()
}

// pushLocked adds an event of this run. The stream is locked.
func (r *run) pushLocked(ev *journal.Event, now time.Time) {
	ev.Run = r.vars.Run.ID
	r.stream.pushLocked(ev, now)
}

// tellLocked adds an event of a step, or of an item of it. The stream is locked.
func (r *run) tellLocked(n *pendingEvent, step string, item int, now time.Time) {
	r.tellHeadLocked(&n.head, step, item, now)
}

func (r *run) tellHeadLocked(h *head, step string, item int, now time.Time) {
	h.event.Step = step
	if item >= 0 {
		h.index = item
		h.event.Index = &h.index
	}
	r.pushLocked(&h.event, now)
}

// startData returns the data of step.started. Steps of the same kind in a row share it.
// The stream is locked.
func (r *run) startData(call string, toUser bool) *journal.Data {
	if d := r.started; d == nil || d.Call != call || d.ToUser != toUser {
		r.started = &journal.Data{Call: call, ToUser: toUser}
	}
	return r.started
}

// leaveStepsBehind leaves the steps behind that did not stop in time.
func (r *run) leaveStepsBehind() {
	r.stream.Lock()
	if r.ending || r.over {
		r.stream.Unlock()
		return
	}
	r.ending = true
	now := r.stream.clock()
	for _, t := range r.active {
		r.env.Log.Warn("a step did not stop and is left behind",
			"run", r.vars.Run.ID, "step", t.path(), "call", t.step.Call, "grace", r.gracePeriod)
		if r.isHandingOver() {
			continue // whoever goes on with the run does the step again
		}
		err := calls.Errorf(calls.Canceled, "the call %s did not stop within %s and was left behind", t.step.Call, r.gracePeriod)
		n := newPendingEvent(journal.StepFailed)
		n.setError(&r.failureOf(err, t.step.Pos).Info)
		r.tellLocked(n, t.id, t.item, now)
	}
	r.stream.Unlock()
	r.end()
}

// end renders the outputs, or the reply to a failure, and says how the run ended.
func (r *run) end() {
	waits := r.suspended && r.failure == nil && !r.cancelled
	if r.failure == nil && !r.cancelled && !waits {
		r.outputs, r.failure = r.renderOutputs()
		r.cancelled = r.failure != nil && r.parent.Err() != nil
	}
	handedOver := false
	n := newPendingEvent(journal.FlowFinished)
	switch {
	case r.cancelled:
		n = newPendingEvent(journal.FlowCancelled)
		r.failure = r.failureOf(cancellationError(r.parent), flow.Position{})
		handedOver = errors.Is(r.failure, ErrHandOver)
	case r.failure != nil:
		n = newPendingEvent(journal.FlowFailed)
		n.setError(&r.failure.Info)
		n.data.Text = r.renderReply()
	case waits:
		n = newPendingEvent(journal.FlowWaiting)
	default:
		n.params = r.secrets.maskValue(r.outputs)
		n.data.Outputs = &n.params
	}
	r.ignore()
	r.cancel(nil)
	r.stream.lockWithRoom()
	defer r.stream.Unlock()
	if r.grace != nil {
		r.grace.Stop()
	}
	if r.outer == nil {
		now := r.stream.clock()
		if waits {
			r.waiting = &Waiting{Run: r.vars.Run.ID, For: r.stream.waits}
			n.data.Waiting = r.stream.waits
		}
		n.usage = r.meter.usage()
		n.data.Usage = &n.usage
		n.setDuration(r.stream, r.began)
		if !handedOver {
			r.tellLocked(n, "", -1, now)
		}
		r.stream.closeLocked()
	}
	r.over = true
	close(r.done)
}

// shutdown waits until the run is over, after it has cancelled what still runs,
// and until the journal has all of it.
func (r *run) shutdown() {
	r.stream.Lock()
	r.stream.detachReaderLocked()
	r.stopLocked()
	r.stream.Unlock()
	<-r.done
	if rec := r.stream.record; rec != nil {
		<-rec.done
		r.unwatch()
	}
}

// yieldEvents runs the prepared run and yields its events.
func (r *run) yieldEvents(yield func(*journal.Event, error) bool) {
	defer r.shutdown()
	r.start()
	if !r.stream.drain(yield) {
		return
	}
	rec := r.stream.record
	switch {
	case rec != nil && rec.err != nil:
		yield(nil, rec.journalError(r.failure))
	case r.failure != nil:
		yield(nil, r.failure)
	case r.waiting != nil:
		yield(nil, r.waiting)
	}
}
