package service

import (
	"context"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/callnode/scheduler/calls"
	"github.com/callnode/scheduler/llm"
	"github.com/callnode/scheduler/llm/value"
	"github.com/callnode/scheduler/llm/value/wording"
	"github.com/callnode/scheduler/scheduler/explain"
	"github.com/callnode/scheduler/scheduler/flow"
	"github.com/callnode/scheduler/scheduler/journal"
)

// Prompts are the prompts of one step of a run. [Service.Prompts] makes them for its caller. `runs show --prompt
// --json` prints them as JSON.
type Prompts struct {
	Step         *journal.StepState     `json:"-"`
	Explanations []*explain.Explanation `json:"prompts"`
}

// WithFileNames returns the prompts with other names for files, as [explain.Explanation.WithFileNames] has it.
func (p *Prompts) WithFileNames(name func(path string) string) *Prompts {
	return p.mapExplanations(func(e *explain.Explanation) *explain.Explanation { return e.WithFileNames(name) })
}

// WithPaths returns the prompts with other names for every path, as [explain.Explanation.WithPaths] has it.
func (p *Prompts) WithPaths(name func(path string) string) *Prompts {
	return p.mapExplanations(func(e *explain.Explanation) *explain.Explanation { return e.WithPaths(name) })
}

// InLanguage returns the prompts for a reader, as [explain.Explanation.InLanguage] has it.
func (p *Prompts) InLanguage(language string) *Prompts {
	return p.mapExplanations(func(e *explain.Explanation) *explain.Explanation { return e.InLanguage(language) })
}

func (p *Prompts) mapExplanations(change func(*explain.Explanation) *explain.Explanation) *Prompts {
	changed := *p
	changed.Explanations = make([]*explain.Explanation, len(p.Explanations))
	for i, e := range p.Explanations {
		changed.Explanations[i] = change(e)
	}
	return &changed
}

// ErrNoPrompt is the error of a run without a prompt to explain.
var ErrNoPrompt = wording.Errorf("no step of the run built a prompt")

// recordedRun is a run with the journal that has it; the journal is nil if the run is in none.
type recordedRun struct {
	journal journal.Journal
	id      string
	flow    *flow.Flow
	earlier []explain.EarlierFlow
	state   *journal.RunState
}

func promptsOf(ctx context.Context, run recordedRun, step string, counter llm.Counter) (*Prompts, error) {
	if step == "" {
		step = explain.LastPrompt(run.flow, run.state)
		if step == "" {
			return nil, ErrNoPrompt
		}
	}
	if child, inner := run.childOf(step); child != "" {
		return nil, calls.Errorf(calls.NotFound, "the step %s is in the run %s, which the run waited for", step, child).
			WithHint("scheduler runs show %s --prompt %s", child, inner)
	}
	all, err := explain.Explain(ctx, run.flow, run.state, step, counter, run.earlier...)
	if err != nil {
		return nil, err
	}
	earlier, from := run.earlierPrompts(ctx, step, counter)
	explain.CompareCaches(all, earlier, from, counter)
	return &Prompts{run.state.Step(step), all}, nil
}

// PromptStep returns the step that makes the prompt of a flow: the last one that asks a model and whose text is
// the user's. It is nil if no step does, or if it does so for each of several items.
func PromptStep(f *flow.Flow) *flow.Step {
	for _, s := range slices.Backward(f.Steps) {
		if s.ToUser && s.Def.Info != nil && s.Def.Info.UsesLLM && s.ForEach == nil {
			return s
		}
	}
	return nil
}

// MadePrompt returns the messages that a step has sent to a model, or would have sent if the run had not stopped
// there: the messages of its longest request, oldest first. There are none if it asked nothing.
func MadePrompt(state *journal.RunState, step string) []value.Value {
	got := state.Step(step)
	if got == nil {
		return nil
	}
	for _, at := range slices.Backward(append([]*journal.StepState{got}, state.StepsInside(got)...)) {
		if n := len(at.Prompts); n > 0 {
			return at.Prompts[n-1].Messages
		}
	}
	if got.LLM == nil || got.LLM.Requests == 0 {
		return nil
	}
	list, _ := got.Input.Get("messages")
	return list.List()
}

// childOf returns the child run that a step is in, and the step's path there; "" if it is in this run.
func (r recordedRun) childOf(step string) (child, inner string) {
	if journal.IsPseudoStep(step) { // the call that fills the parameters of the step is in this run
		return "", ""
	}
	for outer := journal.OuterPath(step); outer != ""; outer = journal.OuterPath(outer) {
		if st := r.state.Step(outer); st != nil && st.Child != "" {
			return st.Child, strings.TrimPrefix(step, outer+"/")
		}
	}
	return "", ""
}

var lastIndex = regexp.MustCompile(`^(.*)\[([0-9]+)\]([^\[]*)$`)

// earlierPrompts returns the prompts that a step has sent before: for the item before, else
// in the run of the flow and session before, whose id from is. There may be none.
func (r recordedRun) earlierPrompts(ctx context.Context, step string, counter llm.Counter) (earlier []*explain.Explanation, from string) {
	if parts := lastIndex.FindStringSubmatch(step); parts != nil {
		if i, err := strconv.Atoi(parts[2]); err == nil && i > 0 {
			before := parts[1] + "[" + strconv.Itoa(i-1) + "]" + parts[3]
			if all, err := explain.Explain(ctx, r.flow, r.state, before, counter, r.earlier...); err == nil {
				return all, ""
			}
		}
	}
	id, state := r.runBefore(ctx)
	if state == nil {
		return nil, ""
	}
	all, err := explain.Explain(ctx, r.flow, state, step, counter)
	if err != nil {
		return nil, "" // it did not come so far
	}
	return all, id
}

// maxRunsBefore limits the runs of others that are skipped.
const maxRunsBefore = 100

// haveSameSession reports whether two runs are of the same user and session, or of none.
func haveSameSession(a, b *journal.RunInfo) bool {
	return a.Labels[journal.LabelOwner] == b.Labels[journal.LabelOwner] && a.Labels[journal.LabelSession] == b.Labels[journal.LabelSession]
}

// runBefore returns the last run of the same flow, user and session; nil if there is none that can be read.
func (r recordedRun) runBefore(ctx context.Context) (id string, state *journal.RunState) {
	if r.journal == nil {
		return "", nil
	}
	info, err := r.journal.Run(ctx, r.id)
	if err != nil {
		return "", nil
	}
	filter := journal.RunFilter{Flow: info.Flow, After: info.Cursor, Limit: maxRunsBefore, Labels: map[string]string{}}
	for _, label := range []string{journal.LabelOwner, journal.LabelSession} {
		if v, ok := info.Labels[label]; ok {
			filter.Labels[label] = v
		}
	}
	for other, err := range r.journal.Runs(ctx, filter) {
		if err != nil {
			return "", nil
		}
		if !haveSameSession(info, other) { // it has a label that this run lacks
			continue
		}
		state, err = journal.Fold(r.journal.Events(ctx, other.ID, 1))
		if err != nil {
			return "", nil
		}
		return other.ID, state
	}
	return "", nil
}
