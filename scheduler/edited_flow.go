package scheduler

import (
	"github.com/callnode/scheduler/calls"
	"github.com/callnode/scheduler/llm/value"
	"github.com/callnode/scheduler/scheduler/flow"
	"github.com/callnode/scheduler/scheduler/journal"
)

// adoptEdited holds an edited flow against the one that the run had. Steps that finished
// must be the same; what has become of the others is forgotten where they changed.
func adoptEdited(s *journal.RunState, before, after *flow.Flow) error {
	return adoptEditedIn(s, "", before, after)
}

func adoptEditedIn(s *journal.RunState, prefix string, before, after *flow.Flow) error {
	for _, was := range before.Steps {
		id := prefix + was.ID
		is, ok := after.Step(was.ID)
		st := s.Step(id)
		if st == nil {
			continue
		}
		same := ok && value.Equal(was.Canonical(before), is.Canonical(after))
		switch {
		case st.State == journal.StepStatusFinished:
			if !same || was.Sub != nil && !value.Equal(was.Sub.Canonical(), is.Sub.Canonical()) {
				return calls.Errorf(calls.Invalid, "the step %s has finished, and the edited flow changes it", id).
					WithHint("leave it as it was, or run the flow again")
			}
		case !same:
			s.Forget(id)
		case was.Sub != nil:
			for _, path := range tasksOf(s, id) {
				if err := adoptEditedIn(s, path+"/", was.Sub, is.Sub); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// tasksOf returns the ids of a step and of its items.
func tasksOf(s *journal.RunState, id string) []string {
	paths := []string{id}
	for _, item := range s.Step(id).Items {
		paths = append(paths, item.ID)
	}
	return paths
}

// DeclaredSteps lists the steps of a flow for [RunState.Complete].
func DeclaredSteps(flow *flow.Flow) []journal.DeclaredStep {
	steps := make([]journal.DeclaredStep, len(flow.Steps))
	for i, s := range flow.Steps {
		steps[i] = journal.DeclaredStep{ID: s.ID, Call: s.Call}
	}
	return steps
}
