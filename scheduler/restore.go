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

// takeOverParams takes the parameters with which an earlier process had begun, so that interrupted work is
// repeated with the same idempotency key and the same parameters. A failed step's parameters are computed again:
// they may be the cause.
func (t *task) takeOverParams(ctx context.Context) (taken bool, err error) {
	was := t.recordedState()
	if was == nil || was.State == journal.StepStatusFailed {
		return false, nil
	}
	approved, isApproved, err := t.takeApproved(ctx, was)
	switch {
	case err != nil:
		return true, err
	case isApproved:
		t.params = approved
	case was.Params.IsNull() || len(was.MaskedParams) > 0:
		return false, nil
	default:
		t.params, t.traced = was.Params, recordedSpans(was.Params, was.Spans)
	}
	if t.step.EnableFilling {
		t.filled = true
		t.substeps.nextNumber(flow.CallSlot)
	}
	if t.step.Call == flow.CallSlot {
		t.params, err = t.withAnswers(t.step.Def, t.params)
	}
	return true, err
}

// withAnswers returns the parameters of def, the call slot, for a step that has waited: the values known then,
// with the answers since. No model is asked again, except to read a message of the user.
func (t *task) withAnswers(def calls.Definition, params value.Value) (value.Value, error) {
	was := t.recordedState()
	if was == nil || was.Found.IsNull() {
		return params, nil
	}
	data, _ := was.Found.Get("slot_data")
	given, _ := params.Get("data")
	var hidden []string
	for _, pointer := range was.MaskedFound {
		if at, isData := strings.CutPrefix(pointer, "/slot_data"); isData {
			hidden = append(hidden, at)
		}
	}
	data, lost := t.run.secrets.restoreHidden(data, given, hidden)
	wanted, _ := params.Get("current_schema")
	data, err := withoutLost(data, wanted, lost)
	if err != nil {
		return value.Value{}, err
	}
	m := params.Map().Clone()
	m.Set("data", data)
	m.Delete("from_model") // slot has left it out of its result
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
		m.Set("resumed", value.OfBool(true))
	}
	params = value.OfMap(m)
	if def.TakeMessage != nil {
		params, _ = def.TakeMessage(params, t.questionOf(was), was.Message)
	}
	return params, nil
}

// withoutLost returns the values that slot knew without the members whose secrets are lost: slot asks for them again, as the schema requires them.
// The error is one of an optional member, which no person is asked for.
func withoutLost(data, wanted value.Value, lost []string) (value.Value, error) {
	required, _ := wanted.Get("required")
	for _, pointer := range lost {
		name, _, _ := strings.Cut(strings.TrimPrefix(pointer, "/"), "/")
		name = value.Unescape(name)
		isAsked := pointer != "" && slices.ContainsFunc(required.List(), func(one value.Value) bool { return one.PlainText() == name })
		if !isAsked {
			return data, calls.Errorf(calls.Invalid, "%w", journal.ErrSecretLost).WithHint("run the flow again")
		}
		known := data.Map().Clone()
		known.Delete(name)
		data = value.OfMap(known)
	}
	return data, nil
}

// questionOf returns the question that the message of a step that has waited answers, as the user read it; "" without a
// message. Answers that came with it are no longer asked for.
func (t *task) questionOf(was *journal.StepState) string {
	if t.run.exec.Question == nil || was.Message == "" {
		return ""
	}
	w := journal.WaitingFor{Step: was.ID, RemainingSchema: was.Remaining}
	return t.run.exec.Question(t.vars.Language, w.Without(was.Answers).AskedPlace())
}

// stillWaits returns the outcome of a task that an earlier process left waiting, and that
// has no new answer since: it has nothing to do.
func (t *task) stillWaits() (o outcome, yes bool) {
	was := t.recordedState()
	if was == nil || was.State != journal.StepStatusWaiting {
		return outcome{}, false
	}
	if was.Approval != nil && was.Decision == nil {
		return t.waitingOutcome(&suspension{approval: was.Approval, masked: was.MaskedApproved}), true
	}
	if was.Found.IsNull() || was.HasNewAnswers {
		return outcome{}, false
	}
	n := newPendingEvent(journal.StepWaiting)
	n.setOutput(was.Found, was.MaskedFound)
	n.input = was.Remaining
	n.data.RemainingSchema = &n.input
	return outcome{status: order.Waiting, event: n}, true
}

