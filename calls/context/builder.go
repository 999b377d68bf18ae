package context

import (
	"strings"

	"github.com/callnode/scheduler/calls"
	"github.com/callnode/scheduler/llm/value"
)

// builder makes one prompt. buildPrompt creates it; it is used by one goroutine and
// discarded with the step.
type builder struct {
	params    *Params
	env       *calls.Env
	in        Input
	workspace *rootDir

	// before is the history if the step gives none.
	before calls.Dialogue
	// past is the history as providers accept it, with the indexes of the given messages.
	past []calls.RepairedMessage

	out      Output
	system   strings.Builder
	warnings []string
	// unsent are the parts of media that cannot be used.
	unsent []calls.Part
}

func (b *builder) warn(format string, args ...any) {
	b.warnings = append(b.warnings, b.env.Say(format, args...))
	b.env.Warn("source", format, args...)
}

// hasUser reports whether there is a user's message.
func (b *builder) hasUser() bool { return b.params.CurrentMessage != nil || len(b.params.Media) > 0 }

// runtimeInMessage reports whether facts that change from turn to turn go into the user's message instead of the
// system prompt.
func (b *builder) runtimeInMessage() bool { return b.params.RuntimeContext == "message" && b.hasUser() }

func (b *builder) newSection(name, head, join, tail string, percent int) *section {
	return &section{name: name, head: head, join: join, tail: tail, percent: percent, count: b.env.Tokens, say: b.env.Say}
}

func (b *builder) addUnit(s *section, u *unit) {
	u.tokens = b.env.Tokens.Count(u.text)
	s.units = append(s.units, u)
}

// surroundings returns the texts before and after the identity, with their separators.
func (b *builder) surroundings() (before, after string) {
	before = b.params.Slots.BeforeChar
	if before != "" {
		before += sectionBreak
	}
	after = b.params.Slots.AfterChar
	if after != "" {
		after = sectionBreak + after
	}
	return before, after
}

// addSystemText writes a piece of the system text and notes its origins.
func (b *builder) addSystemText(kind, name, text, reason string, tokens int, origins ...calls.Origin) {
	if text == "" {
		return
	}
	start := b.system.Len()
	b.system.WriteString(text)
	b.out.Parts = append(b.out.Parts, calls.Part{
		Kind: kind, Name: name, Message: new(int), Start: start, End: b.system.Len(),
		Text: text, Tokens: tokens, Included: true, Reason: reason, Code: codeIncluded, Origins: calls.CutOrigins(origins, len(text)),
	})
}

// addLeftOut notes a piece that is not in the prompt.
func (b *builder) addLeftOut(kind, name, reason, code string, tokens int) {
	b.out.Parts = append(b.out.Parts, calls.Part{Kind: kind, Name: name, Tokens: tokens, Reason: reason, Code: code})
}

func (b *builder) addMessage(m *value.Map) { b.out.Messages = append(b.out.Messages, m) }

// addMessagePart notes a piece of the message that is written next, which begins at start
// of the message's text.
func (b *builder) addMessagePart(kind, name, text, reason string, start, tokens int, origins ...calls.Origin) {
	index := len(b.out.Messages)
	b.out.Parts = append(b.out.Parts, calls.Part{
		Kind: kind, Name: name, Message: &index, Start: start, End: start + len(text),
		Text: text, Tokens: tokens, Included: true, Reason: reason, Code: codeIncluded, Origins: origins,
	})
}

// tracedText is a text with its origins.
type tracedText struct {
	text, reason string
	origins      []calls.Origin
}

// shiftOrigins moves origins by some bytes that precede the text.
func shiftOrigins(origins []calls.Origin, by int) []calls.Origin {
	for i := range origins {
		origins[i].Start += by
		origins[i].End += by
	}
	return origins
}
