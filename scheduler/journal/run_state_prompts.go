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
		outer.told = whole
		st.Prompts = append(st.Prompts, Prompt{Shared: p.Shared, Messages: whole, Parts: p.Parts})
	}
}
