package sqlite

import (
	"cmp"
	"context"
	"errors"
	"path/filepath"
	"time"

	"github.com/callnode/scheduler/calls/sqlitefile"
	"github.com/callnode/scheduler/llm/value/wording"
	"github.com/callnode/scheduler/scheduler/journal/internal/stored"
)

// Options are how a journal is opened; the zero value is right for programs.
type Options struct {
	// Clock dates leases and cancellations; nil is the machine's. Processes that
	// share a journal must agree on the time.
	Clock func() time.Time
	// Heartbeat is how often a lease is renewed; 0 is once a second. A lease runs out
	// after four times as long. A negative one has leases of that length and never
	// renews them, as if the process had died.
	Heartbeat time.Duration
	// BusyTimeout is how long a locked file is waited for; 0 is 10 s.
	BusyTimeout time.Duration
}

// Open opens the journal in a directory. It creates a missing directory and journal with
// access for the current user only. A journal that cannot be written is refused.
func Open(ctx context.Context, dir string, options Options) (*SQLite, error) {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return nil, wording.Errorf("opening the journal: %w", err)
	}
	j := &SQLite{
		vault: newVault(filepath.Join(dir, KeyName)), clock: options.Clock, self: stored.ThisProcess(),
		beat: cmp.Or(options.Heartbeat, time.Second),
		logs: map[*sqliteLog]struct{}{}, quit: make(chan struct{}),
	}
	if j.clock == nil {
		j.clock = time.Now
	}
	j.lease = 4 * max(j.beat, -j.beat)
	j.db, err = sqlitefile.Open(ctx, sqlitefile.Options{
		Name: "journal", File: filepath.Join(dir, FileName), Layout: &layout, DamagedHint: damagedHint, KeepError: stored.IsHeld,
		BusyTimeout: cmp.Or(options.BusyTimeout, 10*time.Second), Pragmas: []string{"synchronous(FULL)", "foreign_keys(1)"},
		Readers: maxReaders,
	})
	if err != nil {
		return nil, err
	}
	if j.beat > 0 {
		j.beats.Go(j.keepLeases)
	}
	return j, nil
}

// maxReaders is how many connections read at a time.
const maxReaders = 4

// Close lets go of the runs that are still held and closes the file.
func (j *SQLite) Close() error {
	j.mu.Lock()
	if j.closed {
		j.mu.Unlock()
		return nil
	}
	j.closed = true
	logs := make([]*sqliteLog, 0, len(j.logs))
	for l := range j.logs {
		logs = append(logs, l)
	}
	close(j.quit)
	j.mu.Unlock()
	j.beats.Wait()
	var errs []error
	for _, l := range logs {
		errs = append(errs, l.Close())
	}
	return errors.Join(append(errs, j.db.Close())...)
}

// File returns the path of the database.
func (j *SQLite) File() string { return j.db.File() }

// Check looks for damage of the file and for missing events. It reads the whole file.
func (j *SQLite) Check(ctx context.Context) error {
	return j.db.Read(ctx, func(c *sqlitefile.Conn) error {
		if err := sqlitefile.CheckIntegrity(c); err != nil {
			return err
		}
		var run string
		found, err := c.QueryRow(`
			SELECT id FROM run LEFT JOIN event ON event.run = run.key
			GROUP BY run.key HAVING count(seq) <> last_seq OR ifnull(max(seq), 0) <> last_seq LIMIT 1`, nil, &run)
		if found {
			return wording.Errorf("%w: events of the run %s are missing", sqlitefile.ErrDamaged, run)
		}
		return err
	})
}
