package check

import (
	"github.com/callnode/scheduler/calls/schema"
	"github.com/callnode/scheduler/llm/value"
	"github.com/callnode/scheduler/llm/value/wording"
	"github.com/callnode/scheduler/scheduler/flow"
	"github.com/callnode/scheduler/scheduler/flowtest/check/naming"
)

// argument is the input of a matcher: its value, and the keys beside it that belong to it. Parsing makes it, and
// for values with templates each evaluation; its problems are collected by the maker.
type argument struct {
	value value.Value
	// isRendered reports whether a template has made the value: a dataset may give a text even if the subject has
	// another type.
	isRendered bool
	beside     *value.Map
	pointer    string // of value in the item
	prefix     string // of the pointers of the keys beside it
	// at returns the place of a value at a pointer into the item, keyAt the place of its key if it is a member of
	// a map.
	at, keyAt func(pointer string) flow.Position
	scope     *Scope
	subject   *parsedSubject
	problems  *flow.Problems
	needs     *[]Need
	memories  *[]Memory
}

// report adds a problem of the place at a pointer below the value.
func (a *argument) report(below string, message, hint wording.Text) {
	*a.problems = append(*a.problems, flow.NewProblem(a.at(a.pointer+below), message, hint))
}

// reportf adds a problem without a hint.
func (a *argument) reportf(below, format string, args ...any) {
	a.report(below, wording.Say(format, args...), wording.Text{})
}

// holds reports whether a name is fine, and adds the problem if it is not.
func (a *argument) holds(below string, wrong *naming.Problem) bool {
	if wrong != nil {
		a.report(below, wrong.Message, wrong.Hint)
	}
	return wrong == nil
}

// take returns the argument of a key that belongs to the matcher, and whether it is there.
func (a *argument) take(key string) (*argument, bool) {
	v, ok := a.beside.Get(key)
	if !ok {
		return nil, false
	}
	other := *a
	other.value, other.pointer = v, a.prefix+"/"+value.Escape(key)
	return &other, true
}

// hasSecret reports whether a text of the argument has a secret in it that mask hides; mask may be nil.
func (a *argument) hasSecret(mask func(text string) string) bool {
	if mask == nil {
		return false
	}
	isSecret := func(text string) bool { return mask(text) != text }
	return hasTextLike(a.value, isSecret) || hasTextLike(value.OfMap(a.beside), isSecret)
}

// need notes evidence of others that the matcher compares with.
func (a *argument) need(n Need) { *a.needs = append(*a.needs, n) }

// decode reads the value as a Go type by its schema; ok is false if it does not fit.
func decode[T any](a *argument, s *schema.Schema) (t T, ok bool) {
	problems := s.Check(a.value)
	for _, p := range problems {
		message, hint := p.Text()
		a.report(p.Pointer, message, hint)
	}
	if problems != nil {
		return t, false
	}
	if err := value.Decode(s.ApplyDefaults(a.value), &t); err != nil {
		a.report("", wording.OfError(err), wording.Text{})
		return t, false
	}
	return t, true
}

// reportIdle reports a value with which the check would pass for every subject.
func (a *argument) reportIdle(below, format string, args ...any) {
	a.report(below, wording.Say("%s: the check cannot fail", wording.Say(format, args...)), wording.Say("say more of the subject, or take the check out"))
}

// isBound reports whether a lower bound without an upper one can be missed, and adds the problem if it cannot.
func (a *argument) isBound(below string, min float64) bool {
	if min > 0 {
		return true
	}
	a.report(below, wording.Say("everything is at least 0: the check cannot fail"), wording.Say("give more than 0, or take the check out"))
	return false
}

// isGiven reports a text that is empty: every text contains it.
func isGiven(a *argument, text string) bool {
	if text == "" {
		a.reportf("", "the text is empty, and every text contains that")
	}
	return text != ""
}

// areGiven is isGiven of a list.
func areGiven(a *argument, texts []string) bool {
	if len(texts) == 0 {
		a.reportf("", "the list is empty")
		return false
	}
	for _, text := range texts {
		if !isGiven(a, text) {
			return false
		}
	}
	return true
}
