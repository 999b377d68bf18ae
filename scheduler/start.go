package scheduler

import (
	"context"
	"errors"
	"iter"
	"maps"

	"github.com/callnode/scheduler/calls"
	"github.com/callnode/scheduler/llm"
	"github.com/callnode/scheduler/llm/value"
	"github.com/callnode/scheduler/llm/value/secret"
	"github.com/callnode/scheduler/scheduler/flow"
	"github.com/callnode/scheduler/scheduler/internal/eventlog"
	"github.com/callnode/scheduler/scheduler/journal"
)

// Run runs the flow and yields every event in order. The inputs are an object; they
// get the defaults of the flow's schema. When the run fails, the error comes
// last, after flow.failed or flow.cancelled, as a *[Failure]; when it waits for
// values, a *[Waiting] after flow.waiting. An error before the first event says
// that nothing was started: the inputs are wrong, or the journal refuses the run.
// Ending ctx or breaking out of the loop cancels the run, and waits for its steps at most CancelGrace; with the
// cause [ErrHandOver] the run can continue elsewhere.
//
// With a Journal every event is in it before it is yielded, and in mode [journal.Sync] safe
// from a crash; that the run has begun is safe before its first step begins, and that a step
// has ended before any step begins that needs it. A
// journal that fails ends the run, with a [*JournalError] alone: no event is yielded
// that it does not have.
func (e *StepExecutor) Run(ctx context.Context, flow *flow.Flow, inputs value.Value) iter.Seq2[*journal.Event, error] {
	return func(yield func(*journal.Event, error) bool) {
		r, err := e.newRun(ctx, flow, inputs)
		if err != nil {
			yield(nil, err)
			return
		}
		r.yieldEvents(yield)
	}
}

// yieldEvents runs the prepared run and yields its events.
func (r *run) yieldEvents(yield func(*journal.Event, error) bool) {
	defer r.shutdown()
	r.start()
	if !r.log.Read(yield) {
		return
	}
	broken := r.log.Err()
	switch {
	case broken != nil:
		yield(nil, r.recordingError(broken, r.result.failure))
	case r.result.failure != nil:
		yield(nil, r.result.failure)
	case r.result.waiting != nil:
		yield(nil, r.result.waiting)
	}
}

// shutdown waits until the run is over, after it has cancelled the steps still running, and until the journal has
// all events.
func (r *run) shutdown() {
	r.log.Detach()
	r.stopSteps()
	<-r.done
	if err := r.log.Wait(); err != nil {
		r.env.Log.Warn("letting go of the run", "run", r.vars.Run.ID, "error", err)
	}
	if r.life.unwatch != nil {
		r.life.unwatch()
	}
	r.endTape()
}

// beginTape notifies the tape that the run begins, or continues after part resumptions.
func (r *run) beginTape(part int) {
	r.part = part
	if r.exec.Tape != nil {
		r.exec.Tape.Begin(r.vars.Run.ID, part, r.env.Clock())
	}
}

// endTape notifies the tape that the run is over, or waits. Only one that has finished is whole.
func (r *run) endTape() {
	if r.exec.Tape == nil {
		return
	}
	hasFinished := r.result.failure == nil && r.result.waiting == nil && !r.result.cancelled
	isWhole := hasFinished && r.log.Err() == nil
	err := r.exec.Tape.End(isWhole)
	isPlayed := r.exec.Start != nil && r.exec.Start.ID != ""
	switch {
	case err != nil && isPlayed:
		r.env.Log.Warn("the replay is not as the recorded run", "run", r.vars.Run.ID, "error", err)
	case err != nil:
		r.env.Log.Error("the recording of the run is not complete", "run", r.vars.Run.ID, "error", err)
	}
}

// newRun prepares a run. The error is a *[Failure]: nothing was started.
func (e *StepExecutor) newRun(ctx context.Context, f *flow.Flow, inputs value.Value) (*run, error) {
	r, err := e.unrecordedRun(ctx, f, inputs)
	if err != nil {
		return r, err
	}
	r.beginTape(0)
	if e.Journal == nil {
		r.log = eventlog.New(ctx, eventlog.Options{})
		return r, nil
	}
	header := r.newHeader(inputs)
	log, err := e.Journal.Begin(ctx, header)
	if err != nil {
		return nil, r.refusedError(err)
	}
	r.attachJournal(log, header, header.Text)
	return r, nil
}

