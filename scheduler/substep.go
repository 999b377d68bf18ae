package scheduler

import (
	"context"
	"errors"
	"fmt"
	"regexp"

	"github.com/callnode/scheduler/calls"
	"github.com/callnode/scheduler/llm/value"
	"github.com/callnode/scheduler/scheduler/flow"
	"github.com/callnode/scheduler/scheduler/internal/budget"
	"github.com/callnode/scheduler/scheduler/journal"
)

// RunCall runs the call inside the step, as a pseudo-step.
func (t *task) RunCall(ctx context.Context, name string, params value.Value) (value.Value, error) {
	registry := t.run.exec.registry()
	def, ok := registry.Call(name)
	if !ok {
		return value.Value{}, registry.CheckCall(name)
	}
	if problems := def.Info.Params.Check(params); problems != nil {
		return value.Value{}, calls.Errorf(calls.Invalid, "the parameters do not fit the call %s: %w", name, problems)
	}
	return t.runCallInside(ctx, def, params)
}

var substepName = regexp.MustCompile(`^[a-z][a-z0-9_-]*$`)

// Once does a piece of the call's own work inside its step, as a pseudo-step.
func (t *task) Once(ctx context.Context, name string, params value.Value, work calls.Work) (value.Value, error) {
	if !substepName.MatchString(name) {
		return value.Value{}, calls.Errorf(calls.Internal, "invalid substep name %q of the call %s (use a-z, 0-9, _ and -)", name, t.step.Call)
	}
	return t.runSubstep(name, t.step.Def, params, func(in *task) (value.Value, error) {
		in.emitParams(params)
		return work(in.withAsker(ctx), &in.env)
	})
}

// emitParams records the parameters of a pseudo-step.
func (t *task) emitParams(params value.Value) {
	n := newPendingEvent(journal.StepInput)
	n.params, n.data.Masked = t.run.secrets.maskWithPointers(params)
	n.data.Params = &n.params
	t.emit(n)
}

// runCallInside runs a call inside the step, as a pseudo-step.
func (t *task) runCallInside(ctx context.Context, def calls.Definition, params value.Value) (output value.Value, err error) {
	return t.runTracedInside(ctx, def, params, tracedValue{})
}

// runTracedInside is runCallInside for parameters with known origins of their texts.
func (t *task) runTracedInside(ctx context.Context, def calls.Definition, params value.Value, traced tracedValue) (output value.Value, err error) {
	ctx, providers := calls.TakeProviders(ctx)
	name := def.Info.Name
	return t.runSubstep(name, def, params, func(in *task) (value.Value, error) {
		if len(providers) > 0 {
			in.step.LLM = providers // the step of a pseudo-step is its own
			in.setModels()
		}
		in.traced, in.names = traced, t.names
		if t.leave != name && t.run.exec.asksFor(name) {
			var err error
			params, err = in.approve(ctx, approvalUse{call: name, def: def, params: params})
			if err != nil {
				return value.Value{}, err
			}
		}
		in.collector = outputCollector{sink: in, secrets: in.run.secrets, held: &in.held}
		return in.collector.run(in.withAsker(ctx), def, params, &in.env)
	})
}

// maxInside bounds how deep steps run calls inside calls.
const maxInside = 16

// runSubstep does something inside the step that has events, and an Env, of its own: a pseudo-step STEP/NAME-N, in
// which N counts the attempt's pseudo-steps of that name; no step of a sub-flow has a hyphen in its id. Work that
// an earlier attempt or process finished with the same parameters is not repeated, and finished work is saved
// before the step continues. Waiting work has no end event.
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
	in.emitSubstepStarted()
	output, err := in.runRecovered(work)
	in.held.Release()
	if in.atUntil.Load() {
		return value.Value{}, in.emitSubstepEnd(value.Value{}, errAtUntil)
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
	return output, in.emitSubstepEnd(output, err)
}

// holdSubstep counts the output of a pseudo-step until the task ends; one that later attempts
// may use, until the step does.
func (t *task) holdSubstep(id string, one substep) error {
	if outermost := t.outermostTask(); outermost.substeps.keepFinished(id, one) {
		t = outermost
	}
	return t.held.Hold(budget.SizeOf(one.output))
}

