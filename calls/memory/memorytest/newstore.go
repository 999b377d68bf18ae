package memorytest

import (
	"testing"
	"time"

	"github.com/callnode/scheduler/calls/memory/sqlmemory"
)

// NewStore returns an empty store with that clock, nil for the machine's, for tests of code that uses a store. It
// is closed and removed at the end of the test.
func NewStore(t testing.TB, clock func() time.Time) *sqlmemory.Store {
	t.Helper()
	s, err := sqlmemory.OpenTemporary(t.Context(), sqlmemory.FileOptions{Clock: clock})
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
