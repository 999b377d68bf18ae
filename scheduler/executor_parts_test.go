package scheduler_test

import (
	"context"
	"encoding/json"
	"iter"
	"slices"
	"testing"
	"time"

	"github.com/callnode/scheduler/calls"
	"github.com/callnode/scheduler/llm"
	"github.com/callnode/scheduler/llm/scripted"
	"github.com/callnode/scheduler/llm/value"
	"github.com/callnode/scheduler/plugins"
	"github.com/callnode/scheduler/scheduler"
	"github.com/callnode/scheduler/scheduler/journal"
	"github.com/callnode/scheduler/scheduler/schedulertest"
)

func TestInvoke(t *testing.T) {
	object := func(json string) value.Value {
		v, err := value.ParseJSON([]byte(json))
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
	byName := map[string]calls.Definition{}
	for _, def := range append(testCalls(), schedulertest.Fakes()...) {
		byName[def.Info.Name] = def
	}
	for _, tc := range []struct {
		call, params, want string
		kind               calls.Kind
	}{
		{"echo", `{"a": 1.50}`, `{"a":1.50}`, ""},
		{"say", `{"text": ["a", "b"]}`, `{"text":"ab"}`, ""},
		{"typed", `{"count": "x"}`, "", calls.Invalid},
		{"typed", `{"count": -1}`, "", calls.Internal},
		{"fail", `{"kind": "provider"}`, "", calls.Provider},
		{"panic", `{"at": "chunk"}`, "", calls.Internal},
	} {
		output, err := scheduler.Invoke(t.Context(), byName[tc.call], object(tc.params), calls.NewEnv())
		switch {
		case err != nil && calls.KindOf(err) != tc.kind, err == nil && (tc.kind != "" || output.JSON() != tc.want):
			t.Errorf("%s %s gives %s, %v", tc.call, tc.params, output, err)
		}
	}
}

// remembering is a memory that counts how often it is asked.
type remembering struct{ asked int }

func (m *remembering) Recent(context.Context, calls.Scope, int) ([]plugins.Turn, error) {
	return []plugins.Turn{{Role: "user", Content: "before"}}, nil
}

func (m *remembering) Retrieve(_ context.Context, _ calls.Scope, query string, _ int) ([]plugins.Recalled, error) {
	m.asked++
	return []plugins.Recalled{{Text: "about " + query}}, nil
}

func TestResolverSeesTheDialogue(t *testing.T) {
	var state plugins.State
	var found []plugins.Recalled
	memory := &remembering{}
	r := schedulertest.Run(t, `
name: x
language: zh
memory: {user: "{{ inputs.user }}", session: s}
steps: [{id: a, call: echo, with: {x: "{{ vars.x }}"}}]
`, schedulertest.Inputs(`{"question": "why", "user": "ada"}`),
		schedulertest.Resolver(plugins.ResolverFunc(func(ctx context.Context, s plugins.State, _ string) (any, error) {
			state = s
			for range 2 {
				var err error
				found, err = s.Retrieve(ctx)
				if err != nil {
					return nil, err
				}
			}
			return 1, nil
		}), "x"),
		schedulertest.Executor(func(e *scheduler.StepExecutor) { e.Env.Memory = memory }))
	if r.Err != nil {
		t.Fatal(r.Err)
	}
	if state.Input != "why" || state.User != "ada" || state.Session != "s" || state.Language != "zh" ||
		!state.Now.Equal(schedulertest.Now) || string(state.Vars["user"]) != `"ada"` || len(state.History) != 1 {
		t.Errorf("the resolver sees %+v", state)
	}
	if memory.asked != 1 || len(found) != 1 || found[0].Text != "about why" {
		t.Errorf("asked %d times, found %v", memory.asked, found)
	}
}

// Resolvers search memories and ask the model; the cost counts for the step. The flow's own templates belong to no
// step, so nothing is counted there.
func TestResolverSearchesAndAsks(t *testing.T) {
	var outside plugins.State
	r := schedulertest.Run(t, `
name: x
memory: {user: ada}
steps: [{id: a, call: echo, with: {x: "{{ vars.x }}"}}]
outputs: {a: "{{ a.x }}", y: "{{ vars.y }}"}
`, schedulertest.Inputs(`{"question": "why"}`), schedulertest.LLM(scripted.Texts("because")),
		schedulertest.Resolver(plugins.ResolverFunc(func(ctx context.Context, s plugins.State, _ string) (any, error) {
			found, err := s.Search(ctx, "tea", 1)
			if err != nil {
				return nil, err
			}
			answer, err := s.Ask(ctx, plugins.Prompt{Messages: []json.RawMessage{llm.TextMessage("user", found[0].Text)}})
			return answer.Text + " of what is " + found[0].Text, err
		}), "x"),
		schedulertest.Resolver(plugins.ResolverFunc(func(_ context.Context, s plugins.State, _ string) (any, error) {
			outside = s
			return 1, nil
		}), "y"),
		schedulertest.Executor(func(e *scheduler.StepExecutor) { e.Env.Memory = &remembering{} }))
	if want := `{"a":"because of what is about tea","y":1}`; r.Err != nil || r.Outputs.JSON() != want {
		t.Fatalf("%s, %v, want %s", r.Outputs, r.Err, want)
	}
	if outside.Ask != nil || outside.Search == nil {
		t.Error("the outputs may ask a model, or search nothing")
	}
	for _, ev := range r.Events {
		if ev.Type == journal.StepFinished && ev.Data.Usage == nil {
			t.Errorf("what the resolver asked cost the step nothing: %s", schedulertest.Line(ev))
		}
	}
}

func TestProviderOfTheFlow(t *testing.T) {
	r := schedulertest.Run(t, `{name: x, llm: second, steps: [{id: a, call: ask, with: {prompt: hi}}]}`,
		schedulertest.Executor(func(e *scheduler.StepExecutor) {
			e.Models = func(names []string) ([]llm.Candidate, error) {
				if slices.Equal(names, []string{"second"}) {
					return []llm.Candidate{{Name: "second", Provider: scripted.Texts("from the second")}}, nil
				}
				return nil, calls.Errorf(calls.NotFound, "no provider %s", names)
			}
		}))
	if want := `{"a":{"text":"from the second"}}`; r.Err != nil || r.Outputs.JSON() != want {
		t.Errorf("%s, %v, want %s", r.Outputs, r.Err, want)
	}
}

func TestUsageOfToolsAndParts(t *testing.T) {
	call := schedulertest.Call("chat", func(ctx context.Context, env *calls.Env, _ value.Value) iter.Seq2[calls.Chunk, error] {
		return calls.Do(func() (any, error) {
			for _, err := range env.LLM.Chat(ctx, &llm.Request{
				Messages: []llm.Message{
					[]byte(`{"role":"user","content":[{"type":"text","text":"12345678"},{"type":"image_url","image_url":{"url":"data:..."}}]}`),
					[]byte(`{"role":"assistant","content":null,"tool_calls":[{"a":"12345678"}]}`),
					[]byte(`no json`),
				},
				Tools: []json.RawMessage{[]byte(`{"name":"abc"}`)},
			}) {
				if err != nil {
					return nil, err
				}
			}
			return map[string]any{}, nil
		})
	})
	r := schedulertest.Run(t, `{name: x, steps: [{id: a, call: chat}]}`, schedulertest.With(call), schedulertest.LLM(scripted.New(
		scripted.Answer{ToolCalls: []llm.ToolCall{{ID: "1", Name: "tool", Arguments: `{"x":1}`}}},
	)))
	// 3 messages of 4 and their texts of 2, 5 and 2, an image, a tool of 4; "tool" and its arguments.
	if want := (llm.Usage{InputTokens: 25 + llm.ImageTokens, OutputTokens: 3}); r.Err != nil || r.Usage != want {
		t.Errorf("the usage is %+v, %v, want %+v", r.Usage, r.Err, want)
	}
}

func TestSleepEndsWithTheRun(t *testing.T) {
	flow := schedulertest.Load(t, `{name: x, steps: [{id: a, call: fail, with: {kind: plugin}, retry: {max_attempts: 9, initial_interval: 1ms, max_interval: 1h, multiplier: 1000000}}]}`)
	ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
	defer cancel()
	attempts := 0
	for ev := range (&scheduler.StepExecutor{}).Run(ctx, flow, value.Value{}) {
		if ev != nil && ev.Type == journal.StepRetrying {
			if attempts++; attempts == 2 { // the second wait is a long one
				cancel()
			}
		}
	}
	if attempts != 2 {
		t.Errorf("%d attempts were tried again", attempts)
	}
}
