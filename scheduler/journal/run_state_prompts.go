package journal

import (
	"slices"
)

// addPrompts adds the prompts in the event of a step's end.
func (s *RunState) addPrompts(st *StepState, told []Prompt) {
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
