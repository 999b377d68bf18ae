package scheduler

import (
	"context"
	"slices"
	"strings"

	"github.com/callnode/scheduler/calls"
	"github.com/callnode/scheduler/llm/value"
	"github.com/callnode/scheduler/scheduler/flow"
	"github.com/callnode/scheduler/scheduler/internal/order"
	"github.com/callnode/scheduler/scheduler/journal"
)

// What a step does whose values stay unknown.
const (
	missingFail   = "fail"
	missingReturn = "return"
)

// suspension stops a step until the missing values are given.
type suspension struct {
	// output is what the call slot has found so far.
	output, remaining value.Value
}

func (*suspension) Error() string { return "the step waits for values" } // no reader sees it

// fillParams lets the call slot complete the parameters, in a pseudo-step of its own.
func (t *task) fillParams(ctx context.Context) error {
	def, ok := t.run.exec.registry().Call(flow.CallSlot)
	if !ok {
		return calls.Errorf(calls.NotFound, "enable_filling needs the call %s, which does not exist here", flow.CallSlot).
			WithHint("give all parameters of the step, and leave enable_filling out")
	}
	wanted := t.step.Def.Info.Params
	if narrow := t.step.Def.ParamsFor; narrow != nil {
		var err error
		wanted, err = narrow(ctx, &t.env, t.params)
		if err != nil {
			return err
		}
	}
	params, err := t.withAnswers(value.OfMap(value.Pairs(
		"data", t.params, "current_schema", describeSchema(overlaySchema(wanted.Doc(), t.step.OverrideInput), t.step.Def.Info.Summary.In(t.vars.Language)),
	)))
	if err != nil {
		return err
	}
	output, err := t.runCallInside(ctx, def, params)
	if err != nil {
		return err
	}
	t.params, _ = output.Get("slot_data")
	return t.checkRemaining(output)
}

// overlaySchema returns the schema with some of its properties replaced.
func overlaySchema(schema, override value.Value) value.Value {
	if override.Map().Len() == 0 {
		return schema
	}
	properties, _ := schema.Get("properties")
	p := value.NewMap(properties.Map().Len())
	for name, property := range properties.Map().All() {
		p.Set(name, property)
	}
	for name, property := range override.Map().All() {
		p.Set(name, property)
	}
	s := schema.Map().Clone()
	s.Set("properties", value.OfMap(p))
	return value.OfMap(s)
}

// describeSchema returns the schema with a description of what the values are for, unless it has
// one.
func describeSchema(schema value.Value, purpose string) value.Value {
	if _, has := schema.Get("description"); has || purpose == "" {
		return schema
	}
	s := schema.Map().Clone()
	s.Set("description", value.OfString(purpose))
	return value.OfMap(s)
}

// checkRemaining decides what to do about values that slot could not find.
func (t *task) checkRemaining(output value.Value) error {
	remaining, _ := output.Get("remaining_schema")
	w := journal.WaitingFor{Step: t.path(), RemainingSchema: remaining}
	if len(w.Pointers()) == 0 {
		return nil
	}
	switch t.step.OnMissing {
	case missingReturn:
		return nil
	case missingFail:
		return t.missingError(strings.Join(w.Pointers(), ", "))
	}
	return &suspension{output, remaining}
}

func (t *task) missingError(what string) error {
	return calls.Errorf(calls.Missing, "values of the call %s are not known: %s", t.step.Call, what).
		WithHint("give them under with, say more in the question, or let the run wait for them with on_missing: ask")
}

// withAnswers returns the parameters of slot for a step that has waited: what was known
// then, with the answers since. No model is asked again.
func (t *task) withAnswers(params value.Value) (value.Value, error) {
	was := t.recordedState()
	if was == nil || was.Found.IsNull() {
		return params, nil
	}
	data, _ := was.Found.Get("slot_data")
	given, _ := params.Get("data")
	data, err := t.run.secrets.restoreHidden(data, given, was.MaskedFound)
	if err != nil {
		return value.Value{}, err
	}
	m := params.Map().Clone()
	m.Set("data", data)
	own, _ := m.Get("answers")
	answers := value.NewMap(was.Answers.Map().Len())
	for _, from := range []value.Value{own, was.Answers} {
		for pointer, v := range from.Map().All() {
			answers.Set(pointer, v)
		}
	}
	if answers.Len() > 0 {
		m.Set("answers", value.OfMap(answers))
	}
	if sources, ok := was.Found.Get("sources"); ok {
		m.Set("sources", sources)
	}
	if stages, ok := m.Get("stages"); !ok || len(stages.List()) > 0 {
		m.Set("stages", value.OfList(value.OfString("default")))
	}
	return value.OfMap(m), nil
}

// waitingOutcome returns the outcome of a task that waits for values.
func (t *task) waitingOutcome(s *suspension) outcome {
	n := newPendingEvent(journal.StepWaiting)
	output, masked := t.run.secrets.maskWithPointers(s.output)
	n.setOutput(output, slices.DeleteFunc(masked, func(p string) bool { return !strings.HasPrefix(p, "/slot_data") }))
	n.input = t.run.secrets.maskValue(s.remaining)
	n.data.RemainingSchema = &n.input
	t.addCosts(n)
	return outcome{status: order.Waiting, event: n}
}
