package scheduler

import (
	"cmp"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/callnode/scheduler/calls"
	"github.com/callnode/scheduler/calls/schema"
	"github.com/callnode/scheduler/llm/value"
	"github.com/callnode/scheduler/llm/value/wording"
	"github.com/callnode/scheduler/scheduler/flow"
	"github.com/callnode/scheduler/scheduler/journal"
)

// Waiting ends the events of a run that waits for values, after flow.waiting. It is not a failure:
// [StepExecutor.Resume] continues the run once it has answers. The engine makes it at the end of the run; it does
// not change afterwards.
type Waiting struct {
	Run string
	// For are the steps and items that wait, in the order in which they came to it.
	For []journal.WaitingFor
}

// Error lists the steps and the values that each waits for.
func (w *Waiting) Error() string { return w.In("en") }

// In lists them in a language.
func (w *Waiting) In(language string) string {
	texts := make([]wording.Text, len(w.For))
	for i, one := range w.For {
		texts[i] = one.Name()
	}
	return wording.Say("the run waits for values: %s", wording.Join(texts, "; ", "；")).In(language)
}

// Answer is a value for a step that waits. The caller makes it, or [ParseAnswer] from text;
// it is only data.
type Answer struct {
	// Step is a step as in [WaitingFor]: step, step[3], outer/inner. "" is the only waiting one.
	Step string
	// Pointer is one that the step waits for, or below one, or of an optional field.
	Pointer string
	Value   value.Value
	// Message is the user's text, instead of a value: it is read as the value of Pointer, or of the first place that
	// the step waits for, if it is one ("7", "yes"); else the call of the step reads it ("It is A-1042").
	Message string
	// By is the person who answers; only approvals look at it.
	By Decider
	// InField is set for a Message typed into a field of a form, which names its place: any text that fits is the
	// value, except a question and a refusal.
	InField bool
	// Seen is the seq of the last event of the run when the user was asked; 0: not known. A message for a run that
	// has continued since, and may ask for something else, is refused.
	Seen int64
}

func (a Answer) refusedError(why error) error {
	return calls.Errorf(calls.Invalid, "%s:%s: %w", a.Step, a.Pointer, why)
}

// findPlace finds the step that waits for the answer, and the schema of the value.
func (a Answer) findPlace(waiting []journal.WaitingFor) (*journal.WaitingFor, *schema.Schema, error) {
	w, err := a.findWaiter(waiting)
	if err != nil {
		return nil, nil, err
	}
	if w.Approval != nil && a.Pointer == journal.EditsPlace { // the engine checks them: their names are pointers
		s, err := schema.Parse(value.OfMap(value.Pairs("type", "object")))
		return w, s, err
	}
	properties, _ := w.RemainingSchema.Get("properties")
	asked := ""
	for _, pointer := range properties.Map().Keys() {
		isWithin := a.Pointer == pointer || strings.HasPrefix(a.Pointer, pointer+"/")
		if isWithin && len(pointer) >= len(asked) {
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
		return nil, nil, a.refusedError(wording.Errorf("the schema has no such place"))
	}
	only := onlySchema(place)
	if named := w.Place(a.Pointer).Schema; only.IsNull() && schema.Choices(named) != nil {
		only = named
	}
	s, err = schema.Parse(schema.Within(w.RemainingSchema, only))
	return w, s, err
}

// placeBeside is place for a value that the step does not wait for, but accepts. For example, the step waits for
// /day, and its schema also has an optional /time.
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

// ownType returns the schema of the answer's place in a document with types that only slot knows. If the place has
// such a type, slot will read the typed text.
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
		isOnly := a.Step == "" && len(waiting) == 1
		if a.Step == steps[i] || isOnly {
			return &waiting[i], nil
		}
	}
	hint := wording.Say("those that wait: %s", strings.Join(steps, ", "))
	if len(waiting) == 0 {
		return nil, calls.Errorf(calls.Invalid, "no step waits for a value").WithHint("leave the answers out")
	}
	if a.Step == "" {
		return nil, calls.Errorf(calls.Invalid, "several steps wait: which one is %s for?", wording.Of(cmp.Or(a.Pointer, "the value"))).
			WithHint("write STEP:%s=...; %s", a.Pointer, hint)
	}
	return nil, calls.Errorf(calls.Invalid, "no step %q waits for a value", a.Step).WithHint("%s", hint)
}

// waitingSteps are the steps and items of a whole run, and of its sub-flows, that wait for
// values. It is safe for concurrent use.
type waitingSteps struct {
	mu    sync.Mutex
	steps []waitingStep // guarded by mu
}

type waitingStep struct {
	seq int64 // of its event
	journal.WaitingFor
}

func (w *waitingSteps) add(seq int64, step journal.WaitingFor) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.steps = append(w.steps, waitingStep{seq, step})
}

// inOrder returns them in the order of their events.
func (w *waitingSteps) inOrder() []journal.WaitingFor {
	w.mu.Lock()
	defer w.mu.Unlock()
	slices.SortStableFunc(w.steps, func(a, b waitingStep) int { return cmp.Compare(a.seq, b.seq) })
	var list []journal.WaitingFor
	for _, step := range w.steps {
		list = append(list, step.WaitingFor)
	}
	return list
}

// InFileOrder returns the waiting steps in the order of the flow, items by their index.
func InFileOrder(f *flow.Flow, waiting []journal.WaitingFor) []journal.WaitingFor {
	sorted := slices.Clone(waiting)
	slices.SortStableFunc(sorted, func(a, b journal.WaitingFor) int {
		return slices.Compare(stepPlaces(f, a.Step), stepPlaces(f, b.Step))
	})
	return sorted
}

// stepPlaces returns, for every level of outer[3]/inner, the place of the step in its flow
// and the index of the item, -1 for none.
func stepPlaces(f *flow.Flow, path string) (places []int) {
	for f != nil {
		segment, rest, isInside := strings.Cut(path, "/")
		name, index, _ := strings.Cut(segment, "[")
		n, err := strconv.Atoi(strings.TrimSuffix(index, "]"))
		if err != nil {
			n = -1
		}
		step, ok := f.Step(name)
		if !ok {
			break
		}
		places = append(places, step.Index, n)
		if !isInside {
			break
		}
		f, path = step.Sub, rest
	}
	return places
}
