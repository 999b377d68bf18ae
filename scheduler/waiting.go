package scheduler

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/callnode/scheduler/calls"
	"github.com/callnode/scheduler/calls/schema"
	"github.com/callnode/scheduler/llm/value"
	"github.com/callnode/scheduler/scheduler/journal"
)

// Waiting ends the events of a run that waits for values, after flow.waiting. It
// is no failure: [StepExecutor.Resume] goes on with the run once it has answers.
type Waiting struct {
	Run string
	// For are the steps and items that wait, in the order in which they came to it.
	For []journal.WaitingFor
}

// Error lists who waits for what.
func (w *Waiting) Error() string {
	texts := make([]string, len(w.For))
	for i, one := range w.For {
		texts[i] = one.String()
	}
	return "the run waits for values: " + strings.Join(texts, "; ")
}

// Answer is a value for a step that waits.
type Answer struct {
	// Step is what [WaitingFor] has: step, step[3], outer/inner. "" is the one that
	// waits.
	Step string
	// Pointer is one that the step waits for, or below one, or of an optional field.
	Pointer string
	Value   value.Value
}

// ParseAnswer reads an answer as people type it, STEP:/pointer=value. The value is
// typed by the remaining schema: a string where the schema wants one, else JSON.
// The error is of kind Invalid and says what is wanted.
func ParseAnswer(text string, waiting []journal.WaitingFor) (Answer, error) {
	place, typed, ok := cutAnswer(text, waiting)
	if !ok {
		return Answer{}, calls.Errorf(calls.Invalid, "%q is no answer", text).WithHint("write /pointer=value or STEP:/pointer=value")
	}
	var a Answer
	a.Pointer = place
	if !strings.HasPrefix(place, "/") {
		if a.Step, a.Pointer, ok = strings.Cut(place, ":"); !ok && place != "" {
			return Answer{}, calls.Errorf(calls.Invalid, "%q is no JSON pointer", place).WithHint("write /%s=%s", place, typed)
		}
	}
	w, s, err := a.findPlace(waiting)
	if err != nil {
		return Answer{}, err
	}
	a.Step = w.Step
	a.Value, err = fromText(s, typed)
	if err == nil {
		return a, nil
	}
	e := calls.Errorf(calls.Invalid, "%w", a.refusedError(err))
	if problems := (schema.Problems)(nil); !errors.As(err, &problems) || !ofType(problems) {
		return Answer{}, e
	}
	if !ofType(s.Check(value.OfList())) {
		e = e.WithHint("write the array as JSON: [...]")
	} else if !ofType(s.Check(value.OfMap(nil))) {
		e = e.WithHint("write the object as JSON: {...}")
	}
	return Answer{}, e
}

// cutAnswer parts the place from the value. A pointer may hold the equals sign as
// well.
func cutAnswer(text string, waiting []journal.WaitingFor) (place, typed string, ok bool) {
	for _, w := range waiting {
		for _, pointer := range w.Pointers() {
			for _, at := range []string{w.Step + ":" + pointer, pointer} {
				if rest, is := strings.CutPrefix(text, at+"="); is && len(at) > len(place) {
					place, typed, ok = at, rest, true
				}
			}
		}
	}
	if ok {
		return place, typed, ok
	}
	return strings.Cut(text, "=")
}

// fromText finds the value that a typed text means to a schema.
func fromText(s *schema.Schema, text string) (value.Value, error) {
	plain := value.OfString(text)
	v, err := value.ParseJSON([]byte(text))
	if err != nil || v.Kind() == value.String {
		v = plain
	}
	problems, asText := s.Check(v), s.Check(plain)
	if yes, ok := schema.YesOrNo(text); ok && problems != nil && s.Check(yes) == nil {
		return yes, nil
	}
	if problems != nil && (asText == nil || ofType(problems) && !ofType(asText)) {
		v = plain
	}
	problems = answerProblems(s, v)
	if problems != nil {
		return v, problems
	}
	return v, nil
}

