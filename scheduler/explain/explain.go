// Package explain finds the source of every piece of a prompt. [Explain] reads a flow and the record of a run, and
// returns the prompts of a step piece by piece: the line of the flow, the input, the file, the memory or the model
// answer that each was taken from, and the parts that were left out. For example in "Answer Lyon" the word "Lyon"
// leads to the input inputs.town and the rest to a line of the flow.
//
// A call that makes a prompt describes its pieces as [calls.Part]s with [calls.Origin]s; the journal keeps them in
// the output of the step, and in [journal.Prompt] for the prompts that the step sent. From there this package goes
// back through the parameters of steps and the templates of the flow; each station on that way is a [Source]
// (source.go).
package explain

import (
	"cmp"
	"context"
	"regexp"
	"slices"
	"strings"

	"github.com/callnode/scheduler/calls"
	"github.com/callnode/scheduler/llm"
	"github.com/callnode/scheduler/llm/value"
	"github.com/callnode/scheduler/llm/value/wording"
	"github.com/callnode/scheduler/scheduler/flow"
	"github.com/callnode/scheduler/scheduler/journal"
)

var itemIndex = regexp.MustCompile(`\[\d+\]`)

// Explain returns the prompts of a step with the source of each piece, in the order in which they were sent. For a
// step that asks no model, it returns the prompt that the step built. It follows the flow's own references:
// parameters that are one expression to the output they name, templates piece by piece, outputs with provenance
// (parts, trace) part by part, inputs of a sub-flow to the step that gave them. It reads only the record of the
// run, so that a run of last week is explained like one of today. If the path of a flow was known only in the run,
// for example {{ inputs.path }}, its prompts have the step as their only source.
//
// earlier are the flows that the run had before it was edited: each step is explained by the flow that it ran
// with.
//
// The error is of kind NotFound if neither the flow nor the run has the step, and of kind Missing if it has no
// prompt, or has none yet.
func Explain(ctx context.Context, f *flow.Flow, record *journal.RunState, step string, counter llm.Counter, earlier ...EarlierFlow) ([]*Explanation, error) {
	got := record.Step(step)
	if got == nil || got.Attempts == 0 {
		return nil, notRun(f, record, step)
	}
	x := newExplainer(ctx, f, record, counter, earlier)
	at := x.siteOf(got)
	var all []*Explanation
	inside := record.StepsInside(got)
	for _, in := range inside {
		all = append(all, x.explainSent(site{at.frame, at.step, in})...)
	}
	if input, ok := x.explainBuilt(at, inside); ok {
		all = append(all, input)
	}
	all = append(all, x.explainSent(at)...)
	beside := x.explainBeside(at)
	for i := range beside {
		x.placer.placeAll(beside[i].Pieces)
	}
	for i, e := range all {
		if e.isSent {
			e.Beside = beside
		}
		for _, m := range e.Messages {
			x.placer.placeAll(m.Pieces)
		}
		e.Edited = e.editedFiles(f, x.usedEarlier)
		if e.Total == 0 {
			e.Total, e.CountedBy = e.Tokens+len(e.Messages)*llm.MessageOverhead, ByEstimate
		}
		e.Unrecorded = x.unrecorded
		if i == 0 || e.Shared > len(all[i-1].Messages) {
			e.Shared = 0
		}
	}
	if len(all) > 0 {
		all[len(all)-1].LeftOut = append(all[len(all)-1].LeftOut, x.leftOut...)
		return all, nil
	}
	err := calls.Errorf(calls.Missing, "the step %s (%s) asked no model and built no prompt", step, got.Call)
	if len(got.Items) > 0 {
		return nil, err.WithHint("it ran for several items: name one, as in %s", got.Items[0].ID)
	}
	for _, other := range record.Steps {
		if strings.HasPrefix(other.ID, step+"/") {
			return nil, err.WithHint("it ran steps of its own: name one, as in %s", other.ID)
		}
	}
	return nil, err
}

// notRun returns the error for a step that did not run.
func notRun(flow *flow.Flow, record *journal.RunState, id string) error {
	_, exists := flow.FindStep(id)
	ids := make([]string, 0, len(flow.Steps)+len(record.Steps))
	for _, s := range record.Steps {
		if s.Attempts > 0 && itemIndex.ReplaceAllString(s.ID, "") == id {
			return calls.Errorf(calls.NotFound, "there is no single step %s", id).
				WithHint("it ran for several items: name one, as in %s", s.ID)
		}
		ids = append(ids, s.ID)
	}
	st := record.Step(id)
	if st != nil && st.State == journal.StepStatusSkipped {
		return calls.Errorf(calls.Missing, "the step %s was skipped: %s", id, wording.Of(st.Reason))
	}
	if exists && record.State == journal.RunFinished { // a run that is not finished can go on
		return calls.Errorf(calls.Missing, "the step %s did not run", id)
	}
	if exists {
		return calls.Errorf(calls.Missing, "the step %s has not run yet", id)
	}
	for _, s := range flow.Steps {
		if !slices.Contains(ids, s.ID) {
			ids = append(ids, s.ID)
		}
	}
	err := calls.Errorf(calls.NotFound, "the run has no step %q", id)
	if hint := value.DidYouMeanOrList(id, ids); hint != "" {
		return err.WithHint("%s", hint)
	}
	return err
}

// LastPrompt returns the step whose prompt is shown when none is named: the last step that asked the model, in the
// order of the flow and of the flows in it, else the last step that put out a prompt. It returns "" if there is no
// such step.
func LastPrompt(flow *flow.Flow, record *journal.RunState) string {
	asked, built := lastPrompt(flow, record, "")
	if asked != "" {
		return asked
	}
	return built
}

// lastPrompt looks in a flow whose steps have the prefix in the record.
func lastPrompt(flow *flow.Flow, record *journal.RunState, prefix string) (asked, built string) {
	for _, s := range slices.Backward(flow.Steps) {
		got := record.Step(prefix + s.ID)
		if got == nil {
			continue
		}
		runs := []*journal.StepState{got}
		if s.ForEach != nil {
			runs = got.Items
		}
		for _, run := range slices.Backward(runs) {
			inAsked, inBuilt := lastInside(s, run, record)
			if built == "" {
				built = inBuilt
			}
			if inAsked != "" {
				return inAsked, built
			}
		}
	}
	return "", built
}

// lastInside looks in a step, or in one of its items, and in the steps that it ran.
func lastInside(s *flow.Step, got *journal.StepState, record *journal.RunState) (asked, built string) {
	builds := len(finalPrompt(s, got)) > 0 || len(got.Prompts) > 0
	switch info := s.Def.Info; {
	case info.UsesLLM && !info.LLMOptional && builds:
		return got.ID, ""
	case s.Sub != nil:
		asked, built = lastPrompt(s.Sub, record, got.ID+"/")
	default: // a flow that is known only when it runs
		for _, inner := range slices.Backward(record.Steps) {
			if strings.HasPrefix(inner.ID, got.ID+"/") && inner.Input.Map().Len() > 0 && len(finalPrompt(nil, inner)) > 0 {
				if inner.Usage.Total() > 0 {
					return inner.ID, ""
				}
				built = cmp.Or(built, inner.ID)
			}
		}
	}
	if built == "" && builds {
		built = got.ID
	}
	return asked, built
}
