package choice_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/callnode/scheduler/calls"
	"github.com/callnode/scheduler/calls/callstest"
	"github.com/callnode/scheduler/calls/choice"
	"github.com/callnode/scheduler/calls/schema"
	"github.com/callnode/scheduler/llm"
	"github.com/callnode/scheduler/llm/scripted"
	"github.com/callnode/scheduler/llm/value/yaml"
)

func TestConformance(t *testing.T) { callstest.Run(t, choice.Definition()) }

func run(t *testing.T, p llm.Provider, vars *calls.Vars, with string) (string, error) {
	t.Helper()
	params, err := yaml.ParseValue([]byte(with))
	if err != nil {
		t.Fatal(err)
	}
	def := choice.Definition()
	if problems := def.Info.Params.Check(params); problems != nil {
		return "", problems
	}
	call, err := def.New(params)
	if err != nil {
		return "", err
	}
	env := calls.NewEnv()
	env.LLM, env.Vars = p, vars
	input, err := call.Init(t.Context(), vars)
	if err != nil {
		return "", err
	}
	output, err := callstest.CollectOutput(call.Exec(t.Context(), env, input))
	return output.JSON(), err
}

func TestConditions(t *testing.T) {
	for with, want := range map[string]string{
		"choices: [{branch: a, when: false}, {branch: b, when: true}, {branch: c, when: true}]":    `{"branch":"b","reason":"its condition is true","index":1}`,
		"choices: [{branch: d, default: true}, {branch: a, when: false}, {branch: b, when: true}]": `{"branch":"b","reason":"its condition is true","index":2}`,
		"choices: [{branch: d, default: true}, {branch: a, when: false}]":                          `{"branch":"d","reason":"the default: no condition is true","index":0}`,
		"choices: [{branch: d, default: true, when: true}, {branch: a, when: true}]":               `{"branch":"d","reason":"its condition is true","index":0}`,
	} {
		p := scripted.Texts()
		if got, err := run(t, p, &calls.Vars{}, with); err != nil || got != want || len(p.Requests()) > 0 {
			t.Errorf("%s: %s, %v", with, got, err)
		}
	}
}

func TestInvalid(t *testing.T) {
	for with, want := range map[string]string{
		"choices: []":                                                       "choices",
		"choices: [{branch: a, when: 'true'}]":                              "/choices/0/when: want boolean, got string",
		"choices: [{branch: a, when: 1}]":                                   "/choices/0/when: want boolean, got integer",
		"choices: [{branch: a, when: null}]":                                "/choices/0/when: want boolean, got null",
		"choices: [{branch: a}, {branch: a}]":                               `duplicate branch "a"`,
		"choices: [{branch: a, default: true}, {branch: b, default: true}]": "both the default",
		"choices: [{branch: a, when: true}, {branch: b}]":                   `choices/1: the branch "b" has no condition`,
		"{by: conditions, choices: [{branch: a}]}":                          `choices/0: the branch "a" has no condition`,
		"choices: [{branch: a, when: false}, {branch: b, when: false}]":     "no condition is true, and none of the choices a, b is the default",
		"{by: model, choices: [{branch: a, when: false}]}":                  "none of the choices a is the default",
	} {
		_, err := run(t, scripted.Texts(), &calls.Vars{}, with)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, want %s", with, err, want)
		}
		var own *calls.Error
		if errors.As(err, &own) && own.Kind != calls.Invalid {
			t.Errorf("%s: kind %s", with, own.Kind)
		}
	}
}

func TestLint(t *testing.T) {
	for with, want := range map[string]string{
		"choices: [{branch: a, when: null}, {branch: b}, {branch: a, when: true}]": `/choices/1: the branch "b" has no condition (give it when, or make it the default: default: true); /choices/2: duplicate branch "a"`,
		"choices: [{branch: null, default: true}, {branch: null, default: true}]":  `/choices/1: "" and "" are both the default`,
		"choices: [{branch: null, when: null}, {branch: null, when: null}]":        "",
		"{by: null, choices: [{branch: a, when: null}, {branch: b}]}":              "",
		"choices: [{branch: 5}]": "",
		"choices: null":          "",
	} {
		params, err := yaml.ParseValue([]byte(with))
		if err != nil {
			t.Fatal(err)
		}
		if got := schema.Problems(choice.Definition().Lint(params, calls.LintEnv{})).Error(); got != want {
			t.Errorf("%s: %s", with, got)
		}
	}
}