// ofType reports whether a value is of another type than the schema wants.
func ofType(problems schema.Problems) bool {
	return slices.ContainsFunc(problems, func(p schema.Problem) bool { return p.Pointer == "" && p.Keyword == "type" })
}

// answerProblems returns what is wrong with an answer to a place. A value of a format, such as a
// date, may be written in other ways than the schema has it: only slot, which sees
// all answers before they are taken, knows how.
func answerProblems(s *schema.Schema, v value.Value) schema.Problems {
	places, _ := s.Doc().Get("allOf")
	for _, place := range places.List() {
		if _, ok := place.Get("format"); ok && v.Kind() != value.Object && v.Kind() != value.List {
			return nil
		}
	}
	return s.Check(v)
}

// AnswersOf takes answers from an object: of pointers, or of names at the top of
// the data, where one step waits, else of such objects by step.
func AnswersOf(doc value.Value, waiting []journal.WaitingFor) ([]Answer, error) {
	if doc.Kind() != value.Object {
		return nil, calls.Errorf(calls.Invalid, "answers are an object, got %s", doc.Kind())
	}
	isStep := func(name string) bool {
		return slices.ContainsFunc(waiting, func(w journal.WaitingFor) bool { return w.Step == name })
	}
	one := ""
	if len(waiting) == 1 {
		one = waiting[0].Step
	}
	var answers []Answer
	for key, v := range doc.Map().All() {
		if !isStep(key) && one == "" && v.Kind() == value.Object && !strings.HasPrefix(key, "/") {
			// Where several wait it is meant as a step: CheckAnswers says that there is none.
			answers = append(answers, Answer{Step: key})
			continue
		}
		if !isStep(key) || v.Kind() != value.Object {
			answers = append(answers, Answer{one, pointerOf(key), v})
			continue
		}
		for inner, v := range v.Map().All() {
			answers = append(answers, Answer{key, pointerOf(inner), v})
		}
	}
	return answers, CheckAnswers(answers, waiting)
}

// pointerOf returns a key as a pointer: names are members of the data.
func pointerOf(key string) string {
	if key == "" || key[0] == '/' {
		return key
	}
	return "/" + value.Escape(key)
}

