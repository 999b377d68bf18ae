package check

import (
	"context"
	"slices"
	"strings"

	"github.com/callnode/scheduler/llm/value"
	"github.com/callnode/scheduler/llm/value/wording"
	"github.com/callnode/scheduler/scheduler/journal"
)

// resolve finds the subject in an evidence; failed says why it is missing. A missing subject is never a pass, not
// under not either.
func (s *parsedSubject) resolve(ctx context.Context, e *Evidence) (of *subject, failed *verdict) {
	of = &subject{parsedSubject: s, of: e}
	return of, of.find(ctx)
}

// find sets the fields of the subject from its evidence.
func (s *subject) find(ctx context.Context) *verdict {
	switch s.kind {
	case outputSubject:
		return s.resolveOutput()
	case stepSubject:
		return s.resolveStep()
	case promptSubject:
		return s.resolvePrompt(ctx)
	case requestSubject:
		return s.resolveRequest(ctx)
	case eventSubject:
		return s.resolveEvents()
	case toolsSubject:
		return s.resolveTools()
	case retrievedSubject:
		return s.resolveRetrieved()
	case runSubject, noSubject:
	}
	return nil
}

// shownValue returns the subject as results show it: without how long steps took, which is another in each run.
func (s *subject) shownValue() value.Value {
	if s.kind != eventSubject {
		return s.asValue()
	}
	items := slices.Clone(eventsValue(s.events).List())
	for i, item := range items {
		event := item.Map().Clone()
		data, _ := event.Get("data")
		shown := data.Map().Clone()
		shown.Delete("duration_ms")
		event.Set("data", value.OfMap(shown))
		items[i] = value.OfMap(event)
	}
	return value.OfList(items...)
}

// asText returns the subject as matchers of text, judges and plugins see it: JSON if it is not a text.
func (s *subject) asText() string {
	switch s.kind { //nolint:exhaustive // the others are values
	case promptSubject:
		return promptText(s.lastPrompt())
	case eventSubject, toolsSubject, retrievedSubject, runSubject:
		return s.asValue().JSON()
	}
	return textOf(s.value)
}

// asValue returns the subject as expressions and matchers of data see it.
func (s *subject) asValue() value.Value {
	switch s.kind { //nolint:exhaustive // the others are values
	case promptSubject:
		return messagesValue(s.lastPrompt())
	case eventSubject:
		return eventsValue(s.events)
	case toolsSubject:
		return usesValue(s.uses)
	case retrievedSubject:
		return idsValue(s.ids)
	case runSubject:
		return runValue(s.of)
	}
	return s.value
}

// isValue reports whether the subject is a value of the run, and not for example a prompt.
func (s *subject) isValue() bool { return s.kind == outputSubject || s.kind == stepSubject }

// isEmpty reports whether the subject is a value in which nothing is: "", [] or {}.
func (s *subject) isEmpty() bool {
	if !s.isValue() {
		return false
	}
	switch s.value.Kind() {
	case value.List:
		return len(s.value.List()) == 0
	case value.Object:
		return s.value.Map().Len() == 0
	case value.String:
		return strings.TrimSpace(textOf(s.value)) == ""
	default:
		return false
	}
}

// idleNote returns why a pass on the subject says little; zero if it does not.
func (s *subject) idleNote() wording.Text {
	switch s.kind { //nolint:exhaustive // nothing is known of the others
	case stepSubject:
		if step := s.of.mockOf([]string{nameSteps, s.step}); step != "" {
			return wording.Say("the output of the step %s is a mock of the case", step)
		}
	case outputSubject:
		if step := s.of.mockOf(append([]string{nameOutputs}, s.path...)); step != "" {
			return wording.Say("it is the output of the step %s, which is a mock of the case", step)
		}
		if s.of.isWritten(append([]string{nameOutputs}, s.path...)) {
			return wording.Say("the flow has it as it is: it is the same in every run")
		}
	case eventSubject:
		if step := s.of.mockOf([]string{nameSteps, s.step}); step != "" && s.event == journal.StepFinished {
			return wording.Say("the output of the step %s is a mock of the case", step)
		}
		hasBegun := slices.ContainsFunc(s.of.Events, func(ev *journal.Event) bool {
			return ev.Step == s.step || journal.StepPath(ev.Step, ev.Index) == s.step
		})
		isAboutBegin := s.event == journal.StepStarted || s.event == journal.StepReady
		if s.step != "" && !hasBegun && !isAboutBegin {
			return wording.Say("the step %s did not begin", s.step)
		}
	}
	return wording.Text{}
}
