package host_test

import (
	"os"
	"strings"
	"testing"

	"github.com/callnode/scheduler/plugins/host"
)

// A reaper that hangs at its start delays nothing else.
func TestReaperHangs(t *testing.T) {
	dir := folder(t, "args: ["+hangs+"]\nlimits: {start_timeout: 200ms}")
	_, err := host.Single(t.Context(), dir, host.Options{TempDir: shortDir(t), Reaper: true})
	if err == nil || !strings.Contains(err.Error(), "plugin sample: the program "+os.Args[0]+" cannot be started: timeout") {
		t.Error(err)
	}
}
