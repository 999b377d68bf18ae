package scheduler

import (
	"context"

	"github.com/callnode/scheduler/calls"
	"github.com/callnode/scheduler/llm/prompt"
	"github.com/callnode/scheduler/llm/value"
	"github.com/callnode/scheduler/scheduler/flow"
	"github.com/callnode/scheduler/scheduler/internal/order"
	"github.com/callnode/scheduler/scheduler/journal"
)

// checkInputs returns the inputs with the defaults of their schema, or a *[Failure]
// of kind Invalid.
func checkInputs(f *flow.Flow, inputs value.Value) (value.Value, error) {
	if inputs.IsNull() {
		inputs = value.OfMap(nil)
	}
	err := calls.Errorf(calls.Invalid, "the inputs of a flow are an object, got %s", inputs.Kind())
	if inputs.Kind() == value.Object {
		if f.Inputs == nil {
			return inputs, nil
		}
		inputs = f.Inputs.ApplyDefaults(inputs)
		problems := f.Inputs.Check(inputs)
		if len(problems) == 0 {
			return inputs, nil
		}
		err = calls.Errorf(calls.Invalid, "the inputs of the flow %s do not fit: %w", f.Name, problems)
	}
	return value.Value{}, &Failure{
		Info: journal.ErrorInfo{Kind: calls.Invalid, Message: err.Error()},
		Err:  err,
	}
}

// renderOutputs returns the outputs of a flow whose steps are all over. A flow without
// outputs has those of the steps that talk to the user, and of those that no
// other step needs, by their ids.
func (r *run) renderOutputs() (outputs value.Value, failure *Failure) {
	p := r.flow.Outputs
	if p == nil {
		m := value.NewMap(1)
		for i, step := range r.flow.Steps {
			if st := &r.states[i]; r.order.Status(i) == order.Finished && (step.ToUser || len(step.Next) == 0) {
				m.Set(step.ID, st.output)
				if r.outer != nil && len(r.masked[i]) > 0 {
					return value.Value{}, r.failureOf(errMasked(step.ID, r.masked[i][0]), step.Pos)
				}
			}
		}
		return value.OfMap(m), nil
	}
	outputs, err := r.renderSafely(p, r.newScope(r.ctx, p))
	if err != nil {
		return value.Value{}, r.failureOf(err, p.Pos)
	}
	return outputs, nil
}

// renderReply returns what the flow's on_error says to the user about the failure; "" where
// the flow has none.
func (r *run) renderReply() string {
	p := r.flow.OnError
	if p == nil {
		return ""
	}
	ctx, cancel := context.WithTimeout(r.parent, r.gracePeriod)
	defer cancel()
	s := r.newScope(ctx, p)
	s.failure = r.failure
	v, err := r.renderSafely(p, s)
	if err != nil {
		r.env.Log.Warn("the reply of on_error cannot be rendered", "run", r.vars.Run.ID, "error", r.secrets.maskText(err.Error()))
		return ""
	}
	return r.secrets.maskText(prompt.Text(v))
}

// renderSafely makes an error of a panic in a resolver.
func (r *run) renderSafely(p *flow.Param, s *scope) (v value.Value, err error) {
	defer r.recoverPanic(&err, "rendering "+p.Pos.String())
	return r.render(s.ctx, p, s)
}
