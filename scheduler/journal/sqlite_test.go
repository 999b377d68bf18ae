package journal_test

import (
	"testing"
	"time"

	"github.com/callnode/scheduler/scheduler"
	"github.com/callnode/scheduler/scheduler/journal"
	"github.com/callnode/scheduler/scheduler/journal/journaltest"
)

func TestSQLite(t *testing.T) {
	journaltest.Run(t, func(t *testing.T) journaltest.Open {
		dir := t.TempDir()
		return func(clock func() time.Time) (scheduler.Journal, error) {
			return journal.Open(t.Context(), dir, journal.Options{Clock: clock, Heartbeat: 20 * time.Millisecond})
		}
	})
}
