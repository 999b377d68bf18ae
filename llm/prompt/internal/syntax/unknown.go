package syntax

import (
	"github.com/callnode/scheduler/llm/prompt/internal/builtins"
	"github.com/callnode/scheduler/llm/prompt/internal/fault"
	"github.com/callnode/scheduler/llm/prompt/internal/pyvalue"
	"github.com/callnode/scheduler/llm/value"
)

// unknownName returns the error of a filter, test or tag that does not exist.
func unknownName(kind string, t *token, known []string) error {
	if remedy, ok := builtins.Remedy(kind, t.text); ok {
		return notSupported(kind, t, remedy)
	}
	e := fault.SyntaxAt(t.off, "unknown %s %s", builtins.KindText(kind), pyvalue.QuoteText(t.text))
	e.Hint = value.DidYouMean(t.text, known)
	return e
}

func notSupported(kind string, t *token, remedy string) *fault.Error {
	e := fault.SyntaxAt(t.off, "unsupported %s %s", builtins.KindText(kind), pyvalue.QuoteText(t.text))
	e.Hint = remedy
	if t.text == "attr" || t.text == "format_map" || t.text == "mro" { // they look into values
		e.Class = fault.Security
	}
	return e
}

// checkMember refuses members that no value here has, before anything runs.
func checkMember(t *token, called bool) error {
	if builtins.IsInternal(t.text) {
		e := fault.SyntaxAt(t.off, "access to %s is refused: templates do not reach the insides of values", pyvalue.QuoteText(t.text))
		e.Class = fault.Security
		return e
	}
	remedy, ok := builtins.Remedy("method", t.text)
	if !called || !ok {
		return nil
	}
	return notSupported("method", t, remedy)
}

// lazyUnknown returns a filter or test that does not exist: an error when it is reached.
func lazyUnknown(kind string, name token, known []string) *builtins.Def {
	return builtins.FailingBuiltin(func() error { return unknownName(kind, &name, known) })
}
