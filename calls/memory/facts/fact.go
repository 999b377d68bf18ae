// Package facts reads the facts that memories state, by rules in English and Chinese and without a model. For
// example "I moved to Tokyo last month" states that the speaker's home is Tokyo since last month. A memory is kept
// unchanged; facts lie beside it, can be dropped and read again at any time, and do not say when they end. That
// follows from the other facts when a question is answered:
//
//	reading := facts.Extract(&facts.Text{Content: "I moved to Tokyo", Role: "user", Time: t})
//	question, ok := facts.ReadQuestion("Where do I live now?", now)
//	answer := question.Answer(stored, aliases, now)
//
// The tables in data/ hold the attributes, words and patterns of each language. Adding an attribute
// needs no code, but a new [Version].
package facts

import (
	"context"
	"time"
)

// Version is the version of the rules and tables. A store keeps it with the facts of a user
// and reads all memories again when it differs.
const Version = 1

// By is the origin of facts that rules read; facts of a model have the model's name.
const By = "rules/1"

// Bounds of reading.
const (
	MaxFacts    = 16      // of one memory
	MaxContent  = 8 << 10 // bytes of a content that are read
	MaxClauses  = 64      // of a content
	MaxSubject  = 64      // bytes
	MaxValue    = 200     // bytes
	MaxTimeline = 256     // the newest facts of one subject and attribute that count
)

// Self is the subject of the first person in memories without a speaker.
const Self = "self"

// Kind is how a fact was said.
type Kind string

// The kinds of facts.
const (
	State      Kind = "state"      // I live in Paris
	Change     Kind = "change"     // I moved to Paris
	End        Kind = "end"        // I quit my job
	Past       Kind = "past"       // I lived in Paris
	Correction Kind = "correction" // not 42 but 43
	Link       Kind = "link"       // names an old value, such as "goodbye Emacs"; its attribute is found when it is read
)

// Attributes that are no names of a table.
const (
	Noun     = "noun"   // the Topic says which: the kitchen budget
	Amount   = "amount" // a number, with the stems of its clause as the Topic
	Ending   = "end"    // something that stopped, with the stems of its clause as the Topic
	LinkOf   = "link"   // an old value or a correction without a name of its own
	topicSep = " "
)

// Span is a part of a content, in bytes.
type Span struct{ Start, End int }

// Fact is a statement in one memory.
type Fact struct {
	// Seq is the number of the memory in the index of its user, and Said its timestamp. [Extract] sets Said
	// only; a [Source] sets both from the memory, so that neither is stored with the fact.
	Seq  uint32
	Said time.Time
	// N is the number of the fact in its memory, from 0.
	N int
	// Subject is [Self], a folded name ("anna") or a relation ("my sister", 我姐).
	Subject string
	// Attribute is a name of the table, or one of [Noun], [Amount], [Ending] and [LinkOf], which have a
	// Topic: sorted stems with a space between them.
	Attribute, Topic string
	// Value is exactly the bytes of ValueSpan.
	Value string
	Kind  Kind
	// Old is the value that is no longer true according to the text; for example Lyon in "from Lyon to Paris"; "" if the text names none.
	Old string
	// From is when it began: the time that the clause names, else the timestamp of the memory. To is
	// zero unless the text says it.
	From, To time.Time
	// Precision says how exactly From is known, from 0 for a day on: day, about a day, month, year.
	Precision  int
	ValueSpan  Span
	ClauseSpan Span
	// By is the version of the rules, or the name of a model.
	By string
}

// Alias says that two subjects are the same: in "my sister Anna", "my sister" is an alias of anna.
type Alias struct{ Alias, Name string }

// Text is a memory as [Extract] reads it.
type Text struct {
	Content string
	// Role is the chat role and Speaker the name of the speaker; "" if unknown.
	Role, Speaker string
	// Time is the timestamp of the memory.
	Time time.Time
	// Admitted makes a text of any role state facts, for example of a role that memory.facts.admit lists.
	Admitted bool
	// Foreign are the spans that state nothing, because they come from other memories.
	Foreign []Span
}

// Reading has the facts and aliases of a text.
type Reading struct {
	Facts   []Fact
	Aliases []Alias
}

// Source reads the stored facts of one user. If the index of a user implements it, facts take part in searches; an
// index without facts does not implement it.
type Source interface {
	// Facts returns the facts with one of the attributes of one of the subjects, in any order; of each subject and
	// attribute the newest [MaxTimeline] by From. Without subjects it returns the facts of all.
	Facts(ctx context.Context, subjects, attributes []string) ([]Fact, error)
	// Aliases returns all aliases of the user.
	Aliases(ctx context.Context) ([]Alias, error)
}
