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
	"cmp"
	"context"
	"embed"
	"errors"
	"io/fs"
	"sync"
	"time"

	"github.com/callnode/scheduler/calls/pgdb"
	"github.com/callnode/scheduler/llm/value/wording"
	"github.com/callnode/scheduler/scheduler/journal"
	"github.com/callnode/scheduler/scheduler/journal/internal/stored"
)

// Options are how a journal is opened; only URL is needed.
type Options struct {
	// URL is that of the database; see [pgdb.Options].
	URL string
	// ImageKey are the 32 bytes that images are encrypted with, nil where there are none;
	// KeySource names for users where they come from.
	ImageKey  []byte
	KeySource string
	// Version is that of the program, for those who look into the table of workers.
	Version string
	// Clock dates leases and cancellations; nil is that of the database.
	Clock func() time.Time
	// Heartbeat is how often leases are renewed; 0 is once a second. A lease runs out after
	// four times as long. A negative one has leases of that length and never renews them, as
	// if the process had died.
	Heartbeat time.Duration
	// Retry is for how long a write waits for a database that cannot be reached; 0 is 30 s.
	Retry time.Duration
}

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

//go:embed migrations/*.sql
var migrations embed.FS

// channel is where the ids of runs that have new events are told.
const channel = "scheduler_journal"

// Open opens the journal in a database. It creates what is missing there.
func Open(ctx context.Context, options Options) (*Postgres, error) {
	files, err := fs.Sub(migrations, "migrations")
	if err != nil {
		return nil, wording.Errorf("opening the journal: %w", err)
	}
	j := &Postgres{
		clock: options.Clock, self: stored.ThisProcess(), version: options.Version, vault: newVault(options.ImageKey, options.KeySource),
		beat: cmp.Or(options.Heartbeat, time.Second), logs: map[*pgLog]struct{}{},
	}
	j.lease = 4 * max(j.beat, -j.beat)
	j.appends = newAppender(j)
	j.db, err = pgdb.Open(ctx, pgdb.Options{
		Name: "journal", URL: options.URL, Migrations: files, VersionTable: "journal_version", Channels: []string{channel},
		Writers: maxWriters, Retry: options.Retry, KeepError: stored.IsHeld,
	})
	if err != nil {
		return nil, err
	}
	j.ctx, j.cancel = context.WithCancel(context.WithoutCancel(ctx))
	if j.beat > 0 {
		j.beats.Go(j.keepLeases)
	}
	return j, nil
}

// Close lets go of the runs that are still held and ends the connections.
func (j *Postgres) Close() error {
	j.mu.Lock()
	if j.closed {
		j.mu.Unlock()
		return nil
	}
	j.closed = true
	logs := make([]*pgLog, 0, len(j.logs))
	for l := range j.logs {
		logs = append(logs, l)
	}
	worker := j.worker
	j.mu.Unlock()
	j.cancel()
	j.beats.Wait()
	var errs []error
	for _, l := range logs {
		errs = append(errs, l.Close())
	}
	if worker != 0 && errors.Join(errs...) == nil {
		errs = append(errs, j.forgetWorker(worker))
	}
	j.db.Close()
	return errors.Join(errs...)
}

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

// newVault returns a vault whose key is configured.
func newVault(key []byte, source string) *stored.Vault {
	return &stored.Vault{Source: wording.Of(source), Key: func(create bool) ([]byte, error) {
		if len(key) == stored.KeySize {
			return key, nil
		}
		if create {
			return nil, newNoKeyError()
		}
		return nil, fs.ErrNotExist
	}}
}
