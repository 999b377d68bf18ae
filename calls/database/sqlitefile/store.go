// Package sqlitefile keeps a store in one SQLite file that several processes share, for example the journal or the
// memory store. It has the parts that these share: a [Layout] with migrations, one goroutine that writes and
// commits in batches, a pool of connections that read, prepared statements, and errors that suggest a remedy. No
// other package imports the SQLite driver.
package sqlitefile

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"sync"
	"time"

	"github.com/callnode/scheduler/llm/value/wording"
)

// Options describe a store; the package of the store sets them.
type Options struct {
	// Name is the users' name for the store, such as "memory store".
	Name string
	// File is the path of the file.
	File   string
	Layout *Layout
	// BusyTimeout is how long other processes that write are waited for.
	BusyTimeout time.Duration
	// Pragmas are set on the writing connection, each as name(value).
	Pragmas []string
	// Readers is the number of connections that read; 0 is one per CPU, at least 4.
	Readers int
	// DamagedHint is the remedy that users read for a damaged file.
	DamagedHint string
	// KeepError reports whether an error of a change is returned unchanged, because it is not about the file. It may
	// be nil.
	KeepError func(error) bool
	// Idle does work that no change waits for, after [Store.RequestIdle]. It runs on the
	// writer's goroutine, outside of a transaction; see [Conn.Transact].
	Idle func(*Conn) error
	// RolledBack is called on the writer's goroutine when a change was undone: values remembered from it are no
	// longer true.
	RolledBack func()
}

// Store is an open file. The journal and the memory store create one each with [Open] and
// close it with their own Close. It is safe for concurrent use.
type Store struct {
	options Options
	writer  *writer
	readers *pool
	write   *sql.DB // of the writer's connection

	closeOnce  sync.Once
	closeError error
}

// Open opens or creates the file of a store.
func Open(ctx context.Context, options Options) (*Store, error) {
	s := &Store{options: options}
	if err := s.openFile(ctx); err != nil {
		return nil, s.Explain("opening", err)
	}
	return s, nil
}

func (s *Store) openFile(ctx context.Context) error {
	o := &s.options
	write, c, err := o.Layout.Open(ctx, o.File, o.BusyTimeout, o.Pragmas...)
	if err != nil {
		return err
	}
	db, err := Connect(o.File, o.BusyTimeout, "query_only(1)")
	if err != nil {
		return errors.Join(err, c.Close(), write.Close())
	}
	conn := newConn(c)
	if err := conn.SetBusyTimeout(0); err != nil { // the writer waits by itself
		return errors.Join(err, c.Close(), write.Close(), db.Close())
	}
	s.write = write
	s.readers = newPool(db, cmp.Or(o.Readers, max(4, runtime.GOMAXPROCS(0))))
	opened, err := os.Stat(o.File)
	if err != nil {
		return errors.Join(err, c.Close(), write.Close(), db.Close())
	}
	s.writer = newWriter(conn, o.BusyTimeout, o.Idle, o.RolledBack, func() error { return checkInPlace(o.File, opened) })
	return nil
}

// checkInPlace returns an [ErrMoved] if the path leads to another file than the opened one, or to none. SQLite
// would continue writing to a file that was deleted.
func checkInPlace(path string, opened fs.FileInfo) error {
	now, err := os.Stat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return ErrMoved
	}
	if err == nil && !os.SameFile(opened, now) {
		return ErrMoved
	}
	return nil // SQLite finds other faults
}

// File returns the path of the file.
func (s *Store) File() string { return s.options.File }

// Read calls do with a connection in a transaction that only reads: all it sees belongs
// to one version of the file.
func (s *Store) Read(ctx context.Context, do func(*Conn) error) error {
	return s.Explain("reading", s.readers.readTransaction(ctx, do))
}

// Write makes a change and waits until it is on the disk. A change that still waits when ctx ends is not made. An
// error of do undoes its changes.
func (s *Store) Write(ctx context.Context, do func(*Conn) error) error {
	return s.Explain("writing to", s.writer.submitAndWait(ctx, do))
}

// Submit queues a change without waiting for it. It returns false if the store is closed;
// Done is not called then.
func (s *Store) Submit(c Change) bool {
	done := c.Done
	c.Done = func(err error) { done(s.Explain("writing to", err)) }
	return s.writer.submit(&c)
}

// IsBusy reports whether so many changes wait that lazy ones should wait for a commit.
func (s *Store) IsBusy() bool { return s.writer.isFull() }

// RequestIdle asks for a call of Options.Idle.
func (s *Store) RequestIdle() { s.writer.requestIdle() }

// Checkpoint moves the write-ahead log into the file and empties it, unless another
// process still reads from it.
func (s *Store) Checkpoint(ctx context.Context) error {
	err := s.readers.checkpoint(ctx)
	if isLocked(err) {
		return nil
	}
	return s.Explain("shrinking", err)
}

// probeBytes is how much room the disk must have: enough for the events of a run.
const probeBytes = 256 << 10

// CheckWritable returns an error if nothing could be stored now: the disk is full, or the file was moved or cannot
// be written. A change alone would not detect a full disk, because the write-ahead log reuses its own space.
func (s *Store) CheckWritable(ctx context.Context) error {
	err := s.Write(ctx, func(c *Conn) error {
		var version int
		_, err := c.QueryRow("PRAGMA user_version", nil, &version)
		if err == nil {
			err = c.Exec(fmt.Sprintf("PRAGMA user_version = %d", version))
		}
		return err
	})
	if err == nil {
		err = s.Explain("writing to", probeRoom(filepath.Dir(s.options.File)))
	}
	return err
}

// probeRoom writes a file to a folder, and deletes it.
func probeRoom(dir string) error {
	f, err := os.CreateTemp(dir, ".room-*")
	if err != nil {
		return err
	}
	_, err = f.Write(make([]byte, probeBytes))
	if err == nil {
		err = f.Sync()
	}
	return errors.Join(err, f.Close(), os.Remove(f.Name()))
}

// CheckIntegrity looks for damage of the file as a whole, through a connection to it. It reads all of it.
func CheckIntegrity(c interface {
	QueryRow(query string, args []any, dest ...any) (found bool, err error)
}) error {
	var problem string
	if _, err := c.QueryRow("PRAGMA integrity_check(1)", nil, &problem); err != nil {
		return err
	}
	if problem == "ok" {
		return nil
	}
	return &damageError{problem}
}

// damageError is the finding of an integrity check.
type damageError struct{ problem string }

// Error returns the finding.
func (e *damageError) Error() string { return e.In("en") }

// In translates it into a language; SQLite knows English only.
func (e *damageError) In(language string) string {
	return wording.Say("damage was found: %s", e.problem).In(language)
}

// Is makes it an [ErrDamaged].
func (e *damageError) Is(target error) bool { return target == ErrDamaged }

// Explain returns an error that names the store and its file and suggests a remedy. Errors that have a hint
// already, and errors of contexts, are returned unchanged. doing is a gerund.
func (s *Store) Explain(doing string, err error) error {
	if keep := s.options.KeepError; err != nil && keep != nil && keep(err) {
		return err
	}
	return Explain(s.options.Name, s.options.File, doing, s.options.DamagedHint, err)
}

// Close makes the changes that still wait and closes the file. It may be called twice.
func (s *Store) Close() error {
	s.closeOnce.Do(func() {
		s.closeError = s.Explain("closing", errors.Join(s.writer.close(), s.readers.close(), s.write.Close()))
	})
	return s.closeError
}
