// Package sqlite keeps a [journal.Journal] in a SQLite file that several processes
// share.
//
// A run is a row that says how it stands, a header with what it began with, and
// its events. Payloads of 4 KiB and more stand apart, each once.
//
// So do the bytes of images, wherever they come from: a file that a call has read, a
// data: URL among the inputs, the answer of a tool. No event shows them, only a run
// that goes on gets them back, and in the database they are encrypted, with a key
// that lies beside it ([KeyName]) for nobody but the user. Whoever gets the database
// without the key, from a backup or a bug report, sees of an image its SHA-256 and
// its size. A run with images cannot go on without the key; all others can.
package sqlite

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"path/filepath"
	"sync"
	"time"

	"github.com/callnode/scheduler/calls/sqlitefile"
	"github.com/callnode/scheduler/scheduler/journal"
	"github.com/callnode/scheduler/scheduler/journal/internal/stored"
)

// FileName is the name of the database in its directory.
const FileName = "runs.db"

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

// SQLite is a journal in a file. It is written in WAL mode with full
// synchronisation by one goroutine, which commits together what arrives
// together.
type SQLite struct {
	file   string
	clock  func() time.Time
	self   stored.Process
	beat   time.Duration
	lease  time.Duration
	vault  *stored.Vault
	writer *writer // nil where nothing can be written, as is write
	write  *sql.DB
	read   *sql.DB
	frozen *frozen // what is there instead

	mu     sync.Mutex
	logs   map[*sqliteLog]struct{}
	quit   chan struct{}
	beats  sync.WaitGroup
	closed bool
}

var _ journal.Journal = (*SQLite)(nil)

// Open opens the journal in a directory, or makes both: the directory for nobody
// but the user. A journal that is there and cannot be written is opened all the same,
// to be read: see [SQLite.Writable].
func Open(ctx context.Context, dir string, options Options) (*SQLite, error) {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return nil, fmt.Errorf("opening the journal: %w", err)
	}
	j := &SQLite{
		file: filepath.Join(dir, FileName), vault: newVault(filepath.Join(dir, KeyName)), clock: options.Clock, self: stored.ThisProcess(),
		beat: cmp.Or(options.Heartbeat, time.Second),
		logs: map[*sqliteLog]struct{}{}, quit: make(chan struct{}),
	}
	if j.clock == nil {
		j.clock = time.Now
	}
	j.lease = 4 * max(j.beat, -j.beat)
	if err := j.open(ctx, cmp.Or(options.BusyTimeout, 10*time.Second)); err != nil {
		return nil, explain(j.file, "opening", err)
	}
	if j.beat > 0 && j.frozen == nil {
		j.beats.Go(j.renewLeases)
	}
	return j, nil
}

func (j *SQLite) open(ctx context.Context, busy time.Duration) error {
	write, conn, err := layout.Open(ctx, j.file, busy, "synchronous(FULL)", "foreign_keys(1)")
	if err != nil {
		return j.openFrozen(ctx, busy, err)
	}
	j.write = write
	if j.read, err = sqlitefile.Connect(j.file, busy, "query_only(1)"); err != nil {
		return errors.Join(err, conn.Close(), write.Close())
	}
	j.read.SetMaxOpenConns(maxReaders)
	j.writer = newWriter(conn, func(doing string, err error) error { return explain(j.file, doing, err) })
	return nil
}

// maxReaders is how many connections read at a time.
const maxReaders = 4

// File is the path of the database.
func (j *SQLite) File() string { return j.file }

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
	if j.frozen == nil {
		errs = append(errs, j.writer.close(), j.write.Close())
	}
	errs = append(errs, j.read.Close())
	return explain(j.file, "closing", errors.Join(errs...))
}

// Check looks for damage: of the file, and gaps in the events. It reads the whole
// file.
func (j *SQLite) Check(ctx context.Context) error {
	var problem string
	err := j.read.QueryRowContext(ctx, "PRAGMA integrity_check(1)").Scan(&problem)
	if err == nil && problem != "ok" {
		err = fmt.Errorf("damage was found: %s", problem)
	}
	if err == nil {
		err = j.checkEvents(ctx)
	}
	return j.explained("checking", err)
}

func (j *SQLite) checkEvents(ctx context.Context) error {
	var run string
	err := j.read.QueryRowContext(ctx, `
		SELECT id FROM run LEFT JOIN event ON event.run = run.key
		GROUP BY run.key HAVING count(seq) <> last_seq OR ifnull(max(seq), 0) <> last_seq LIMIT 1`).Scan(&run)
	switch {
	case errors.Is(err, sql.ErrNoRows):
		return nil
	case err != nil:
		return err
	}
	return fmt.Errorf("events of the run %s are missing", run)
}
