package agent_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"

	"github.com/callnode/scheduler/calls"
	"github.com/callnode/scheduler/calls/agent"
	"github.com/callnode/scheduler/calls/callstest"
	"github.com/callnode/scheduler/calls/schema"
	"github.com/callnode/scheduler/llm"
	"github.com/callnode/scheduler/llm/scripted"
	"github.com/callnode/scheduler/llm/value"
	"github.com/callnode/scheduler/llm/value/yaml"
)

func TestConformance(t *testing.T) { callstest.Run(t, agent.Definition()) }

func parse(t *testing.T, text string) value.Value {
	t.Helper()
	v, err := yaml.ParseValue([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// world is an Env whose calls and flows note what they were asked for.
type world struct {
	t    *testing.T
	ran  []string
	fail map[string]error
	does func(ctx context.Context)
}

func (w *world) Find(name string) (calls.Definition, bool) {
	s := map[string]string{
		"weather": "{type: object, additionalProperties: false, required: [city], properties: {city: {type: string}, unit: {type: string, enum: [C, F]}, deep: {type: object, required: [a, b], properties: {a: {type: integer}, b: {type: integer}}}}}",
		"http":    "{type: object, additionalProperties: false, properties: {url: {type: string}, method: {type: string}, path: {type: object}, query: {type: object}, headers: {type: object}, body: {}, timeout: {type: string}}}",
		"text":    "{type: object, additionalProperties: false}",
	}[name]
	if s == "" {
		return calls.Definition{}, false
	}
	doc, err := schema.Parse(parse(w.t, s))
	if err != nil {
		w.t.Fatal(err)
	}
	def := calls.Definition{Info: &calls.Info{Name: name, Params: doc, Summary: calls.Text{En: "Does " + name + ".", Zh: "做 " + name}}}
	if name == "http" {
		def.ParamsFor = func(_ context.Context, _ *calls.Env, params value.Value) (*schema.Schema, error) {
			if _, ok := params.Get("operation"); !ok {
				return doc, nil
			}
			if _, ok := params.Get("bad"); ok {
				return nil, calls.Errorf(calls.NotFound, "no such operation").WithHint("look again")
			}
			return schema.Parse(parse(w.t, `{type: object, description: The weather., additionalProperties: false, required: [query, headers], properties: {
				url: {type: string}, openapi: {}, operation: {type: string},
				query: {type: object, required: [city], properties: {city: {type: string}, key: {type: string}}},
				headers: {type: object, required: [X-Tenant], properties: {X-Tenant: {type: string}}}}}`))
		}
	}
	return def, true
}

func (w *world) RunCall(ctx context.Context, name string, params value.Value) (value.Value, error) {
	w.ran = append(w.ran, name+" "+params.JSON())
	if w.does != nil {
		w.does(ctx)
	}
	if name == "text" {
		return value.OfMap(value.Pairs("text", strings.Repeat("雨", 200))), w.fail[name]
	}
	return value.OfMap(value.Pairs("degrees", 18)), w.fail[name]
}

func (w *world) RunFlow(_ context.Context, path string, inputs value.Value) (value.Value, error) {
	w.ran = append(w.ran, path+" "+inputs.JSON())
	return value.OfMap(value.Pairs("text", "done")), w.fail[path]
}

// described is a world whose flows tell what they take.
type described struct{ *world }

func (d described) DescribeFlow(_ context.Context, path string) (calls.FlowInfo, error) {
	if path == "plain.yaml" {
		return calls.FlowInfo{}, nil
	}
	s, err := schema.Parse(parse(d.t, "{type: object, required: [item, user], properties: {item: {type: string}, user: {type: string}}}"))
	if err != nil {
		return calls.FlowInfo{}, err
	}
	return calls.FlowInfo{Description: "Orders something.", Inputs: s}, d.fail["describe"]
}

type result struct {
	agent.Output
	texts []string
	err   error
}

func run(ctx context.Context, t *testing.T, w *world, p llm.Provider, with string, prepare ...func(*calls.Env)) result {
	t.Helper()
	params, def := parse(t, with), agent.Definition()
	if problems := def.Info.Params.Check(params); problems != nil {
		return result{err: problems}
	}
	call, err := def.New(params)
	if err != nil {
		return result{err: err}
	}
	env := calls.NewEnv()
	env.LLM, env.Vars, env.Calls, env.Flows = p, &calls.Vars{Question: "the question"}, w, w
	for _, f := range prepare {
		f(env)
	}
	input, err := call.Init(ctx, env.Vars)
	if err != nil {
		return result{err: err}
	}
	var r result
	for chunk, err := range call.Exec(ctx, env, input) {
		switch {
		case err != nil:
			r.err = err
		case chunk.Data != nil:
			if problems := def.Info.Output.Check(*chunk.Data); problems != nil {
				t.Errorf("the output does not fit its schema: %v", problems)
			}
			if err := value.Decode(*chunk.Data, &r.Output); err != nil {
				t.Fatal(err)
			}
		default:
			r.texts = append(r.texts, chunk.Text)
		}
	}
	return r
}

// uses is an answer that uses tools: name and arguments in turn.
func uses(text string, nameAndArguments ...string) scripted.Answer {
	a := scripted.Answer{Text: text, Usage: &llm.Usage{InputTokens: 10, OutputTokens: 5}}
	for i := 0; i < len(nameAndArguments); i += 2 {
		a.ToolCalls = append(a.ToolCalls, llm.ToolCall{ID: fmt.Sprintf("c%d", i/2), Name: nameAndArguments[i], Arguments: nameAndArguments[i+1]})
	}
	return a
}

func says(text string) scripted.Answer { return uses(text) }

const weather = "{prompt: How is it, tools: {calls: [{call: weather}]}}"

func TestLoop(t *testing.T) {
	w := &world{t: t}
	first := uses("Let me look.", "weather", `{"city": "Lyon"}`)
	first.Deltas = []llm.Delta{{Text: "<think>hm</think>"}, {Extra: map[string]json.RawMessage{"note": json.RawMessage("1")}}}
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
		`{"role":"assistant","content":"Let me look.","tool_calls":[{"id":"c0","type":"function","function":{"name":"weather","arguments":"{\"city\": \"Lyon\"}"},"sig":"s"}],"note":1},` +
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

// What goes wrong in a tool is told to the model.
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
		{"invalid", "the arguments are no JSON"},
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

// A hint that is in the message already is told once.
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

func TestLimits(t *testing.T) {
	again := uses("more", "weather", `{"city": "a"}`)
	city := func(name string) scripted.Answer { return uses("", "weather", `{"city": "`+name+`"}`) }
	for name, c := range map[string]struct {
		with    string
		answers []scripted.Answer
		reason  string
		text    string
		rounds  int
		ran     int
	}{
		"rounds":             {"max_rounds: 2", []scripted.Answer{city("a"), city("b"), says("so far")}, "max_rounds", "so far", 3, 2},
		"rounds, stubborn":   {"max_rounds: 1", []scripted.Answer{city("a"), again}, "max_rounds", "more", 2, 1},
		"repeated":           {"max_repeats: 2", []scripted.Answer{again, again, again, says("enough")}, "repeated", "enough", 4, 2},
		"repeated, in order": {"max_repeats: 1", []scripted.Answer{uses("", "weather", `{"city":"a","deep":{"a":1,"b":2}}`), uses("", "weather", `{"deep":{"b":2,"a":1},"city":"a"}`), says("enough")}, "repeated", "enough", 3, 1},
		"some are new":       {"max_repeats: 1", []scripted.Answer{city("a"), uses("", "weather", `{"city":"a"}`, "weather", `{"city":"b"}`), says("fine")}, "stop", "fine", 3, 2},
		"tokens":             {"max_tokens: 30", []scripted.Answer{city("a"), again}, "max_tokens", "more", 2, 1},
		"tokens, estimated":  {"max_tokens: 10", []scripted.Answer{{Text: strings.Repeat("word ", 20), ToolCalls: []llm.ToolCall{{ID: "a", Name: "weather", Arguments: `{"city":"a"}`}}}}, "max_tokens", strings.Repeat("word ", 20), 1, 0},
		"cut":                {"", []scripted.Answer{{Text: "hal", FinishReason: "length"}}, "length", "hal", 1, 0},
	} {
		t.Run(name, func(t *testing.T) {
			w := &world{t: t}
			p := scripted.New(c.answers...)
			r := run(t.Context(), t, w, p, "prompt: x\ntools: {calls: [{call: weather}]}\n"+c.with)
			if r.err != nil {
				t.Fatal(r.err)
			}
			if r.FinishReason != c.reason || r.Text != c.text || len(r.Rounds) != c.rounds || len(w.ran) != c.ran || p.Left() != 0 {
				t.Errorf("got %s %q after %d rounds, ran %v, %d answers left", r.FinishReason, r.Text, len(r.Rounds), w.ran, p.Left())
			}
			paired(t, r.Messages)
			if last := p.Requests()[len(p.Requests())-1]; (c.reason == "max_rounds" || c.reason == "repeated") != (string(last.Extra["tool_choice"]) == `"none"`) {
				t.Errorf("tool_choice is %s", last.Extra["tool_choice"])
			}
		})
	}
}

// paired checks that every tool call has its answer.
func paired(t *testing.T, messages []*value.Map) {
	t.Helper()
	open := map[string]bool{}
	for _, m := range messages {
		list, _ := m.Get("tool_calls")
		for _, c := range list.List() {
			id, _ := c.Get("id")
			open[id.JSON()] = true
		}
		if id, ok := m.Get("tool_call_id"); ok {
			delete(open, id.JSON())
		}
	}
	if len(open) > 0 {
		t.Errorf("tool calls without an answer: %v", open)
	}
}

func TestManyToolsAtOnce(t *testing.T) {
	w := &world{t: t}
	var many []string
	for i := range 40 {
		many = append(many, "weather", fmt.Sprintf(`{"city": "%d"}`, i))
	}
	r := run(t.Context(), t, w, scripted.New(uses("", many...), says("ok")), weather)
	if len(w.ran) != 32 || !strings.Contains(r.Rounds[0].ToolCalls[32].Result, "may use 32 tools") {
		t.Errorf("ran %d", len(w.ran))
	}
	paired(t, r.Messages)
}

func TestTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := &world{t: t, does: func(ctx context.Context) { <-ctx.Done() }}
		answer := uses("wait", "weather", `{"city":"a"}`, "weather", `{"city":"b"}`)
		r := run(t.Context(), t, w, scripted.New(answer), strings.Replace(weather, "{", "{timeout: 5m, ", 1))
		if r.err != nil || r.FinishReason != "timeout" || r.Text != "wait" || len(w.ran) != 1 || r.Rounds[0].ToolCalls[1].Error != "timeout" {
			t.Errorf("in a tool: %+v", r)
		}
		paired(t, r.Messages)
	})
	synctest.Test(t, func(t *testing.T) {
		blocks := scripted.Answer{Before: func(ctx context.Context, _ *llm.Request) error { <-ctx.Done(); return ctx.Err() }}
		r := run(t.Context(), t, &world{t: t}, scripted.New(blocks), "{prompt: x, timeout: 90s}")
		if r.err != nil || r.FinishReason != "timeout" {
			t.Errorf("in the model: %+v", r)
		}
	})
}

// The time may be over before the model is asked for the first time.
func TestNoTime(t *testing.T) {
	dir := desk(t)
	r := run(t.Context(), t, &world{t: t}, scripted.New(), "{prompt: x, workspace: desk, timeout: 1ns}", func(env *calls.Env) { env.Dir = dir })
	if r.err != nil || r.FinishReason != "timeout" || len(r.Messages) != 1 {
		t.Errorf("got %+v", r)
	}
}

func isObject(v value.Value) bool {
	text, _ := v.Str()
	inner, err := value.ParseJSON([]byte(text))
	return err == nil && inner.Kind() == value.Object
}

// What a model makes up must not make a provider refuse the conversation.
func TestNamesAndIDs(t *testing.T) {
	answer := uses("", "weather", `{"city": "a"}`, "functions.weather", `{"city": "b"}`, "", "{}", strings.Repeat("x", 70), "{}", "weather", "", "weather", `{"city": `, "weather", "[1]")
	for i := range answer.ToolCalls {
		answer.ToolCalls[i].ID = "same"
	}
	r := run(t.Context(), t, &world{t: t}, scripted.New(answer, says("ok")), weather)
	if r.err != nil {
		t.Fatal(r.err)
	}
	list, _ := r.Messages[1].Get("tool_calls")
	seen := map[string]bool{}
	for i, c := range list.List() {
		id, _ := c.Get("id")
		name, _ := c.At("/function/name")
		arguments, _ := c.At("/function/arguments")
		answers, _ := r.Messages[2+i].Get("tool_call_id")
		text, _ := name.Str()
		if seen[id.JSON()] || id.JSON() != answers.JSON() || !regexp.MustCompile(`^[a-zA-Z0-9_-]{1,64}$`).MatchString(text) || !isObject(arguments) {
			t.Errorf("%d: %s is answered as %s", i, c, answers)
		}
		seen[id.JSON()] = true
	}
	if len(seen) != 7 || r.Rounds[0].ToolCalls[5].Arguments != `{"city": ` || r.Rounds[0].ToolCalls[1].Name != "functions.weather" {
		t.Errorf("got %+v", r.Rounds)
	}
	if got := r.Rounds[0].ToolCalls[1].Result; !strings.Contains(got, `there is no tool \"functions.weather\"`) {
		t.Errorf("got %s", got)
	}
}

func TestCancelled(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	w := &world{t: t, does: func(context.Context) { cancel() }}
	r := run(ctx, t, w, scripted.New(uses("", "weather", `{"city":"a"}`), says("never")), weather)
	if calls.KindOf(r.err) != calls.Canceled {
		t.Errorf("got %v", r.err)
	}
}

func TestWaits(t *testing.T) {
	w := &world{t: t, fail: map[string]error{"a.yaml": calls.Errorf(calls.Missing, "a.yaml: %w", calls.ErrWaiting)}}
	p := scripted.New(uses("", "a", "{}", "weather", `{"city":"x"}`), says("never"))
	r := run(t.Context(), t, w, p, "{prompt: x, tools: {flows: [{path: a.yaml}], calls: [{call: weather}]}}")
	if !errors.Is(r.err, calls.ErrWaiting) || calls.KindOf(r.err) != calls.Missing || p.Left() != 1 || len(w.ran) != 1 {
		t.Errorf("got %v; ran %v", r.err, w.ran)
	}
}

func TestProviderFails(t *testing.T) {
	failure := &llm.Error{Message: "down"}
	r := run(t.Context(), t, &world{t: t}, scripted.New(uses("", "weather", `{"city":"a"}`), scripted.Answer{Error: failure}), weather)
	if !errors.Is(r.err, failure) {
		t.Errorf("got %v", r.err)
	}
}

func TestAbandoned(t *testing.T) {
	def, env := agent.Definition(), calls.NewEnv()
	env.LLM = scripted.New(scripted.Answer{Deltas: []llm.Delta{{Text: "a"}, {Text: "b"}}})
	call, err := def.New(parse(t, "{prompt: x}"))
	if err != nil {
		t.Fatal(err)
	}
	input, err := call.Init(t.Context(), env.Vars)
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for range call.Exec(t.Context(), env, input) {
		n++
		break
	}
	if n != 1 {
		t.Errorf("%d chunks", n)
	}
}

func TestTools(t *testing.T) {
	w := &world{t: t}
	p := scripted.New(uses("",
		"order", `{"item": "tea"}`,
		"plain", `{"any": 1}`,
		"mine", `{"n": 1}`,
		"getWeather", `{"query": {"city": "Lyon"}, "headers": {"X-Tenant": "t"}}`,
		"getWeather", `{"query": {"city": "Lyon", "key": "stolen"}, "headers": {"X-Tenant": "t"}}`,
		"getWeather", `{"query": {"city": "Lyon"}, "headers": {"X-Tenant": "t", "Authorization": "mine"}}`,
		"getWeather", `{"query": {"city": "Lyon"}, "headers": {"X-Tenant": "t"}, "url": "http://evil"}`,
		"look", `{"path": {"id": 1}, "query": {"a": 1}}`,
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
		`http {"path":{"id":1},"query":{"a":1,"key":"k"},"url":"http://h/{id}"}`,
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
		"{prompt: x, timeout: 5y}":                                        "no duration",
		"{prompt: x, tools: {calls: [{call: weather}, {call: weather}]}}": "tools/calls/1: there are two tools called weather",
		"{prompt: x, workspace: ., tools: {calls: [{call: weather, name: read_file}]}}": "two tools called read_file",
		"{prompt: x, tools: {calls: [{call: weather, name: a b}]}}":                     "is no name for a tool",
		"{prompt: x, tools: {flows: [{path: 天.yaml}]}}":                                 "is no name for a tool",
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
	if r = run(t.Context(), t, w, scripted.New(says("fine")), "{}"); r.err != nil || r.Text != "fine" {
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
		if got := schema.Problems(agent.Definition().Lint(parse(t, with), nil)).Error(); got != want {
			t.Errorf("%s: %s", with, got)
		}
	}
}

func desk(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range map[string]string{
		"desk/notes.txt":                    "one\ntwo\nthree\nfour",
		"desk/big.txt":                      strings.Repeat("x", 5<<20),
		"desk/binary":                       "\xff\xfe",
		"desk/empty/.keep":                  "",
		"desk/desk/deep.txt":                "far below",
		"desk/desk/notes.txt":               "other notes",
		"desk/long.txt":                     strings.Repeat("0123456789\n", 100),
		"desk/wide.txt":                     strings.Repeat("w", 2000) + "\nend\n",
		"desk/skills/prices/SKILL.md":       "---\nname: prices\ndescription: What bread costs.\n---\n\nRye costs 4.20.\n",
		"desk/skills/prices/more/cake.md":   "Cake costs 3.\n",
		"desk/skills/hidden/SKILL.md":       "---\ndescription: x\ndisable-model-invocation: true\n---\nHush.\n",
		"desk/.agents/skills/mill/SKILL.md": "---\ndescription: Order flour.\n---\nCall before noon.\n",
		"builtin/prices/SKILL.md":           "---\ndescription: Other.\n---\nNever.\n",
		"builtin/oven/SKILL.md":             "---\ndescription: Heat the oven.\nmetadata: {nanobot: {requires: {bins: [no-such-program-here]}}}\n---\nTo 230.\n",
		"outside.txt":                       "secret",
	} {
		name = filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink("../outside.txt", filepath.Join(dir, "desk", "link.txt")); err != nil {
		t.Fatal(err)
	}
	return dir
}

func TestWorkspace(t *testing.T) {
	dir := desk(t)
	for _, c := range []struct{ tool, arguments, want string }{
		{"read_file", `{"path": "notes.txt"}`, "one\ntwo\nthree\nfour"},
		{"read_file", `{"path": "desk/deep.txt"}`, "far below"},
		{"read_file", `{"path": "desk/notes.txt"}`, "other notes"},
		{"read_file", `{"path": "notes.txt", "offset": 2, "limit": 2}`, "two\nthree\n[lines 2 to 3 of 4; read on with offset 4]"},
		{"read_file", `{"path": "notes.txt", "offset": 9}`, "[the file has 4 lines]"},
		{"read_file", `{"path": "desk/skills/prices/SKILL.md", "limit": 1}`, "---\n[lines 1 to 1 of 6; read on with offset 2]"},
		{"read_file", `{"path": "."}`, "it is a directory, with .agents/, big.txt, binary, desk/, empty/, link.txt, long.txt, notes.txt, skills/, wide.txt"},
		{"read_file", `{"path": "empty/.keep"}`, "[the file has 0 lines]"},
		{"read_file", `{"path": "none.txt"}`, `"kind":"notfound","message":"none.txt: file does not exist"`},
		{"read_file", `{"path": "../outside.txt"}`, "escapes"},
		{"read_file", `{"path": "link.txt"}`, "escapes"},
		{"read_file", `{"path": "/etc/passwd"}`, "escapes"},
		{"read_file", `{"path": "big.txt"}`, "more than 4194304"},
		{"read_file", `{"path": "binary"}`, "no UTF-8 text"},
		{"read_file", `{"path": "notes.txt", "offset": 0}`, "/offset"},
		{"read_skill", `{"name": "prices"}`, "Rye costs 4.20.\n\n<files>\nmore/cake.md\n</files>"},
		{"read_skill", `{"name": "prices", "file": "more/cake.md"}`, "Cake costs 3."},
		{"read_skill", `{"name": "prices", "file": "../../notes.txt"}`, "is no file of the skill"},
		{"read_skill", `{"name": "prices", "file": "none"}`, "file does not exist"},
		{"read_skill", `{"name": "mill"}`, "Call before noon."},
		{"read_skill", `{"name": "oven"}`, "To 230."},
		{"read_skill", `{"name": "ofen"}`, `did you mean \"oven\"?`},
		{"read_skill", `{"name": "hidden"}`, "there are prices, mill, oven"},
	} {
		r := run(t.Context(), t, &world{t: t}, scripted.New(uses("", c.tool, c.arguments), says("ok")),
			"{prompt: x, workspace: ./desk, builtin_skills: builtin}", func(env *calls.Env) { env.Dir = dir })
		if r.err != nil {
			t.Fatal(r.err)
		}
		if got := r.Rounds[0].ToolCalls[0].Result; !strings.Contains(got, c.want) {
			t.Errorf("%s %s: got %.300q, want %q", c.tool, c.arguments, got, c.want)
		}
	}
}

// What of a file does not fit into a result can be read on.
func TestLongFiles(t *testing.T) {
	dir := desk(t)
	for arguments, want := range map[string]string{
		`{"path": "long.txt"}`:                           "\n[lines 1 to 32 of 100; read on with offset 33]",
		`{"path": "long.txt", "offset": 80}`:             "6789\n",
		`{"path": "long.txt", "offset": 40, "limit": 1}`: "[lines 40 to 40 of 100; read on with offset 41]",
		`{"path": "wide.txt"}`:                           "w\n[cut: these are the first 352 of 2001 bytes of line 1]\n[lines 1 to 1 of 2; read on with offset 2]",
		`{"path": "wide.txt", "offset": 2}`:              "end\n",
	} {
		r := run(t.Context(), t, &world{t: t}, scripted.New(uses("", "read_file", arguments), says("ok")),
			"{prompt: x, workspace: desk, max_result_bytes: 512}", func(env *calls.Env) { env.Dir = dir })
		if r.err != nil {
			t.Fatal(r.err)
		}
		if got := r.Rounds[0].ToolCalls[0].Result; !strings.HasSuffix(got, want) {
			t.Errorf("%s: got %q", arguments, got)
		}
	}
}

func TestDescriptionsOfTheWorkspace(t *testing.T) {
	dir := desk(t)
	for language, wants := range map[string][]string{
		"en": {"the workspace desk", "- prices: What bread costs.", "- oven: Heat the oven. (not usable here)"},
		"zh": {"工作目录 desk", "- prices：What bread costs.", "（此处无法使用）"},
	} {
		p := scripted.New(says("ok"))
		r := run(t.Context(), t, &world{t: t}, p, "{prompt: x, workspace: ./desk/, builtin_skills: builtin}", func(env *calls.Env) {
			env.Dir, env.Vars = dir, &calls.Vars{Language: language}
		})
		text := fmt.Sprintf("%s", p.Requests()[0].Tools)
		for _, want := range append(wants, "read_file", "read_skill") {
			if r.err != nil || !strings.Contains(text, want) {
				t.Errorf("%v: %q is not in %s", r.err, want, text)
			}
		}
		if strings.Contains(text, "hidden") {
			t.Errorf("a hidden skill is told of: %s", text)
		}
	}
}
