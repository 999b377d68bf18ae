package preview

import (
	"cmp"
	"context"
	"errors"
	"iter"
	"slices"
	"strings"
	"time"

	"github.com/callnode/scheduler/calls"
	"github.com/callnode/scheduler/calls/schema"
	"github.com/callnode/scheduler/llm"
	"github.com/callnode/scheduler/llm/prompt"
	"github.com/callnode/scheduler/llm/value"
	"github.com/callnode/scheduler/llm/value/span"
	"github.com/callnode/scheduler/plugins"
	"github.com/callnode/scheduler/scheduler"
	"github.com/callnode/scheduler/scheduler/explain"
	"github.com/callnode/scheduler/scheduler/flow"
	"github.com/callnode/scheduler/scheduler/journal"
)

// The bounds of one preview.
const (
	maxSteps       = 500
	maxOutputBytes = 8 << 20
)

// Values are the inputs and outputs of an earlier run, or of a test. The caller of [Render] makes them; they are only read.
type Values struct {
	Inputs       value.Value
	Conversation value.Value
	// Steps has the ended steps, by id.
	Steps map[string]Step
	// Variables are the values of vars.NAME, by their names.
	Variables map[string]value.Value
}

// Step is how a step ended. Params and Input are null if they are not known.
type Step struct {
	// Call is the one that ran; the output of another call says nothing of the step. "" is not known.
	Call                  string
	Params, Input, Output value.Value
	// Spans and OutputSpans are the recorded origins of their texts: see [journal.StepState].
	Spans, OutputSpans span.Record
	IsSkipped          bool
	Reason             string
}

// Options are the parts that [Render] works with. The caller makes them for one preview; they are only read.
type Options struct {
	// Step is the id of the step whose prompt is shown.
	Step   string
	Values Values
	// Env has the services that calls may use. It has no model, no memory and no way to other machines.
	Env *calls.Env
	// Loader has read the flow.
	Loader *flow.Loader
	// ReadsFiles is set if steps may read files of the machine that their parameters name, such as workspace.
	ReadsFiles bool
	Owner      scheduler.Owner
	Journal    func() journal.Journal
	Counter    llm.Counter
}

// Result is a prompt with the sources of its pieces. [Render] makes it for its caller.
type Result struct {
	Prompts []*explain.Explanation
	// Unknown lists the inputs and steps that placeholders replace: inputs.visitor, recall.
	Unknown []string
}

// Render returns the prompt of a step. The error is of kind Missing for a step that builds none, or that reads files and may
// not; else it says why the messages cannot be made.
func Render(ctx context.Context, f *flow.Flow, o *Options) (*Result, error) {
	target, ok := f.Step(o.Step)
	if !ok {
		return nil, calls.Errorf(calls.NotFound, "the flow has no step %q", value.Truncate(o.Step, 80))
	}
	r := &renderer{flow: f, options: o, target: target, given: map[int]bool{}}
	if err := r.checkTarget(); err != nil {
		return nil, err
	}
	for _, i := range f.Ancestors(target.Index) {
		step := f.Steps[i]
		r.given[i] = !r.runsForItems(step) && (step.Def.Info.UsesLLM || step.EnableFilling || !r.isQuiet(step) || !r.mayRead(step))
	}
	for {
		record, err := r.run(ctx)
		if err == nil {
			return r.explain(ctx, record)
		}
		if failed := r.failedAncestor(record); failed >= 0 && ctx.Err() == nil {
			r.given[failed] = true // a placeholder did not suit it
			continue
		}
		return nil, err
	}
}

// renderer makes one preview. It is for one goroutine.
type renderer struct {
	flow    *flow.Flow
	options *Options
	target  *flow.Step
	// given are the steps before the target that do not run, by their indices.
	given   map[int]bool
	unknown []string
}

// runsForItems reports whether the step runs for each of its items and the [guard] answers for its call: how many outputs there are is
// only known when the run has the list.
func (r *renderer) runsForItems(step *flow.Step) bool {
	_, isKnown := r.options.Values.Steps[step.ID]
	return step.ForEach != nil && !isKnown && step.Def.Info.IsContained && !step.EnableFilling && step.Call != flow.CallFlow
}

