// Package journal keeps runs: in a SQLite file that several processes share, or
// in memory.
//
// A run is a row that says how it stands, a header with what it began with, and
// its events. Payloads of 4 KiB and more stand apart, each once, and so do the
// bytes of images: no event shows them, and only a run that goes on gets them
// back.
package journal

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/callnode/scheduler/scheduler"
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
	self   process
	beat   time.Duration
	lease  time.Duration
	writer *writer
	write  *sql.DB
	read   *sql.DB

	mu     sync.Mutex
	logs   map[*sqliteLog]struct{}
	quit   chan struct{}
	beats  sync.WaitGroup
	closed bool
}

var _ scheduler.Journal = (*SQLite)(nil)

// Open opens the journal in a directory, or makes both: the directory for nobody
// but the user.
func Open(ctx context.Context, dir string, options Options) (*SQLite, error) {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return nil, fmt.Errorf("opening the journal: %w", err)
	}
	j := &SQLite{
		file: filepath.Join(dir, FileName), clock: options.Clock, self: thisProcess(),
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
	if j.beat > 0 {
		j.beats.Go(j.renewLeases)
	}
	return j, nil
}

func (j *SQLite) open(ctx context.Context, busy time.Duration) error {
	if err := os.MkdirAll(filepath.Dir(j.file), 0o700); err != nil {
		return err
	}
	// SQLite would let others read it.
	f, err := os.OpenFile(j.file, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return err
	}
	if err := f.Close(); err != nil {
		return err
	}
	if j.write, err = connect(j.file, busy, "synchronous(FULL)", "foreign_keys(1)"); err != nil {
		return err
	}
	j.write.SetMaxOpenConns(1)
	conn, err := j.connect(ctx, busy)
	if err == nil {
		j.read, err = connect(j.file, busy, "query_only(1)")
	}
	if err != nil {
		_ = j.write.Close() // the error that led here says more
		return err
	}
	j.read.SetMaxOpenConns(4)
	j.writer = newWriter(conn, func(doing string, err error) error { return explain(j.file, doing, err) })
	return nil
}

// connect gives the connection that writes, to a file in order. When several
// processes make the same file, SQLite tells some that it is locked without
// waiting.
func (j *SQLite) connect(ctx context.Context, busy time.Duration) (*sql.Conn, error) {
	deadline := time.Now().Add(busy)
	for {
		conn, err := j.write.Conn(ctx)
		if err == nil {
			if err = prepare(ctx, conn, j.file); err == nil {
				return conn, nil
			}
			_ = conn.Close() // the error that led here says more
		}
		if code := codeOf(err); code != codeBusy && code != codeLocked || time.Now().After(deadline) {
			return nil, err
		}
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-time.After(20 * time.Millisecond):
		}
	}
}

// connect makes connections to the file with these settings.
func connect(file string, busy time.Duration, pragmas ...string) (*sql.DB, error) {
	path := filepath.ToSlash(file)
	if filepath.VolumeName(file) != "" {
		path = "/" + path
	}
	settings := url.Values{"_pragma": {fmt.Sprintf("busy_timeout(%d)", busy.Milliseconds())}}
	for _, p := range pragmas {
		settings.Add("_pragma", p)
	}
	return sql.Open("sqlite", (&url.URL{Scheme: "file", Path: path, RawQuery: settings.Encode()}).String())
}

func pragma(name string, number int) string { return fmt.Sprintf("PRAGMA %s = %d", name, number) }

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
	errs = append(errs, j.writer.close(), j.read.Close(), j.write.Close())
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
	return explain(j.file, "checking", err)
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
