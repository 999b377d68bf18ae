package host_test

import (
	"maps"
	"testing"

	"github.com/callnode/scheduler/plugins/host"
	"github.com/callnode/scheduler/plugins/verify"
)

// One broken function fails its own check and no other.
func TestConformance(t *testing.T) {
	h, _ := open(t, folder(t, "services: [llm, memory, log]"), host.Options{})
	failed := map[string]string{}
	for _, r := range verify.Run(t.Context(), h, "sample") {
		if r.Err != nil {
			failed[r.Check] = r.Err.Error()
		}
	}
	want := map[string]string{
		"variable broken": "plugin sample, variable broken: broken: the mood server is down (start it)",
	}
	if !maps.Equal(failed, want) {
		t.Errorf("failed: %v\nwant %v", failed, want)
	}
}
