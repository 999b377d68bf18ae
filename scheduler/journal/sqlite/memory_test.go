package sqlite_test

import (
	"testing"

	"github.com/callnode/scheduler/scheduler/journal"
	"github.com/callnode/scheduler/scheduler/journal/journaltest"
	"github.com/callnode/scheduler/scheduler/journal/sqlite"
)

func TestMemory(t *testing.T) {
	journaltest.Run(t, func(*testing.T) journaltest.Open {
		var m *sqlite.Memory
		return func(o journaltest.Options) (journal.Journal, error) {
			if m == nil {
				m = sqlite.NewMemory(o.Clock)
			}
			return m, nil
		}
	})
}
