package scheduler

import (
	"context"
	"errors"
	"math/rand/v2"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/callnode/scheduler/calls"
	"github.com/callnode/scheduler/calls/schema"
	"github.com/callnode/scheduler/llm"
	"github.com/callnode/scheduler/llm/value"
	"github.com/callnode/scheduler/scheduler/flow"
	"github.com/callnode/scheduler/scheduler/internal/budget"
	"github.com/callnode/scheduler/scheduler/internal/order"
	"github.com/callnode/scheduler/scheduler/journal"
)

// task is one step, or one item of it, being run. A worker takes one from the pool for each
// job, and returns it when its outcome was handled; newSubstep makes those of
// pseudo-steps, which are not used again. While the call runs, the task is that of the
// goroutine which runs it: others may use what has a lock of its own, is atomic, or is said
// to be guarded.
type task struct {
	run         *run
	step        *flow.Step
	item        int // -1: the step itself
	id          string
	activeIndex int // the place in run.active
	vars        calls.Vars
	env         calls.Env
	// model is env.LLM, rand with its source env.Rand, upstream vars.Upstream; they live
	// here, as collector does, to save allocations.
	model     budget.Model
	rand      rand.Rand
	random    randomSource
	upstream  upstream
	collector outputCollector
	meter     budget.Meter
	held      budget.Holder // what it holds until its end
	requests  requests
	names     scope
	began     time.Time // by the stopwatch
	events    *taskEvents

	params     value.Value
	prepared   bool // params are rendered and checked
	input      value.Value
	shown      bool // step.input was emitted
	leftBehind bool // guarded by run.mu
	// around is the step that runs this one inside itself, substeps are those that this
	// one runs; filled: one of them was for its parameters.
	around   *task
	substeps substeps
	filled   bool
	// isShared: a flow or a piece of work inside this step knows the task, and what of it
	// is left behind may do so for long.
	isShared atomic.Bool
	// suspended: a flow that the call runs waits for values.
	suspended atomic.Bool
	// atUntil: it has stopped at [StepExecutor] Until, before its model was asked.
	atUntil atomic.Bool
	warned  atomic.Int32 // how many warnings this attempt has given
}

// outcome is how a task ended, for the worker that ran it to handle.
type outcome struct {
	status  order.Status
	event   *pendingEvent // of the end; nil where there is none, or others tell of it
	input   value.Value
	output  value.Value
	reason  string
	failure *Failure
	fan     *fanOut // the step goes on as these items
}

// newTaskLocked returns the task of a job. It does little: the rest is for fillIn.
func (r *run) newTaskLocked(j order.Job) *task {
	step := r.flow.Steps[j.Step]
	t := r.pool.take()
	t.run, t.step, t.item, t.id = r, step, j.Item, step.ID
	if r.prefix != "" {
		t.id = r.prefix + step.ID
	}
	outer := &r.meter
	t.began = r.exec.elapsed()
	if j.Item >= 0 {
		e := r.states[j.Step].each
		outer = &e.meter
		t.vars.Resolved = e.resolved
		t.names.item = &e.items[j.Item]
	}
	t.meter.SetOuter(outer)
	t.held.SetUp(r.bounds, &r.held)
	return t
}

// mustDecide reports whether the step has a condition or a list of items to find out before
// it starts.
func (t *task) mustDecide() bool {
	hasQuestion := t.step.When != nil || t.step.ForEach != nil
	return t.item < 0 && hasQuestion
}

// emitStartedLocked records that the step, or an item of it, starts.
func (t *task) emitStartedLocked() {
	n := &t.events.started
	n.event.Type, n.event.Data = journal.StepStarted, t.run.pool.startedData(t.step.Call, t.toUser())
	n.setPlace(t.id, t.item)
	t.run.emitLocked(&n.event)
	t.vars.Now = n.event.Time
}

// toUser: what a sub-flow says to the user reaches them if the step around it
// talks to them too.
func (t *task) toUser() bool {
	return t.step.ToUser && (t.run.outer == nil || t.run.outer.toUser())
}

// fillIn fills in what the step may see and use.
func (t *task) fillIn() {
	now, resolved := t.vars.Now, t.vars.Resolved
	if t.mustDecide() {
		now = t.run.env.Clock() // it has not started
	}
	t.vars = t.run.vars
	t.vars.Now, t.vars.Resolved = now, resolved
	t.vars.Step = calls.StepInfo{ID: t.step.ID, Name: t.step.Name, Description: t.step.Description, ToUser: t.toUser()}
	if t.item >= 0 {
		t.vars.Step.Index = &t.item
	}
	t.upstream = upstream{t.run, t.step.Index}
	t.vars.Upstream = &t.upstream
	t.env = t.run.env
	t.setEnv()
	t.names.run, t.names.env, t.names.vars = t.run, &t.env, &t.vars
}

