package scheduler

import (
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/callnode/scheduler/calls"
	"github.com/callnode/scheduler/calls/schema"
	"github.com/callnode/scheduler/llm/value"
	"github.com/callnode/scheduler/scheduler/flow"
	"github.com/callnode/scheduler/scheduler/internal/order"
	"github.com/callnode/scheduler/scheduler/journal"
)

// recordedState returns what earlier processes left of the task; nil where they did nothing.
func (t *task) recordedState() *journal.StepState {
	if t.run.recorded == nil {
		return nil
	}
	return t.run.recorded.Step(t.path())
}

// hasStartedBefore reports whether an earlier process has started the step: its condition was true.
func (t *task) hasStartedBefore() bool {
	was := t.recordedState()
	return was != nil && was.Attempts > 0
}

// takeOverParams takes the parameters with which an earlier process had begun, so that work
// which was cut short is done again with the same idempotency key and the same
// parameters. Those of a step that failed are found anew: they may be why.
func (t *task) takeOverParams() (taken bool, err error) {
	was := t.recordedState()
	if was == nil || was.State == journal.StepStatusFailed || was.Params.IsNull() || len(was.MaskedParams) > 0 {
		return false, nil
	}
	t.params = was.Params
	if t.step.EnableFilling {
		t.filled = true
		t.pieces.nextNumber(flow.CallSlot)
	}
	if t.step.Call == flow.CallSlot {
		t.params, err = t.withAnswers(t.params)
	}
	return true, err
}

// stillWaits returns the outcome of a task that an earlier process left waiting, and that
// nobody has answered since: it has nothing to do.
func (t *task) stillWaits() (o outcome, yes bool) {
	was := t.recordedState()
	if was == nil || was.State != journal.StepStatusWaiting || was.Found.IsNull() || was.HasNewAnswers {
		return outcome{}, false
	}
	n := t.notes.end.ofType(journal.StepWaiting)
	n.setOutput(was.Found, was.MaskedFound)
	n.input = was.Remaining
	n.data.RemainingSchema = &n.input
	return outcome{status: order.Waiting, note: n}, true
}

// restoreLocked takes over the steps that earlier processes finished or skipped, and
// makes ready what comes next. The stream is locked.
func (r *run) restoreLocked(now time.Time) {
	r.meter.presetUsage(r.recorded.UsageOf(strings.TrimSuffix(r.prefix, "/")))
	for i, step := range r.flow.Steps {
		was := r.recorded.Step(r.prefix + step.ID)
		if was == nil {
			continue
		}
		st := &r.states[i]
		switch was.State {
		case journal.StepStatusFinished:
			st.input, st.output = was.Input, was.Output
			r.order.Restore(i, order.Finished)
			if step.ForEach != nil {
				st.input = r.recorded.ItemInputs(was)
			}
			r.noteMaskedLocked(i, was.MaskedOutput)
		case journal.StepStatusSkipped:
			st.reason = was.Reason
			r.order.Restore(i, order.Skipped)
		default:
		}
	}
	r.applyLocked(r.order.Start(), now)
}

// noteMaskedLocked notes what the journal does not have of the output of a step. The stream is
// locked.
func (r *run) noteMaskedLocked(step int, pointers []string) {
	if len(pointers) == 0 {
		return
	}
	if r.masked == nil {
		r.masked = map[int][]string{}
	}
	r.masked[step] = pointers
	r.env.Log.Warn("a secret stood in the output of a finished step, and the journal does not keep secrets: later steps see it masked",
		"run", r.vars.Run.ID, "step", r.prefix+r.flow.Steps[step].ID, "at", pointers)
}

// tellResumedLocked tells that the run goes on, after the answers that it got. The stream is
// locked.
func (r *run) tellResumedLocked(now time.Time) {
	for _, n := range r.answers {
		r.showAnswers(n)
		r.pushLocked(&n.event, now)
	}
	n := newPendingEvent(journal.FlowResumed)
	n.data.Flow = r.flow.Name
	r.tellLocked(n, "", -1, now)
}

// showAnswers returns the event its answers, masked.
func (r *run) showAnswers(n *pendingEvent) {
	n.input, n.data.Masked = r.secrets.maskWithPointers(n.params)
	n.data.Answers = &n.input
}

// answerNotes returns the events of answers, one per step; params has the answers.
func answerNotes(answers []Answer) []*pendingEvent {
	var notes []*pendingEvent
	for _, a := range answers {
		i := slices.IndexFunc(notes, func(n *pendingEvent) bool { return journal.StepPath(n.event.Step, n.event.Index) == a.Step })
		if i < 0 {
			n := newPendingEvent(journal.StepAnswered)
			n.event.Step, n.event.Index = journal.SplitPath(a.Step)
			n.params = value.OfMap(value.NewMap(1))
			notes, i = append(notes, n), len(notes)
		}
		notes[i].params.Map().Set(a.Pointer, a.Value)
	}
	return notes
}

// checkWhole lets slot look at the answers, with all that is known: it knows more
// than the schema says. What it reads another way, such as tomorrow, is kept as it
// reads it now.
func (e *StepExecutor) checkWhole(r *run, state *journal.RunState, notes []*pendingEvent) error {
	def, ok := e.registry().Call(flow.CallSlot)
	if !ok {
		return nil
	}
	for _, n := range notes {
		st := state.Step(journal.StepPath(n.event.Step, n.event.Index))
		known, _ := st.Found.Get("slot_data")
		all := *st
		all.AddAnswers(n.params)
		env := r.env
		vars := r.vars
		vars.Now = env.Clock()
		env.Vars = &vars
		output, err := Invoke(r.parent, def, value.OfMap(value.Pairs(
			"data", known, "current_schema", state.WantedSchema(st), "answers", all.Answers, "stages", []string{},
		)), &env)
		if err != nil {
			return err
		}
		if err := rejectedError(st.ID, n.params, output); err != nil {
			return err
		}
		data, _ := output.Get("slot_data")
		for pointer, v := range n.params.Map().All() {
			if read, ok := data.At(pointer); ok && v.Kind() == value.String {
				n.params.Map().Set(pointer, read)
			}
		}
	}
	return nil
}

// rejectedError returns an error where slot did not take an answer.
func rejectedError(step string, answers, output value.Value) error {
	list, _ := output.Get("rejected")
	for _, one := range list.List() {
		pointer, reason := journal.Rejection(one)
		for answered := range answers.Map().All() {
			if pointer == answered || strings.HasPrefix(pointer, answered+"/") {
				return calls.Errorf(calls.Invalid, "%s:%s: %s", step, pointer, reason)
			}
		}
	}
	remaining, _ := output.Get("remaining_schema")
	still, _ := remaining.Get("properties")
	for answered, v := range answers.Map().All() {
		if property, ok := still.Get(answered); ok {
			why := errors.New("the value does not fit")
			if s, err := schema.Parse(schema.Within(remaining, property)); err == nil {
				if problems := s.Check(v); problems != nil {
					why = problems
				}
			}
			return calls.Errorf(calls.Invalid, "%s:%s: %w", step, answered, why)
		}
	}
	return nil
}
