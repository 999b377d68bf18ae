package journal_test

import (
	"testing"

	"github.com/callnode/scheduler/scheduler/journal"
)

// A part that a step runs inside itself has the name of a call (also of a plugin or an MCP tool) or of a piece of
// its work.
func TestIsPseudoStep(t *testing.T) {
	for id, want := range map[string]bool{
		"outer/slot-1":                         true,
		"outer[2]/round-12":                    true,
		"outer/look-1/time-zones.now-1":        true,
		"outer/look-1/mcp.shop.getPrice-1":     true,
		"outer":                                false,
		"outer[3]":                             false,
		"outer/inner":                          false,
		"outer/look-1/flow-1/inner":            false,
		"outer/look-1/flow-1/inner[0]/again_1": false,
	} {
		if got := journal.IsPseudoStep(id); got != want {
			t.Errorf("%s: got %v", id, got)
		}
	}
}
