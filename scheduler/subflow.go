package scheduler

import (
	"cmp"
	"context"
	"path/filepath"

	"github.com/callnode/scheduler/calls"
	"github.com/callnode/scheduler/llm/value"
	"github.com/callnode/scheduler/scheduler/flow"
)

// maxDepth bounds how deep flows run inside flows: one that runs itself must
// come to an end.
const maxDepth = 16

var _ calls.FlowDescriber = (*task)(nil)

// RunFlow runs the flow file at path, relative to the flow of the step, inside the step. Its steps
// appear in the events of the run as STEP/INNER, its tokens count for the step. A
// call other than flow may run several: each is a pseudo-step of its own.
func (t *task) RunFlow(ctx context.Context, path string, inputs value.Value) (value.Value, error) {
	if t.step.Call != flow.CallFlow {
		if def, ok := t.run.exec.registry().Call(flow.CallFlow); ok {
			return t.runCallInside(ctx, def, value.OfMap(value.Pairs("path", path, "inputs", inputs)))
		}
	}
	if t.run.depth+1 >= maxDepth {
		return value.Value{}, calls.Errorf(calls.Invalid, "flows run %d deep inside each other", maxDepth).
			WithHint("does %s run itself without an end?", path)
	}
	flow, err := t.loadFlow(ctx, path)
	if err != nil {
		return value.Value{}, err
	}
	if queue := cmp.Or(t.step.Queue, flow.Queue); queue != "" && t.run.exec.Elsewhere != nil {
		return t.runElsewhere(ctx, queue, flow, inputs)
	}
	sub, err := t.newSubRun(ctx, flow, inputs)
	if err != nil {
		return value.Value{}, err
	}
	sub.start()
	<-sub.done // at most its grace period after ctx ends
	if sub.result.failure != nil {
		return value.Value{}, sub.result.failure
	}
	if sub.result.suspended {
		t.suspendAll()
		return value.Value{}, calls.Errorf(calls.Missing, "running the flow %s: %w", path, calls.ErrWaiting)
	}
	return sub.result.outputs, nil
}

// DescribeFlow reads the flow file at path.
func (t *task) DescribeFlow(ctx context.Context, path string) (calls.FlowInfo, error) {
	flow, err := t.loadFlow(ctx, path)
	if err != nil {
		return calls.FlowInfo{}, err
	}
	return calls.FlowInfo{Name: flow.Name, Description: flow.Description, Inputs: flow.Inputs}, nil
}

func (t *task) loadFlow(ctx context.Context, path string) (*flow.Flow, error) {
	file := path
	if !filepath.IsAbs(file) {
		file = filepath.Join(t.env.Dir, path)
	}
	if sub := t.step.Sub; sub != nil && filepath.Clean(sub.File) == filepath.Clean(file) {
		return sub, nil
	}
	if t.run.exec.Loader == nil {
		return nil, calls.Errorf(calls.Invalid, "the sub-flow %s was not loaded with the flow", path).
			WithHint("write its path without a template")
	}
	flow, err := t.run.flows.loadFlow(ctx, file, t.step.Queue)
	if err != nil {
		return nil, calls.Errorf(calls.Invalid, "loading the sub-flow %s: %w", path, err)
	}
	return flow, nil
}

// newSubRun prepares the run of a flow inside the step t.
func (t *task) newSubRun(ctx context.Context, flow *flow.Flow, inputs value.Value) (*run, error) {
	t.isShared.Store(true)
	o := t.run
	r := &run{
		exec: o.exec, flow: flow, outer: t, prefix: t.path() + "/", depth: o.depth + 1, shared: o.shared,
		env: o.env, vars: o.vars, life: lifetime{parent: ctx, gracePeriod: o.life.gracePeriod * 3 / 4},
	}
	r.meter.SetOuter(&t.meter)
	r.held.SetUp(o.bounds, &t.held)
	r.vars.Run.Flow = flow.Name
	if was := t.recordedState(); was != nil && value.Equal(was.Input, r.secrets.maskValue(t.input)) {
		r.earlier.state = o.earlier.state
	}
	return r, r.prepare(inputs)
}
