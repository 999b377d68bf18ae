package agent_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/callnode/scheduler/calls"
	"github.com/callnode/scheduler/calls/agent"
	"github.com/callnode/scheduler/calls/callstest"
	"github.com/callnode/scheduler/llm"
	"github.com/callnode/scheduler/llm/scripted"
	"github.com/callnode/scheduler/llm/value"
)

func TestConformance(t *testing.T) { callstest.Run(t, agent.Definition()) }

func TestLoop(t *testing.T) {
	w := &world{t: t}
	first := uses("Let me look.", "weather", `{"city": "Lyon"}`)
	first.Deltas = []llm.Delta{{Text: "<think>hm</think>"}, {Reasoning: "I need it.", ReasoningMember: "reasoning_content"}, {Extra: map[string]json.RawMessage{"note": json.RawMessage("1")}}}
	first.ToolCalls[0].Extra = map[string]json.RawMessage{"sig": json.RawMessage(`"s"`)}
	p := scripted.New(first, says("18 degrees."))
	r := run(t.Context(), t, w, p, "{system: Be kind., prompt: How is it, model: m, temperature: 0.5, extra: {top_k: 3}, tools: {calls: [{call: weather, with: {unit: C}}]}}")
	if r.err != nil {
		t.Fatal(r.err)
	}
	if diff := cmp.Diff([]string{"Let me look.", "", "\n\n18 degrees.", ""}, r.texts); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]string{`weather {"city":"Lyon","unit":"C"}`}, w.ran); diff != "" {
		t.Error(diff)
	}
	want := agent.Output{
		Text: "18 degrees.", FinishReason: "stop", Usage: llm.Usage{InputTokens: 20, OutputTokens: 10},
		Rounds: []agent.Round{
			{Text: "Let me look.", FinishReason: "tool_calls", Usage: llm.Usage{InputTokens: 10, OutputTokens: 5},
				ToolCalls: []agent.Use{{ID: "c0", Name: "weather", Arguments: `{"city": "Lyon"}`, Result: `{"degrees":18}`}}},
			{Text: "18 degrees.", FinishReason: "stop", Usage: llm.Usage{InputTokens: 10, OutputTokens: 5}, ToolCalls: []agent.Use{}},
		},
	}
	messages := r.Messages
	r.Messages = nil
	if diff := cmp.Diff(want, r.Output); diff != "" {
		t.Error(diff)
	}
	const conversation = `[{"role":"system","content":"Be kind."},{"role":"user","content":"How is it"},` +
		`{"role":"assistant","content":"Let me look.","tool_calls":[{"id":"c0","type":"function","function":{"name":"weather","arguments":"{\"city\": \"Lyon\"}"},"sig":"s"}],"note":1,"reasoning_content":"I need it."},` +
		`{"role":"tool","tool_call_id":"c0","name":"weather","content":"{\"degrees\":18}"},{"role":"assistant","content":"18 degrees."}]`
	if diff := cmp.Diff(conversation, value.Must(messages).JSON()); diff != "" {
		t.Error(diff)
	}
	req := p.Requests()[1]
	if req.Model != "m" || *req.Temperature != 0.5 || string(req.Extra["top_k"]) != "3" || req.Extra["tool_choice"] != nil || len(req.Messages) != 4 {
		t.Errorf("got %+v", req)
	}
	const definition = `{"type":"function","function":{"name":"weather","description":"Does weather.","parameters":{"type":"object","additionalProperties":false,` +
		`"properties":{"city":{"type":"string"},"deep":{"type":"object","required":["a","b"],"properties":{"a":{"type":"integer"},"b":{"type":"integer"}}}},"required":["city"]}}}`
	if diff := cmp.Diff(definition, string(req.Tools[0])); diff != "" {
		t.Error(diff)
	}
}

// The model gets the errors of tools.
func TestToolErrors(t *testing.T) {
	w := &world{t: t, fail: map[string]error{"text": calls.Errorf(calls.Provider, "it is closed").WithHint("come back")}}
	p := scripted.New(uses("", "wether", "{}", "zzz", "{}", "weather", "{", "weather", `{"city": 5}`, "weather", `[]`, "weather", `{"city": "x", "unit": "K"}`, "text", ""), says("sorry"))
	r := run(t.Context(), t, w, p, "{prompt: x, tools: {calls: [{call: weather, with: {unit: C}}, {call: text}]}}")
	if r.err != nil {
		t.Fatal(r.err)
	}
	wants := []struct{ kind, text string }{
		{"notfound", `did you mean \"weather\"?`},
		{"notfound", "there are weather, text"},
		{"invalid", "the arguments are not JSON"},
		{"invalid", "/city: want string, got integer"},
		{"invalid", "want object, got array"},
		{"invalid", "/unit"},
		{"provider", `{"error":{"kind":"provider","message":"it is closed","hint":"come back"}}`},
	}
	for i, want := range wants {
		use := r.Rounds[0].ToolCalls[i]
		if use.Error != want.kind || !strings.Contains(use.Result, want.text) {
			t.Errorf("%d: got %+v, want %v", i, use, want)
		}
	}
	if len(w.ran) != 1 || r.Text != "sorry" || len(r.Messages) != 2+len(wants)+1 {
		t.Errorf("ran %v; %s", w.ran, r.Text)
	}
}

// A hint that is in the message already is not repeated.
func TestHintOnce(t *testing.T) {
	own := calls.Errorf(calls.Invalid, "it is closed").WithHint("come back")
	w := &world{t: t, fail: map[string]error{"a.yaml": fmt.Errorf("step x: %w (come back)", own)}}
	r := run(t.Context(), t, w, scripted.New(uses("", "a", "{}"), says("sorry")), "{prompt: x, tools: {flows: [{path: a.yaml}]}}")
	want := `{"error":{"kind":"invalid","message":"step x: it is closed","hint":"come back"}}`
	if r.err != nil || r.Rounds[0].ToolCalls[0].Result != want {
		t.Errorf("got %+v", r)
	}
}

func TestResults(t *testing.T) {
	r := run(t.Context(), t, &world{t: t}, scripted.New(uses("", "text", "{}"), says("ok")), "{prompt: x, max_result_bytes: 256, tools: {calls: [{call: text}]}}")
	want := strings.Repeat("雨", 85) + "\n[cut: these are the first 255 of 600 bytes]"
	if got := r.Rounds[0].ToolCalls[0].Result; got != want {
		t.Errorf("got %q", got)
	}
}

// Messages from outside are repaired before they are sent, with a warning for each message that is left out.
func TestRepairedMessages(t *testing.T) {
	r := run(t.Context(), t, &world{t: t}, scripted.New(says("ok")), `{messages: [{content: x}, {role: user, content: hi}, {role: tool, tool_call_id: gone, content: late}, {role: user, content: now}]}`)
	if r.err != nil || len(r.Messages) != 3 {
		t.Fatalf("got %+v", r)
	}
	want := []string{"messages[0]: the message is left out: it has no role", `messages[2]: the tool result is left out: no message before it calls "gone"`}
	if !slices.Equal(r.Warnings, want) {
		t.Errorf("the warnings are %q", r.Warnings)
	}
	if got := value.OfMap(r.Messages[1]).JSON(); got != `{"role":"user","content":"now"}` {
		t.Errorf("the second message is %s", got)
	}
}
