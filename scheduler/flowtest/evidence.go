package flowtest

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/callnode/scheduler/calls"
	"github.com/callnode/scheduler/llm"
	"github.com/callnode/scheduler/llm/value"
	"github.com/callnode/scheduler/scheduler"
	"github.com/callnode/scheduler/scheduler/explain"
	"github.com/callnode/scheduler/scheduler/flow"
	"github.com/callnode/scheduler/scheduler/flowtest/check"
	"github.com/callnode/scheduler/scheduler/flowtest/result"
	"github.com/callnode/scheduler/scheduler/journal"
)

// newEvidence returns the evidence that checks look at.
func (a *attempt) newEvidence(e *scheduler.StepExecutor, inputs value.Value) *check.Evidence {
	c, o := a.of, &a.of.suite.runner.options
	if c.Flow.Inputs != nil {
		inputs = c.Flow.Inputs.ApplyDefaults(inputs)
	}
	evidence := &check.Evidence{
		Case: c.ID(), Language: o.Language, Flow: c.Flow, Record: a.record, Events: a.events, Requests: a.requests.byStep(), Inputs: inputs, Row: c.RowValue, MemoryNames: c.MemoryNames,
		Provider: strings.Join(a.providers(c.Flow.LLM), llm.NameSeparator), FileName: c.suite.NameOf, FlowName: flowOf(c.Variant),
		PriceKnown: a.sessions.isPriced(a.record.Usage), MS: a.sessions.ms(), Currency: o.Models.Currency,
		Other: func(ctx context.Context, need check.Need) (*check.Evidence, error) {
			return c.suite.other(ctx, c, need)
		},
		Services: &check.Services{
			Provider: a.judge,
			Tokens:   e.Env.Tokens, Languages: o.Languages, Snapshots: c.suite.snapshots, Mask: o.Hidden.MaskText, Registry: e.Loader.Registry,
		},
	}
	if o.Mode == result.Live {
		ms := float64(a.elapsed) / float64(time.Millisecond)
		evidence.MS = &ms
	}
	return evidence
}

// findNeeds marks the cases that checks of others look at.
func (s *suiteRun) findNeeds() {
	for _, c := range s.cases {
		for _, expected := range c.Expect {
			for _, need := range expected.Needs() {
				if other := s.find(c, need); other != nil {
					other.isNeeded = true
				}
			}
		}
	}
}

// find returns the case that a check of another case refers to, preferably of the same row and variant; nil if
// there is none.
func (s *suiteRun) find(c *caseRun, need check.Need) (best *caseRun) {
	most := -1
	for _, other := range s.cases {
		score, ok := likeness(c, other, need)
		if ok && score > most {
			best, most = other, score
		}
	}
	return best
}

// likeness scores how near another case is to the one that a check of c needs. For example, a case of the same row
// scores 2, and 1 more with the same variant.
func likeness(c, other *caseRun, need check.Need) (score int, ok bool) {
	sameRow := (c.Row == nil) == (other.Row == nil) && (c.Row == nil || c.Row.Number == other.Row.Number)
	if sameRow {
		score += 2
	}
	if need.Flow == "" {
		if sameVariant(c.Variant, other.Variant, "") {
			score++
		}
		return score, other.Name == need.Case
	}
	if sameVariant(c.Variant, other.Variant, keyFlow) {
		score++
	}
	for _, s := range other.Variant {
		if s.Key == keyFlow && s.Value == need.Flow {
			return score, other.Name == c.Name && sameRow
		}
	}
	return score, false
}

// flowOf returns the flow that a variant names, or "" if the variant names none.
func flowOf(variant []result.Setting) string {
	for _, s := range variant {
		if s.Key == keyFlow {
			return s.Value
		}
	}
	return ""
}

// keyFlow is the axis of a matrix that names flows.
const keyFlow = "flow"

// sameVariant compares variants, without the axis of a key.
func sameVariant(a, b []result.Setting, without string) bool {
	settings := map[result.Setting]bool{}
	for _, s := range a {
		settings[s] = true
	}
	for _, s := range b {
		if s.Key != without && !settings[s] {
			return false
		}
	}
	return true
}

// other returns the evidence of the first repeat of another case.
func (s *suiteRun) other(ctx context.Context, c *caseRun, need check.Need) (*check.Evidence, error) {
	found := s.find(c, need)
	if found == nil {
		return nil, calls.Errorf(calls.NotFound, "there is no case %q to compare with", need.Case+need.Flow)
	}
	a := found.attempt(ctx, 1)
	if a.problem != nil {
		return nil, calls.Errorf(calls.KindOf(a.problem), "the case %q: %w", found.ID(), a.problem)
	}
	return a.evidence, nil
}

// prompts explains the prompts that the steps of the run sent to models, in the order of the flow.
func (a *attempt) prompts(ctx context.Context) (all []*explain.Explanation) {
	for _, id := range promptSteps(a.of.Flow, a.record, "") {
		prompts, err := a.evidence.Explain(ctx, id)
		if err == nil { // a step may have asked nothing
			all = append(all, prompts...)
		}
	}
	return all
}

// promptSteps lists the steps and items that may have asked a model, in a flow whose step ids begin with the
// prefix.
func promptSteps(f *flow.Flow, record *journal.RunState, prefix string) (ids []string) {
	for _, step := range f.Steps {
		got := record.Step(prefix + step.ID)
		if got == nil {
			continue
		}
		uses := []string{got.ID}
		if step.ForEach != nil {
			uses = itemIDs(got)
		}
		for _, id := range uses {
			if step.Def.Info.UsesLLM {
				ids = append(ids, id)
			}
			if step.Sub != nil {
				ids = append(ids, promptSteps(step.Sub, record, id+"/")...)
			}
		}
	}
	return ids
}

// itemIDs lists the items of a step by their index: they came up in any order.
func itemIDs(s *journal.StepState) []string {
	ids := make([]string, len(s.Items))
	for _, item := range s.Items {
		_, index := journal.SplitPath(item.ID)
		if index != nil && *index < len(ids) {
			ids[*index] = item.ID
		}
	}
	return slices.DeleteFunc(ids, func(id string) bool { return id == "" })
}
