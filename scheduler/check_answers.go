package scheduler

import (
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/callnode/scheduler/calls"
	"github.com/callnode/scheduler/calls/schema"
	"github.com/callnode/scheduler/llm/value"
	"github.com/callnode/scheduler/llm/value/wording"
	"github.com/callnode/scheduler/scheduler/flow"
	"github.com/callnode/scheduler/scheduler/journal"
)

// checkAnswersWithSlot checks the answers of a resumed run beyond [CheckAnswers]: slot reads them with all known
// values, which allow more than the schema. A value that slot reads in another form, for example "tomorrow", is
// kept as it reads it now.
func (e *StepExecutor) checkAnswersWithSlot(r *run, state *journal.RunState, notes []*pendingEvent) error {
	def, ok := e.registry().Call(flow.CallSlot)
	if !ok {
		return nil
	}
	for _, n := range notes {
		if n.params.Map().Len() == 0 {
			continue
		}
		st := state.Step(journal.StepPath(n.event.Step, n.event.Index))
		known, _ := st.Found.Get("slot_data")
		all := *st
		all.AddAnswers(n.params)
		env := r.env
		vars := r.vars
		vars.Now = env.Clock()
		env.Vars = &vars
		output, err := Invoke(r.life.parent, def, value.OfMap(value.Pairs(
			"data", known, "current_schema", state.WantedSchema(st), "answers", all.Answers, "stages", []string{},
		)), &env)
		if err != nil {
			return err
		}
		if err := rejectionError(st.ID, n.params, output); err != nil {
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

// rejectionError returns an error if slot rejected an answer.
func rejectionError(step string, answers, output value.Value) error {
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
			why := wording.Errorf("the value does not fit")
			if schema.IsBlank(v) {
				why = wording.Errorf("a value is needed")
			}
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

// assignAnswers checks answers and finds the step that each is for. waited are the steps that
// waited before the flow was edited.
func assignAnswers(answers []Answer, state *journal.RunState, waited []journal.WaitingFor) ([]Answer, error) {
	taken := make([]Answer, len(answers))
	for i, a := range answers {
		if err := checkDecided(state, a); err != nil {
			return nil, err
		}
		if a.Message != "" {
			taken[i] = a // readMessages finds its place
			continue
		}
		w, _, err := a.findPlace(state.Waiting)
		if before, waitedFor := a.findWaiter(waited); err != nil && waitedFor == nil && state.Step(before.Step) == nil {
			return nil, calls.Errorf(calls.Invalid, "the edited flow changes the step %s, which waited: what it waits for now is not known yet", before.Step).
				WithHint("resume with the edited flow and no answers first, then answer")
		}
		if err != nil {
			return nil, err
		}
		taken[i] = Answer{Step: w.Step, Pointer: a.Pointer, Value: a.Value, By: a.By}
	}
	isMessage := func(a Answer) bool { return a.Message != "" }
	return taken, CheckAnswers(slices.DeleteFunc(slices.Clone(taken), isMessage), state.Waiting)
}

// CheckField is [CheckAnswers] for the answer of a person in the field of a form: a refusal such as "why?" does
// not count as the value of a free text.
func CheckField(a Answer, waiting []journal.WaitingFor) error {
	text, isText := a.Value.Str()
	if err := CheckAnswers([]Answer{a}, waiting); err != nil || !isText {
		return err
	}
	w, of, err := a.findPlace(waiting)
	place := journal.AskedPlace{Schema: placeOf(of)}
	if err == nil && place.IsFreeText() && schema.IsNoAnswer(text) {
		err = calls.Errorf(calls.Invalid, "the message does not answer what the step %s waits for", w.Step)
	}
	return err
}

// CheckAnswers checks answers against the questions of the steps. The error, of kind Invalid, lists all faults.
func CheckAnswers(answers []Answer, waiting []journal.WaitingFor) error {
	var wrong []error
	var taken []Answer
	for _, a := range answers {
		w, s, err := a.findPlace(waiting)
		if err == nil {
			a.Step = w.Step
			problems := a.blankProblem(w, s)
			if problems == nil {
				problems = answerProblems(s, a.Value)
			}
			if problems != nil {
				err = a.refusedError(problems)
			} else {
				err = a.conflictWith(taken)
			}
			taken = append(taken, a)
		}
		if err != nil {
			wrong = append(wrong, err)
		}
	}
	switch len(wrong) {
	case 0:
		return nil
	case 1:
		return wrong[0]
	}
	return calls.Errorf(calls.Invalid, "%w", errors.Join(wrong...))
}

// answerProblems returns the faults of an answer to a place. A value of a format, such as a date, may be written in other
// ways than the schema has it, for example "tomorrow": slot, which sees all answers before they are taken, brings it into its form. It has
// formats of its own, too.
func answerProblems(s *schema.Schema, v value.Value) schema.Problems {
	place := placeOf(s)
	name, hasFormat := place.Get("format")
	format, isKnown := schema.FindFormat(name.PlainText())
	isScalar := v.Kind() != value.Object && v.Kind() != value.List
	if hasFormat && isScalar && !isKnown {
		return nil
	}
	if hasFormat && isScalar {
		isRead := format.Reads(v, []string{schema.TypeName(place)}, time.Now())
		switch {
		case !isRead:
			return schema.Problems{format.Misfit()}
		case format.Convert != nil:
			return nil
		}
	}
	checked, err := schema.ParseForPeople(s.Doc(), time.Now())
	if err != nil {
		return s.Check(v)
	}
	return checked.Check(v)
}

// blankProblem returns the problem of a blank text as the answer to a place that needs a value; nil for other answers.
func (a Answer) blankProblem(w *journal.WaitingFor, s *schema.Schema) schema.Problems {
	required, _ := w.RemainingSchema.Get("required")
	isNeeded := slices.ContainsFunc(required.List(), func(one value.Value) bool { return one.PlainText() == a.Pointer })
	if !isNeeded || !schema.IsBlank(a.Value) || schema.TakesBlank(placeOf(s)) {
		return nil
	}
	return schema.Problems{schema.Problem{Keyword: "minLength"}.WithMessage("a value is needed").WithHint("a schema with minLength: 0 takes an empty text")}
}

// conflictWith returns an error if another answer is for the same place, or for one in it.
func (a Answer) conflictWith(others []Answer) error {
	for _, other := range others {
		switch {
		case a.Step != other.Step:
		case a.Pointer == other.Pointer:
			if !value.Equal(a.Value, other.Value) {
				return a.refusedError(wording.Errorf("there are two answers, %s and %s", other.Value.JSON(), a.Value.JSON()))
			}
		case strings.HasPrefix(a.Pointer, other.Pointer+"/"), strings.HasPrefix(other.Pointer, a.Pointer+"/"):
			return a.refusedError(wording.Errorf("there is an answer for %q as well, and one is a part of the other", other.Pointer))
		}
	}
	return nil
}