// unrecordedRun prepares a new run that the journal does not know yet.
func (e *StepExecutor) unrecordedRun(ctx context.Context, f *flow.Flow, inputs value.Value) (*run, error) {
	r := e.bareRun(ctx, f)
	r.vars.Run = calls.Run{ID: e.runID(), Flow: f.Name, StartedAt: r.env.Clock(), User: e.Owner.User}
	r.vars.Conversation = e.Conversation
	if err := r.prepare(inputs); err != nil {
		return r, err
	}
	return r, r.checkUserNamed()
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

// bareRun returns a run with the executor's data for it.
func (e *StepExecutor) bareRun(ctx context.Context, flow *flow.Flow) *run {
	env := e.Env
	if env == nil {
		env = calls.NewEnv()
	}
	hidden := newSecrets(e.Hidden)
	if e.Keys != nil {
		for _, key := range e.Keys() {
			hidden.set.Add(key)
		}
	}
	ctx = secret.NewContext(ctx, hidden.set)
	r := &run{
		exec: e, flow: flow, env: *env, events: eventPool{steps: len(flow.Steps), readySteps: len(flow.Steps)}, life: lifetime{parent: ctx, gracePeriod: e.gracePeriod()},
		shared: &shared{secrets: hidden, bounds: e.newBounds(), flows: &subflowLoader{loader: e.Loader, root: flow, dir: e.Root}, memory: env.Memory},
	}
	r.held.SetUp(r.bounds, nil)
	r.env.Registry = e.registry()
	if e.Tape != nil {
		r.env.UseTape(e.Tape)
		r.memory = r.env.Memory
	}
	r.env.Tokens = keepSecretsWhole(r.env.Tokens, hidden.set)
	r.vars.Language, r.vars.Seed, r.models.names = e.Language, e.Seed, e.LLM
	return r
}

// newHeader returns the journal's header for a run that begins.
func (r *run) newHeader(inputs value.Value) *journal.RunHeader {
	e := r.exec
	return &journal.RunHeader{
		ID: r.vars.Run.ID, Flow: r.flow.Name, File: recordedPath(e.Root, r.flow.File), Text: recordedText(e.Root, r.flow),
		Inputs: r.secrets.maskValue(inputs), Conversation: r.vars.Conversation, Labels: r.newLabels(), Program: e.Program, Options: e.Options, StartedAt: r.eventTime(), Mode: e.Durability,
	}
}

// newLabels returns the labels of a new run. Secrets in them are masked: labels come from a command line or a
// request, and are recorded permanently.
func (r *run) newLabels() map[string]string {
	labels := maps.Clone(r.exec.Labels)
	if user := r.exec.Owner.User; user != "" {
		labels = map[string]string{journal.LabelOwner: user}
		maps.Copy(labels, r.exec.Labels)
	}
	for name, text := range maps.Clone(labels) {
		delete(labels, name)
		labels[r.secrets.maskText(name)] = r.secrets.maskText(text)
	}
	return labels
}

// attachJournal lets the events of the run go through the journal, which has the text of
// its flow. A journal that fails ends the run.
func (r *run) attachJournal(log journal.RunLog, header *journal.RunHeader, text journal.FlowText) {
	r.life.parent, r.life.unwatch = log.Watch(r.life.parent)
	r.flows.log, r.flows.text = log, text
	o := eventlog.Options{Store: log, Mode: header.Mode, OnError: r.handleJournalError}
	if r.earlier.state != nil {
		o.LastSeq = r.earlier.state.LastSeq
	}
	r.log = eventlog.New(r.life.parent, o)
}

// handleJournalError ends the run because the journal has failed.
func (r *run) handleJournalError(err error) {
	f := r.failureOf(r.recordingError(err, nil), flow.Position{})
	r.mu.Lock()
	defer r.mu.Unlock()
	r.failLocked(f)
}

// Result is the outcome of a run after all its events. [Collect] makes it for its caller, to whom it belongs; it
// is only data.
type Result struct {
	// Run is the run's id; "" if nothing was started.
	Run string
	// Outputs are the outputs from flow.finished, with secrets masked as in all events.
	Outputs value.Value
	// Reply is the text that the flow's on_error made of a failure; "" without one.
	Reply  string
	Usage  llm.Usage
	Events []*journal.Event
}

// Collect drains a run. The result covers the events until the error.
func Collect(events iter.Seq2[*journal.Event, error]) (*Result, error) {
	r := &Result{}
	for ev, err := range events {
		if err != nil {
			return r, err
		}
		r.Run = ev.Run
		r.Events = append(r.Events, ev)
		if ev.Data == nil {
			continue
		}
		switch ev.Type {
		case journal.FlowFinished:
			r.Outputs = *ev.Data.Outputs
		case journal.FlowFailed:
			r.Reply = ev.Data.Text
		case journal.FlowCancelled, journal.FlowWaiting:
		default:
			continue
		}
		if ev.Data.Usage != nil {
			r.Usage = *ev.Data.Usage
		}
	}
	return r, nil
}
