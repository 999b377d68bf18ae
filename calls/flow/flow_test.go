package flow_test

import (
	"context"
	"testing"

	"github.com/callnode/scheduler/calls"
	"github.com/callnode/scheduler/calls/callstest"
	"github.com/callnode/scheduler/calls/flow"
	"github.com/callnode/scheduler/calls/schema"
	"github.com/callnode/scheduler/llm/value"
)

func TestConformance(t *testing.T) { callstest.Run(t, flow.Definition()) }

// asked records the flow that it is asked to run.
type asked struct {
	path   string
	inputs value.Value
}

func (a *asked) RunFlow(_ context.Context, path string, inputs value.Value) (value.Value, error) {
	a.path, a.inputs = path, inputs
	return value.OfMap(value.Pairs("text", "done")), nil
}

func TestExec(t *testing.T) {
	for with, want := range map[string]string{
		`{"path": "a.yaml"}`: `{}`,
		`{"path": "a.yaml", "inputs": {"b": 1.50, "a": [2]}}`: `{"b":1.50,"a":[2]}`,
	} {
		params, err := value.ParseJSON([]byte(with))
		if err != nil {
			t.Fatal(err)
		}
		call, err := flow.Definition().New(params)
		if err != nil {
			t.Fatal(err)
		}
		var flows asked
		env := calls.NewEnv()
		env.Flows = &flows
		input, err := call.Init(t.Context(), env.Vars)
		if err != nil {
			t.Fatal(err)
		}
		output, err := callstest.CollectOutput(call.Exec(t.Context(), env, input))
		if err != nil || output.JSON() != `{"text":"done"}` {
			t.Errorf("%s gives %s, %v", with, output, err)
		}
		if flows.path != "a.yaml" || flows.inputs.JSON() != want {
			t.Errorf("%s ran %s with %s, want %s", with, flows.path, flows.inputs, want)
		}
	}
}

// described is a flow that wants inputs.
type described struct {
	asked
	inputs string
}

func (d *described) DescribeFlow(context.Context, string) (calls.FlowInfo, error) {
	if d.inputs == "" {
		return calls.FlowInfo{}, calls.Errorf(calls.Invalid, "no such flow")
	}
	doc, err := value.ParseJSON([]byte(d.inputs))
	if err != nil {
		return calls.FlowInfo{}, err
	}
	inputs, err := schema.Parse(doc)
	return calls.FlowInfo{Description: "Greet.", Inputs: inputs}, err
}

func TestParamsOfAFlow(t *testing.T) {
	env := calls.NewEnv()
	flows := &described{inputs: `{"type":"object","required":["who"],"properties":{"who":{"$ref":"#/definitions/name"}},"definitions":{"name":{"type":"string"}}}`}
	env.Flows = flows
	def := flow.Definition()
	narrowed := func(with string) (*schema.Schema, error) {
		params, err := value.ParseJSON([]byte(with))
		if err != nil {
			t.Fatal(err)
		}
		return def.ParamsFor(t.Context(), env, params)
	}
	s, err := narrowed(`{"path": "a.yaml"}`)
	if err != nil {
		t.Fatal(err)
	}
	for with, want := range map[string]string{
		`{"path":"a.yaml","inputs":{"who":"Ann"}}`: ``,
		`{"path":"a.yaml","inputs":{"who":1}}`:     `/inputs/who`,
		`{"path":"a.yaml","inputs":{}}`:            `/inputs/who`,
	} {
		v, err := value.ParseJSON([]byte(with))
		if err != nil {
			t.Fatal(err)
		}
		got := ""
		for _, p := range s.Check(s.ApplyDefaults(v)) {
			got += p.Pointer
		}
		if got != want {
			t.Errorf("%s has a problem at %q, want %q", with, got, want)
		}
	}
	flows.inputs = `{"$schema":"https://json-schema.org/draft/2020-12/schema","type":"object","properties":{"pair":{"prefixItems":[{"type":"string"}]}}}`
	s, err = narrowed(`{"path": "a.yaml"}`)
	if err != nil {
		t.Fatal(err)
	}
	wrong, err := value.ParseJSON([]byte(`{"path":"a.yaml","inputs":{"pair":[1]}}`))
	if problems := s.Check(wrong); err != nil || len(problems) != 1 || problems[0].Pointer != "/inputs/pair/0" {
		t.Errorf("in draft 2020-12: %v, %v", problems, err)
	}
	// Which flow it is, is not known: nothing is narrowed.
	if s, err := narrowed(`{}`); err != nil || s != def.Info.Params {
		t.Errorf("without a path: %v", err)
	}
	flows.inputs = ""
	if _, err := narrowed(`{"path": "a.yaml"}`); calls.KindOf(err) != calls.Invalid {
		t.Errorf("a flow that does not load: %v", err)
	}
	env.Flows = &flows.asked
	if s, err := narrowed(`{"path": "a.yaml"}`); err != nil || s != def.Info.Params {
		t.Errorf("flows that cannot be described: %v", err)
	}
}