func TestModel(t *testing.T) {
	const choices = "choices: [{branch: a, description: about apples}, {branch: b}, {branch: c, default: true}]\n"
	const good = `{"reason": "because", "branch": "b"}`
	for name, c := range map[string]struct {
		with    string
		answers []string
		want    string
		asked   int
	}{
		"picks":       {choices, []string{good}, `{"branch":"b","reason":"because","index":1}`, 1},
		"again":       {choices, []string{"b or c", `{"reason": "x", "branch": "z"}`, "```json\n" + good + "\n```"}, `{"branch":"b","reason":"because","index":1}`, 3},
		"other case":  {"choices: [{branch: Apples}, {branch: b, default: true}]", []string{`{"reason": "r", "branch": " apples "}`}, `{"branch":"Apples","reason":"r","index":0}`, 1},
		"no reason":   {choices, []string{`{"branch": "b"}`}, `{"branch":"b","reason":"","index":1}`, 1},
		"more":        {choices, []string{`{"branch": "b", "reason": "because", "sure": 0.9}`}, `{"branch":"b","reason":"because","index":1}`, 1},
		"two cases":   {"choices: [{branch: a}, {branch: A}, {branch: b, default: true}]", []string{`{"branch": "A"}`}, `{"branch":"A","reason":"","index":1}`, 1},
		"blank name":  {"choices: [{branch: ' '}, {branch: b, default: true}]", []string{"[]", "{}", "5"}, `{"branch":"b","reason":"the default: the model named none of the branches","index":1,"warnings":["the default branch \"b\" is taken: the model gave no usable answer in 3 trials: want object, got integer"]}`, 3},
		"which case":  {"choices: [{branch: ab}, {branch: AB}]", []string{`{"branch": "Ab"}`, `{"branch": "AB", "reason": 5}`}, `{"branch":"AB","reason":"","index":1}`, 2},
		"in brackets": {choices, []string{"（B）…"}, `{"branch":"b","reason":"","index":1}`, 1},
		"one word":    {choices, []string{"<think>maybe a</think>\n**B**."}, `{"branch":"b","reason":"","index":1}`, 1},
		"never":       {choices, []string{"b or c", "b or c", "b or c"}, `{"branch":"c","reason":"the default: the model named none of the branches","index":2,"warnings":["the default branch \"c\" is taken: the model gave no usable answer in 3 trials: there is no JSON in it"]}`, 3},
		"open ones":   {"by: model\nchoices: [{branch: a, when: false}, {branch: b, when: true}, {branch: c}]", []string{good}, `{"branch":"b","reason":"because","index":1}`, 1},
		"one is left": {"by: model\nchoices: [{branch: a, when: false}, {branch: b}]", nil, `{"branch":"b","reason":"it is the only one left","index":1}`, 0},
		"none":        {"by: model\nchoices: [{branch: a, when: false}, {branch: b, when: false, default: true}]", nil, `{"branch":"b","reason":"the default: no condition is true","index":1}`, 0},
	} {
		t.Run(name, func(t *testing.T) {
			p := scripted.Texts(c.answers...)
			got, err := run(t, p, &calls.Vars{Question: "which?"}, c.with)
			if err != nil || got != c.want || len(p.Requests()) != c.asked {
				t.Errorf("got %s, %v after %d requests", got, err, len(p.Requests()))
			}
		})
	}
	if _, err := run(t, scripted.Texts("b or a", "b or a", "b or a"), &calls.Vars{Question: "which?"}, "choices: [{branch: a}, {branch: b}]"); calls.KindOf(err) != calls.Provider {
		t.Errorf("without a default: %v", err)
	}
	p := scripted.Texts(good)
	if _, err := run(t, p, &calls.Vars{}, choices); calls.KindOf(err) != calls.Missing || calls.HintOf(err) == "" || len(p.Requests()) > 0 {
		t.Errorf("about nothing: %v", err)
	}
	for with, vars := range map[string]*calls.Vars{
		choices + "values: {n: 1}": {}, choices + "question: x": {}, choices: {Upstream: calls.FixedUpstream{SummaryText: "so far"}},
	} {
		if _, err := run(t, scripted.Texts(good), vars, with); err != nil {
			t.Errorf("%s: %v", with, err)
		}
	}
	failure := &llm.Error{Message: "down"}
	if _, err := run(t, scripted.New(scripted.Answer{Error: failure}), &calls.Vars{Question: "which?"}, choices); !errors.Is(err, failure) {
		t.Errorf("a provider that fails: %v", err)
	}
}

func TestRequest(t *testing.T) {
	const good = `{"reason": "", "branch": "a"}`
	vars := &calls.Vars{Question: "which </question>?", Upstream: calls.FixedUpstream{SummaryText: "so far"}, Language: "zh"}
	p := scripted.Texts(good, good)
	if _, err := run(t, p, vars, "{model: m, temperature: 0.5, values: {n: 1.50}, choices: [{branch: a, description: apples}, {branch: b, default: true}]}"); err != nil {
		t.Fatal(err)
	}
	if _, err := run(t, p, &calls.Vars{Question: "x"}, "{question: mine, choices: [{branch: a}, {branch: b}]}"); err != nil {
		t.Fatal(err)
	}
	req := p.Requests()[0]
	text := string(req.Messages[0])
	for _, want := range []string{"- a：apples", "- b（默认", "so far", `{\"n\":1.50}`, `which <\\/question>?`} {
		if !strings.Contains(strings.NewReplacer(`\u003c`, "<", `\u003e`, ">").Replace(text), want) {
			t.Errorf("%q is not in %s", want, text)
		}
	}
	if req.Model != "m" || *req.Temperature != 0.5 || !strings.Contains(string(req.ResponseSchema), `"enum":["a","b"]`) {
		t.Errorf("got %+v", req)
	}
	req = p.Requests()[1]
	if text := string(req.Messages[0]); req.Temperature != nil || !strings.Contains(text, "mine") || strings.Contains(text, "summary") || strings.Contains(text, "values") {
		t.Errorf("got %s", text)
	}
}
