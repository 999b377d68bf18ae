package openai

import (
	"net/http"
	"testing"

	"github.com/callnode/scheduler/scheduler/dispatch"
	"github.com/callnode/scheduler/scheduler/journal"
)

// TestHeldRuns: if another request or process continues the run, the answer is not an error of the server.
func TestHeldRuns(t *testing.T) {
	for _, err := range []error{dispatch.ErrAtWork, &journal.HeldError{Run: "r"}} {
		if e := errorOf(err); e.status != http.StatusConflict || e.Type != "invalid_request_error" {
			t.Errorf("%v is %d %s", err, e.status, e.Type)
		}
	}
}
