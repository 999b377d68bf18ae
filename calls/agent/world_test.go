package agent_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/callnode/scheduler/calls"
	"github.com/callnode/scheduler/calls/agent"
	"github.com/callnode/scheduler/calls/schema"
	"github.com/callnode/scheduler/llm"
	"github.com/callnode/scheduler/llm/scripted"
	"github.com/callnode/scheduler/llm/value"
	"github.com/callnode/scheduler/llm/value/yaml"
)

func parse(t *testing.T, text string) value.Value {
	t.Helper()
	v, err := yaml.ParseValue([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// png is a picture of one pixel, in base64.
const png = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="

// world is an Env whose calls and flows note their input.
type world struct {
	t    *testing.T
	ran  []string
	fail map[string]error
	does func(ctx context.Context)
}

// registry returns the calls of the world.
func (w *world) registry() *calls.Registry {
	var defs []calls.Definition
	for name, s := range map[string]string{
		"weather":    "{type: object, additionalProperties: false, required: [city], properties: {city: {type: string}, unit: {type: string, enum: [C, F]}, deep: {type: object, required: [a, b], properties: {a: {type: integer}, b: {type: integer}}}}}",
		"http":       "{type: object, additionalProperties: false, properties: {url: {type: string}, method: {type: string}, path: {type: object}, query: {type: object}, headers: {type: object}, body: {}, timeout: {type: string}}}",
		"mcp.q.snap": "{type: object}",
		"text":       "{type: object, additionalProperties: false}",
	} {
		doc, err := schema.Parse(parse(w.t, s))
		if err != nil {
			w.t.Fatal(err)
		}
		defs = append(defs, w.define(name, doc))
	}
	registry, err := calls.NewRegistry(defs...)
	if err != nil {
		w.t.Fatal(err)
	}
	return registry
}

func (w *world) define(name string, doc *schema.Schema) calls.Definition {
	def := calls.Definition{Info: &calls.Info{Name: name, Params: doc, Summary: calls.Text{En: "Does " + name + ".", Zh: "做 " + name}}}
	if name == "http" {
		def.ParamsFor = func(_ context.Context, _ *calls.Env, params value.Value) (*schema.Schema, error) {
			if _, ok := params.Get("operation"); !ok {
				return doc, nil
			}
			if _, ok := params.Get("bad"); ok {
				return nil, calls.Errorf(calls.NotFound, "no such operation").WithHint("look again")
			}
			return schema.Parse(parse(w.t, `{$schema: 'https://json-schema.org/draft/2020-12/schema', type: object, description: The weather., additionalProperties: false, required: [query, headers], properties: {
				url: {type: string}, openapi: {}, operation: {type: string},
				query: {type: object, required: [city], properties: {city: {type: string}, key: {type: string}}},
				headers: {type: object, required: [X-Tenant], properties: {X-Tenant: {type: string}}}}}`))
		}
	}
	return def
}

func (w *world) RunCall(ctx context.Context, name string, params value.Value) (value.Value, error) {
	w.ran = append(w.ran, name+" "+params.JSON())
	if w.does != nil {
		w.does(ctx)
	}
	if name == "mcp.q.snap" {
		v, err := value.ParseJSON([]byte(`{"text": "two", "content": [{"type": "image", "mimeType": "image/jpeg", "data": "` + png + `"}, {"type": "image", "mimeType": "image/png", "data": "AAAA"},
			{"type": "resource", "resource": {"uri": "file:///b", "mimeType": "image/png", "blob": "` + png + `"}}]}`))
		return v, err
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

// described is a world whose flows describe their parameters.
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
	env.Registry = w.registry()
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
