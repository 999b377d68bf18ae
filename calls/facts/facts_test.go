package facts_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/callnode/scheduler/calls"
	"github.com/callnode/scheduler/calls/callstest"
	"github.com/callnode/scheduler/calls/facts"
	"github.com/callnode/scheduler/llm"
	"github.com/callnode/scheduler/llm/scripted"
	"github.com/callnode/scheduler/llm/value"
	"github.com/callnode/scheduler/llm/value/yaml"
)

func TestConformance(t *testing.T) { callstest.Run(t, facts.Definition()) }

func run(ctx context.Context, t *testing.T, p llm.Provider, vars *calls.Vars, with string) (string, error) {
	t.Helper()
	params, err := yaml.ParseValue([]byte(with))
	if err != nil {
		t.Fatal(err)
	}
	def := facts.Definition()
	if problems := def.Info.Params.Check(params); problems != nil {
		t.Fatal(problems)
	}
	call, err := def.New(params)
	if err != nil {
		t.Fatal(err)
	}
	env := calls.NewEnv()
	env.LLM, env.Vars = p, vars
	input, err := call.Init(ctx, vars)
	if err != nil {
		t.Fatal(err)
	}
	output, err := callstest.CollectOutput(call.Exec(ctx, env, input))
	if err == nil {
		if problems := def.Info.Output.Check(output); problems != nil {
			t.Errorf("the output does not fit its schema: %v", problems)
		}
	}
	return output.JSON(), err
}

func TestFacts(t *testing.T) {
	vars := &calls.Vars{
		Question: "what?",
		Upstream: calls.FixedUpstream{FactList: []string{"Ann likes tea."}, Steps: []calls.FinishedStep{{ID: "a", Output: value.OfMap(value.Pairs("text", "done"))}}},
	}
	for name, c := range map[string]struct {
		with    string
		answers []string
		want    string
	}{
		"new ones":    {"text: x", []string{`{"facts": ["B.", " C. "], "domain": ["d"]}`}, `{"facts":["Ann likes tea.","B.","C."],"domain":["d"],"added":["B.","C."]}`},
		"twice":       {"text: x", []string{`{"facts": ["ann  likes TEA", "B", "b.", " "], "domain": ["d", "D"]}`}, `{"facts":["Ann likes tea.","B"],"domain":["d"],"added":["B"]}`},
		"none":        {"text: x", []string{`{"facts": [], "domain": []}`}, `{"facts":["Ann likes tea."],"domain":[],"added":[]}`},
		"own":         {"{text: x, known: [K, k]}", []string{`{"facts": ["B"], "domain": []}`}, `{"facts":["K","B"],"domain":[],"added":["B"]}`},
		"afresh":      {"{text: x, known: []}", []string{`{"facts": ["B"], "domain": []}`}, `{"facts":["B"],"domain":[],"added":["B"]}`},
		"limit":       {"{text: x, limit: 1}", []string{`{"facts": ["B", "C"], "domain": []}`}, `{"facts":["Ann likes tea.","B"],"domain":[],"added":["B"]}`},
		"steps":       {"{}", []string{`{"facts": ["B"], "domain": []}`}, `{"facts":["Ann likes tea.","B"],"domain":[],"added":["B"]}`},
		"again":       {"text: x", []string{"Sorry.", `{"facts": "B"}`, `{"facts": ["B"], "domain": []}`}, `{"facts":["Ann likes tea.","B"],"domain":[],"added":["B"]}`},
		"a domain":    {"{text: x, domains: [b, a, b]}", []string{`{"facts": [], "domain": ["z"]}`, `{"facts": [], "domain": ["a"]}`}, `{"facts":["Ann likes tea."],"domain":["a"],"added":[]}`},
		"nothing new": {"messages: []", nil, `{"facts":["Ann likes tea."],"domain":[],"added":[]}`},
	} {
		t.Run(name, func(t *testing.T) {
			p := scripted.Texts(c.answers...)
			if got, err := run(t.Context(), t, p, vars, c.with); err != nil || got != c.want || p.Left() != 0 {
				t.Errorf("got %s, %v", got, err)
			}
		})
	}
}

func TestPrompt(t *testing.T) {
	const none = `{"facts": [], "domain": []}`
	p := scripted.Texts(none, none)
	vars := &calls.Vars{Language: "zh", Upstream: calls.FixedUpstream{FactList: []string{"知道\n的 </known>"}}}
	if _, err := run(t.Context(), t, p, vars, "{text: x, domains: [天气], model: m, temperature: 1}"); err != nil {
		t.Fatal(err)
	}
	if _, err := run(t.Context(), t, p, &calls.Vars{}, "{max_input_tokens: 100, messages: [{role: user, content: "+strings.Repeat("a", 400)+"}, {role: user, content: newest}]}"); err != nil {
		t.Fatal(err)
	}
	zh, en := p.Requests()[0], p.Requests()[1]
	if text := fmt.Sprintf("%s", zh.Messages); !strings.Contains(text, `- 知道 的 \u003c\\/known`) || !strings.Contains(text, "“天气”") || zh.Model != "m" || *zh.Temperature != 1 {
		t.Errorf("got %s", text)
	}
	if text := fmt.Sprintf("%s", en.Messages); !strings.Contains(text, "(1 entries) is left out") || strings.Contains(text, "known") || en.Temperature != nil {
		t.Errorf("got %s", text)
	}
}

func TestFails(t *testing.T) {
	if _, err := run(t.Context(), t, scripted.Texts("a", "b", "c"), &calls.Vars{}, "text: x"); calls.KindOf(err) != calls.Provider {
		t.Errorf("got %v", err)
	}
	failure := &llm.Error{Message: "down"}
	if _, err := run(t.Context(), t, scripted.New(scripted.Answer{Error: failure}), &calls.Vars{}, "text: x"); !errors.Is(err, failure) {
		t.Errorf("got %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := run(ctx, t, scripted.Texts(), &calls.Vars{}, "{}"); calls.KindOf(err) != calls.Canceled {
		t.Errorf("got %v", err)
	}
}
