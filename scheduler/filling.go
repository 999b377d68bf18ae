package scheduler

import (
	"context"
	"strings"

	"github.com/callnode/scheduler/calls"
	"github.com/callnode/scheduler/llm/value"
	"github.com/callnode/scheduler/scheduler/flow"
	"github.com/callnode/scheduler/scheduler/internal/guess"
	"github.com/callnode/scheduler/scheduler/journal"
)

// The ways in which a step continues if its values stay unknown.
const (
	missingFail   = "fail"
	missingReturn = "return"
)

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
	info, language := t.step.Def.Info, t.vars.Language
	whole := overlaySchema(info.DescribeIn(language, wanted.Doc()), t.step.OverrideInput)
	filling := value.Pairs("data", t.params, "current_schema", describeSchema(whole, info.Summary.In(language)))
	t.addGuesses(ctx, filling, "")
	given := value.OfMap(filling)
	params, err := t.withAnswers(def, given)
	if err != nil {
		return err
	}
	output, err := t.runTracedInside(ctx, def, params, t.traced.below("/data", given))
	if err != nil {
		return err
	}
	unfilled := t.params
	t.params, _ = output.Get("slot_data")
	if err := t.checkFilled(unfilled); err != nil {
		return err
	}
	return t.checkRemaining(output)
}

// addGuesses passes the call slot the places of its data that a model has written; root is the pointer of the data
// in the flow's with.
func (t *task) addGuesses(ctx context.Context, params *value.Map, root string) {
	place := guess.Place{Flow: t.run.flow, Step: t.step, Outer: t.run.outerPlace()}
	var inData []string
	for _, pointer := range place.Pointers(ctx, t.step.With, t.scope(ctx)) {
		below, isInside := strings.CutPrefix(pointer, root)
		if isInside && (below == "" || below[0] == '/') {
			inData = append(inData, below)
		}
	}
	if len(inData) > 0 {
		params.Set("from_model", value.Must(inData))
	}
}

// outerPlace returns the step that runs the flow of the run; nil for the whole run.
func (r *run) outerPlace() *guess.Place {
	if r.outer == nil {
		return nil
	}
	return &guess.Place{Flow: r.outer.run.flow, Step: r.outer.step, Outer: r.outer.run.outerPlace()}
}

// checkFilled returns an error if the text of a template was filled in: only the flow has it.
func (t *task) checkFilled(given value.Value) error {
	for _, name := range t.step.Def.Info.Templates {
		before, _ := given.Get(name)
		after, _ := t.params.Get(name)
		if before.JSON() != after.JSON() {
			return calls.Errorf(calls.Invalid, "%s needs the parameter %q: the text of a template is not filled in", t.step.Call, name).WithHint("write it under with")
		}
	}
	return nil
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

// describeSchema returns the schema with a description of the values' purpose, unless it has one.
func describeSchema(schema value.Value, purpose string) value.Value {
	if _, has := schema.Get("description"); has || purpose == "" {
		return schema
	}
	s := schema.Map().Clone()
	s.Set("description", value.OfString(purpose))
	return value.OfMap(s)
}

// checkRemaining decides how to handle values that slot could not find.
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
	return &suspension{output: output, remaining: remaining}
}

func (t *task) missingError(what string) error {
	return calls.Errorf(calls.Missing, "values of the call %s are not known: %s", t.step.Call, what).
		WithHint("give them under with, say more in the question, or let the run wait for them with on_missing: ask")
}
