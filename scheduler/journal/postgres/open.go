package postgres

import (
	"cmp"
	"context"
	"embed"
	"errors"
	"io/fs"
	"log/slog"
	"time"

	"github.com/callnode/scheduler/calls"
	"github.com/callnode/scheduler/calls/pgdb"
	"github.com/callnode/scheduler/llm/value/wording"
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
	// Log is [pgdb.Options] Log.
	Log *slog.Logger
}

//go:embed migrations/*.sql
var migrations embed.FS

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
		Writers: maxWriters, Retry: options.Retry, KeepError: stored.IsHeld, Log: options.Log,
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

// newNoKeyError returns the error of an image that cannot be encrypted.
func newNoKeyError() error {
	return calls.Errorf(calls.Invalid, "the run has an image, and the journal in Postgres has no key to encrypt it with").
		WithHint("set journal.key_env to the name of a variable that holds %d random bytes in hex (openssl rand -hex %d), the same on every machine", stored.KeySize, stored.KeySize)
}
