// Package postgres keeps a [journal.Journal] in a Postgres database that several machines
// share.
//
// It stores what package sqlite stores, in the same form: a run is a row with its state, a
// header with what it began with, and its events; payloads of 4 KiB and more stand apart, each
// once, and the bytes of images are encrypted. The key of images is the same on all machines
// ([Options] ImageKey); without it runs with images are refused.
//
// A run that is held has the row of its process, journal_worker, which that process renews for
// all of its runs at once. Each append is one statement that also checks the lease and the
// number of the last event, so a process that was thought dead can write nothing any more, and
// one whose connection was lost finds out whether its last append was made.
package postgres

import (
	"context"
	"sync"
	"time"

	"github.com/callnode/scheduler/calls/pgdb"
	"github.com/callnode/scheduler/scheduler/journal"
	"github.com/callnode/scheduler/scheduler/journal/internal/stored"
)

// Postgres is a journal in a database. A program opens one with [Open] and closes it at its
// end; programs on several machines may have the same database open. It is safe for
// concurrent use.
type Postgres struct {
	db      *pgdb.Store
	clock   func() time.Time
	self    stored.Process
	version string
	beat    time.Duration
	lease   time.Duration
	vault   *stored.Vault
	appends *appender

	beats  sync.WaitGroup
	ctx    context.Context //nolint:containedctx // it ends the heartbeat
	cancel context.CancelFunc

	mu      sync.Mutex // guards the fields below
	logs    map[*pgLog]struct{}
	closed  bool
	worker  int64     // the key of this process; 0 before the first run
	renewed time.Time // when its leases were renewed, by the clock of this machine
}

var _ journal.Journal = (*Postgres)(nil)

// pgLog is a run that is held.
type pgLog struct {
	*stored.LogState
	journal   *Postgres
	key       int64
	lease     []byte
	worker    int64
	async     bool
	abandoned bool // the holder before has died

	// The lock of the state guards these. known are the payloads that need not be stored again.
	state   journal.RunStatus
	summary journal.Summary
	known   map[stored.Digest]struct{}

	// The lock of the appender guards these. busy: some are being stored, or will be.
	pending []*change
	busy    bool
}

// appender stores the events of all runs that the journal holds: those that wait at the same
// time in one statement, at most maxWriters statements at once, and those of one run one
// after the other. It is safe for concurrent use.
type appender struct {
	journal *Postgres

	mu      sync.Mutex // guards the fields below, and pending and busy of the logs
	idle    *sync.Cond // a log has nothing to store any more
	ready   []*pgLog   // those with changes of which none is being stored
	writers int        // goroutines
}

// change is a batch of events of one run in stored form. What a log submits while another
// change of its run is stored is joined to one.
type change struct {
	before, last int64
	state        journal.RunStatus
	updated      string
	after        journal.Summary
	summary      []byte // in stored form; nil where it has not changed
	bodies       [][]byte
	payloads     payloads
	size         int
	done         func(error)
}

// payloads are the blobs of a statement, in the order of their digests: two statements that
// store the same ones wait for each other, and never both for the other.
type payloads struct{ digests, data [][]byte }

// channel is where the ids of runs that have new events are told.
const channel = "scheduler_journal"

// now returns the time for a statement, where nil is that of the database.
func (j *Postgres) now() *time.Time {
	if j.clock == nil {
		return nil
	}
	now := j.clock()
	return &now
}

// eventTime returns the time for an event.
func (j *Postgres) eventTime() time.Time {
	if j.clock == nil {
		return time.Now()
	}
	return j.clock()
}

// write runs one statement that changes something. It is safe to run it twice.
func (j *Postgres) write(ctx context.Context, do func(*pgdb.Conn) error) error {
	return j.db.Write(ctx, pgdb.Change{Do: do, Single: true})
}
