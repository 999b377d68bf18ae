package terminal

import (
	"testing"

	"github.com/callnode/scheduler/llm/value"
)

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
