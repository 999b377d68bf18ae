package sqlmemory_test

import (
	"context"
	"testing"
	"time"

	"github.com/callnode/scheduler/calls/database/pgdb/pgdbtest"
	"github.com/callnode/scheduler/calls/memory"
	"github.com/callnode/scheduler/calls/memory/memorytest"
	"github.com/callnode/scheduler/calls/memory/sqlmemory"
	"github.com/callnode/scheduler/test/slow"
)

// openShared opens the store of a database, and closes it at the end of the test.
func openShared(t testing.TB, options sqlmemory.SharedOptions) *sqlmemory.Store {
	t.Helper()
	s, err := sqlmemory.OpenShared(t.Context(), options)
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

func TestSharedConformance(t *testing.T) {
	memorytest.Run(t, func(t *testing.T, clock func() time.Time) memory.Store {
		return openShared(t, sqlmemory.SharedOptions{URL: pgdbtest.NewURL(t), Clock: clock})
	})
}

// TestModel does the same random things to a store alone and to one that two programs share.
func TestSharedModel(t *testing.T) {
	slow.Checks(t, 1) // each makes two databases
	memorytest.RunModel(t, func(t *testing.T, clock func() time.Time) (first, second memory.Store) {
		o := sqlmemory.SharedOptions{URL: pgdbtest.NewURL(t), Clock: clock}
		s, other := openShared(t, o), openShared(t, o)
		t.Cleanup(func() { // before they are closed
			if err := s.Check(context.WithoutCancel(t.Context())); err != nil {
				t.Error(err)
			}
		})
		return s, other
	})
}
