package journal

import (
	"github.com/callnode/scheduler/llm"
)

// chargeUsage counts a step's reported spending, for the step and all around it. The end of a step reports its
// spending in its process, with all parts inside it; finished parts were counted before.
func (s *RunState) chargeUsage(st *StepState, told *llm.Usage) {
	if told == nil {
		return
	}
	fresh := told.Minus(st.inside)
	st.inside = llm.Usage{}
	st.Usage.Add(fresh)
	s.Usage.Add(fresh)
	s.changes.isSpent = true
	for id := OuterPath(st.ID); id != ""; id = OuterPath(id) {
		if outer := s.byID[id]; outer != nil {
			outer.Usage.Add(fresh)
			outer.inside.Add(fresh)
			s.changes.touch(outer)
		}
	}
}

// UsageOf returns a step's spending; "" is the whole run.
func (s *RunState) UsageOf(id string) llm.Usage {
	if st := s.byID[id]; st != nil {
		return st.Usage
	}
	if id == "" {
		return s.Usage
	}
	return llm.Usage{}
}