// restoreLocked takes over the steps that earlier processes finished or skipped.
func (r *run) restoreLocked() {
	r.meter.Preset(r.earlier.state.UsageOf(strings.TrimSuffix(r.prefix, "/")))
	for i, step := range r.flow.Steps {
		was := r.earlier.state.Step(r.prefix + step.ID)
		if was == nil {
			continue
		}
		st := &r.states[i]
		switch was.State {
		case journal.StepStatusFinished:
			st.input, st.output = was.Input, was.Output
			r.order.Restore(i, order.Finished)
			if step.ForEach != nil {
				st.input = r.earlier.state.ItemInputs(was)
			}
			r.keepMaskedLocked(i, was.MaskedOutput)
			_ = r.holdOutput(st.output) // the next step that ends has the error
		case journal.StepStatusSkipped:
			st.reason = was.Reason
			r.order.Restore(i, order.Skipped)
		default:
		}
	}
}

// keepMaskedLocked records the parts of a step's output that the journal does not have.
func (r *run) keepMaskedLocked(step int, pointers []string) {
	if len(pointers) == 0 {
		return
	}
	if r.earlier.masked == nil {
		r.earlier.masked = map[int][]string{}
	}
	r.earlier.masked[step] = pointers
	r.env.Log.Warn("a secret stood in the output of a finished step, and the journal does not keep secrets: later steps see it masked",
		"run", r.vars.Run.ID, "step", r.prefix+r.flow.Steps[step].ID, "at", pointers)
}

// emitResumedLocked records that the run continues, after the answers that it got.
func (r *run) emitResumedLocked() {
	for _, n := range r.earlier.answers {
		r.showAnswers(n)
		r.emitLocked(&n.event)
	}
	n := newPendingEvent(journal.FlowResumed)
	n.data.Flow, n.data.Interrupted, n.data.Worker = r.flow.Name, r.earlier.interrupted, r.exec.Worker
	r.emitLocked(&n.event)
}

// showAnswers returns the event its answers, masked.
func (r *run) showAnswers(n *pendingEvent) {
	if n.data.Decision != nil {
		return
	}
	n.input, n.data.Masked = r.secrets.maskWithPointers(n.params)
	n.data.Answers, n.data.Message = &n.input, r.secrets.maskText(n.message)
}

// answerEvents returns the events of answers, one per step; params has the answers.
func answerEvents(answers []Answer) []*pendingEvent {
	var notes []*pendingEvent
	for _, a := range answers {
		i := slices.IndexFunc(notes, func(n *pendingEvent) bool { return journal.StepPath(n.event.Step, n.event.Index) == a.Step })
		if i < 0 {
			n := newPendingEvent(journal.StepAnswered)
			n.event.Step, n.event.Index = journal.SplitPath(a.Step)
			n.params = value.OfMap(value.NewMap(1))
			notes, i = append(notes, n), len(notes)
		}
		if a.Message != "" { // several fields of a form may hold words
			notes[i].message = strings.TrimPrefix(notes[i].message+"\n"+a.Message, "\n")
		} else {
			notes[i].params.Map().Set(a.Pointer, a.Value)
		}
	}
	return notes
}

// countBegun returns how many steps and items earlier processes have brought to their end:
// all others begin again.
func countBegun(state *journal.RunState) (n int) {
	count := func(st *journal.StepState) {
		if st.State == journal.StepStatusFinished && len(st.Items) == 0 {
			n++
		}
	}
	for _, st := range state.Steps {
		count(st)
		for _, item := range st.Items {
			count(item)
		}
	}
	return n
}
