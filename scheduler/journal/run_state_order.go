package journal

import (
	"slices"
	"strings"
)

// DeclaredStep is a step as the flow declares it.
type DeclaredStep struct{ ID, Call string }

// Complete adds the steps of the flow without events, and puts all in the order of the flow; parts inside a step
// come after it, in the order in which they began.
func (s *RunState) Complete(steps []DeclaredStep) {
	place := make(map[string]int, len(steps))
	for i, step := range steps {
		place[step.ID] = i
		st := s.stepOf(&Event{Step: step.ID})
		if st.Call == "" {
			st.Call = step.Call
		}
	}
	inside := map[string][]*StepState{} // the parts by the step or item in which they run
	for _, st := range s.Steps {
		outer := OuterPath(st.ID)
		for outer != "" && s.byID[outer] == nil {
			outer = OuterPath(outer)
		}
		inside[outer] = append(inside[outer], st)
	}
	inside[""] = slices.DeleteFunc(inside[""], func(st *StepState) bool { // an edited flow has lost it
		_, ok := place[st.ID]
		return !ok && !strings.ContainsAny(st.ID, "/[")
	})
	slices.SortStableFunc(inside[""], func(a, b *StepState) int { return place[a.ID] - place[b.ID] })
	s.Steps = appendTree(s.Steps[:0], inside, "")
}

// appendTree adds the parts inside a step or item, each with the parts inside it.
func appendTree(all []*StepState, inside map[string][]*StepState, id string) []*StepState {
	for _, st := range inside[id] {
		all = appendTree(append(all, st), inside, st.ID)
		for _, item := range st.Items {
			all = appendTree(all, inside, item.ID)
		}
	}
	return all
}
