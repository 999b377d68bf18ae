package calls

import (
	"context"
)

// Part is the provenance of one piece of a prompt, or of a piece that was left
// out: the one type behind parts and trace of input, context and in-chat, and
// behind --explain. A call makes it with the prompt; it is kept in the step's output, and by
// [WithParts] beside the messages that the call sends. It is only data.
type Part struct {
	// Kind is the kind of the piece's source: text, variable, module, identity, file, memory, skill, history,
	// message, image, preset, world_book ...
	Kind string `json:"kind"`
	// Name distinguishes pieces of one kind: a file's path, a module's name, an entry's id.
	Name string `json:"name"`
	// Module is the name of an input module, as Name; only input sets it.
	Module string `json:"module,omitempty"`
	// Message is the index of the message in the output that holds the piece; nil if it is in no message.
	Message *int `json:"message,omitempty"`
	// At is the JSON pointer of the text in the output that holds the piece, if that is neither a message nor the
	// prompt. In [WithParts] it is the pointer of the message's member that the part describes: /tool_calls.
	At string `json:"at,omitempty"`
	// Start and End are the bytes [Start, End) that the piece takes in its
	// message's text, in the text at At, or in the prompt.
	Start int `json:"start"`
	End   int `json:"end"`
	// Text is the piece itself; "" for a piece that was left out or is binary.
	Text string `json:"text"`
	// Tokens is the number of tokens of the piece.
	Tokens int `json:"tokens"`
	// Included reports whether the piece is in the prompt.
	Included bool `json:"included"`
	// Reason is why it is in or out.
	Reason string `json:"reason"`
	// Code is the reason as a stable word: included, disabled, condition, budget, duplicate, empty, unread, error
	// ...; "" if the call has none.
	Code string `json:"code,omitempty"`
	// Detail adds to the reason, for people who ask why.
	Detail string `json:"detail,omitempty"`
	// Origins are the origins of the bytes of Text, in order. Bytes that no origin covers are the call's own words.
	// The call carries them along with the text; they are never found by comparing texts.
	Origins []Origin `json:"origins,omitempty"`
}

type partsKey struct{}

// WithParts returns the context for a request to [Env] LLM with the origins of the messages: the engine keeps them
// with the prompt, for people who ask. Message counts the messages; Start and End are bytes of the text of that
// message, which is its text parts joined. Text is not needed. A part without bytes whose one origin has none
// either describes the whole message, including tool calls and images. Text that no part covers is credited to the
// call.
func WithParts(ctx context.Context, parts []Part) context.Context {
	return context.WithValue(ctx, partsKey{}, parts)
}

// PartsOf returns the parts that WithParts put in.
func PartsOf(ctx context.Context) []Part {
	parts, _ := ctx.Value(partsKey{}).([]Part)
	return parts
}

// NewPart returns a part for [WithParts]: the whole text of a message, which is of a
// kind.
func NewPart(message int, kind string, text Traced) Part {
	return Part{Kind: kind, Message: &message, End: len(text.Text), Included: true, Origins: text.Origins}
}

// AnswerPart returns the part of a message that the model has written.
func AnswerPart(message int, text string) Part {
	return NewPart(message, "answer", Traced{Text: text, Origins: []Origin{{End: len(text), Kind: OriginAnswer}}})
}

// MessagePart returns the part of a message that is the value of a source, such as a parameter, unchanged.
func MessagePart(message int, source Origin) Part {
	source.Start, source.End = 0, 0
	return Part{Message: &message, Included: true, Origins: []Origin{source}}
}
