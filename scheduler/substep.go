package scheduler

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"sync"
	"time"

	"github.com/callnode/scheduler/calls"
	"github.com/callnode/scheduler/llm/value"
	"github.com/callnode/scheduler/scheduler/flow"
	"github.com/callnode/scheduler/scheduler/internal/budget"
	"github.com/callnode/scheduler/scheduler/journal"
)

// subcalls runs calls inside a step.
type subcalls struct{ task *task }

var _ calls.Calls = subcalls{}

// RunCall runs the call as a pseudo-step.
func (s subcalls) RunCall(ctx context.Context, name string, params value.Value) (value.Value, error) {
	registry := s.task.run.exec.registry()
	def, ok := registry.Call(name)
	if !ok {
		return value.Value{}, registry.CheckCall(name)
	}
	if problems := def.Info.Params.Check(params); problems != nil {
		return value.Value{}, calls.Errorf(calls.Invalid, "the parameters do not fit the call %s: %w", name, problems)
	}
	return s.task.runCallInside(ctx, def, params)
}

// subwork does pieces of a call's own work inside its step.
type subwork struct{ task *task }

var _ calls.Recorder = subwork{}

var substepName = regexp.MustCompile(`^[a-z][a-z0-9_-]*$`)

// Once does the piece as a pseudo-step.
func (s subwork) Once(ctx context.Context, name string, params value.Value, work calls.Work) (value.Value, error) {
	if !substepName.MatchString(name) {
		return value.Value{}, calls.Errorf(calls.Internal, "invalid substep name %q of the call %s (use a-z, 0-9, _ and -)", name, s.task.step.Call)
	}
	return s.task.runSubstep(name, s.task.step.Def, params, func(in *task) (value.Value, error) {
		in.emitParams(params)
		return work(ctx, &in.env)
	})
}

// emitParams records what a pseudo-step is done with.
func (t *task) emitParams(params value.Value) {
	n := newPendingEvent(journal.StepInput)
	n.params, n.data.Masked = t.run.secrets.maskWithPointers(params)
	n.data.Params = &n.params
	t.emit(n)
}

// runCallInside runs a call inside the step, as a pseudo-step.
func (t *task) runCallInside(ctx context.Context, def calls.Definition, params value.Value) (output value.Value, err error) {
	return t.runSubstep(def.Info.Name, def, params, func(in *task) (value.Value, error) {
		in.collector = outputCollector{sink: in, secrets: in.run.secrets, held: &in.held}
		return in.collector.run(ctx, def, params, &in.env)
	})
}

// maxInside bounds how deep steps run calls inside calls.
const maxInside = 16

// runSubstep does something inside the step that has events, and an Env, of its own:
// those of a pseudo-step STEP/NAME-N, where N counts what the attempt has done by
// that name; no step of a sub-flow has a hyphen in its id. What an earlier attempt
// or process finished with the same parameters is not done again, and what finishes
// is safe before the step goes on. What waits has no end.
func (t *task) runSubstep(name string, def calls.Definition, params value.Value, work func(in *task) (value.Value, error)) (value.Value, error) {
	deep := 1
	for around := t; around.around != nil; around = around.around {
		deep++
	}
	if deep > maxInside {
		return value.Value{}, calls.Errorf(calls.Invalid, "calls are nested deeper than %d", maxInside)
	}
	in := t.newSubstep(name, def)
	in.params = params
	if output, ok := in.finishedBefore(); ok {
		return output, t.held.Hold(budget.SizeOf(output))
	}
	if err := t.held.AddStep(); err != nil {
		return value.Value{}, err
	}
	in.forgetWarnings()
	began := in.emitSubstepStarted()
	output, err := in.runRecovered(work)
	in.held.Release()
	if in.atUntil.Load() {
		return value.Value{}, in.emitSubstepEnd(began, value.Value{}, errAtUntil)
	}
	if in.suspended.Load() {
		return value.Value{}, err
	}
	var wait *suspension
	if errors.As(err, &wait) {
		return value.Value{}, in.suspendSubstep(wait)
	}
	err = in.orBound(err)
	if err == nil || isSurvived(err) {
		if held := t.holdSubstep(in.id, substep{name, params, output}); held != nil {
			err = held
		}
	}
	return output, in.emitSubstepEnd(began, output, err)
}

// holdSubstep counts the output of a pseudo-step until the task ends; one that later attempts
// may use, until the step does.
func (t *task) holdSubstep(id string, one substep) error {
	if outermost := t.outermostTask(); outermost.substeps.keepFinished(id, one) {
		t = outermost
	}
	return t.held.Hold(budget.SizeOf(one.output))
}

