package explain

import (
	"slices"

	"github.com/callnode/scheduler/llm/value/wording"
	"github.com/callnode/scheduler/scheduler/journal"
)

// Explanation is a prompt of a step with the source of every piece. [Explain] makes it for
// its caller; it is only data, and its JSON is the shape that the command line and the HTTP API
// give out.
type Explanation struct {
	// Step is the step, or a piece of work inside it, for example book/slot-1 or work/round-2.
	Step string `json:"step"`
	Call string `json:"call"`
	// Tokens is the estimated cost of the texts and images of the messages.
	Tokens int `json:"tokens"`
	// Total is the cost of the whole prompt, including everything around these texts, and CountedBy says who
	// counted it. The lines of steps show the same count.
	Total     int     `json:"total"`
	CountedBy Counted `json:"counted_by"`
	// Shared is how many of the first messages are the same as in the prompt before it in the list, for a
	// conversation that went on.
	Shared   int                `json:"shared,omitempty"`
	Messages []ExplainedMessage `json:"messages"`
	// LeftOut are the pieces that upstream steps offered and did not include.
	LeftOut []LeftOut `json:"left_out"`
	// Edited are the files that sources name and that had another text when a step of this way ran, although they
	// now have the same name. Places in them are places in the version that the step ran with.
	Edited []string `json:"edited,omitempty"`
	// Unrecorded is set if the run has not recorded the sources of a text that a template rendered: for example a
	// run of an earlier version, or a flow that was edited since. The text then has one source, which names
	// everything that the template names.
	Unrecorded bool `json:"unrecorded,omitempty"`
	// Providers are the providers that the step asked if there were several, in the order of their first requests,
	// with the cost of each and the reason why it failed.
	Providers []journal.ModelShare `json:"providers,omitempty"`
	// Cache is how much of the prompt is the same as in the step's prompt before; nil if there was none, and for
	// prompts that were sent to no model: see [CompareCaches].
	Cache *Cache `json:"cache,omitempty"`
	// Beside are the texts that are sent beside the contents of the messages, for checks of tests.
	Beside []BesideText `json:"-"`

	isSent bool
}

// Counted is who has counted tokens.
type Counted string

// Who counts.
const (
	ByProvider Counted = "provider"
	ByEstimate Counted = "estimate"
)

// ExplainedMessage is one message of the prompt.
type ExplainedMessage struct {
	Role string `json:"role"`
	// Tokens is the sum of the pieces' tokens.
	Tokens int `json:"tokens"`
	// Pieces cover the text of the message without gaps.
	Pieces []Piece `json:"pieces"`
}

// Piece is a piece of a message with its source.
type Piece struct {
	Text string `json:"text"`
	// Tokens is the estimated cost of the piece: as reported by the call that put it in, or by the counter.
	Tokens int `json:"tokens"`
	// Sources are the way of the text from its origin to the prompt, origin first: a
	// place in the flow, an input, a part that a step took from elsewhere, then the
	// steps that passed it on.
	Sources []Source `json:"sources"`
}

// Way returns the sources as people read them, origin first.
func (p *Piece) Way() wording.Text {
	names := make([]wording.Text, len(p.Sources))
	for i, s := range p.Sources {
		names[i] = s.Text()
	}
	return wording.Join(names, " > ", " > ")
}

// LeftOut is a piece that is not in the prompt.
type LeftOut struct {
	// Step is the step that left it out.
	Step string `json:"step"`
	Kind string `json:"kind"`
	Name string `json:"name"`
	// Reason is a sentence, Code the reason as a stable word, Detail more about it: see
	// [calls.Part].
	Reason string `json:"reason"`
	Code   string `json:"code,omitempty"`
	Detail string `json:"detail,omitempty"`
	// Tokens is the cost that it would have had; 0 if the call does not say.
	Tokens int `json:"tokens"`
}

// InLanguage returns the explanation with the reasons for left-out parts in the reader's language, whatever the
// language of the flow.
func (e *Explanation) InLanguage(language string) *Explanation {
	told := *e
	told.LeftOut = slices.Clone(e.LeftOut)
	for i := range told.LeftOut {
		l := &told.LeftOut[i]
		l.Reason, l.Detail = wording.Restate(l.Reason).In(language), wording.Restate(l.Detail).In(language)
	}
	return &told
}

// Cache says how much of a prompt's beginning its provider has seen before, in the step's prompt before: the part
// that providers can serve from their caches.
type Cache struct {
	// Run and Step name the step whose prompt it is compared with; Run is "" for the same run.
	Run  string `json:"run,omitempty"`
	Step string `json:"step"`
	// Messages and Tokens count the shared beginning: whole messages, and tokens, estimated, including the shared
	// part of the message that differs.
	Messages int `json:"messages"`
	Tokens   int `json:"tokens"`
	// Broken is the first difference; nil if the prompt only continues the other.
	Broken *CacheBreak `json:"broken,omitempty"`
}

// CacheBreak is the first piece of a prompt that is not as in the prompt before.
type CacheBreak struct {
	// Message is the index of its message.
	Message int `json:"message"`
	// Piece is the piece; its Text begins with the part that both prompts share.
	Piece Piece `json:"piece"`
	// Tokens are the estimated tokens of the prompt from there on, which have to be read again.
	Tokens int `json:"tokens"`
}

// BesideText is a text that a step sends to the model beside the contents of messages.
type BesideText struct {
	// Pointer is the place in the parameters of the step, for example /tools/0/function/description or
	// /messages/2/name.
	Pointer string `json:"pointer"`
	// Role is the role of the message for the name of a message, else RoleTools.
	Role string `json:"role"`
	// Pieces cover the text.
	Pieces []Piece `json:"pieces"`
}

// RoleTools is the role of texts outside the messages: the definitions of tools, the schema of the answer, and the
// members that extra adds to the request.
const RoleTools = "tools"

// eachPiece visits the pieces of the messages and beside them, and that at which the cache breaks.
func (e *Explanation) eachPiece(visit func(p *Piece)) {
	for i := range e.Messages {
		for j := range e.Messages[i].Pieces {
			visit(&e.Messages[i].Pieces[j])
		}
	}
	for i := range e.Beside {
		for j := range e.Beside[i].Pieces {
			visit(&e.Beside[i].Pieces[j])
		}
	}
	if e.Cache != nil && e.Cache.Broken != nil {
		visit(&e.Cache.Broken.Piece)
	}
}
