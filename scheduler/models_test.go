package scheduler_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/callnode/scheduler/calls"
	"github.com/callnode/scheduler/calls/agent"
	flowcall "github.com/callnode/scheduler/calls/flow"
	"github.com/callnode/scheduler/llm"
	"github.com/callnode/scheduler/llm/scripted"
	"github.com/callnode/scheduler/scheduler"
	"github.com/callnode/scheduler/scheduler/journal"
	"github.com/callnode/scheduler/scheduler/schedulertest"
)

// providers answers every name by a provider that says its name, except the given ones.
func providers(given map[string]llm.Provider) schedulertest.Option {
	return schedulertest.Executor(func(e *scheduler.StepExecutor) {
		e.Models = func(names []string) ([]llm.Candidate, error) {
			if len(names) == 0 {
				names = []string{"usual"}
			}
			var list []llm.Candidate
			for _, name := range names {
				p := given[name]
				if p == nil {
					p = scripted.Texts(slices.Repeat([]string{name}, 9)...)
				}
				if name == "unknown" {
					return nil, calls.Errorf(calls.Invalid, "there is no provider unknown")
				}
				list = append(list, llm.Candidate{Name: name, Model: "m-" + name, Provider: p})
			}
			return list, nil
		}
	})
}

// TestWhoAnswers: the step's word counts before the flow's, and that before the one of the step around it.
func TestWhoAnswers(t *testing.T) {
	for name, test := range map[string]struct{ flow, want string }{
		"nobody names one": {`{name: x, steps: [{id: a, call: ask, with: {prompt: hi}}]}`, `{"a":{"text":"usual"}}`},
		"the flow":         {`{name: x, llm: main, steps: [{id: a, call: ask, with: {prompt: hi}}]}`, `{"a":{"text":"main"}}`},
		"the step":         {`{name: x, llm: main, steps: [{id: a, call: ask, llm: [fast, main], with: {prompt: hi}}]}`, `{"a":{"text":"fast"}}`},
		"around a sub-flow": {`
name: x
steps: [{id: a, call: flow, llm: fast, with: {path: in.yaml}}]
-- in.yaml --
{name: in, steps: [{id: b, call: ask, with: {prompt: hi}}, {id: c, call: ask, llm: own, with: {prompt: hi}}]}
`, `{"a":{"c":{"text":"own"}}}`},
		"in a sub-flow": {`
name: x
steps: [{id: a, call: flow, llm: fast, with: {path: in.yaml}}]
-- in.yaml --
{name: in, llm: inner, steps: [{id: b, call: ask, with: {prompt: hi}}]}
`, `{"a":{"b":{"text":"inner"}}}`},
		"inherited": {`
name: x
steps: [{id: a, call: flow, llm: fast, with: {path: in.yaml}}]
-- in.yaml --
{name: in, steps: [{id: b, call: ask, with: {prompt: hi}}]}
`, `{"a":{"b":{"text":"fast"}}}`},
	} {
		t.Run(name, func(t *testing.T) {
			r := schedulertest.Run(t, test.flow, providers(nil), schedulertest.With(flowcall.Definition()))
			if r.Err != nil || r.Outputs.JSON() != test.want {
				t.Errorf("%s, %v, want %s", r.Outputs, r.Err, test.want)
			}
		})
	}
	r := schedulertest.Run(t, `{name: x, steps: [{id: a, call: ask, llm: unknown, with: {prompt: hi}}]}`, providers(nil))
	if kindOf(t, r.Err) != calls.Invalid || !strings.Contains(r.Err.Error(), "no provider unknown") {
		t.Errorf("an unknown name: %v", r.Err)
	}
}

