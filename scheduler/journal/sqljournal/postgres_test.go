package sqljournal_test

import (
	"bytes"
	"testing"
	"time"

	"github.com/callnode/scheduler/calls/database/pgdb/pgdbtest"
	"github.com/callnode/scheduler/scheduler/journal"
	"github.com/callnode/scheduler/scheduler/journal/journaltest"
	"github.com/callnode/scheduler/scheduler/journal/sqljournal"
)

// imageKey is the key of tests.
var imageKey = bytes.Repeat([]byte{7}, 32)

// newSharedStore returns a function that opens a journal in a schema of its own.
func newSharedStore(t *testing.T) journaltest.Open {
	url := pgdbtest.NewURL(t)
	return func(o journaltest.Options) (journal.Journal, error) {
		options := sqljournal.SharedOptions{URL: url, ImageKey: imageKey, Clock: o.Clock, Heartbeat: 20 * time.Millisecond}
		if o.Dead {
			options.Heartbeat = -time.Second
		}
		j, err := sqljournal.OpenShared(t.Context(), options)
		if err == nil && o.Elsewhere {
			j.MoveElsewhere()
		}
		return j, err
	}
}

func TestPostgres(t *testing.T) {
	journaltest.Run(t, newSharedStore)
	journaltest.RunShared(t, newSharedStore)
}
