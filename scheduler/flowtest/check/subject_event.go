package check

import (
	"slices"

	"github.com/callnode/scheduler/llm/value"
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

// eventsOf lists the events of a type, and of a step unless that is "". The events of step.warning are the
// warnings that a run counts, which include failures of steps that the run survived.
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
