package terminal

import (
	"github.com/callnode/scheduler/llm/value/wording"
)

// Language is the language in which the program speaks to the person at a terminal, taken from the settings or
// from LANG.
type Language string

// Say returns a message of the program.
func (l Language) Say(format string, args ...any) string {
	return wording.Say(format, args...).In(string(l))
}

// sayOf returns the message of an error.
func (l Language) sayOf(err error) string { return wording.OfError(err).In(string(l)) }

// Count returns a number with its noun, in the plural except for one.
func (l Language) Count(n int, noun string) string { return wording.Count(n, noun).In(string(l)) }
