package agent_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/callnode/scheduler/calls"
	"github.com/callnode/scheduler/calls/agent"
	"github.com/callnode/scheduler/calls/schema"
	"github.com/callnode/scheduler/llm/scripted"
)

func TestTools(t *testing.T) {
	w := &world{t: t}
	p := scripted.New(uses("",
		"order", `{"item": "tea"}`,
		"plain", `{"any": 1}`,
		"mine", `{"n": 1}`,
		"getWeather", `{"city": "Lyon", "X-Tenant": "t"}`,
		"getWeather", `{"city": "Lyon", "key": "stolen", "X-Tenant": "t"}`,
		"getWeather", `{"city": "Lyon", "X-Tenant": "t", "Authorization": "mine"}`,
		"getWeather", `{"city": "Lyon", "X-Tenant": "t", "url": "http://evil"}`,
		"look", `{"id": "1", "query": {"a": 1}}`,
		"look", `{"url": "http://evil"}`,
		"look", `{"headers": {}}`,
		"partly", `{"city": "x", "deep": {"b": 2}}`,
	), says("ok"))
	r := run(t.Context(), t, w, p, `
messages: [{role: user, content: x}]
tools:
  flows:
    - {path: flows/order.yaml, with: {user: ann}}
    - {path: plain.yaml}
    - {path: other.yaml, name: mine, description: Own., parameters: {properties: {n: {type: integer}}}, with: {secret: s}}
  http:
    - {with: {operation: getWeather, openapi: x.yaml, query: {key: k}, headers: {Authorization: a}}}
    - {name: look, description: Look., with: {url: "http://h/{id}", query: {key: k}}}
  calls:
    - {name: partly, call: weather, with: {deep: {a: 1}}}
`, func(env *calls.Env) { env.Flows = described{w} })
	if r.err != nil {
		t.Fatal(r.err)
	}
	want := []string{
		`flows/order.yaml {"item":"tea","user":"ann"}`,
		`plain.yaml {"any":1}`,
		`other.yaml {"n":1,"secret":"s"}`,
		`http {"query":{"city":"Lyon","key":"k"},"headers":{"X-Tenant":"t","Authorization":"a"},"operation":"getWeather","openapi":"x.yaml"}`,
		`http {"path":{"id":"1"},"query":{"a":1,"key":"k"},"url":"http://h/{id}"}`,
		`weather {"city":"x","deep":{"b":2,"a":1}}`,
	}
	if diff := cmp.Diff(want, w.ran); diff != "" {
		t.Error(diff)
	}
	for _, i := range []int{4, 5, 6, 8, 9} {
		if u := r.Rounds[0].ToolCalls[i]; u.Error != "invalid" {
			t.Errorf("%d: got %+v", i, u)
		}
	}
	var descriptions []string
	for _, d := range p.Requests()[0].Tools {
		var definition struct {
			Function struct{ Name, Description string }
		}
		if err := json.Unmarshal(d, &definition); err != nil {
			t.Fatal(err)
		}
		descriptions = append(descriptions, definition.Function.Name+": "+definition.Function.Description)
		if strings.Contains(string(d), "$schema") {
			t.Errorf("the model is told a draft: %s", d)
		}
	}
	if diff := cmp.Diff([]string{"order: Orders something.", "plain: ", "mine: Own.", "partly: Does weather.", "getWeather: The weather.", "look: Look."}, descriptions); diff != "" {
		t.Error(diff)
	}
}

func TestInvalid(t *testing.T) {
	for with, want := range map[string]string{
		"{prompt: x, messages: []}":                                       "use one",
		"{system: x, messages: []}":                                       "use one",
		"{prompt: x, timeout: 5}":                                         "want string",
		"{prompt: x, timeout: 5y}":                                        "invalid duration",
		"{prompt: x, tools: {calls: [{call: weather}, {call: weather}]}}": "tools/calls/1: there are two tools called weather",
		"{prompt: x, workspace: ., tools: {calls: [{call: weather, name: read_file}]}}": "two tools called read_file",
		"{prompt: x, tools: {calls: [{call: weather, name: a b}]}}":                     "is not a valid tool name",
		"{prompt: x, tools: {flows: [{path: 天.yaml}]}}":                                 "is not a valid tool name",
		"{prompt: x, tools: {calls: [{call: flow}]}}":                                   "must not choose any flow",
		"{prompt: x, tools: {calls: [{call: agent}]}}":                                  "must not choose the tools",
		"{prompt: x, tools: {calls: [{call: http}]}}":                                   "must not choose any address",
		"{prompt: x, tools: {http: [{name: a, with: {query: {}}}]}}":                    "must not choose any address",
		"{prompt: x, tools: {calls: [{call: weather, parameters: {type: strin}}]}}":     "write type: object",
		"{prompt: x, tools: {calls: [{call: weather, parameters: {properties: 3}}]}}":   "not a JSON Schema",
		"{prompt: x, tools: {calls: [{call: wether}]}}":                                 `tools/calls/0: there is no call "wether"`,
		"{prompt: x, tools: {http: [{name: a, with: {operation: x, bad: 1}}]}}":         "tools/http/0: no such operation",
		"{prompt: x, workspace: ./nowhere}":                                             "workspace ./nowhere: file does not exist",
		"{prompt: x, builtin_skills: ./nowhere}":                                        "builtin_skills ./nowhere: file does not exist",
	} {
		r := run(t.Context(), t, &world{t: t}, scripted.Texts(), with)
		if r.err == nil || !strings.Contains(r.err.Error(), want) {
			t.Errorf("%s: got %v, want %s", with, r.err, want)
		}
	}
	w := &world{t: t, fail: map[string]error{"describe": calls.Errorf(calls.NotFound, "no flow")}}
	r := run(t.Context(), t, w, scripted.Texts(), "{prompt: x, tools: {flows: [{path: a.yaml}]}}", func(env *calls.Env) { env.Flows = described{w} })
	if calls.KindOf(r.err) != calls.NotFound {
		t.Errorf("got %v", r.err)
	}
	r = run(t.Context(), t, w, scripted.Texts(), "{}", func(env *calls.Env) { env.Vars = &calls.Vars{} })
	if calls.KindOf(r.err) != calls.Missing {
		t.Errorf("nothing to do: %v", r.err)
	}
	r = run(t.Context(), t, w, scripted.New(says("fine")), "{}")
	if r.err != nil || r.Text != "fine" {
		t.Errorf("the question of the run: %v", r.err)
	}
}

func TestLint(t *testing.T) {
	for with, want := range map[string]string{
		"{prompt: null, tools: {calls: [{call: flow}, {call: a}, {call: a}], http: [{name: null, with: {url: null}}, {with: {query: {}}, name: x}]}}": "/tools/calls/0: a model must not choose any flow (list the flow under tools.flows); " +
			"/tools/calls/2: there are two tools called a (give one of them another name); " +
			"/tools/http/1: a model must not choose any address (fix url, or openapi and operation, under with)",
		"{tools: {flows: [{path: null, name: x}]}}": "",
		"{tools: 5}":    "",
		"{tools: null}": "",
	} {
		if got := schema.Problems(agent.Definition().Lint(parse(t, with), calls.LintEnv{})).Error(); got != want {
			t.Errorf("%s: %s", with, got)
		}
	}
}
