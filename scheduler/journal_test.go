package scheduler_test

import (
	"os"
	"testing"
	"time"

	"github.com/callnode/scheduler/calls/database/pgdb/pgdbtest"
	"github.com/callnode/scheduler/scheduler"
	"github.com/callnode/scheduler/scheduler/journal"
	"github.com/callnode/scheduler/scheduler/journal/memory"
	"github.com/callnode/scheduler/scheduler/journal/sqljournal"
	"github.com/callnode/scheduler/scheduler/schedulertest"
)

// newJournal returns an empty journal: in memory, or in Postgres if SCHEDULER_TEST_JOURNAL is postgres, which make
// test-slow sets to run this package a second time. A nil clock is the clock of the system or the database.
func newJournal(t testing.TB, clock func() time.Time) journal.Journal {
	t.Helper()
	if os.Getenv("SCHEDULER_TEST_JOURNAL") != "postgres" {
		return memory.New(clock)
	}
	j, err := sqljournal.OpenShared(t.Context(), sqljournal.SharedOptions{URL: pgdbtest.NewURL(t), Clock: clock})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = j.Close() })
	return j
}

// journaled keeps runs in a journal of newJournal.
func journaled(t testing.TB) schedulertest.Option {
	return schedulertest.Executor(func(e *scheduler.StepExecutor) { e.Journal = newJournal(t, e.Env.Clock) })
}