// isQuiet reports whether the call of a step does nothing but compute: it reaches no other program, keeps nothing and reads no memory.
func (r *renderer) isQuiet(step *flow.Step) bool {
	info := step.Def.Info
	isOutside := info.IsOutside || info.InitIsOutside
	return info.IsContained && !isOutside && !info.Stores && !info.UsesMemory
}

// mayRead reports whether a step may run although it may read files: its parameters name some, or it offers tools, which may describe
// themselves by a file as http does.
func (r *renderer) mayRead(step *flow.Step) bool {
	return r.options.ReadsFiles || step.Def.Runs == nil && !namesAny(step.With, step.Def.Info.Files)
}

// namesAny reports whether parameters have one of the names, or may have it: a map that an expression gives may have any.
func namesAny(p *flow.Param, names []string) bool {
	if p == nil || len(names) == 0 {
		return false
	}
	if p.Map == nil {
		return p.Expr != nil || p.Text != nil || slices.ContainsFunc(names, func(name string) bool { _, ok := p.Literal.Get(name); return ok })
	}
	isNamed := slices.ContainsFunc(p.Map, func(m flow.Member) bool { return slices.Contains(names, m.Key) })
	return isNamed || namesAny(p.Over, names)
}

// checkTarget returns why the step cannot be shown, before anything runs.
func (r *renderer) checkTarget() error {
	id, call := r.target.ID, r.target.Call
	switch {
	case call == flow.CallFlow:
		return calls.Errorf(calls.Missing, "the step %s runs another flow", id).WithHint("open that flow to see its prompts")
	case !r.isQuiet(r.target):
		return calls.Errorf(calls.Missing, "the step %s (%s) builds no prompt", id, call).WithHint("put the cursor into a step that asks a model, or into one that builds messages for it")
	case !r.mayRead(r.target):
		return calls.Errorf(calls.Missing, "the step %s may read files; for a token of a user, a preview reads those of a flow that is saved as it is, and none for a token that may not run flows", id)
	}
	return nil
}

// failedAncestor returns the step before the target that has failed although its values are right in the flow; -1 for none.
func (r *renderer) failedAncestor(record *journal.RunState) int {
	if record == nil || record.Error == nil {
		return -1
	}
	id, _, _ := strings.Cut(record.Error.Step, "/")
	id, _ = journal.SplitPath(id)
	step, ok := r.flow.Step(id)
	if !ok || step == r.target || r.given[step.Index] {
		return -1
	}
	return step.Index
}

// run runs the steps that lead to the prompt, and returns their record.
func (r *renderer) run(ctx context.Context) (*journal.RunState, error) {
	r.unknown = nil
	items := map[string]bool{}
	for _, i := range r.flow.Ancestors(r.target.Index) {
		if step := r.flow.Steps[i]; !r.given[i] && r.runsForItems(step) {
			items[step.ID] = true
			r.unknown = append(r.unknown, step.ID)
		}
	}
	f, e := r.shownFlow(), r.newExecutor()
	e.Interceptor = guard{items}
	inputs := r.inputs()
	record := journal.NewRunState()
	id, err := e.Enqueue(ctx, f, inputs)
	if err != nil {
		return nil, err
	}
	if err := r.recordGiven(ctx, e.Journal, id, inputs, record); err != nil {
		return nil, err
	}
	for event, err := range e.Resume(ctx, id, scheduler.Resumption{Flow: f}) {
		if err != nil {
			if errors.Is(err, scheduler.ErrUntil) {
				return record, nil
			}
			return record, cmp.Or(context.Cause(ctx), err)
		}
		record.Add(event)
	}
	return record, nil
}

// shownFlow returns a copy of the flow that reaches the target regardless of conditions, works in no memory and
// takes inputs that do not fit.
func (r *renderer) shownFlow() *flow.Flow {
	f := *r.flow
	f.Inputs, f.User, f.Session, f.MaxTokens = schema.MustFor[*value.Map](), nil, nil, 0
	f.Steps = slices.Clone(f.Steps)
	target := *r.target
	target.When, target.Queue = nil, ""
	f.Steps[target.Index] = &target
	return &f
}

