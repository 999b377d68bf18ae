package sqlmemory_test

import (
	"context"
	"strings"
	"testing"

	"github.com/callnode/scheduler/calls/memory/memorytest"
	"github.com/callnode/scheduler/calls/memory/sqlmemory"
	"github.com/callnode/scheduler/test/slow"
)

// openPlace opens the store of a directory or of a database, as a child process does.
func openPlace(ctx context.Context, place string) (memorytest.Checked, error) {
	if strings.HasPrefix(place, "postgres") {
		return sqlmemory.OpenShared(ctx, sqlmemory.SharedOptions{URL: place})
	}
	return sqlmemory.OpenFile(ctx, place, sqlmemory.FileOptions{})
}

// TestKill has its long form in make chaos.
func TestKill(t *testing.T) {
	slow.Test(t)
	memorytest.RunKill(t, t.TempDir(), openPlace)
}

func TestTwoProcesses(t *testing.T) {
	slow.Test(t)
	memorytest.RunProcesses(t, t.TempDir(), openPlace)
}
