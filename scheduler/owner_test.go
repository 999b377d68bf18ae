package scheduler_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/callnode/scheduler/calls"
	flowcall "github.com/callnode/scheduler/calls/flow"
	"github.com/callnode/scheduler/llm"
	"github.com/callnode/scheduler/llm/scripted"
	"github.com/callnode/scheduler/llm/value"
	"github.com/callnode/scheduler/scheduler"
	"github.com/callnode/scheduler/scheduler/journal"
	"github.com/callnode/scheduler/scheduler/schedulertest"
)

// TestOwner: a run that is bound to a user reaches no other user's memory, in its sub-flows either, and is refused before
// its first step.
func TestOwner(t *testing.T) {
	owned := func(bound bool) schedulertest.Option {
		return schedulertest.Executor(func(e *scheduler.StepExecutor) { e.Owner = scheduler.Owner{User: "lin", Bound: bound} })
	}
	// inside returns a flow whose step runs another one with these inputs, in this memory.
	inside := func(inputs, user string) string {
		return `inputs: {type: object, properties: {who: {type: string, default: lin}}}
steps:
  - {id: first, call: echo, with: {text: lin}}
  - {id: sub, call: flow, for_each: [lin], with: {path: inner.yaml, inputs: ` + inputs + `}}
-- inner.yaml --
inputs: {type: object, properties: {user: {type: string, default: bo}}}
memory: {user: "` + user + `"}
steps: [{id: a, call: echo}]
`
	}
	const another, unknown = `the memory of the flow is that of "bo"`, "whose memory the flow inner works in is not known before the run"
	for name, test := range map[string]struct{ flow, fails string }{
		"its own":                          {"memory: {user: '{{ run.user }}'}\nsteps: [{id: a, call: echo}]", ""},
		"another's":                        {"memory: {user: bo}\nsteps: [{id: a, call: echo}]", another},
		"none":                             {"steps: [{id: a, call: echo}]", ""},
		"an empty one":                     {"memory: {user: \"{{ '' }}\"}\nsteps: [{id: a, call: echo}]", `the memory of the flow is that of ""`},
		"its own in a sub-flow":            {inside("{}", "{{ run.user }}"), ""},
		"another's in a sub-flow":          {inside("{}", "bo"), another},
		"by an input":                      {inside("{user: '{{ run.user }}'}", "{{ inputs.user }}"), ""},
		"by an input of the flow around":   {inside("{user: '{{ inputs.who }}'}", "{{ inputs.user }}"), ""},
		"by all inputs of the flow around": {inside("'{{ {\"user\": inputs.who} }}'", "{{ inputs.user }}"), ""},
		"by the default of an input":       {inside("{}", "{{ inputs.user }}"), another},
		"by the output of a step":          {inside("{user: '{{ first.text }}'}", "{{ inputs.user }}"), unknown},
		"by an item":                       {inside("{user: '{{ item }}'}", "{{ inputs.user }}"), unknown},
		"two deep": {`steps: [{id: sub, call: flow, with: {path: middle.yaml, inputs: {person: bo}}}]
-- middle.yaml --
inputs: {type: object, properties: {person: {type: string}}}
steps: [{id: sub, call: flow, with: {path: inner.yaml, inputs: {user: "{{ inputs.person }}"}}}]
-- inner.yaml --
inputs: {type: object, properties: {user: {type: string}}}
memory: {user: "{{ inputs.user }}"}
steps: [{id: a, call: echo}]
`, another},
	} {
		t.Run(name, func(t *testing.T) {
			var e *scheduler.StepExecutor
			r := schedulertest.Run(t, test.flow, journaled(t), owned(true), captured(&e), schedulertest.With(flowcall.Definition()))
			checkRefusal(t, r, test.fails)
			if info, err := e.Journal.Run(t.Context(), "run-1"); err == nil && info.Labels[journal.LabelOwner] != "lin" {
				t.Errorf("the labels are %v", info.Labels)
			}
			r = schedulertest.Run(t, test.flow, owned(false), schedulertest.With(flowcall.Definition()))
			checkRefusal(t, r, "")
		})
	}
}

