package sqlmemory_test

import (
	"testing"
	"time"

	"github.com/callnode/scheduler/calls/memory"
	"github.com/callnode/scheduler/calls/memory/memorytest"
	"github.com/callnode/scheduler/calls/memory/sqlmemory"
)

func open(t *testing.T, dir string, options sqlmemory.FileOptions) *sqlmemory.Store {
	t.Helper()
	s, err := sqlmemory.OpenFile(t.Context(), dir, options)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

func TestConformance(t *testing.T) {
	memorytest.Run(t, func(t *testing.T, clock func() time.Time) memory.Store {
		return open(t, t.TempDir(), sqlmemory.FileOptions{Clock: clock})
	})
}