// setEnv fills t.env with the model, random source and services of this step.
func (t *task) setEnv() {
	t.requests.input, t.requests.names = &t.input, t.run.model
	t.model = budget.Model{
		Provider: t.modelProvider(), Meter: &t.meter, Tokens: t.env.Tokens, Observer: t, Once: t.step.Retry.MaxAttempts > 1, Held: &t.held,
	}
	t.env.LLM = &t.model
	t.random = randomSource{seed: t.run.exec.Seed, run: t.run.vars.Run.ID, user: t}
	t.rand = *rand.New(&t.random)
	t.env.Rand = &t.rand
	t.env.Substeps = t.run.env.Substeps
	if !t.step.Def.Info.NoSubsteps {
		t.env.Substeps = calls.Substeps{Flows: subflows{t}, Calls: subcalls{t}, Recorder: subwork{t}, Asker: questions{t}}
	}
	t.env.Warner = warner{t}
	t.env.Path = t.path()
	t.env.Vars = &t.vars
}

// scope returns what the step's templates see.
func (t *task) scope(ctx context.Context) *scope {
	t.names.ctx = ctx
	if t.names.params == nil {
		t.names.params = []*flow.Param{t.step.When, t.step.ForEach, t.step.With}
	}
	return &t.names
}

// runToEnd runs the task to its end. It never panics.
func (t *task) runToEnd() (o outcome) {
	var crash error
	defer func() {
		if crash != nil {
			o = t.failedOutcome(crash)
		}
	}()
	defer t.run.recoverPanic(&crash, t.id)
	t.fillIn()
	if t.mustDecide() {
		if o, done := t.decideToRun(t.run.life.ctx); done {
			return o
		}
	}
	if o, yes := t.stillWaits(); yes {
		return o
	}
	if err := t.held.AddStep(); err != nil {
		return t.failedOutcome(err)
	}
	output, err := t.runWithRetries(t.run.life.ctx)
	err = t.orBound(err)
	t.held.Release()
	if err != nil || t.suspended.Load() {
		return t.stoppedOutcome(err)
	}
	if err := t.run.holdOutput(output); err != nil {
		return t.failedOutcome(err)
	}
	return t.finishedOutcome(output)
}