// TestFallback: the next provider is asked, the run reports it, and the cost of each is recorded.
func TestFallback(t *testing.T) {
	main := scripted.New(scripted.Answer{
		Deltas: []llm.Delta{{Reasoning: "hm", Usage: &llm.Usage{InputTokens: 7, OutputTokens: 2, Cost: 0.5}}},
		Error:  &llm.Error{Provider: "main", Status: 503, Temporary: true},
	})
	backup := scripted.New(scripted.Answer{Text: "yes", Usage: &llm.Usage{InputTokens: 5, OutputTokens: 1, Cost: 0.25}})
	r := schedulertest.Run(t, `{name: x, steps: [{id: a, call: ask, llm: [main, backup], with: {prompt: hi}}]}`,
		providers(map[string]llm.Provider{"main": main, "backup": backup}))
	if r.Err != nil || r.Outputs.JSON() != `{"a":{"text":"yes"}}` {
		t.Fatalf("%s, %v", r.Outputs, r.Err)
	}
	var warned string
	var use *journal.ModelUse
	for _, ev := range r.Events {
		switch ev.Type { //nolint:exhaustive // two tell of the tries
		case journal.StepWarning:
			warned = ev.Data.Code + ": " + ev.Data.Text
		case journal.StepFinished:
			use = ev.Data.LLM
		}
	}
	if want := "provider: provider main: HTTP 503; the provider backup is asked instead"; warned != want {
		t.Errorf("the warning is %q, want %q", warned, want)
	}
	if use == nil {
		t.Fatal("no use of models is on record")
	}
	use.FirstTokenMS = nil
	got, _ := json.Marshal(use)
	const want = `{"provider":"backup","model":"m-backup","requests":2,"shares":[` +
		`{"provider":"main","model":"m-main","requests":1,"usage":{"input_tokens":7,"output_tokens":2,"cost":0.5},"failed":1,"error":"provider main: HTTP 503"},` +
		`{"provider":"backup","model":"m-backup","requests":1,"usage":{"input_tokens":5,"output_tokens":1,"cost":0.25}}]}`
	if diff := cmp.Diff(want, string(got)); diff != "" {
		t.Error(diff)
	}
	if r.Usage.Total() != 15 || r.Usage.Cost != 0.75 {
		t.Errorf("the run counts %+v", r.Usage)
	}
}

// TestFallbackInTheMiddle: an answer that breaks off is given by the next provider, unless the user has read the beginning.
func TestFallbackInTheMiddle(t *testing.T) {
	for _, c := range []struct {
		name, step string
		want       string // "": the run fails
	}{
		{"no user reads it", "", `{"a":{"text":"yes"}}`},
		{"the user has read it", "to_user: true, ", ""},
	} {
		main := scripted.New(scripted.Answer{Deltas: []llm.Delta{{Text: "well"}}, Error: &llm.Error{Temporary: true, Message: "broken"}})
		backup := scripted.Texts("yes")
		r := schedulertest.Run(t, `{name: x, steps: [{id: a, call: ask, `+c.step+`llm: [main, backup], with: {prompt: hi}}]}`,
			providers(map[string]llm.Provider{"main": main, "backup": backup}))
		if isFailed := r.Err != nil; isFailed != (c.want == "") || c.want != "" && r.Outputs.JSON() != c.want {
			t.Errorf("%s: %s, %v", c.name, r.Outputs.JSON(), r.Err)
		}
		said := ""
		for _, e := range r.Events {
			if e.Type == journal.StepDelta {
				said += e.Data.Text
			}
		}
		if c.want != "" && strings.Contains(said, "well") {
			t.Errorf("%s: the events have %q", c.name, said)
		}
	}
}

// TestFallbackAndRetry: each attempt of a step begins with the first provider, and a step that retries sends each request once.
func TestFallbackAndRetry(t *testing.T) {
	down := scripted.Answer{Error: &llm.Error{Status: 503, Temporary: true}}
	main, backup := scripted.New(down, scripted.Answer{Text: "main"}), scripted.New(down)
	r := schedulertest.Run(t, `{name: x, llm: [main, backup], steps: [{id: a, call: ask, retry: {max_attempts: 2}, with: {prompt: hi}}]}`,
		providers(map[string]llm.Provider{"main": main, "backup": backup}))
	if r.Err != nil || r.Outputs.JSON() != `{"a":{"text":"main"}}` || len(backup.Requests()) != 1 {
		t.Errorf("%s, %v after %d requests to the second", r.Outputs, r.Err, len(backup.Requests()))
	}
}

// TestToolsWithProviders: llm of an agent's tool is for the tool, not for the agent.
func TestToolsWithProviders(t *testing.T) {
	use := func(name, arguments string) scripted.Answer {
		return scripted.Answer{ToolCalls: []llm.ToolCall{{ID: "1", Name: name, Arguments: arguments}}}
	}
	big := scripted.New(use("ask", `{"prompt": "hi"}`), use("in", `{}`), scripted.Answer{Text: "done"})
	r := schedulertest.Run(t, `
name: x
llm: big
steps:
  - id: a
    call: agent
    with:
      prompt: Go.
      tools:
        calls: [{call: ask, llm: small}]
        flows: [{path: in.yaml, llm: [small, big]}]
-- in.yaml --
{name: in, steps: [{id: b, call: ask, with: {prompt: hi}}]}
`, providers(map[string]llm.Provider{"big": big}), schedulertest.With(agent.Definition(), flowcall.Definition()))
	if r.Err != nil {
		t.Fatal(r.Err)
	}
	rounds, _ := r.Outputs.At("/a/rounds")
	if got := rounds.JSON(); !strings.Contains(got, `"result":"small"`) || !strings.Contains(got, `{\"b\":{\"text\":\"small\"}}`) {
		t.Errorf("the tools gave %s", got)
	}
}
