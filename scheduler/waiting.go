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
)

// Waiting ends the events of a run that waits for values, after flow.waiting. It
// is no failure: [StepExecutor.Resume] goes on with the run once it has answers.
type Waiting struct {
	Run string
	// For are the steps and items that wait, in the order in which they came to it.
	For []WaitingFor
}

// Error lists who waits for what.
func (w *Waiting) Error() string {
	texts := make([]string, len(w.For))
	for i, one := range w.For {
		texts[i] = one.String()
	}
	return "the run waits for values: " + strings.Join(texts, "; ")
}

// String is the step and the pointers of what it waits for.
func (w WaitingFor) String() string {
	return w.Step + " for " + strings.Join(w.Pointers(), ", ")
}

// Pointers are the places that values are wanted for, as JSON pointers into the
// step's data; "" is the data as a whole.
func (w WaitingFor) Pointers() []string {
	properties, _ := w.RemainingSchema.Get("properties")
	return properties.Map().Keys()
}

// Answer is a value for a step that waits.
type Answer struct {
	// Step is what [WaitingFor] has: step, step[3], outer/inner. "" is the one that
	// waits.
	Step string
	// Pointer is one that the step waits for, or below one.
	Pointer string
	Value   value.Value
}

// ParseAnswer reads an answer as people type it, STEP:/pointer=value. The value is
// typed by the remaining schema: a string where the schema wants one, else JSON.
// The error is of kind Invalid and says what is wanted.
func ParseAnswer(text string, waiting []WaitingFor) (Answer, error) {
	place, typed, ok := strings.Cut(text, "=")
	if !ok {
		return Answer{}, calls.Errorf(calls.Invalid, "%q is no answer", text).WithHint("write /pointer=value or STEP:/pointer=value")
	}
	var a Answer
	if a.Pointer = place; !strings.HasPrefix(place, "/") {
		if a.Step, a.Pointer, ok = strings.Cut(place, ":"); !ok && place != "" {
			return Answer{}, calls.Errorf(calls.Invalid, "%q is no JSON pointer", place).WithHint("write /%s=%s", place, typed)
		}
	}
	w, s, err := a.place(waiting)
	if err != nil {
		return Answer{}, err
	}
	a.Step = w.Step
	a.Value, err = fromText(s, typed)
	if err != nil {
		return Answer{}, a.refused(err)
	}
	return a, nil
}

// fromText finds the value that a typed text means to a schema.
func fromText(s *schema.Schema, text string) (value.Value, error) {
	plain := value.OfString(text)
	v, err := value.ParseJSON([]byte(text))
	if err != nil || v.Kind() == value.String {
		v = plain
	}
	problems := s.Check(v)
	if problems == nil || s.Check(plain) == nil {
		if problems != nil {
			v = plain
		}
		return v, nil
	}
	return v, problems
}

// AnswersOf takes answers from an object: of pointers, or of names at the top of
// the data, where one step waits, else of such objects by step.
func AnswersOf(doc value.Value, waiting []WaitingFor) ([]Answer, error) {
	if doc.Kind() != value.Object {
		return nil, calls.Errorf(calls.Invalid, "answers are an object, got %s", doc.Kind())
	}
	isStep := func(name string) bool {
		return slices.ContainsFunc(waiting, func(w WaitingFor) bool { return w.Step == name })
	}
	var answers []Answer
	for key, v := range doc.Map().All() {
		if !isStep(key) || v.Kind() != value.Object {
			answers = append(answers, Answer{"", pointerOf(key), v})
			continue
		}
		for inner, v := range v.Map().All() {
			answers = append(answers, Answer{key, pointerOf(inner), v})
		}
	}
	return answers, CheckAnswers(answers, waiting)
}

// pointerOf is a key as a pointer: names are members of the data.
func pointerOf(key string) string {
	if key == "" || key[0] == '/' {
		return key
	}
	return "/" + value.Escape(key)
}

// CheckAnswers holds answers to what the steps wait for. The error, of kind
// Invalid, tells all that is wrong.
func CheckAnswers(answers []Answer, waiting []WaitingFor) error {
	var wrong []error
	for _, a := range answers {
		w, s, err := a.place(waiting)
		if err == nil {
			if problems := s.Check(a.Value); problems != nil {
				a.Step = w.Step
				err = a.refused(problems)
			}
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

func (a Answer) refused(why error) error {
	return calls.Errorf(calls.Invalid, "%s:%s: %w", a.Step, a.Pointer, why)
}

// place finds who waits for the answer, and what the value must be like.
func (a Answer) place(waiting []WaitingFor) (*WaitingFor, *schema.Schema, error) {
	w, err := a.waiter(waiting)
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
		e := calls.Errorf(calls.Invalid, "the step %s does not wait for %q", w.Step, a.Pointer)
		if near := value.Nearest(a.Pointer, w.Pointers()); near != "" {
			return nil, nil, e.WithHint("did you mean %s?", near)
		}
		return nil, nil, e.WithHint("it waits for %s", strings.Join(w.Pointers(), ", "))
	}
	s, err := schema.Parse(beside(w.RemainingSchema, property))
	if err != nil || a.Pointer == asked {
		return w, s, err
	}
	place := s.Describe(a.Pointer[len(asked):])
	if !place.Known {
		return nil, nil, a.refused(errors.New("the schema has no such place"))
	}
	var below value.Value
	if len(place.Schemas) == 1 { // of several, some may be of other branches of a union
		below = place.Schemas[0]
	}
	s, err = schema.Parse(beside(w.RemainingSchema, below))
	return w, s, err
}

// waiter is the one that the answer is for.
func (a Answer) waiter(waiting []WaitingFor) (*WaitingFor, error) {
	steps := make([]string, len(waiting))
	for i := range waiting {
		if steps[i] = waiting[i].Step; a.Step == steps[i] || a.Step == "" && len(waiting) == 1 {
			return &waiting[i], nil
		}
	}
	hint := "those that wait: " + strings.Join(steps, ", ")
	switch {
	case len(waiting) == 0:
		return nil, calls.Errorf(calls.Invalid, "no step waits for a value")
	case a.Step == "":
		return nil, calls.Errorf(calls.Invalid, "several steps wait: which one is %s for?", cmp.Or(a.Pointer, "the value")).
			WithHint("write STEP:%s=...; %s", a.Pointer, hint)
	}
	return nil, calls.Errorf(calls.Invalid, "no step %q waits for a value", a.Step).WithHint("%s", hint)
}

// beside is the schema of one place, with the definitions of the flat schema that
// it stands in.
func beside(flat, place value.Value) value.Value {
	m := value.NewMap(3)
	for key, member := range flat.Map().All() {
		switch key {
		case "type", "properties", "required":
		default:
			m.Set(key, member)
		}
	}
	if !place.IsNull() {
		m.Set("allOf", value.OfList(place))
	}
	return value.OfMap(m)
}

// stepPath names a step, or an item of it: step[3].
func stepPath(step string, index *int) string {
	if index == nil {
		return step
	}
	return fmt.Sprintf("%s[%d]", step, *index)
}
