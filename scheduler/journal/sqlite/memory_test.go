package sqlite_test

import (
	"testing"

	"github.com/callnode/scheduler/scheduler"
	"github.com/callnode/scheduler/scheduler/journal/journaltest"
	sqlite "github.com/callnode/scheduler/scheduler/journal/sqlite"
)

func TestMemory(t *testing.T) {
	journaltest.Run(t, func(*testing.T) journaltest.Open {
		var m *sqlite.Memory
		return func(o journaltest.Options) (scheduler.Journal, error) {
			if m == nil {
				m = sqlite.NewMemory(o.Clock)
			}
			return m, nil
		}
	})
}
