package scheduler

import (
	"context"
	"fmt"

	"github.com/callnode/scheduler/calls"
	"github.com/callnode/scheduler/llm/value"
)

// subcalls runs calls inside a step.
type subcalls struct{ task *task }

var _ calls.Calls = subcalls{}

// Find gives a call by name.
func (s subcalls) Find(name string) (calls.Definition, bool) {
	return s.task.run.exec.Registry.Call(name)
}

// RunCall runs the call as a pseudo-step.
func (s subcalls) RunCall(ctx context.Context, name string, params value.Value) (value.Value, error) {
	def, ok := s.Find(name)
	if !ok {
		return value.Value{}, calls.Errorf(calls.NotFound, "there is no call %q", name)
	}
	if problems := def.Info.Params.Check(params); problems != nil {
		return value.Value{}, calls.Errorf(calls.Invalid, "the parameters do not fit the call %s: %w", name, problems)
	}
	return s.task.within(ctx, def, params)
}

// maxInside bounds how deep steps run calls inside calls.
const maxInside = 16

// within runs a call inside the step. The events show it as a step of its own,
// STEP/CALL-N, where N counts what the attempt has run inside itself; no step of a
// sub-flow has a hyphen in its id. What an earlier process finished with the same
// parameters is not run again.
func (t *task) within(ctx context.Context, def calls.Definition, params value.Value) (output value.Value, err error) {
	deep := 1
	for around := t; around.around != nil; around = around.around {
		deep++
	}
	if deep > maxInside {
		return value.Value{}, calls.Errorf(calls.Invalid, "calls run %d deep inside each other", maxInside)
	}
	in := t.inner(def)
	if output, ok := in.again(params); ok {
		return output, nil
	}
	s := t.run.stream
	s.acquire()
	started := s.clock()
	n := newNote(StepStarted)
	n.data.Call = def.Info.Name
	in.tell(n)
	s.Unlock()
	defer func() {
		n := in.notes.end.of(StepFinished)
		if err != nil {
			n.of(StepFailed).fault(&t.run.failureOf(err, t.step.Pos).Info)
		} else {
			n.gave(t.run.secrets.masking(output))
		}
		n.cost(&in.meter)
		s.acquire()
		defer s.Unlock()
		n.took(s.clock().Sub(started))
		in.tell(n)
	}()
	defer t.run.recovered(&err, in.id)
	in.params = params
	in.fold = fold{task: in}
	return in.fold.run(ctx, def, params, &in.env)
}

// inner is the pseudo-step of a call that runs inside the task.
func (t *task) inner(def calls.Definition) *task {
	t.shared.Store(true)
	step := *t.step
	step.Call, step.Def, step.ToUser = def.Info.Name, def, false
	in := &task{
		run: t.run, step: &step, item: -1, around: t, notes: &taskNotes{}, vars: t.vars, env: t.env,
		id: fmt.Sprintf("%s/%s-%d", t.path(), def.Info.Name, t.inside.Add(1)),
	}
	in.meter.outer = &t.meter
	in.use()
	return in
}

// again is the output that an earlier process got for the same parameters.
func (t *task) again(params value.Value) (output value.Value, ok bool) {
	was := t.recorded()
	if was == nil || was.State != StepStatusFinished || len(was.masked) > 0 ||
		was.Call != t.step.Call || !value.Equal(was.Params, t.run.secrets.mask(params)) {
		return value.Value{}, false
	}
	return was.Output, true
}
