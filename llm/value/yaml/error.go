package yaml

import (
	"cmp"
	"fmt"

	"github.com/callnode/scheduler/llm/value/wording"
)

// Error is a fault in YAML text. Line and Col count from 1; Col is 0 if the library does not report it. It does
// not change.
type Error struct {
	Line, Col int
	Msg       string
	// Hint is the remedy; often "".
	Hint string
	// JSON: the text was read by the rules of JSON.
	JSON bool

	chinese, chineseHint string
	library              string // the library's message; "" without one
}

// newError returns an error with its message in the built-in languages.
func newError(line, col int, message wording.Text) *Error {
	return &Error{Line: line, Col: col, Msg: message.En, chinese: message.Zh}
}

// withHint adds the remedy.
func (e *Error) withHint(hint wording.Text) *Error {
	e.Hint, e.chineseHint = hint.En, hint.Zh
	return e
}

// Error is line:col: message (hint).
func (e *Error) Error() string { return e.at(e.Msg, e.Hint) }

// In returns the place, the message and the hint in a language.
func (e *Error) In(language string) string {
	message, hint := e.Text()
	return e.at(message.In(language), hint.In(language))
}

func (e *Error) at(message, hint string) string {
	if hint != "" {
		hint = " (" + hint + ")"
	}
	if e.Col == 0 {
		return fmt.Sprintf("%d: %s%s", e.Line, message, hint)
	}
	return fmt.Sprintf("%d:%d: %s%s", e.Line, e.Col, message, hint)
}

// Text returns the fault and the remedy in the built-in languages, without the place.
func (e *Error) Text() (message, hint wording.Text) {
	message, hint = wording.Of(e.Msg), wording.Of(e.Hint)
	message.Zh, hint.Zh = cmp.Or(e.chinese, message.Zh), cmp.Or(e.chineseHint, hint.Zh)
	return message, hint
}