// CheckAnswers holds answers to what the steps wait for. The error, of kind
// Invalid, tells all that is wrong.
func CheckAnswers(answers []Answer, waiting []journal.WaitingFor) error {
	var wrong []error
	var taken []Answer
	for _, a := range answers {
		w, s, err := a.findPlace(waiting)
		if err == nil {
			a.Step = w.Step
			if problems := answerProblems(s, a.Value); problems != nil {
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

func (a Answer) refusedError(why error) error {
	return calls.Errorf(calls.Invalid, "%s:%s: %w", a.Step, a.Pointer, why)
}

// conflictWith returns an error where another answer is for the same place, or for one in it.
func (a Answer) conflictWith(others []Answer) error {
	for _, other := range others {
		switch {
		case a.Step != other.Step:
		case a.Pointer == other.Pointer:
			if !value.Equal(a.Value, other.Value) {
				return a.refusedError(fmt.Errorf("there are two answers, %s and %s", other.Value.JSON(), a.Value.JSON()))
			}
		case strings.HasPrefix(a.Pointer, other.Pointer+"/"), strings.HasPrefix(other.Pointer, a.Pointer+"/"):
			return a.refusedError(fmt.Errorf("there is an answer for %q as well, and one is a part of the other", other.Pointer))
		}
	}
	return nil
}

// findPlace finds who waits for the answer, and what the value must be like.
func (a Answer) findPlace(waiting []journal.WaitingFor) (*journal.WaitingFor, *schema.Schema, error) {
	w, err := a.findWaiter(waiting)
	if err != nil {
		return nil, nil, err
	}
	properties, _ := w.RemainingSchema.Get("properties")
	asked := ""
	for _, pointer := range properties.Map().Keys() {
		if (a.Pointer == pointer || strings.HasPrefix(a.Pointer, pointer+"/")) && len(pointer) >= len(asked) {
			asked = pointer
		}
	}
	property, ok := properties.Get(asked)
	if !ok {
		return a.placeBeside(w)
	}
	s, err := schema.Parse(schema.Within(w.RemainingSchema, property))
	if err != nil || a.Pointer == asked {
		return w, s, err
	}
	place := s.Describe(a.Pointer[len(asked):])
	if !place.Known {
		return nil, nil, a.refusedError(errors.New("the schema has no such place"))
	}
	s, err = schema.Parse(schema.Within(w.RemainingSchema, onlySchema(place)))
	return w, s, err
}

// placeBeside is place for what the step does not wait for, but may be told.
func (a Answer) placeBeside(w *journal.WaitingFor) (*journal.WaitingFor, *schema.Schema, error) {
	if w.Whole.Map().Len() > 0 && a.Pointer != "" {
		s, err := schema.Parse(w.Whole)
		if err != nil { // it has types of slot's own
			s, err = a.ownType(w.Whole)
			return w, s, err
		}
		if place := s.Describe(a.Pointer); place.Known && len(place.Schemas) > 0 {
			s, err = schema.Parse(schema.Within(definitions(w.Whole), onlySchema(place)))
			return w, s, err
		}
	}
	e := calls.Errorf(calls.Invalid, "the step %s does not wait for %q", w.Step, a.Pointer)
	pointers := w.Pointers()
	optional, _ := w.Whole.Get("properties")
	for name := range optional.Map().All() {
		pointers = append(pointers, "/"+value.Escape(name))
	}
	if hint := value.DidYouMean(a.Pointer, pointers); hint != "" {
		return nil, nil, e.WithHint("%s", hint)
	}
	return nil, nil, e.WithHint("it waits for %s", strings.Join(w.Pointers(), ", "))
}

// ownType returns the schema of the answer's place in a document with types that only
// slot knows. Where the place has such a type, slot will look at what was typed.
func (a Answer) ownType(whole value.Value) (*schema.Schema, error) {
	if property, ok := whole.At(strings.ReplaceAll(a.Pointer, "/", "/properties/")); ok {
		if s, err := schema.Parse(schema.Within(definitions(whole), property)); err == nil {
			return s, nil
		}
	}
	return schema.Parse(schema.Within(value.Value{}, value.OfMap(value.Pairs("type", "string", "format", "slot"))))
}

// onlySchema returns the schema of a place; of several, some may be of other branches of a
// union.
func onlySchema(place schema.Place) value.Value {
	if len(place.Schemas) == 1 {
		return place.Schemas[0]
	}
	return value.Value{}
}

// definitions returns the parts of a schema that others in it refer to.
func definitions(s value.Value) value.Value {
	m := value.NewMap(2)
	for _, key := range []string{"$schema", "definitions", "$defs"} {
		if member, ok := s.Get(key); ok {
			m.Set(key, member)
		}
	}
	return value.OfMap(m)
}

// findWaiter returns the one that the answer is for.
func (a Answer) findWaiter(waiting []journal.WaitingFor) (*journal.WaitingFor, error) {
	steps := make([]string, len(waiting))
	for i := range waiting {
		steps[i] = waiting[i].Step
		if a.Step == steps[i] || a.Step == "" && len(waiting) == 1 {
			return &waiting[i], nil
		}
	}
	hint := "those that wait: " + strings.Join(steps, ", ")
	if len(waiting) == 0 {
		return nil, calls.Errorf(calls.Invalid, "no step waits for a value").WithHint("leave the answers out")
	}
	if a.Step == "" {
		return nil, calls.Errorf(calls.Invalid, "several steps wait: which one is %s for?", cmp.Or(a.Pointer, "the value")).
			WithHint("write STEP:%s=...; %s", a.Pointer, hint)
	}
	return nil, calls.Errorf(calls.Invalid, "no step %q waits for a value", a.Step).WithHint("%s", hint)
}
