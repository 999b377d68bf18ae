package postgres_test

import (
	"context"
	"testing"
	"time"

	"github.com/callnode/scheduler/calls/memory"
	"github.com/callnode/scheduler/calls/memory/memorytest"
	"github.com/callnode/scheduler/calls/memory/postgres"
	"github.com/callnode/scheduler/calls/pgdb/pgdbtest"
	"github.com/callnode/scheduler/test/slow"
)

// open opens the store of a database, and closes it at the end of the test.
func open(t testing.TB, options postgres.Options) *postgres.Store {
	t.Helper()
	s, err := postgres.Open(t.Context(), options)
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
		return open(t, postgres.Options{URL: pgdbtest.NewURL(t), Clock: clock})
	})
}

// TestModel does the same random things to a store alone and to one that two programs share.
func TestModel(t *testing.T) {
	slow.Checks(t, 1) // each makes two databases
	memorytest.RunModel(t, func(t *testing.T, clock func() time.Time) (first, second memory.Store) {
		o := postgres.Options{URL: pgdbtest.NewURL(t), Clock: clock}
		s, other := open(t, o), open(t, o)
		t.Cleanup(func() { // before they are closed
			if err := s.Check(context.WithoutCancel(t.Context())); err != nil {
				t.Error(err)
			}
		})
		return s, other
	})
}