// path returns the step of the record that is shown: the first item of one that runs for several.
func (r *renderer) path() string {
	if r.target.ForEach == nil {
		return r.target.ID
	}
	first := 0
	return journal.StepPath(r.target.ID, &first)
}

// newExecutor returns an executor that runs the flow up to the prompt.
func (r *renderer) newExecutor() *scheduler.StepExecutor {
	o := r.options
	loader := *o.Loader
	loader.Registry = r.registry()
	env := *o.Env
	return &scheduler.StepExecutor{
		Env: &env, Loader: &loader, Journal: o.Journal(), Until: r.path(), Owner: o.Owner, Conversation: o.Values.Conversation,
		Secrets:  func(name string) (string, bool) { return placeholderText("secrets." + name), true },
		MaxSteps: maxSteps, MaxOutputBytes: maxOutputBytes, CancelGrace: 100 * time.Millisecond,
		NewRunID: func() string { return "preview" },
	}
}

// registry returns the names that the flow may use, without the functions of plugins: variables have the known
// values, or placeholders, and text that a function would judge is in the prompt.
func (r *renderer) registry() *calls.Registry {
	var names []string
	for _, step := range r.flow.Steps {
		names = append(names, step.Resolve...)
	}
	known := r.options.Values.Variables
	resolve := func(_ context.Context, _ plugins.State, name string) (any, error) {
		if v, ok := known[name]; ok {
			return v, nil
		}
		return placeholderText("vars." + name), nil
	}
	judge := func(context.Context, plugins.State, plugins.Item) (plugins.Verdict, error) {
		return plugins.Verdict{Include: true, Reason: "a preview asks no plugin"}, nil
	}
	return r.options.Loader.Registry.WithResolver(plugins.ResolverFunc(resolve), names...).WithImportance(plugins.ImportanceFunc(judge))
}

// inputs returns the inputs that are known, the defaults of the flow, and placeholders for the others that it requires.
func (r *renderer) inputs() value.Value {
	inputs := value.NewMap(4)
	for key, v := range r.options.Values.Inputs.Map().All() {
		inputs.Set(key, v)
	}
	isKnown := inputs.Len() > 0
	inputs = r.flow.Inputs.ApplyDefaults(value.OfMap(inputs)).Map().Clone()
	properties, _ := r.flow.Inputs.Doc().Get("properties")
	required := requiredOf(r.flow.Inputs.Doc())
	for key, property := range properties.Map().All() {
		_, isGiven := inputs.Get(key)
		isOptional := isKnown && !slices.Contains(required, key)
		if isGiven || isOptional {
			continue
		}
		inputs.Set(key, placeholderOf(property, "inputs."+key, 0))
		r.unknown = append(r.unknown, "inputs."+key)
	}
	for _, path := range r.mentioned("inputs") {
		if _, isGiven := inputs.Get(path[0]); !isGiven {
			inputs.Set(path[0], value.Value{})
			r.unknown = append(r.unknown, "inputs."+path[0])
		}
		if name := "inputs." + path[0]; slices.Contains(r.unknown, name) {
			v, _ := inputs.Get(path[0])
			inputs.Set(path[0], withMentioned(v, path[1:], name))
		}
	}
	return value.OfMap(inputs)
}

// mentioned returns the members of a name that the steps which run need, each as the path behind the name.
func (r *renderer) mentioned(name string) (paths [][]string) {
	for _, i := range append(r.flow.Ancestors(r.target.Index), r.target.Index) {
		if r.given[i] {
			continue
		}
		step := r.flow.Steps[i]
		for _, param := range []*flow.Param{step.With, step.When, step.ForEach} {
			param.EachRef(func(ref prompt.Ref) {
				isNeeded := len(ref.Path) > 1 && ref.Path[0] == name && !ref.Guarded
				if isNeeded {
					paths = append(paths, ref.Path[1:])
				}
			})
		}
	}
	return paths
}

