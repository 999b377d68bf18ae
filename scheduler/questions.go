package scheduler

import (
	"context"

	"github.com/callnode/scheduler/calls"
	"github.com/callnode/scheduler/llm/value"
	"github.com/callnode/scheduler/scheduler/flow"
	"github.com/callnode/scheduler/scheduler/journal"
)

// Ask asks people for values inside the step, in a pseudo-step STEP/question-N, which waits as
// a step of the call slot does. No model sees the question, and no default answers it.
func (t *task) Ask(ctx context.Context, why string, wanted value.Value) (value.Value, error) {
	def, ok := t.run.exec.registry().Call(flow.CallSlot)
	if !ok {
		return value.Value{}, calls.Errorf(calls.NotFound, "questions to people need the call %s, which does not exist here", flow.CallSlot)
	}
	params := value.OfMap(value.Pairs("data", emptyObject, "current_schema", describeSchema(wanted, why), "stages", []string{}))
	return t.runSubstep("question", def, params, func(in *task) (value.Value, error) {
		in.emitParams(params)
		in.shown = true
		answered, err := in.withAnswers(def, params)
		if err != nil {
			return value.Value{}, err
		}
		in.collector = outputCollector{sink: in, secrets: in.run.secrets, held: &in.held}
		output, err := in.collector.run(ctx, def, answered, &in.env)
		if err != nil {
			return value.Value{}, err
		}
		remaining, _ := output.Get("remaining_schema")
		if w := (journal.WaitingFor{RemainingSchema: remaining}); len(w.Pointers()) > 0 {
			return value.Value{}, &suspension{withWarning(output, why), remaining}
		}
		data, _ := output.Get("slot_data")
		return data, nil
	})
}

// withWarning returns an output of slot with a warning before its own: people read it with the question.
func withWarning(output value.Value, text string) value.Value {
	m := output.Map().Clone()
	own, _ := m.Get("warnings")
	m.Set("warnings", value.OfList(append([]value.Value{value.OfString(text)}, own.List()...)...))
	return value.OfMap(m)
}
