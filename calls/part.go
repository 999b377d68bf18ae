package calls

import "context"

// Part is the provenance of one piece of a prompt, or of a piece that was left
// out: the one type behind parts and trace of input, context and in-chat, and
// behind --explain.
type Part struct {
	// Kind is what the piece comes from: text, variable, module, identity, file,
	// memory, skill, history, message, image, preset, world_book ...
	Kind string `json:"kind"`
	// Name tells pieces of one kind apart: a file's path, a module's name, an
	// entry's id.
	Name string `json:"name"`
	// Module is the name of an input module, as Name; only input sets it.
	Module string `json:"module,omitempty"`
	// Message is the index of the message in the output that holds the piece; nil
	// where it is in no message.
	Message *int `json:"message,omitempty"`
	// Start and End are the bytes [Start, End) that the piece takes in its
	// message's text, or in the prompt.
	Start int `json:"start"`
	End   int `json:"end"`
	// Text is the piece itself; "" for what was left out or is binary.
	Text string `json:"text"`
	// Tokens is what the piece costs.
	Tokens int `json:"tokens"`
	// Included says whether the piece is in the prompt.
	Included bool `json:"included"`
	// Reason says why it is in or out.
	Reason string `json:"reason"`
	// Code is the reason as a stable word: included, disabled, condition, budget,
	// duplicate, empty, unread, error ...; "" where the call has none.
	Code string `json:"code,omitempty"`
	// Detail says more than the reason, for people who ask why.
	Detail string `json:"detail,omitempty"`
	// Origins are where the bytes of Text were taken from, in order and without
	// overlaps. Bytes that no origin covers are the call's own words. The call carries
	// them along from where it takes the text; they are never found by equal text.
	Origins []Origin `json:"origins,omitempty"`
}

// Origin is where a stretch of a piece was taken from: a parameter, a file, or
// something with a name of its own.
type Origin struct {
	// Start and End are the bytes [Start, End) of the piece's text.
	Start int `json:"start"`
	End   int `json:"end"`
	// Pointer is the JSON pointer of the parameter; "" where it is of none.
	Pointer string `json:"pointer,omitempty"`
	// From is the byte of the source's text at which the stretch begins: of the
	// parameter, or of the file.
	From int `json:"from,omitempty"`
	// Computed is set where the stretch was made from its source and is not a copy
	// of it: From then means nothing.
	Computed bool `json:"computed,omitempty"`
	// File is the path of a file, and Line, from 1, the line where the stretch begins;
	// 0 where it is not known.
	File string `json:"file,omitempty"`
	Line int    `json:"line,omitempty"`
	// Kind and Name tell of other sources: memory, text, variable, question ...
	Kind string `json:"kind,omitempty"`
	Name string `json:"name,omitempty"`
}

// FromParam returns the origin of a text that is a parameter, or a string inside one,
// as it is.
func FromParam(pointer, text string) []Origin {
	return []Origin{{End: len(text), Pointer: pointer}}
}

// CutOrigins returns the origins of the first size bytes of a piece.
func CutOrigins(origins []Origin, size int) (cut []Origin) {
	for _, o := range origins {
		o.End = min(o.End, size)
		if o.Start < o.End {
			cut = append(cut, o)
		}
	}
	return cut
}

type partsKey struct{}

// WithParts returns the context for a request to [Env] LLM, of whose messages the parts
// tell where they come from: the engine keeps them with the prompt, for people who
// ask. Start and End are bytes of the text of the message that Message counts; Text
// is not needed.
func WithParts(ctx context.Context, parts []Part) context.Context {
	return context.WithValue(ctx, partsKey{}, parts)
}

// PartsOf returns the parts that WithParts put in.
func PartsOf(ctx context.Context) []Part {
	parts, _ := ctx.Value(partsKey{}).([]Part)
	return parts
}