// orBound returns the error of a bound of the run that was met inside the task, whatever its
// call made of it, and else err.
func (t *task) orBound(err error) error {
	bound := t.held.Exceeded()
	if bound == nil || budget.IsExceeded(err) {
		return err
	}
	return bound
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

// decideToRun evaluates the step's condition and its list of items; done reports that the step
// does not go on as a single task.
func (t *task) decideToRun(ctx context.Context) (o outcome, done bool) {
	if o, skipped := t.skipUnlessTrue(ctx); skipped {
		return o, true
	}
	t.run.lockWithRoom()
	t.began = t.run.exec.elapsed()
	t.emitStartedLocked()
	t.run.mu.Unlock()
	if t.step.ForEach != nil {
		return t.fanOut(ctx), true
	}
	return outcome{}, false
}

// runAttempt goes once through the phases of a step.
func (t *task) runAttempt(ctx context.Context) (output value.Value, err error) {
	t.substeps.startAttempt(t.filled, t.step.Retry.MaxAttempts > 1)
	if !t.prepared {
		if err := t.prepareParams(ctx); err != nil {
			return value.Value{}, err
		}
		t.prepared = true
	}
	t.forgetWarnings()
	t.collector = outputCollector{sink: t, secrets: t.run.secrets, with: t.step.With, held: &t.held}
	output, err = t.collector.run(ctx, t.step.Def, t.params, &t.env)
	if err != nil {
		_, _ = err.Error(), calls.KindOf(err) // a nil *Error of a careless call panics here, where it is caught
		return output, err
	}
	if t.step.Call == flow.CallSlot && t.around == nil {
		return output, t.checkRemaining(output)
	}
	return output, nil
}

// showInput keeps the input for the history. Only the first attempt shows it: the
// later ones have the same.
func (t *task) showInput(input value.Value) {
	r := t.run
	var n *pendingEvent
	if !t.shown {
		n = t.events.input.ofType(journal.StepInput)
		n.params, n.data.Masked = r.secrets.maskWithPointers(t.params)
		n.input = r.secrets.maskValue(input)
		n.data.Params, n.data.Input, n.data.Names = &n.params, &n.input, t.shownNames()
	}
	r.lockWithRoom()
	defer r.mu.Unlock()
	if t.isLeftBehindLocked() {
		return
	}
	t.input = input
	if n != nil {
		t.shown = true
		t.emitLocked(n)
	}
}

// shownNames returns the names that the parameters mention and that nothing else has on
// record, as events show them; nil where they mention none.
func (t *task) shownNames() *value.Value {
	if len(t.vars.Resolved) == 0 && !t.step.MentionsRun {
		return nil
	}
	names := value.NewMap(2)
	if len(t.vars.Resolved) > 0 {
		names.Set("vars", value.Must(t.vars.Resolved))
	}
	if t.step.MentionsRun {
		names.Set("run", value.Must(t.vars.Run))
	}
	shown := t.run.secrets.maskValue(value.OfMap(names))
	return &shown
}

// checkMaskable returns an error where the parameters have a piece of a secret that could not be
// masked in the messages and the output of the call.
func (t *task) checkMaskable() error {
	pointer, found := t.run.secrets.findUnmaskable(t.params, "")
	if !found {
		return nil
	}
	err := calls.Errorf(calls.Invalid, "a text taken or computed from a secret is too short here to be masked in what comes after").
		WithHint("give the whole secret, or four characters of it or more; to decide by a secret, compare it in a condition")
	return &flow.LocatedError{Pos: t.step.With.PosAt(pointer), Err: err}
}

// prepareParams finds the parameters: those that an earlier process had begun with, or
// else it resolves variables, renders, fills and checks them.
func (t *task) prepareParams(ctx context.Context) error {
	if taken, err := t.takeOverParams(); taken {
		return err
	}
	if len(t.step.Resolve) > 0 {
		if err := t.scope(ctx).resolveVariables(ctx); err != nil {
			return err
		}
	}
	static, isStatic := t.step.With.Static()
	t.params = static
	if !isStatic {
		var err error
		t.params, err = t.run.secrets.render(ctx, t.step.With, t.scope(ctx))
		if err == nil {
			err = t.checkMaskable()
		}
		if err != nil {
			return err
		}
	}
	if t.params.IsNull() {
		t.params = emptyObject
	}
	switch {
	case t.step.EnableFilling:
		if err := t.fillParams(ctx); err != nil {
			return err
		}
		t.filled = true
	case t.step.Call == flow.CallSlot:
		var err error
		t.params, err = t.withAnswers(t.params)
		if err != nil {
			return err
		}
	case isStatic:
		return nil // lint has checked them
	}
	problems := t.step.Def.Info.Params.Check(t.params)
	if problems == nil {
		return nil
	}
	if t.step.EnableFilling && t.step.OnMissing == missingReturn {
		return t.missingError(problems.Error())
	}
	return t.locateProblems(problems)
}

// locateProblems places what is wrong with the parameters where the flow has them.
func (t *task) locateProblems(problems schema.Problems) error {
	err := calls.Errorf(calls.Invalid, "the parameters do not fit the call %s: %w", t.step.Call, problems)
	pos := t.step.Pos
	if t.step.With != nil {
		pos = t.step.With.PosAt(problems[0].Pointer)
	}
	return &flow.LocatedError{Pos: pos, Err: err}
}

// emit appends an event of the task to the log, unless the task was left behind.
func (t *task) emit(n *pendingEvent) {
	t.run.lockWithRoom()
	defer t.run.mu.Unlock()
	t.emitLocked(n)
}

func (t *task) emitLocked(n *pendingEvent) {
	if !t.isLeftBehindLocked() && t.run.phase < ending {
		n.setPlace(t.id, t.item)
		t.run.emitLocked(&n.event)
	}
}

// isLeftBehindLocked reports whether the task, or one around it, was left behind.
func (t *task) isLeftBehindLocked() bool {
	return t.leftBehind || t.around != nil && t.around.isLeftBehindLocked()
}

// finishedOutcome returns the outcome of a task that went well.
func (t *task) finishedOutcome(output value.Value) outcome {
	n := t.events.finished.ofType(journal.StepFinished)
	n.setOutput(t.run.secrets.maskOutput(output, t.params))
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

// path returns the step in messages: outer[3]/inner.
func (t *task) path() string {
	if t.item < 0 {
		return t.id
	}
	return t.id + "[" + strconv.Itoa(t.item) + "]"
}

// addCosts puts into the event of a task's end what it cost, and what models were asked.
func (t *task) addCosts(n *pendingEvent) {
	n.setUsage(t.meter.Usage())
	given := t
	for given.params.IsNull() && given.around != nil { // a piece of a call's work has its parameters
		given = given.around
	}
	t.requests.addTo(n, partsMask{t.run.secrets, given.params})
}

// RequestSent notes a request to a model, and how long its answer takes to begin.
func (t *task) RequestSent(ctx context.Context, req *llm.Request) (answered func()) {
	t.requests.record(ctx, req)
	if onRequest := t.run.exec.OnRequest; onRequest != nil {
		onRequest(t.path(), req)
	}
	sent := t.run.exec.elapsed()
	return func() { t.requests.setFirstToken(t.run.exec.elapsed().Sub(sent)) }
}

// CostEstimated notes a request whose tokens the provider did not tell.
func (t *task) CostEstimated() { t.requests.countEstimate() }
