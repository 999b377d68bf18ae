// Package macro is the macro language of role-play chats: {{name:parameters}} and <<name:parameters>>, which mean
// the same and may be nested. For example, {{random:a,b}} becomes a or b.
//
// A text is parsed once and expanded once, innermost macros first. The result of a macro is never read as macros
// again, so a chat message or a variable that contains {{...}} stays as it is. An unknown macro stays as it is
// written.
package macro

import (
	"github.com/callnode/scheduler/calls/inchat/keyword"
	"github.com/callnode/scheduler/llm/value/wording"
)

// Limits of one text. Macros never loop, so they bound its cost together with [maxOutput].
const (
	maxText     = 64 << 10 // bytes of a text
	maxMacros   = 10_000   // macros in a text
	maxNested   = 50       // macros inside each other
	maxWarnings = 20
)

// Text is a parsed text. [Parse] creates it; it may be kept as long as one likes. It is immutable and safe for concurrent use.
type Text struct {
	nodes    []node
	words    []string
	errors   []wording.Text
	warnings []wording.Text
	volatile bool
	// functions are named by importance macros; unnamed is set when another one's name
	// comes from a macro.
	functions []string
	unnamed   bool
}

// node is literal text or a macro. Outside of macros, start and end are its bytes in the
// text that was parsed.
type node struct {
	text       string
	call       *call
	start, end int
}

// call is one use of a known macro. Its parameter is text with the macros in it;
// hasParam distinguishes {{name:}} from {{name}}.
type call struct {
	name     string
	expand   func(*run, *call, string) string
	param    []node
	hasParam bool
	expr     *keyword.Expr // of a keywords macro without macros in its parameter
	program  *program      // of a python macro without macros in its parameter
	dynamic  bool          // a python macro with macros in its parameter
}

// addError records an error and returns the expansion that reports it again.
func (t *Text) addError(format string, args ...any) func(*run, *call, string) string {
	message := wording.Say(format, args...)
	t.errors = append(t.errors, message)
	return func(r *run, _ *call, _ string) string {
		r.result.Errors = append(r.result.Errors, message)
		return ""
	}
}

func (t *Text) addWarning(format string, args ...any) {
	if len(t.warnings) == maxWarnings {
		return
	}
	t.warnings = append(t.warnings, wording.Say(format, args...))
}

// Words returns the words that the keywords macros of the text ask for, as far as
// they are known before it is expanded.
func (t *Text) Words() []string { return t.words }

// Errors lists the macros of the text that cannot be read. Expanding the text
// reports them again.
func (t *Text) Errors() []wording.Text { return t.errors }

// Warnings lists parts of the text that are probably not meant as they are written.
func (t *Text) Warnings() []wording.Text { return t.warnings }

// Functions returns the importance functions that the text asks, as far as they are known before it is expanded;
// all is true if there are no others.
func (t *Text) Functions() (names []string, all bool) { return t.functions, !t.unnamed }

// Volatile reports whether the text may expand differently each time with the same
// variables: it throws dice, or asks about the entry that it belongs to.
func (t *Text) Volatile() bool { return t.volatile }