// emitSubstepStarted records that a pseudo-step begins.
func (t *task) emitSubstepStarted() {
	n := newPendingEvent(journal.StepStarted)
	n.data.Call = t.step.Call
	t.emit(n)
	t.began = t.run.exec.elapsed()
}

// runRecovered runs work and turns a panic into an error.
func (t *task) runRecovered(work func(in *task) (value.Value, error)) (output value.Value, err error) {
	defer t.run.recoverPanic(&err, t.id)
	return work(t)
}

// isSurvived reports whether a pseudo-step has an output although it failed.
func isSurvived(err error) bool { return errors.As(err, new(*calls.SurvivedError)) }

// emitSubstepEnd records the end of a pseudo-step, and waits until it is safe. The error is the work's, unless its
// call survives it, or the journal's.
func (t *task) emitSubstepEnd(output value.Value, err error) error {
	isFinished := err == nil || isSurvived(err)
	if !isFinished && t.run.isHandingOver() {
		return err
	}
	n := newPendingEvent(journal.StepFailed)
	if isFinished {
		n.event.Type = journal.StepFinished
		n.setOutput(t.run.secrets.maskOutput(output, t.params))
		n.data.Spans = t.outputSpans(output)
	}
	if err != nil {
		n.setError(&t.run.failureOf(err, t.step.Pos).Info)
	}
	if err != nil && isFinished {
		t.run.warned.add(t.path())
	}
	t.addCosts(n)
	n.setDuration(t.run.exec.elapsed().Sub(t.began))
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
	in.vars.Step.ToUser, in.vars.Step.Tools = false, nil
	in.meter.SetOuter(&t.meter)
	in.held.SetUp(t.run.bounds, &t.held)
	in.requests.outer = &t.requests
	in.setEnv()
	return in
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

// suspendSubstep records that a pseudo-step waits for values, and all around it with it.
func (t *task) suspendSubstep(s *suspension) error {
	o := t.waitingOutcome(s)
	t.run.lockWithRoom()
	if !t.isLeftBehindLocked() && t.run.phase < ending {
		t.run.emitOutcomeLocked(t, o)
	}
	t.run.mu.Unlock()
	t.suspendAll()
	return calls.Errorf(calls.Missing, "asking a person: %w", calls.ErrWaiting)
}

// Ask asks people for values inside the step, in a pseudo-step STEP/question-N, which waits as
// a step of the call slot does. No model sees the question, and no default answers it.
func (t *task) Ask(ctx context.Context, why string, wanted value.Value) (value.Value, error) {
	def, ok := t.run.exec.registry().Call(flow.CallSlot)
	if !ok {
		return value.Value{}, calls.Errorf(calls.NotFound, "questions to people need the call %s, which does not exist here", flow.CallSlot)
	}
	params := value.OfMap(value.Pairs("data", emptyObject, "current_schema", describeSchema(wanted, why), "stages", []string{}))
	return t.runSubstep("question", def, params, func(in *task) (value.Value, error) {
		in.emitParams(params)
		in.shown = true
		answered, err := in.withAnswers(def, params)
		if err != nil {
			return value.Value{}, err
		}
		in.collector = outputCollector{sink: in, secrets: in.run.secrets, held: &in.held}
		output, err := in.collector.run(ctx, def, answered, &in.env)
		if err != nil {
			return value.Value{}, err
		}
		remaining, _ := output.Get("remaining_schema")
		if w := (journal.WaitingFor{RemainingSchema: remaining}); len(w.Pointers()) > 0 {
			return value.Value{}, &suspension{output: withWarning(output, why), remaining: remaining}
		}
		data, _ := output.Get("slot_data")
		return data, nil
	})
}

// withWarning returns an output of slot with a warning before its own: people read it with the question.
func withWarning(output value.Value, text string) value.Value {
	m := output.Map().Clone()
	own, _ := m.Get("warnings")
	m.Set("warnings", value.OfList(append([]value.Value{value.OfString(text)}, own.List()...)...))
	return value.OfMap(m)
}
