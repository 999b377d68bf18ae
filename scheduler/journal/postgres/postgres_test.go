package postgres_test

import (
	"bytes"
	"testing"
	"time"

	"github.com/callnode/scheduler/calls/pgdb/pgdbtest"
	"github.com/callnode/scheduler/scheduler/journal"
	"github.com/callnode/scheduler/scheduler/journal/journaltest"
	"github.com/callnode/scheduler/scheduler/journal/postgres"
)

// imageKey is the key of tests.
var imageKey = bytes.Repeat([]byte{7}, 32)

// newStore returns what opens a journal in a schema of its own.
func newStore(t *testing.T) journaltest.Open {
	url := pgdbtest.NewURL(t)
	return func(o journaltest.Options) (journal.Journal, error) {
		options := postgres.Options{URL: url, ImageKey: imageKey, Clock: o.Clock, Heartbeat: 20 * time.Millisecond}
		if o.Dead {
			options.Heartbeat = -time.Second
		}
		j, err := postgres.Open(t.Context(), options)
		if err == nil && o.Elsewhere {
			j.MoveElsewhere()
		}
		return j, err
	}
}

func TestPostgres(t *testing.T) {
	journaltest.Run(t, newStore)
	journaltest.RunShared(t, newStore)
}
