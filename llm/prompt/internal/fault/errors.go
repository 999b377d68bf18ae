// Package fault has the errors of templates, with their places, and the limits of templates
// and values, for example the depth of nesting. All packages of the template language make their errors with it; [Locate] finds
// their lines and columns, for packages prompt and eval. It knows neither templates nor values.
package fault

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/callnode/scheduler/llm/value/wording"
)

// Class sorts errors as Jinja2's exceptions are sorted.
type Class string

// The classes of errors.
const (
	Undefined    Class = "undefined"     // a name, member or element that is not there
	Syntax       Class = "syntax"        // not a template, or an unknown filter, test or tag
	Security     Class = "security"      // an attempt to change a value or to reach its internals
	Type         Class = "type"          // an operation that the operands' types do not have
	ZeroDivision Class = "zero_division" // a division, or a remainder, by zero
	Limit        Class = "limit"         // a bound on size, depth, steps, output or time
	Other        Class = "other"         // a value that a filter or function cannot take, or an error of the scope
)

// Error is an error of a template with its place. Every error that leaves package prompt is
// one. It does not change once the caller has it.
type Error struct {
	Class     Class
	File      string
	Line, Col int // from 1; Col counts characters
	// Offset is the place as a byte of Source.Text.
	Offset int
	// Name is the dotted path up to the first missing step, for Undefined.
	Name string
	Msg  string
	Hint string
	Err  error // an error of the scope or the context

	placed bool // Offset is known
	format string
	args   []any  // the arguments of Msg
	hint   string // Hint in Chinese; "" if Hint was set without it
}

// Error returns file:line:col: message (hint).
func (e *Error) Error() string {
	var b strings.Builder
	if e.File != "" {
		b.WriteString(e.File + ":")
	}
	if e.Line > 0 {
		fmt.Fprintf(&b, "%d:%d: ", e.Line, e.Col)
	}
	b.WriteString(e.Msg)
	if e.Hint != "" {
		b.WriteString(" (" + e.Hint + ")")
	}
	return b.String()
}

// Text returns the message and the hint in the built-in languages, without the place.
func (e *Error) Text() (message, hint wording.Text) {
	message, hint = wording.Of(e.Msg), wording.Of(e.Hint)
	if made := wording.Say(e.format, e.args...); made.En == e.Msg { // else it was replaced
		message = made
	} else if e.Err != nil && e.Msg == e.Err.Error() {
		message = wording.OfError(e.Err)
	}
	if e.Hint != "" {
		hint.Zh = cmp.Or(e.hint, hint.Zh)
	}
	return message, hint
}

// SetMessage sets the message in the built-in languages.
func SetMessage(e *Error, format string, args ...any) {
	e.format, e.args = format, args
	e.Msg = wording.Say(format, args...).En
}

// SetHint sets the hint in the built-in languages.
func SetHint(e *Error, hint wording.Text) { e.Hint, e.hint = hint.En, hint.Zh }

// In returns the place, the message and the hint in a language.
func (e *Error) In(language string) string {
	if !wording.IsChinese(language) {
		return e.Error()
	}
	message, hint := e.Text()
	return (&Error{File: e.File, Line: e.Line, Col: e.Col, Msg: message.Zh, Hint: hint.Zh}).Error()
}

// Unwrap returns the error of the scope or the context, if it was one.
func (e *Error) Unwrap() error { return e.Err }

// Errorf makes an error whose place the nearest enclosing node fills in.
func Errorf(class Class, format string, args ...any) *Error {
	e := &Error{Class: class}
	SetMessage(e, format, args...)
	return e
}

// ErrorAt makes an error of a known place.
func ErrorAt(class Class, offset int, format string, args ...any) *Error {
	e := Errorf(class, format, args...)
	e.Offset, e.placed = offset, true
	return e
}

// SyntaxAt makes a Syntax error of a known place.
func SyntaxAt(offset int, format string, args ...any) *Error {
	return ErrorAt(Syntax, offset, format, args...)
}

// LimitAt makes a Limit error of a known place.
func LimitAt(offset int, format string, args ...any) *Error {
	return ErrorAt(Limit, offset, format, args...)
}

// WithPosition sets the place of an error that has none. Others
// come from a scope or a function of the program.
func WithPosition(err error, offset int) error {
	e, ok := err.(*Error) //nolint:errorlint // the package's own errors are never wrapped on their way up
	if !ok {
		e = &Error{Class: Other, Msg: err.Error(), Err: err}
	}
	if !e.placed {
		e.Offset, e.placed = offset, true
	}
	return e
}
