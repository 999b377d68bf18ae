package journal_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/callnode/scheduler/llm"
	"github.com/callnode/scheduler/scheduler/journal"
)

// reader is a client that knows a run by its changes alone.
type reader struct {
	order    []string
	steps    map[string]journal.StepState
	waiting  []journal.WaitingFor
	warnings []journal.WarningInfo
	usage    llm.Usage
}

func (r *reader) apply(c *journal.Change) {
	for _, st := range c.Steps {
		if _, isKnown := r.steps[st.ID]; !isKnown {
			r.order = append(r.order, st.ID)
		}
		r.steps[st.ID] = st
	}
	if c.Waiting != nil {
		r.waiting = c.Waiting
	}
	if c.Warnings != nil {
		r.warnings = c.Warnings
	}
	if c.Usage != nil {
		r.usage = *c.Usage
	}
}

// state returns the run with its last change.
func (r *reader) state(last *journal.Change) *journal.RunState {
	s := &journal.RunState{
		State: last.State, Steps: []*journal.StepState{}, Waiting: r.waiting, Warnings: r.warnings, Usage: r.usage,
		Outputs: last.Outputs, Error: last.Error, Reply: last.Reply,
	}
	known := map[string]*journal.StepState{}
	for _, id := range r.order {
		st := r.steps[id]
		known[id] = &st
		if outer := known[journal.OuterPath(id)]; strings.HasSuffix(id, "]") {
			outer.Items = append(outer.Items, known[id])
			continue
		}
		s.Steps = append(s.Steps, known[id])
	}
	return s
}

// checkChanges takes the events of a run one by one, and two by two: a reader of the changes knows the run as its fold has it.
func checkChanges(t *testing.T, text string) {
	t.Helper()
	for _, each := range []int{1, 2} {
		state, r, n := journal.NewRunState(), &reader{steps: map[string]journal.StepState{}, waiting: []journal.WaitingFor{}}, 0
		for e, err := range eventsOf(t, text) {
			if err != nil {
				t.Fatal(err)
			}
			state.Add(e)
			n++
			if n%each != 0 {
				continue
			}
			change := state.TakeChange()
			r.apply(change)
			want, err := json.Marshal(state)
			if err != nil {
				t.Fatal(err)
			}
			got, err := json.Marshal(r.state(change))
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(plain(t, want), plain(t, got)); diff != "" {
				t.Fatalf("after event %d (-fold +reader):\n%s", e.Seq, diff)
			}
		}
	}
}

// A change has only the parts that its events have changed.
func TestChangeIsSmall(t *testing.T) {
	state := journal.NewRunState()
	for e, err := range eventsOf(t, `
		flow.started -
		step.started each {"call":"chat"}
		step.started each[0] {"call":"chat"}
		step.started each[1] {"call":"chat"}`) {
		if err != nil {
			t.Fatal(err)
		}
		state.Add(e)
	}
	state.TakeChange()
	state.Add(&journal.Event{Seq: 5, Type: journal.StepFinished, Step: "each", Index: new(int), Data: &journal.Data{}})
	change := state.TakeChange()
	if len(change.Steps) != 1 || change.Steps[0].ID != "each[0]" || change.Waiting != nil || change.Warnings != nil || change.Usage != nil {
		t.Errorf("got %+v", change)
	}
	if again := state.TakeChange(); len(again.Steps) != 0 {
		t.Errorf("told again: %+v", again)
	}
}
