package process_test

import (
	"os"
	"syscall"
	"testing"

	"github.com/callnode/scheduler/plugins/host/process"
)

// The test's own program is the reaper.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == process.ReaperCommand {
		syscall.Exit(process.Reap(os.Args[2:])) // os.Exit sleeps for a second under the race detector
	}
	os.Exit(m.Run())
}
