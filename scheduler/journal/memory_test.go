package journal_test

import (
	"testing"

	"github.com/callnode/scheduler/scheduler"
	"github.com/callnode/scheduler/scheduler/journal"
	"github.com/callnode/scheduler/scheduler/journal/journaltest"
)

func TestMemory(t *testing.T) {
	journaltest.Run(t, func(*testing.T) journaltest.Open {
		var m *journal.Memory
		return func(o journaltest.Options) (scheduler.Journal, error) {
			if m == nil {
				m = journal.NewMemory(o.Clock)
			}
			return m, nil
		}
	})
}
