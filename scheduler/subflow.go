package scheduler

import (
	"context"
	"path/filepath"

	"github.com/callnode/scheduler/calls"
	"github.com/callnode/scheduler/llm/value"
	"github.com/callnode/scheduler/scheduler/flow"
)

// maxDepth bounds how deep flows run inside flows: one that runs itself must
// come to an end.
const maxDepth = 16

// subflows runs flows inside a step.
type subflows struct{ task *task }

var (
	_ calls.Flows         = subflows{}
	_ calls.FlowDescriber = subflows{}
)

// RunFlow runs the flow file at path, relative to the flow of the step. Its steps
// appear in the events of the run as STEP/INNER, its tokens count for the step. A
// call other than flow may run several: each is a pseudo-step of its own.
func (s subflows) RunFlow(ctx context.Context, path string, inputs value.Value) (value.Value, error) {
	t := s.task
	if t.step.Call != flow.CallFlow {
		if def, ok := t.run.exec.registry().Call(flow.CallFlow); ok {
			return t.runCallInside(ctx, def, value.OfMap(value.Pairs("path", path, "inputs", inputs)))
		}
	}
	if t.run.depth+1 >= maxDepth {
		return value.Value{}, calls.Errorf(calls.Invalid, "flows run %d deep inside each other", maxDepth).
			WithHint("does %s run itself without an end?", path)
	}
	flow, err := s.loadFlow(ctx, path)
	if err != nil {
		return value.Value{}, err
	}
	sub, err := t.newSubRun(ctx, flow, inputs)
	if err != nil {
		return value.Value{}, err
	}
	sub.start()
	<-sub.done // at most its patience after ctx ends
	if sub.failure != nil {
		return value.Value{}, sub.failure
	}
	if sub.suspended {
		for around := t; around != nil; around = around.around {
			around.suspended.Store(true)
		}
		return value.Value{}, calls.Errorf(calls.Missing, "running the flow %s: %w", path, calls.ErrWaiting)
	}
	return sub.outputs, nil
}

// DescribeFlow reads the flow file at path.
func (s subflows) DescribeFlow(ctx context.Context, path string) (calls.FlowInfo, error) {
	flow, err := s.loadFlow(ctx, path)
	if err != nil {
		return calls.FlowInfo{}, err
	}
	return calls.FlowInfo{Name: flow.Name, Description: flow.Description, Inputs: flow.Inputs}, nil
}

func (s subflows) loadFlow(ctx context.Context, path string) (*flow.Flow, error) {
	file := path
	if !filepath.IsAbs(file) {
		file = filepath.Join(s.task.env.Dir, path)
	}
	if sub := s.task.step.Sub; sub != nil && filepath.Clean(sub.File) == filepath.Clean(file) {
		return sub, nil
	}
	exec := s.task.run.exec
	if exec.Loader == nil {
		return nil, calls.Errorf(calls.Invalid, "the sub-flow %s was not loaded with the flow", path).
			WithHint("write its path without a template")
	}
	var flow *flow.Flow
	var err error
	if rec := s.task.run.stream.record; rec != nil {
		flow, err = rec.loadFlow(ctx, s.task.run.outermostRun().flow, file)
	} else {
		flow, err = exec.loadBeside(s.task.run.outermostRun().flow, file)
	}
	if err != nil {
		return nil, calls.Errorf(calls.Invalid, "loading the sub-flow %s: %w", path, err)
	}
	return flow, nil
}

// loadBeside loads a sub-flow whose path came up in a run of root: it must be in the
// folder of root, and is in its language unless it names one.
func (e *StepExecutor) loadBeside(root *flow.Flow, file string) (*flow.Flow, error) {
	loader := *e.Loader
	if loader.Languages != nil && root.Language != "" {
		languages := *loader.Languages
		languages.Default = root.Language
		loader.Languages = &languages
	}
	return loader.LoadInside(filepath.Dir(root.File), file)
}

// outermostRun returns the whole run that a sub-flow is a part of.
func (r *run) outermostRun() *run {
	for r.outer != nil {
		r = r.outer.run
	}
	return r
}
