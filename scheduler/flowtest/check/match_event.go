package check

import (
	"context"
	"slices"

	"github.com/callnode/scheduler/calls/schema"
	"github.com/callnode/scheduler/llm/value"
	"github.com/callnode/scheduler/llm/value/wording"
	"github.com/callnode/scheduler/scheduler/journal"
)

// eventMatchers lists the matchers of events. An item without count wants at least one.
func eventMatchers() []matcher {
	on := []subjectKind{eventSubject}
	return []matcher{
		define("count", wording.Text{En: "There are so many of the event.", Zh: "该事件有这么多次。"}, on, buildCount),
		define("before", wording.Text{En: "All of the event are before the first of this one.", Zh: "该事件全部发生在此事件第一次之前。"}, on, buildBefore),
		define("data", wording.Text{En: "One of the events has this in its data.", Zh: "其中一个事件的数据包含此内容。"}, on, buildData),
	}
}

func buildCount(want countWant, a *argument) test {
	if !want.isBound(a) {
		return nil
	}
	if a.subject.event == journal.FlowStarted && want.holds(1) {
		a.reportIdle("", "every run has one %s", a.subject.text)
		return nil
	}
	return func(_ context.Context, of *subject) *verdict {
		if want.holds(len(of.events)) {
			return pass()
		}
		failed := failf("there are %d of %s, not %s", len(of.events), of.text, want.text())
		if of.event == journal.StepWarning {
			failed.hint = listWarnings(of.events)
		}
		return failed
	}
}

// beforeWant is the event that comes later: its type, or {event, step}.
type beforeWant eventWant

// JSONSchema returns the schema of both forms.
func (beforeWant) JSONSchema() value.Value {
	return value.OfMap(value.Pairs("anyOf", value.OfList(value.OfMap(value.Pairs("type", "string")), schema.MustFor[eventWant]().Doc())))
}

// DecodeValue reads both forms.
func (w *beforeWant) DecodeValue(v value.Value) error {
	if text, ok := v.Str(); ok {
		w.Event = text
		return nil
	}
	return value.Decode(v, (*eventWant)(w))
}

func buildBefore(want beforeWant, a *argument) test {
	if !slices.Contains(eventTypes(), want.Event) {
		a.report("", wording.Say("unknown event %q", want.Event), nearHint(want.Event, eventTypes()))
		return nil
	}
	if want.Step != "" && !a.holds("/step", a.scope.checkStep(want.Step)) {
		return nil
	}
	return func(_ context.Context, of *subject) *verdict {
		later := eventsOf(of.of, journal.EventType(want.Event), want.Step)
		name := wording.Same(want.Event)
		if want.Step != "" {
			name = wording.Say("%s of %s", want.Event, want.Step)
		}
		if len(of.events) == 0 {
			return unfitf("there is no %s", of.text)
		}
		if len(later) == 0 {
			return unfitf("there is no %s", name)
		}
		if last := of.events[len(of.events)-1]; last.Seq > later[0].Seq {
			return failf("%s is event %d, after %s, event %d", of.text, last.Seq, name, later[0].Seq)
		}
		return pass()
	}
}

func buildData(want value.Value, a *argument) test {
	if want.Kind() != value.Object {
		a.report("", wording.Say("data takes a map"), wording.Say("write data: {code: ...}"))
		return nil
	}
	if want.Map().Len() == 0 {
		a.reportIdle("", "every event has no data and more")
		return nil
	}
	return func(_ context.Context, of *subject) *verdict {
		if len(of.events) == 0 {
			return failf("there is no %s", of.text).withNote("there is no %s", of.text)
		}
		var first *verdict
		for _, ev := range of.events {
			v := subsetVerdict(comparedData(ev, want), want)
			if v.score == nil && v.message.En == "" {
				return v
			}
			if first == nil {
				first = v
			}
		}
		if len(of.events) > 1 {
			first.message = wording.Say("none of %d events has this data; in the first: %s", len(of.events), first.message)
		}
		return first
	}
}

// comparedData returns the data of an event, without how long it took unless that is wanted: it is another time in each run.
func comparedData(ev *journal.Event, want value.Value) value.Value {
	const duration = "duration_ms"
	data := dataOf(ev)
	if _, isWanted := want.Get(duration); isWanted {
		return data
	}
	m := data.Map().Clone()
	m.Delete(duration)
	return value.OfMap(m)
}

// eventWant is an event as a check names it: its type, or {event, step}.
type eventWant struct {
	Event string `json:"event" doc:"The type of the event."`
	Step  string `json:"step,omitempty" doc:"The step that it is of."`
}
