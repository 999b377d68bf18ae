package journal

import (
	"github.com/callnode/scheduler/calls"
	"github.com/callnode/scheduler/llm/value"
)

// Prompt is a conversation that a step sent to a model: the messages of its longest
// request. The engine makes it as a part of an event; it is only data.
type Prompt struct {
	// Shared is the number of messages with which the conversation begins like the previous one of the same step (or
	// of a part that it runs inside itself), or if there was none, like the step's input. They are not repeated in
	// Messages.
	Shared   int           `json:"shared,omitempty"`
	Messages []value.Value `json:"messages"`
	// Parts say the origins of the pieces of the messages, as far as the call knows; their Message counts all
	// messages. They have no Text.
	Parts []calls.Part `json:"parts,omitempty"`
	// SharedParts reports whether the parts of the shared messages are unchanged: they are not repeated in Parts.
	SharedParts bool `json:"shared_parts,omitempty"`
}

// SplitParts returns the parts of the first messages, and the parts of the others.
func SplitParts(parts []calls.Part, messages int) (first, others []calls.Part) {
	for _, p := range parts {
		if p.Message != nil && *p.Message < messages {
			first = append(first, p)
		} else {
			others = append(others, p)
		}
	}
	return first, others
}