// emitSubstepStarted records that a pseudo-step begins, and returns when by the stopwatch.
func (t *task) emitSubstepStarted() (began time.Time) {
	n := newPendingEvent(journal.StepStarted)
	n.data.Call = t.step.Call
	t.emit(n)
	return t.run.exec.elapsed()
}

// runRecovered runs work and turns a panic into an error.
func (t *task) runRecovered(work func(in *task) (value.Value, error)) (output value.Value, err error) {
	defer t.run.recoverPanic(&err, t.id)
	return work(t)
}

// isSurvived reports whether a pseudo-step has an output although it failed.
func isSurvived(err error) bool { return errors.As(err, new(*calls.SurvivedError)) }

// emitSubstepEnd records the end of a pseudo-step, and waits until it is safe. The error is
// that of the work, unless its call survives it, or of the journal.
func (t *task) emitSubstepEnd(began time.Time, output value.Value, err error) error {
	isFinished := err == nil || isSurvived(err)
	if !isFinished && t.run.isHandingOver() {
		return err
	}
	n := newPendingEvent(journal.StepFailed)
	if isFinished {
		n.event.Type = journal.StepFinished
		n.setOutput(t.run.secrets.maskOutput(output, t.params))
	}
	if err != nil {
		n.setError(&t.run.failureOf(err, t.step.Pos).Info)
	}
	if err != nil && isFinished {
		t.run.warned.add(t.path())
	}
	t.addCosts(n)
	n.setDuration(t.run.exec.elapsed().Sub(began))
	t.emit(n)
	if !isFinished {
		return err
	}
	if broken := t.run.log.WaitSaved(); broken != nil {
		return t.run.recordingError(broken, nil)
	}
	return nil
}

// newSubstep returns the pseudo-step of something inside the task.
func (t *task) newSubstep(name string, def calls.Definition) *task {
	t.isShared.Store(true)
	step := *t.step
	step.Call, step.Def, step.ToUser = name, def, false
	in := &task{
		run: t.run, step: &step, item: -1, around: t, vars: t.vars, env: t.env, events: &taskEvents{},
		id: fmt.Sprintf("%s/%s-%d", t.path(), name, t.substeps.nextNumber(name)),
	}
	in.vars.Step.ToUser = false
	in.meter.SetOuter(&t.meter)
	in.held.SetUp(t.run.bounds, &t.held)
	in.requests.outer = &t.requests
	in.setEnv()
	return in
}

// outermostTask returns the step of the flow that the task is a part of.
func (t *task) outermostTask() *task {
	for t.around != nil {
		t = t.around
	}
	return t
}

// finishedBefore returns the output that an earlier attempt or process got for the same
// parameters.
func (t *task) finishedBefore() (output value.Value, ok bool) {
	if p, ok := t.outermostTask().substeps.findFinished(t.id); ok && p.name == t.step.Call && value.Equal(p.params, t.params) {
		return p.output, true
	}
	was := t.recordedState()
	if was == nil || was.State != journal.StepStatusFinished || len(was.MaskedOutput) > 0 ||
		was.Call != t.step.Call || !value.Equal(was.Params, t.run.secrets.maskValue(t.params)) {
		return value.Value{}, false
	}
	return was.Output, true
}

// substeps is what goes on inside a task.
type substeps struct {
	mu sync.Mutex
	// counts tells how often each name was used by this attempt.
	counts map[string]int
	// finished is what later attempts may use, by id; nil where there are none. The
	// outermost task has it for all inside.
	finished map[string]substep
}

// substep is something that has finished.
type substep struct {
	name           string
	params, output value.Value
}

// nextNumber returns the number of the next piece of that name.
func (p *substeps) nextNumber(name string) int {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.counts == nil {
		p.counts = map[string]int{}
	}
	p.counts[name]++
	return p.counts[name]
}

// startAttempt starts the count again for an attempt: after that of slot, where it has
// filled the parameters before. keep reports that there may be further attempts.
func (p *substeps) startAttempt(filled, keep bool) {
	p.mu.Lock()
	p.counts = nil
	if p.finished == nil && keep {
		p.finished = map[string]substep{}
	}
	p.mu.Unlock()
	if filled {
		p.nextNumber(flow.CallSlot)
	}
}

// keepFinished keeps what has finished for later attempts, and reports whether there may be
// one.
func (p *substeps) keepFinished(id string, one substep) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.finished == nil {
		return false
	}
	p.finished[id] = one
	return true
}

func (p *substeps) findFinished(id string) (one substep, ok bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	one, ok = p.finished[id]
	return one, ok
}
