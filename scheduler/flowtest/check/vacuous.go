package check

import (
	"context"
	"math"
	"slices"
	"strings"

	"github.com/callnode/scheduler/llm/prompt"
	"github.com/callnode/scheduler/llm/value"
	"github.com/callnode/scheduler/llm/value/wording"
	"github.com/callnode/scheduler/scheduler/flow"
	"github.com/callnode/scheduler/scheduler/flowtest/result"
	"github.com/callnode/scheduler/scheduler/journal"
)

// A matcher that passes whatever the run does tests nothing, and is reported when the file is read. Most say so themselves when they are
// built, for example {words: {min: 0}} and {matches: ".*"}. This file has the two that hold for all of them: a matcher is tried
// with values of every kind, and an expression is taken apart.

// Figures that no run comes near: an upper bound of such a size tests nothing.
const (
	maxCount  = 1e9  // tokens, words, events, warnings
	maxCost   = 1e6  // USD
	maxMS     = 1e10 // four months
	maxNumber = 1e30
)

// isReached reports whether a run can come to a bound, and adds the problem if none can.
func (a *argument) isReached(below string, bound, most float64) bool {
	if math.Abs(bound) < most {
		return true
	}
	a.reportIdle(below, "no run comes to %s", value.OfFloat(bound).JSON())
	return false
}

// canonical returns one form of a path of names for all ways to write it: in a check of output: reply, value
// and outputs.reply are the same. A subject of many items has no such form, and value means each.
func (s *parsedSubject) canonical(path []string) []string {
	if path[0] != nameValue || s.isMany() {
		return path
	}
	var own []string
	switch s.kind { // no name but value leads to the others
	case outputSubject:
		own = append([]string{nameOutputs}, s.path...)
	case stepSubject:
		own = append([]string{nameSteps, s.step}, s.path...)
	case runSubject:
		own = []string{nameRun}
	default:
		return path
	}
	return append(own, path[1:]...)
}

// knownOf returns the facts that an expression in a check of the subject has about its names.
func (s *parsedSubject) knownOf(path []string) prompt.Known {
	path = s.canonical(path)
	known := prompt.Known{Name: strings.Join(path, "\x00"), IsDefined: len(path) == 1 && path[0] != nameRow}
	isSubject := slices.Equal(path, s.canonical([]string{nameValue}))
	known.IsDefined = known.IsDefined || isSubject // a subject that is not there is a fail before
	if path[0] != nameRun || len(path) != 2 {
		return known
	}
	switch path[1] {
	case "state":
		known.IsDefined = true
		for _, state := range runStates() {
			known.Values = append(known.Values, value.OfString(state))
		}
	case "tokens", "input_tokens", "output_tokens", "warnings":
		known.IsCount, known.IsDefined = true, true
	case "cost", "ms":
		known.IsCount = true
	}
	return known
}

// reportConstant reports an expression that passes for any values of its names, or whenever it is asked.
func (m *parsedMatcher) reportConstant(e, when *expression) {
	written, _ := m.arg.value.Str()
	text := value.Truncate(strings.TrimSpace(written), maxShown)
	switch {
	case e.expr.IsAlways(!m.negated, nil, m.arg.subject.knownOf):
		m.arg.reportIdle("", "%s comes out the same whatever the run does", text)
	case when != nil && e.expr.IsAlways(!m.negated, when.expr, m.arg.subject.knownOf):
		m.arg.reportIdle("", "%s follows from when", text)
	}
}

// namesItself reports whether one of the expressions in a value gives the subject: {output: reply, similar: {to: "{{ outputs.reply }}"}}.
func (s *parsedSubject) namesItself(t *tree) bool {
	return t.hasText(func(text *expression) bool {
		if text.expr == nil {
			return false
		}
		path, isPath := text.expr.Path()
		return isPath && slices.Equal(s.canonical(path), s.canonical([]string{nameValue}))
	})
}

// isVacuous reports whether a matcher passes for values of every kind. A matcher under not is not tried: it proves
// nothing that a text is in none of the values.
func (m *parsedMatcher) isVacuous(ctx context.Context, do test) bool {
	if do == nil || m.negated || !m.isTryable {
		return false
	}
	hasPassed := false
	for _, v := range sampleValues() {
		of := &subject{
			parsedSubject: &parsedSubject{kind: outputSubject, text: m.arg.subject.text},
			of:            &Evidence{Services: &Services{}, Record: journal.NewRunState()}, value: v,
		}
		switch do(ctx, of).outcome {
		case result.Fail:
			return false
		case result.Pass:
			hasPassed = true
		case result.Error, result.Skip:
		}
	}
	return hasPassed
}

// mirrorsSubject reports whether a matcher whose templates name nothing but the subject passes for values of every kind, for example
// {output: reply, contains: "{{ value[:3] }}"}.
func (m *parsedMatcher) mirrorsSubject(ctx context.Context) bool {
	s := m.arg.subject
	isValue := (s.kind == outputSubject || s.kind == stepSubject) && !s.isMany()
	if !isValue || m.negated || !m.isTryable || !m.namesOnlySubject() {
		return false
	}
	hasPassed := false
	for _, v := range sampleValues() {
		of := &subject{parsedSubject: s, of: s.evidenceOf(v), value: v}
		do, _, failed := m.buildTest(ctx, of)
		if failed != nil {
			continue
		}
		switch do(ctx, of).outcome {
		case result.Fail:
			return false
		case result.Pass:
			hasPassed = true
		case result.Error, result.Skip:
		}
	}
	return hasPassed
}

