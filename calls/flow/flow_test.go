package flow_test

import (
	"context"
	"testing"

	"github.com/callnode/scheduler/calls"
	"github.com/callnode/scheduler/calls/callstest"
	"github.com/callnode/scheduler/calls/flow"
	"github.com/callnode/scheduler/llm/value"
)

func TestConformance(t *testing.T) { callstest.Run(t, flow.Definition()) }

// asked records what it is asked to run.
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
		output, err := callstest.Fold(call.Exec(t.Context(), env, input))
		if err != nil || output.JSON() != `{"text":"done"}` {
			t.Errorf("%s gives %s, %v", with, output, err)
		}
		if flows.path != "a.yaml" || flows.inputs.JSON() != want {
			t.Errorf("%s ran %s with %s, want %s", with, flows.path, flows.inputs, want)
		}
	}
}
