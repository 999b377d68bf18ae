package scheduler_test

import (
	"testing"
	"time"

	"github.com/callnode/scheduler/calls"
	flowcall "github.com/callnode/scheduler/calls/flow"
	"github.com/callnode/scheduler/llm"
	"github.com/callnode/scheduler/llm/scripted"
	"github.com/callnode/scheduler/scheduler"
	"github.com/callnode/scheduler/scheduler/journal"
	"github.com/callnode/scheduler/scheduler/schedulertest"
)

// TestOwner: a run that is bound to a user reaches no other user's memory, in its
// sub-flows either.
func TestOwner(t *testing.T) {
	lin := func(bound bool) schedulertest.Option {
		return schedulertest.Executor(func(e *scheduler.StepExecutor) { e.Owner = scheduler.Owner{User: "lin", Bound: bound} })
	}
	const inner = `steps: [{id: sub, call: flow, with: {path: inner.yaml}}]
-- inner.yaml --
memory: {user: bo}
steps: [{id: a, call: echo}]
`
	for name, test := range map[string]struct {
		flow  string
		bound bool
		fails bool
	}{
		"its own":                 {"memory: {user: '{{ run.user }}'}\nsteps: [{id: a, call: echo}]", true, false},
		"another's":               {"memory: {user: bo}\nsteps: [{id: a, call: echo}]", true, true},
		"another's of an admin":   {"memory: {user: bo}\nsteps: [{id: a, call: echo}]", false, false},
		"none":                    {"steps: [{id: a, call: echo}]", true, false},
		"another's in a sub-flow": {inner, true, true},
		"a sub-flow of an admin":  {inner, false, false},
		"an empty one":            {"memory: {user: ''}\nsteps: [{id: a, call: echo}]", true, true},
	} {
		t.Run(name, func(t *testing.T) {
			var e *scheduler.StepExecutor
			r := schedulertest.Run(t, test.flow, journaled(t), lin(test.bound), captured(&e), schedulertest.With(flowcall.Definition()))
			if failed := r.Err != nil; failed != test.fails || failed && calls.KindOf(r.Err) != calls.Invalid {
				t.Errorf("the run ends with %v", r.Err)
			}
			if info, err := e.Journal.Run(t.Context(), "run-1"); err == nil && info.Labels[journal.LabelOwner] != "lin" {
				t.Errorf("the labels are %v", info.Labels)
			}
		})
	}
}

// TestModelUse: the end of a step tells which model it asked, how often, and how long
// it waited for the first token.
func TestModelUse(t *testing.T) {
	now := schedulertest.Now
	model := scripted.New(scripted.Answer{Text: "hi", Usage: &llm.Usage{InputTokens: 1, OutputTokens: 1}})
	r := schedulertest.Run(t, `steps: [{id: a, call: ask, with: {prompt: x}}, {id: b, call: echo}]`,
		schedulertest.LLM(model), schedulertest.Executor(func(e *scheduler.StepExecutor) {
			e.Names = func(string) (string, string) { return "local", "small" }
			e.Stopwatch = func() time.Time { now = now.Add(time.Millisecond); return now }
		}))
	if r.Err != nil {
		t.Fatal(r.Err)
	}
	for _, ev := range r.Events {
		if ev.Type != journal.StepFinished {
			continue
		}
		use := ev.Data.LLM
		if ev.Step == "b" && use != nil {
			t.Errorf("%s asked %+v", ev.Step, use)
		}
		if ev.Step == "a" && (use == nil || use.Provider != "local" || use.Model != "small" || use.Requests != 1 || use.FirstTokenMS == nil || *use.FirstTokenMS != 1) {
			t.Errorf("%s asked %+v", ev.Step, use)
		}
	}
}
