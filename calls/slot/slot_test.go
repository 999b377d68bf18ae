package slot_test

import (
	"testing"
	"time"

	"github.com/callnode/scheduler/calls"
	"github.com/callnode/scheduler/calls/callstest"
	"github.com/callnode/scheduler/calls/slot"
	"github.com/callnode/scheduler/llm"
	"github.com/callnode/scheduler/llm/value"
)

func TestConformance(t *testing.T) { callstest.Run(t, slot.Definition()) }

// thursday is the time of the clock.
var thursday = time.Date(2026, 3, 5, 9, 7, 0, 0, time.FixedZone("CST", 8*3600))

// exec runs the call.
func exec(t *testing.T, model llm.Provider, vars *calls.Vars, params *value.Map, prepare ...func(*calls.Env)) (value.Value, error) {
	t.Helper()
	def := slot.Definition()
	if problems := def.Info.Params.Check(value.OfMap(params)); problems != nil {
		return value.Value{}, problems
	}
	call, err := def.New(value.OfMap(params))
	if err != nil {
		return value.Value{}, err
	}
	env := calls.NewEnv()
	env.LLM = model
	if vars.Now.IsZero() {
		vars.Now = thursday
	}
	env.Vars = vars
	for _, p := range prepare {
		p(env)
	}
	input, err := call.Init(t.Context(), vars)
	if err != nil {
		return value.Value{}, err
	}
	output, err := callstest.Fold(call.Exec(t.Context(), env, input))
	if err == nil {
		if problems := def.Info.Output.Check(output); problems != nil {
			t.Errorf("the output does not fit its schema: %v", problems)
		}
	}
	return output, err
}

// run runs the call, which must work.
func run(t *testing.T, model llm.Provider, vars *calls.Vars, params *value.Map, prepare ...func(*calls.Env)) value.Value {
	t.Helper()
	output, err := exec(t, model, vars, params, prepare...)
	if err != nil {
		t.Fatal(err)
	}
	return output
}
