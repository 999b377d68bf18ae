package journal

import (
	"github.com/callnode/scheduler/llm"
	"github.com/callnode/scheduler/llm/value"
)

// Change is the part of a [RunState] that events have changed, with the values after them. A reader that applies
// each Change to the earlier ones has the same run as [RunState], without a fold of its own. [RunState.TakeChange]
// makes it; it shares its values with the state.
type Change struct {
	State RunStatus `json:"state"`
	// Steps are the steps and items that have changed, each whole except its items, which are steps of their own
	// here: the item 3 of the step a is "a[3]". New ones are in the order in which they began.
	Steps []StepState `json:"steps,omitempty"`
	// Waiting, Warnings and Usage are nil if unchanged; an empty list is one that has become empty.
	Waiting  []WaitingFor  `json:"waiting,omitzero"`
	Warnings []WarningInfo `json:"warnings,omitzero"`
	Usage    *llm.Usage    `json:"usage,omitempty"`
	// Outputs, Error and Reply are the end of a run that has one.
	Outputs value.Value `json:"outputs,omitzero"`
	Error   *ErrorInfo  `json:"error,omitempty"`
	Reply   string      `json:"reply,omitempty"`
}

// changes collects the content of a [Change].
type changes struct {
	steps                      []*StepState
	waiting, warnings, isSpent bool
}

// touch notes that a step has changed.
func (c *changes) touch(st *StepState) {
	if !st.isTouched {
		st.isTouched = true
		c.steps = append(c.steps, st)
	}
}

// TakeChange returns the changes by events since the last TakeChange.
func (s *RunState) TakeChange() *Change {
	change := &Change{State: s.State, Outputs: s.Outputs, Error: s.Error, Reply: s.Reply}
	for _, st := range s.changes.steps {
		st.isTouched = false
		told := *st
		told.Items = nil
		change.Steps = append(change.Steps, told)
	}
	if s.changes.waiting {
		change.Waiting = notNil(s.Waiting)
	}
	if s.changes.warnings {
		change.Warnings = notNil(s.Warnings)
	}
	if s.changes.isSpent {
		usage := s.Usage
		change.Usage = &usage
	}
	s.changes = changes{}
	return change
}

// notNil returns a copy of a list: one that is empty is not nil.
func notNil[T any](list []T) []T { return append(make([]T, 0, len(list)), list...) }
