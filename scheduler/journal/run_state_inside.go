package journal

import "strings"

// StepsInside returns the pseudo-steps that a step ran, in order.
func (s *RunState) StepsInside(st *StepState) (all []*StepState) {
	for _, other := range s.Steps {
		if strings.HasPrefix(other.ID, st.ID+"/") && IsPseudoStep(other.ID) && s.HostOf(other) == s.HostOf(st) {
			all = append(all, other)
		}
	}
	return all
}

// HostOf returns the step that a pseudo-step ran inside, itself for any other.
func (s *RunState) HostOf(st *StepState) *StepState {
	for IsPseudoStep(st.ID) && s.byID[OuterPath(st.ID)] != nil {
		st = s.byID[OuterPath(st.ID)]
	}
	return st
}
