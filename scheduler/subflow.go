package scheduler

import (
	"cmp"
	"context"
	"maps"
	"path/filepath"
	"sync"

	"github.com/callnode/scheduler/calls"
	"github.com/callnode/scheduler/llm/value"
	"github.com/callnode/scheduler/scheduler/flow"
	"github.com/callnode/scheduler/scheduler/journal"
)

// maxDepth limits the depth of flows inside flows: a flow that runs itself must end.
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
	t.flowSpans = sub.result.spans
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
	r.models.names = t.modelNames()
	if was := t.recordedState(); was != nil && value.Equal(was.Input, r.secrets.maskValue(t.input)) {
		r.earlier.state = o.earlier.state
	}
	return r, r.prepare(inputs)
}

// subflowLoader loads the flows whose path is only known in a run, and keeps their text in the journal: an earlier
// process and this one run the same. The whole run has one, and its sub-flows share it; it is safe for concurrent
// use.
type subflowLoader struct {
	loader *flow.Loader
	// root is the flow of the whole run, dir the folder of the project.
	root *flow.Flow
	dir  string
	// log is nil without a journal.
	log journal.RunLog

	mu   sync.Mutex
	text journal.FlowText // the texts in the journal; guarded by mu
}

// loadFlow loads a flow from its text in the journal, else from its file, whose text is then added to the journal.
// queue is the queue of the step that runs it.
func (l *subflowLoader) loadFlow(ctx context.Context, file, queue string) (*flow.Flow, error) {
	loader := l.loader.ForSubFlow(queue)
	if l.log == nil {
		return l.loadBeside(loader, file)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	file = flow.Absolute(file)
	name := recordedPath(l.dir, file)
	if source, ok := l.text.Files[name]; ok {
		_, files := LocalFiles(l.dir, "", l.text)
		loaded, problems := loader.LoadText(file, source, files)
		return loaded, problems.Err()
	}
	loaded, err := l.loadBeside(loader, file)
	if err != nil {
		return nil, err
	}
	all, added := maps.Clone(l.text.Files), recordedText(l.dir, loaded)
	if all == nil {
		all = map[string][]byte{}
	}
	all[name] = added.Source
	maps.Copy(all, added.Files)
	l.text.Files = all
	return loaded, l.log.Revise(ctx, l.text)
}

// loadBeside loads a flow from its file: it must be in the folder of the root flow, and is
// in its language unless it names one.
func (l *subflowLoader) loadBeside(loader *flow.Loader, file string) (*flow.Flow, error) {
	if loader.Languages != nil && l.root.Language != "" {
		languages := *loader.Languages
		languages.Default = l.root.Language
		loader.Languages = &languages
	}
	return loader.LoadInside(filepath.Dir(l.root.File), file)
}
