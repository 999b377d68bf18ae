package memory_test

import (
	"testing"

	"github.com/callnode/scheduler/scheduler/journal"
	"github.com/callnode/scheduler/scheduler/journal/journaltest"
	"github.com/callnode/scheduler/scheduler/journal/memory"
)

func TestMemory(t *testing.T) {
	journaltest.Run(t, func(*testing.T) journaltest.Open {
		var m *memory.Journal
		return func(o journaltest.Options) (journal.Journal, error) {
			if m == nil {
				m = memory.New(o.Clock)
			}
			return m, nil
		}
	})
}
