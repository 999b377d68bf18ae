package terminal

import (
	"testing"

	"github.com/callnode/scheduler/llm/value"
	"github.com/callnode/scheduler/scheduler/journal"
)

// A tool that failed inside an agent is shown as failed; an output that happens to have
// such a member is not.
func TestSubstepFailure(t *testing.T) {
	failed := value.OfMap(value.Pairs("text", "{}", "error", "provider", "failure", "it is closed"))
	for step, want := range map[string]string{"work/order-1": "it is closed", "outer/work/order-1": "it is closed", "work": "", "outer/work": ""} {
		e := &journal.Event{Type: journal.StepFinished, Step: step, Data: &journal.Data{}}
		if got := substepFailure(e); got != "" {
			t.Errorf("%s without an output: %s", step, got)
		}
		e.Data.Output = &failed
		if got := substepFailure(e); got != want {
			t.Errorf("%s: got %q, want %q", step, got, want)
		}
	}
}
