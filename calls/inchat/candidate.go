package inchat

import (
	"github.com/callnode/scheduler/calls"
	"github.com/callnode/scheduler/calls/inchat/macro"
	"github.com/callnode/scheduler/llm/value"
	"github.com/callnode/scheduler/llm/value/wording"
)

// The kinds of entries, as the trace names them.
const (
	kindPreset    = "preset"
	kindWorldBook = "world_book"
)

// The codes of decisions, as the trace has them.
const (
	codeConstant  = "constant"
	codeKey       = "key"
	codeSecondary = "secondary"
	codeNoKey     = "no_key"
	codeDisabled  = "disabled"
	codeEmpty     = "empty"
	codeUnread    = "unread"
	codeCondition = "condition"
	codeBudget    = "budget"
	codeAlways    = "included"
)

// candidate is a preset or world-book entry with the decision about it.
type candidate struct {
	kind    string
	entry   *value.Map // nil for a value that is not an entry
	name    string
	index   int // the place among all entries, presets first; breaks ties
	role    string
	content string
	depth   int64
	order   int64
	cond    *condition // nil for an entry without one
	lore    *loreEntry // nil for a native entry
	book    *book      // nil for a preset
	pointer string     // JSON pointer into the parameters
	slot    string     // the place outside of the chat; "" for the chat
	// expanded has the origins of content after its macros were expanded.
	expanded []calls.Origin

	out     bool
	code    string // one of the codes, or "" if the reason says all
	reason  wording.Text
	tokens  int
	message int // the index in the output
	start   int // the byte in the slot
}

func (c *candidate) leaveOut(format string, args ...any) {
	c.out = true
	c.reason = wording.Say(format, args...)
}

// condition is a condition text, shared by all entries that have it.
type condition struct {
	text   string
	parsed *macro.Text
	user   string // the first entry that has it, for warnings
	kind   string

	done   bool
	holds  bool
	reason string
}

// loreEntry holds the fields that an entry of a SillyTavern lorebook, or of a character card's book, has beside a
// native entry's. readLore creates it; it lives as long as its candidate.
type loreEntry struct {
	keys, secondary []string
	logic           int64 // one of the selective logics
	constant        bool
	caseSensitive   bool
	wholeWords      bool
	patterns        bool           // the keys are regular expressions
	widening        []wording.Text // fields of loreWidening that are set
	scanDepth       *int64
}

// The logics of secondary keys, as selectiveLogic numbers them. All want one of the
// primary keys first.
const (
	andAny = iota // at least one secondary key occurs
	notAll        // at least one does not occur
	notAny        // none occurs
	andAll        // all occur
)

// builder holds the candidates of one call.
type builder struct {
	env        *calls.Env
	candidates []candidate
	books      []*book
	conditions map[string]*condition
	warnings   []string
}

func (b *builder) warn(format string, args ...any) {
	b.warnOf(calls.Warning{Code: "entry"}, format, args...)
}

// warnOf adds a warning; w has everything but the text.
func (b *builder) warnOf(w calls.Warning, format string, args ...any) {
	if len(b.warnings) < maxWarnings {
		w.Text = b.env.Say(format, args...)
		b.warnings = append(b.warnings, w.Text)
		b.env.WarnOf(w)
	} else if len(b.warnings) == maxWarnings {
		b.warnings = append(b.warnings, b.env.Say("there are more warnings"))
	}
}

const maxWarnings = 100
