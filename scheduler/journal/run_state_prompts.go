package journal

import (
	"slices"

	"github.com/callnode/scheduler/calls"
	"github.com/callnode/scheduler/llm/value"
)

// Prompt is a conversation that a step sent to a model: the messages of its longest
// request.
type Prompt struct {
	// Shared says that the conversation begins with as many messages of the one told
	// before by the same step and what it runs inside itself, or where there was none,
	// of the step's input. They are not repeated in Messages.
	Shared   int           `json:"shared,omitempty"`
	Messages []value.Value `json:"messages"`
	// Parts say where the pieces of the messages come from, as far as the call knows;
	// their Message counts all messages. They have no Text.
	Parts []calls.Part `json:"parts,omitempty"`
	// SharedParts says that those of the shared messages are as they were told before:
	// they are not repeated in Parts.
	SharedParts bool `json:"shared_parts,omitempty"`
}

// SplitParts returns the parts of the first messages, so many, and those of the others.
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

// prompted adds the prompts in the event of a step's end.
func (s *RunState) prompted(st *StepState, told []Prompt) {
	if len(told) == 0 {
		return
	}
	outer := st
	for inside := OuterPath(outer.ID); IsPseudoStep(outer.ID) && s.byID[inside] != nil; inside = OuterPath(outer.ID) {
		outer = s.byID[inside]
	}
	if outer.told == nil {
		list, _ := outer.Input.Get("messages")
		outer.told = list.List()
	}
	st.Prompts = nil
	for _, p := range told {
		whole := slices.Clone(p.Messages)
		if p.Shared > 0 && p.Shared <= len(outer.told) {
			whole = append(slices.Clone(outer.told[:p.Shared]), p.Messages...)
		}
		parts := p.Parts
		if p.SharedParts {
			parts, _ = SplitParts(outer.toldParts, p.Shared)
			parts = append(parts, p.Parts...)
		}
		outer.told, outer.toldParts = whole, parts
		st.Prompts = append(st.Prompts, Prompt{Shared: p.Shared, Messages: whole, Parts: parts})
	}
}
