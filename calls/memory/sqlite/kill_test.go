package sqlite_test

import (
	"context"
	"testing"

	"github.com/callnode/scheduler/calls/memory/memorytest"
	"github.com/callnode/scheduler/calls/memory/sqlite"
	"github.com/callnode/scheduler/test/slow"
)

func openDirectory(ctx context.Context, dir string) (memorytest.Checked, error) {
	return sqlite.Open(ctx, dir, sqlite.Options{})
}

// TestKill's long form is that of make chaos.
func TestKill(t *testing.T) {
	slow.Test(t)
	memorytest.RunKill(t, t.TempDir(), openDirectory)
}

func TestTwoProcesses(t *testing.T) {
	slow.Test(t)
	memorytest.RunProcesses(t, t.TempDir(), openDirectory)
}
