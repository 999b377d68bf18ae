package scheduler

import (
	"context"
	"strings"

	"github.com/callnode/scheduler/calls"
	"github.com/callnode/scheduler/llm/value"
)

// fillingCall is the call that finds values for parameters that are missing.
const fillingCall = "slot"

// fill lets the call slot complete the parameters.
func (t *task) fill(ctx context.Context) error {
	def, ok := t.run.exec.Registry.Call(fillingCall)
	if !ok {
		return calls.Errorf(calls.NotFound, "enable_filling needs the call %s, which does not exist here", fillingCall).
			WithHint("give all parameters of the step, and leave enable_filling out")
	}
	facts, err := value.Of(t.vars.Facts())
	if err != nil {
		return err
	}
	var f fold
	output, err := f.run(ctx, def, value.OfMap(value.Pairs(
		"data", t.params,
		"current_schema", overlaid(t.step.Def.Info.Params.Doc(), t.step.OverrideInput),
		"summary", t.vars.Summary(),
		"facts", facts,
	)), &t.env)
	if err != nil {
		return err
	}
	t.params, _ = output.Get("slot_data")
	remaining, _ := output.Get("remaining_schema")
	properties, _ := remaining.Get("properties")
	if missing := properties.Map().Keys(); len(missing) > 0 {
		return calls.Errorf(calls.Missing, "parameters of the call %s are not known: %s", t.step.Call, strings.Join(missing, ", ")).
			WithHint("give them under with, or say more in the question")
	}
	return nil
}

// overlaid is the schema with some of its properties replaced.
func overlaid(schema, override value.Value) value.Value {
	if override.Map().Len() == 0 {
		return schema
	}
	properties, _ := schema.Get("properties")
	p := properties.Map().Clone()
	for name, property := range override.Map().All() {
		p.Set(name, property)
	}
	s := schema.Map().Clone()
	s.Set("properties", value.OfMap(p))
	return value.OfMap(s)
}
