package calls

import (
	"github.com/callnode/scheduler/llm/value/wording"
)

// Warning is what a user should know of a call that goes on all the same: what was left
// out, cut, or done in another way than was asked for.
type Warning struct {
	// Code is a short word for programs, such as fallback. It stays the same where the
	// words of Text change.
	Code string
	// Text is for people.
	Text string
	// Source is what the warning is about: a file, the name of an entry. "" is the place in
	// the flow that Pointer names.
	Source string
	// Pointer is the JSON pointer of the parameter that the warning is about; "" is the step
	// as a whole.
	Pointer string
}

// Warner takes the warnings of a call. It may be used concurrently.
type Warner interface{ Warn(w Warning) }

// Warn tells the user of the run something, by a code and a text: it becomes an event at
// once, in the language of the run. It may be used concurrently.
func (e *Env) Warn(code, format string, args ...any) {
	e.WarnOf(Warning{Code: code, Text: wording.Say(format, args...).In(e.language())})
}

// Say returns a message in the language of the run.
func (e *Env) Say(format string, args ...any) string {
	return wording.SayIn(e.language(), format, args...)
}

// HintOf returns the hint of an error in the language of the run.
func (e *Env) HintOf(err error) string { return HintIn(err, e.language()) }

// MessageOf returns the message of an error in the language of the run.
func (e *Env) MessageOf(err error) string { return MessageIn(err, e.language()) }

// language returns that of the run; "" outside of one.
func (e *Env) language() string {
	if e.Vars == nil {
		return ""
	}
	return e.Vars.Language
}

// WarnOf is [Env.Warn] for a warning with a source.
func (e *Env) WarnOf(w Warning) {
	if e.Warner != nil {
		e.Warner.Warn(w)
	}
}
