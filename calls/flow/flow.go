// Package flow is the call that runs another flow file as one step, for example {path: shared/greet.yaml}.
package flow

import (
	"context"
	"iter"

	"github.com/callnode/scheduler/calls"
	"github.com/callnode/scheduler/calls/schema"
	"github.com/callnode/scheduler/llm/value"
)

// Params are the parameters of the call.
type Params struct {
	Path   string     `json:"path" min:"1" doc:"The flow file, relative to the flow that this step is in."`
	Inputs *value.Map `json:"inputs,omitempty" doc:"The inputs of the flow. They are checked against its inputs schema."`
}

// Input names the flow to run and its inputs.
type Input struct {
	Path   string     `json:"path" doc:"The flow file."`
	Inputs *value.Map `json:"inputs" doc:"The inputs of the flow."`
}

// Definition describes the call. Its output is the outputs of the flow, so its
// schema knows no names.
func Definition() calls.Definition {
	def := calls.Define[Params, Input, *value.Map](calls.Info{
		Name: "flow",
		Summary: calls.Text{
			En: "Run another flow and give its outputs.",
			Zh: "运行另一个流程并返回它的输出。",
		},
		Examples: []calls.Example{{
			Title: "A flow beside this one",
			With:  "path: ./greet.yaml\ninputs: {name: Ada}\n",
			Files: map[string]string{"greet.yaml": greet},
		}},
	})
	all := def.Info.Params
	def.ParamsFor = func(ctx context.Context, env *calls.Env, params value.Value) (*schema.Schema, error) {
		return narrowSchema(ctx, all, env, params)
	}
	def.Origins = calls.ParamsAsInput
	return def
}

// narrowSchema returns the schema of the parameters with the inputs that the flow at path
// wants, so that those that were not given can be filled in.
func narrowSchema(ctx context.Context, all *schema.Schema, env *calls.Env, params value.Value) (*schema.Schema, error) {
	given, _ := params.Get("path")
	path, _ := given.Str()
	describer, ok := env.Flows.(calls.FlowDescriber)
	if !ok || path == "" {
		return all, nil
	}
	info, err := describer.DescribeFlow(ctx, path)
	if err != nil || info.Inputs == nil {
		return all, err
	}
	inputs, doc := info.Inputs.Doc().Map().Clone(), all.Doc().Map().Clone()
	for _, key := range []string{"$schema", "definitions", "$defs"} { // references start at the root, and it has the draft
		if shared, has := inputs.Get(key); has {
			doc.Set(key, shared)
		}
	}
	if _, has := inputs.Get("default"); !has {
		inputs.Set("default", value.OfMap(nil))
	}
	own, _ := doc.Get("properties")
	properties := own.Map().Clone()
	properties.Set("inputs", value.OfMap(inputs))
	doc.Set("properties", value.OfMap(properties))
	doc.Set("required", value.OfList(value.OfString("path"), value.OfString("inputs")))
	if info.Description != "" {
		doc.Set("description", value.OfString(info.Description))
	}
	s, err := schema.Parse(value.OfMap(doc))
	if err != nil {
		return nil, calls.Errorf(calls.Invalid, "the inputs of the flow %s: %w", path, err)
	}
	return s, nil
}

const greet = `name: greet
inputs: {type: object, required: [name], properties: {name: {type: string}}}
steps:
  - id: hello
    call: template
    with: {template: "Hello, {{ name }}!", values: {name: "{{ inputs.name }}"}}
outputs: {text: "{{ hello.text }}"}
`

// Init takes the parameters as they are.
func (p Params) Init(context.Context, *calls.Vars) (Input, error) {
	in := Input(p)
	if in.Inputs == nil {
		in.Inputs = value.NewMap(0)
	}
	return in, nil
}

// Exec runs the flow inside the same run: its events belong to the steps STEP/inner.
func (p Params) Exec(ctx context.Context, env *calls.Env, in Input) iter.Seq2[calls.Chunk, error] {
	return calls.Do(func() (any, error) {
		return env.Flows.RunFlow(ctx, in.Path, value.OfMap(in.Inputs))
	})
}
