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
}

type partsKey struct{}

// WithParts gives the context for a request to [Env] LLM, of whose messages the parts
// tell where they come from: the engine keeps them with the prompt, for people who
// ask. Start and End are bytes of the text of the message that Message counts; Text
// is not needed.
func WithParts(ctx context.Context, parts []Part) context.Context {
	return context.WithValue(ctx, partsKey{}, parts)
}

// PartsOf are the parts that WithParts put in.
func PartsOf(ctx context.Context) []Part {
	parts, _ := ctx.Value(partsKey{}).([]Part)
	return parts
}