// TestRunWithoutUser: a run without a user is refused before its first step if a step that is sure to run works in
// the memory of one; any other continues.
func TestRunWithoutUser(t *testing.T) {
	remembers := schedulertest.Do("remembers", func(context.Context, *calls.Env, value.Value) (any, error) { return value.OfMap(nil), nil })
	info := *remembers.Info
	info.UsesMemory = true
	remembers.Info = &info
	const mine = "memory: {user: '{{ run.user }}'}\nsteps:\n  - {id: first, call: echo, with: {text: hi}}\n"
	const inner = "\n-- inner.yaml --\ninputs: {type: object, properties: {who: {type: string}}}\nmemory: {user: '{{ inputs.who }}'}\nsteps: [{id: b, call: remembers}]\n"
	for name, test := range map[string]struct {
		flow  string
		fails bool
	}{
		"a step":            {mine + "  - {id: a, call: remembers}", true},
		"no memory is used": {mine + "  - {id: a, call: echo}", false},
		"a condition":       {mine + "  - {id: a, call: remembers, when: '{{ run.user }}'}", false},
		"a step that may be skipped with all it needs": {mine + "  - {id: a, call: echo, when: '{{ run.user }}'}\n  - {id: b, call: remembers}", false},
		"a step that needs one more":                   {mine + "  - {id: a, call: echo, when: '{{ run.user }}'}\n  - {id: b, call: remembers, needs: [first, a]}", true},
		"a list without items":                         {mine + "  - {id: a, call: remembers, for_each: []}", false},
		"its failure may be":                           {mine + "  - {id: a, call: remembers, on_error: continue}", false},
		"a sub-flow":                                   {mine + "  - {id: a, call: flow, with: {path: inner.yaml, inputs: {who: '{{ run.user }}'}}}" + inner, true},
		"a sub-flow in the memory of another":          {mine + "  - {id: a, call: flow, with: {path: inner.yaml, inputs: {who: lin}}}" + inner, false},
		"a sub-flow of a user known later":             {mine + "  - {id: a, call: flow, with: {path: inner.yaml, inputs: {who: '{{ first.text }}'}}}" + inner, false},
	} {
		t.Run(name, func(t *testing.T) {
			with := schedulertest.With(flowcall.Definition(), remembers)
			r := schedulertest.Run(t, test.flow, with)
			var failure *scheduler.Failure
			isRefused := errors.As(r.Err, &failure) && len(r.Events) == 0
			switch {
			case isRefused != test.fails, !isRefused && r.Err != nil:
				t.Errorf("after %d events: %v", len(r.Events), r.Err)
			case isRefused && (failure.Info.Kind != calls.Invalid || failure.Info.Hint == "" || !strings.Contains(failure.Info.Position, ".yaml:")):
				t.Errorf("refused with %+v", failure.Info)
			}
			r = schedulertest.Run(t, test.flow, with, schedulertest.Executor(func(e *scheduler.StepExecutor) { e.Owner.User = "lin" }))
			if r.Err != nil {
				t.Errorf("with a user: %v", r.Err)
			}
		})
	}
}

// checkRefusal compares why a run was refused before it began; "" is a run that has ended well.
func checkRefusal(t *testing.T, r *schedulertest.Result, want string) {
	t.Helper()
	if want == "" {
		if r.Err != nil {
			t.Error(r.Err)
		}
		return
	}
	var failure *scheduler.Failure
	if !errors.As(r.Err, &failure) || len(r.Events) > 0 {
		t.Fatalf("after %d events: %v", len(r.Events), r.Err)
	}
	info := failure.Info
	if info.Kind != calls.Invalid || !strings.Contains(info.Message, want) || info.Hint != `write memory: {user: "{{ run.user }}"}` || !strings.Contains(info.Position, ".yaml:") {
		t.Errorf("refused with %+v, want %q", info, want)
	}
}

// TestModelUse: the end of a step has the model that it asked, how often, and how long it waited for the first
// token.
func TestModelUse(t *testing.T) {
	now := schedulertest.Now
	model := scripted.New(scripted.Answer{Text: "hi", Usage: &llm.Usage{InputTokens: 1, OutputTokens: 1}})
	r := schedulertest.Run(t, `steps: [{id: a, call: ask, with: {prompt: x}}, {id: b, call: echo}]`,
		schedulertest.Executor(func(e *scheduler.StepExecutor) {
			e.Models = func([]string) ([]llm.Candidate, error) {
				return []llm.Candidate{{Name: "local", Model: "small", Provider: model}}, nil
			}
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
