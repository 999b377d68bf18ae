package journal

import "slices"

// CodeFailed is the code of the warning that a step has failed and on_error: continue applies.
const CodeFailed = "failed"

// addWarning keeps the warnings of a step until it begins again.
func (s *RunState) addWarning(step string, ev *Event) {
	if w := warningOf(ev); w != nil {
		s.Warnings = append(s.Warnings, WarningInfo{step, w.Data.Code, w.Data.Text, w.Data.Source})
		s.changes.warnings = true
	}
	isOf := func(w WarningInfo) bool { return w.Step == step }
	if voidsWarnings(ev.Type) && slices.ContainsFunc(s.Warnings, isOf) {
		s.changes.warnings = true
		s.Warnings = slices.DeleteFunc(s.Warnings, isOf)
	}
}

// WarningEvents returns the warnings of a run, in the order of its events: one [StepWarning] for each of [RunState.Warnings].
// For a failed step after which the run continued, it is made from the event of its end, with its error.
func WarningEvents(events []*Event) (warnings []*Event) {
	for _, ev := range events {
		if w := warningOf(ev); w != nil {
			warnings = append(warnings, w)
		}
		if voidsWarnings(ev.Type) {
			step := StepPath(ev.Step, ev.Index)
			warnings = slices.DeleteFunc(warnings, func(w *Event) bool { return StepPath(w.Step, w.Index) == step })
		}
	}
	return warnings
}

// warningOf returns the event as a warning; nil if it is not one.
func warningOf(ev *Event) *Event {
	switch {
	case ev.Data == nil:
		return nil
	case ev.Type == StepWarning:
		return ev
	case ev.Type == StepFinished && ev.Data.Error != nil:
		w := *ev
		w.Type = StepWarning
		w.Data = &Data{Code: CodeFailed, Text: ev.Data.Error.Message, Source: ev.Data.Error.Position, Error: ev.Data.Error}
		return &w
	}
	return nil
}

// voidsWarnings reports whether a step begins again with an event, so that its earlier warnings do not count.
func voidsWarnings(t EventType) bool { return t == StepStarted || t == StepRetrying }
