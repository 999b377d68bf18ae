package terminal

import (
	"testing"

	"github.com/callnode/scheduler/llm/value"
)

// A tool that failed inside an agent is shown as failed; an output that happens to have
// such a member is not.
func TestSubstepFailure(t *testing.T) {
	failed := value.OfMap(value.Pairs("text", "{}", "error", "provider", "failure", "it is closed"))
	for step, want := range map[string]string{"work/order-1": "it is closed", "outer/work/order-1": "it is closed", "work": "", "outer/work": ""} {
		if got := SubstepFailure(step, nil); got != "" {
			t.Errorf("%s without an output: %s", step, got)
		}
		if got := SubstepFailure(step, &failed); got != want {
			t.Errorf("%s: got %q, want %q", step, got, want)
		}
	}
}

// The branch that choice took is shown; another call may have a member of that name.
func TestBranchTaken(t *testing.T) {
	output := value.OfMap(value.Pairs("branch", "weather"))
	if got := BranchTaken("choice", &output); got != "weather" {
		t.Errorf("got %q", got)
	}
	if got := BranchTaken("http", &output) + BranchTaken("choice", nil); got != "" {
		t.Errorf("got %q", got)
	}
}