// recordGiven puts the steps that do not run into the journal of the run, and into its record.
func (r *renderer) recordGiven(ctx context.Context, j journal.Journal, id string, inputs value.Value, record *journal.RunState) error {
	started := &journal.Data{Flow: r.flow.Name, Inputs: &inputs}
	if talk := r.options.Values.Conversation; len(talk.List()) > 0 {
		started.Conversation = &talk
	}
	events := []*journal.Event{{Type: journal.FlowStarted, Data: started}}
	for i, step := range r.flow.Steps {
		if r.given[i] {
			events = append(events, r.endedEvents(step)...)
		}
	}
	for i, event := range events {
		event.Run, event.Seq, event.Time = id, int64(i+1), r.options.Env.Clock()
		record.Add(event)
	}
	log, err := j.Reopen(ctx, id)
	if err != nil {
		return err
	}
	err = log.Append(ctx, events...)
	return cmp.Or(err, log.Close())
}

// endedEvents returns the events of a step that does not run: its earlier end, or a placeholder for its output.
func (r *renderer) endedEvents(step *flow.Step) []*journal.Event {
	was, isKnown := r.options.Values.Steps[step.ID]
	if isKnown && was.Call != "" && was.Call != step.Call {
		isKnown = false
	}
	if isKnown && was.IsSkipped {
		return []*journal.Event{{Type: journal.StepSkipped, Step: step.ID, Data: &journal.Data{Reason: was.Reason}}}
	}
	if !isKnown {
		was = Step{Output: placeholderOf(step.Output, step.ID, 0)}
		for _, path := range r.mentioned(step.ID) {
			was.Output = withMentioned(was.Output, path, step.ID)
		}
		r.unknown = append(r.unknown, step.ID)
	}
	events := []*journal.Event{{Type: journal.StepStarted, Step: step.ID, Data: &journal.Data{Call: step.Call}}}
	if !was.Params.IsNull() || !was.Input.IsNull() {
		events = append(events, &journal.Event{Type: journal.StepInput, Step: step.ID, Data: &journal.Data{Params: &was.Params, Input: &was.Input, Spans: was.Spans}})
	}
	return append(events, &journal.Event{Type: journal.StepFinished, Step: step.ID, Data: &journal.Data{Output: &was.Output, Spans: was.OutputSpans}})
}

// explain returns the origins of the pieces of the prompt.
func (r *renderer) explain(ctx context.Context, record *journal.RunState) (*Result, error) {
	for i, step := range r.flow.Steps {
		isWhole := step.Call == flow.CallFlow || step.ForEach != nil // the parts inside it are not recorded
		if got := record.Step(step.ID); got != nil && r.given[i] && (isWhole || slices.Contains(r.unknown, step.ID)) {
			got.IsGiven = true
		}
	}
	if whole := record.Step(r.target.ID); r.target.ForEach != nil && record.Step(r.path()) == nil && whole != nil {
		return nil, calls.Errorf(calls.Missing, "the step %s has no items with these values", r.target.ID)
	}
	prompts, err := explain.Explain(ctx, r.flow, record, r.path(), r.options.Counter)
	if err != nil {
		return nil, err
	}
	return &Result{prompts, r.unknown}, nil
}

// guard is between the run and its calls: it refuses calls that reach beyond the run. It is safe for concurrent
// use.
type guard struct {
	// items are the steps whose items have placeholders as their outputs.
	items map[string]bool
}

// Exec returns a placeholder for an item, and refuses a call that is not contained: none should come so far, as steps that use one are given.
func (g guard) Exec(_ context.Context, use *scheduler.CallUse) iter.Seq2[calls.Chunk, error] {
	id, index := journal.SplitPath(use.Path)
	if g.items[id] && index != nil && !use.Inside {
		output := placeholderOf(use.Info.Output.Doc(), use.Path, 0)
		return func(yield func(calls.Chunk, error) bool) { yield(calls.Chunk{Data: &output}, nil) }
	}
	if use.Info.IsContained && !use.Info.Stores && !use.Info.UsesMemory {
		return nil
	}
	return calls.Fail(calls.Errorf(calls.Invalid, "a preview does not run %s", use.Info.Name))
}