// mirrorsPrompt reports whether texts that must be in a prompt are taken from that prompt: {prompt: answer, contains: "{{ value[0].content }}"}.
func (m *parsedMatcher) mirrorsPrompt() bool {
	looksFor := strings.HasPrefix(m.name, "contains") || m.name == "text"
	isOwn := func(text *expression) bool {
		if text.expr == nil {
			return false
		}
		path, isPath := text.expr.Path()
		return isPath && (path[0] == nameValue || path[0] == namePrompt)
	}
	return looksFor && !m.negated && m.arg.subject.kind == promptSubject && m.value.hasText(isOwn)
}

// namesOnlySubject reports whether all templates of the matcher name the subject, or a part of it, and nothing else.
func (m *parsedMatcher) namesOnlySubject() bool {
	own := m.arg.subject.canonical([]string{nameValue})
	refs := m.value.refs()
	for _, t := range m.beside {
		refs = append(refs, t.refs()...)
	}
	isOther := func(ref prompt.Ref) bool {
		path := m.arg.subject.canonical(ref.Path)
		return len(path) < len(own) || !slices.Equal(path[:len(own)], own)
	}
	return len(refs) > 0 && !slices.ContainsFunc(refs, isOther)
}

// evidenceOf returns the evidence of a run in which the subject is a value.
func (s *parsedSubject) evidenceOf(v value.Value) *Evidence {
	for _, token := range slices.Backward(s.path) {
		v = value.OfMap(value.Pairs(token, v))
	}
	record := journal.NewRunState()
	if s.kind == outputSubject {
		record.Outputs = v
	} else {
		record.Steps = append(record.Steps, &journal.StepState{ID: s.step, State: journal.StepStatusFinished, Output: v})
	}
	return &Evidence{Services: &Services{}, Record: record}
}

// sampleValues lists values of every kind, among them texts that differ as much as texts can.
func sampleValues() []value.Value {
	all := []value.Value{
		{}, value.OfBool(true), value.OfBool(false), value.OfInt(0), value.OfInt(-7), value.OfFloat(1e12 + 0.5), value.OfList(),
		value.OfList(value.OfString("a"), value.OfInt(1)), value.OfMap(value.NewMap(0)), value.OfMap(value.Pairs("text", "Two words.", "n", 3)),
	}
	for _, text := range sampleTexts() {
		all = append(all, value.OfString(text))
	}
	return all
}

// sampleTexts lists texts of very different kinds: none, letters, marks and digits of several scripts, JSON, one that is long, and one that
// has all kinds of characters in it.
func sampleTexts() []string {
	every := "\n\t"
	for r := ' '; r <= '~'; r++ {
		every += string(r)
	}
	every += "é中文。\U0001f600"
	return []string{
		"", "a", "Z", "7", "-", " ", "。", "é", "二", "two words", "两个词。", "budget 400: needs 31, 12 left", "line\nline", `{"a": [1]}`, every,
		strings.Repeat(every+" ", 20),
	}
}

// mockOf returns the step whose output a path leads to, directly or through an output of the flow that only passes
// it on, if that output is a mock of the case; "" for anything else.
func (e *Evidence) mockOf(path []string) (step string) {
	path = e.sourceOf(path)
	if len(path) < 2 || path[0] != nameSteps {
		return ""
	}
	if got := e.Record.Step(path[1]); got == nil || !got.IsGiven {
		return ""
	}
	return path[1]
}

// givenNote returns a note if the expressions of a check without a subject only look at values that the case
// itself gives: mocks, inputs and rows; zero if they do not.
func (c *Check) givenNote(e *Evidence) (note wording.Text) {
	for _, m := range c.matchers {
		for _, ref := range m.refs {
			step := e.mockOf(ref.Path)
			switch {
			case step != "":
				note = wording.Say("the output of the step %s is a mock of the case", step)
			case ref.Path[0] == nameInputs || ref.Path[0] == nameRow:
				note = wording.Say("it looks at what the case gives, and at nothing that the run made")
			default:
				return wording.Text{}
			}
		}
	}
	return note
}

// sourceOf returns the path of an output that the flow only passes on as the path of the step; any other as it is.
func (e *Evidence) sourceOf(path []string) []string {
	if p, rest := e.outputAt(path); p != nil && p.Expr != nil {
		if step, isPath := p.Expr.Path(); isPath {
			return slices.Concat([]string{nameSteps}, step, rest)
		}
	}
	return path
}

// outputAt returns the text in the flow for an output, or a member of it, and the path that is left below that; nil if it writes nothing.
func (e *Evidence) outputAt(path []string) (p *flow.Param, rest []string) {
	if len(path) < 2 || path[0] != nameOutputs || e.Flow == nil {
		return nil, nil
	}
	p, rest = e.Flow.Outputs, path[1:]
	for p != nil && len(rest) > 0 && p.Map != nil {
		i := slices.IndexFunc(p.Map, func(m flow.Member) bool { return m.Key == rest[0] })
		if i < 0 {
			return nil, nil
		}
		p, rest = p.Map[i].Param, rest[1:]
	}
	return p, rest
}

// isWritten reports whether an output is a value that the flow has as it is.
func (e *Evidence) isWritten(path []string) bool {
	p, _ := e.outputAt(path)
	return p != nil && p.Expr == nil && p.Text == nil && p.Map == nil && p.List == nil && p.Over == nil
}
