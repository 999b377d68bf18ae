package check

import (
	"cmp"
	"slices"

	"github.com/callnode/scheduler/llm/value"
	"github.com/callnode/scheduler/llm/value/wording"
	"github.com/callnode/scheduler/llm/value/yaml"
	"github.com/callnode/scheduler/scheduler/journal"
)

// eventTypes lists the types of events.
func eventTypes() []string {
	types := []journal.EventType{
		journal.FlowStarted, journal.FlowResumed, journal.StepReady, journal.StepStarted, journal.StepInput, journal.StepDelta,
		journal.StepRetrying, journal.StepWarning, journal.StepChild, journal.StepWaiting, journal.StepAnswered, journal.StepSkipped, journal.StepFailed,
		journal.StepFinished, journal.FlowWaiting, journal.FlowFailed, journal.FlowCancelled, journal.FlowFinished,
	}
	names := make([]string, len(types))
	for i, t := range types {
		names[i] = string(t)
	}
	return names
}

// readEvent reads the type of the event, and the step that it is of.
func (p *parser) readEvent(s *parsedSubject, n *yaml.Node, keys map[string]member) {
	if !slices.Contains(eventTypes(), s.text) {
		p.problems = append(p.problems, unknownName(p.positionIn(n, 0), "unknown event %q", s.text, eventTypes()))
		return
	}
	s.event = journal.EventType(s.text)
	m, ok := keys["step"]
	if !ok {
		return
	}
	s.step = p.text(keys, "step")
	if s.step != "" {
		p.checkStep(m.value, s.step)
		s.text += " of " + s.step
	}
}

// resolveEvents finds the events of the type and the step.
func (s *subject) resolveEvents() *verdict {
	s.events = eventsOf(s.of, s.event, s.step)
	return nil
}

// eventsOf lists the events of a type, and of a step where it is not "". Those of step.warning are the warnings that a run
// counts: of a step that failed and that the run went on after too.
func eventsOf(e *Evidence, kind journal.EventType, step string) (found []*journal.Event) {
	events := e.Events
	if kind == journal.StepWarning {
		events = journal.WarningEvents(e.Events)
	}
	for _, ev := range events {
		if ev.Type != kind {
			continue
		}
		if step == "" || ev.Step == step || journal.StepPath(ev.Step, ev.Index) == step {
			found = append(found, ev)
		}
	}
	return found
}

// dataOf returns the data of an event as a value.
func dataOf(ev *journal.Event) value.Value {
	if ev.Data == nil {
		return value.OfMap(nil)
	}
	v, err := value.Of(ev.Data)
	if err != nil {
		return value.OfMap(nil)
	}
	return v
}

// eventsValue returns events as expressions see them.
func eventsValue(events []*journal.Event) value.Value {
	items := make([]value.Value, len(events))
	for i, ev := range events {
		items[i] = value.OfMap(value.Pairs("type", string(ev.Type), "step", journal.StepPath(ev.Step, ev.Index), "data", dataOf(ev)))
	}
	return value.OfList(items...)
}

// eventWant is an event as a check names it: its type, or {event, step}.
type eventWant struct {
	Event string `json:"event" doc:"The type of the event."`
	Step  string `json:"step,omitempty" doc:"The step that it is of."`
}

// countWant is a number, or bounds of one.
type countWant struct {
	Min, Max *int
}

// JSONSchema returns the schema of both forms.
func (countWant) JSONSchema() value.Value {
	number := value.OfMap(value.Pairs("type", "integer", "minimum", 0))
	return value.OfMap(value.Pairs("anyOf", value.OfList(number, value.OfMap(value.Pairs(
		"type", "object", "additionalProperties", false, "minProperties", 1,
		"properties", value.OfMap(value.Pairs("min", number, "max", number)),
	)))))
}

// DecodeValue reads both forms.
func (w *countWant) DecodeValue(v value.Value) error {
	if n, ok := v.Int(); ok {
		exact := int(n)
		w.Min, w.Max = &exact, &exact
		return nil
	}
	var bounds struct {
		Min *int `json:"min"`
		Max *int `json:"max"`
	}
	err := value.Decode(v, &bounds)
	w.Min, w.Max = bounds.Min, bounds.Max
	return cmp.Or(err, checkBounds(w.Min, w.Max))
}

// checkBounds returns an error of bounds that no number is within.
func checkBounds[N int | float64](min, max *N) error {
	if min != nil && max != nil && *min > *max {
		return wording.Errorf("no number is at least %v and at most %v", *min, *max)
	}
	return nil
}

// holds reports whether a number is within the bounds.
func (w countWant) holds(n int) bool {
	return (w.Min == nil || n >= *w.Min) && (w.Max == nil || n <= *w.Max)
}

// text returns the bounds as messages name them.
func (w countWant) text() wording.Text {
	switch {
	case w.Min != nil && w.Max != nil && *w.Min == *w.Max:
		return wording.Same(value.OfInt(int64(*w.Min)).JSON())
	case w.Min != nil && w.Max != nil:
		return wording.Say("%d to %d", *w.Min, *w.Max)
	case w.Min != nil:
		return wording.Say("at least %d", *w.Min)
	case w.Max != nil:
		return wording.Say("at most %d", *w.Max)
	}
	return wording.Say("any number")
}
