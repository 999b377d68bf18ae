// Package sqlite keeps memories in one SQLite file that several processes share.
//
// A memory, its words and the snapshot that it makes due are one commit, which is
// on the disk when saving returns. Words are found through posting lists of our own,
// per user: blobs of (memory, frequency), to which new memories are added some
// hundred at a time; until then who searches reads their words from themselves.
package sqlite

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"runtime"
	"sync"
	"time"

	"github.com/callnode/scheduler/calls/memory"
	"github.com/callnode/scheduler/calls/sqlitefile"
)

// FileName is the name of the database in its directory.
const FileName = "memory.db"

// Options are how a store is opened; the zero value is right for programs.
type Options struct {
	// Clock dates what is saved; nil is the machine's.
	Clock func() time.Time
	// BusyTimeout is how long a locked file is waited for; 0 is a minute, for imports
	// of other processes take some time.
	BusyTimeout time.Duration
	// MaxPages bounds the size of the file, in pages of 4 KiB; 0 does not.
	MaxPages int
	// Log is told when the memories of an older version are indexed anew, which takes
	// some time; nil is nobody.
	Log *slog.Logger
}

// Store is a memory store in a file.
type Store struct {
	file   string
	clock  func() time.Time
	writer *writer
	write  *sql.DB
	read   *pool
	// temporary is a directory that Close removes, for a store of [OpenTemporary].
	temporary string

	mu      sync.Mutex
	shelves map[int64]*shelf // by user
	toFold  map[string]bool  // users whose tail is long
	cached  int64            // how much of all shelves stays in the heap
	scrub   bool             // something was deleted
	again   *time.Timer      // that has the log emptied; nil where nobody held that up
	once    sync.Once
	closing error
}

var _ memory.Store = (*Store)(nil)

// Open opens the store in a directory. It creates a missing directory and store with
// access for the current user only. A store that cannot be written is refused.
func Open(ctx context.Context, dir string, options Options) (*Store, error) {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return nil, fmt.Errorf("opening the memory store: %w", err)
	}
	s := newStore(dir, options)
	if err := s.open(ctx, options); err != nil {
		return nil, explain(s.file, "opening", err)
	}
	return s, nil
}

// OpenTemporary creates an empty store in a temporary directory, which Close removes:
// for runs that keep nothing, and for tests. What it holds does not survive a crash.
func OpenTemporary(ctx context.Context, options Options) (*Store, error) {
	dir, err := os.MkdirTemp("", "scheduler-memory-")
	if err != nil {
		return nil, fmt.Errorf("creating a temporary memory store: %w", err)
	}
	s := newStore(dir, options)
	s.temporary = dir
	if err := s.open(ctx, options); err != nil {
		return nil, errors.Join(explain(s.file, "opening", err), os.RemoveAll(dir))
	}
	return s, nil
}

func newStore(dir string, options Options) *Store {
	s := &Store{file: filepath.Join(dir, FileName), clock: options.Clock, shelves: map[int64]*shelf{}, toFold: map[string]bool{}, cached: maxCached}
	if s.clock == nil {
		s.clock = time.Now
	}
	return s
}

func (s *Store) open(ctx context.Context, options Options) error {
	busy := cmp.Or(options.BusyTimeout, time.Minute)
	// What is deleted is overwritten, also in pages that become free.
	pragmas := []string{"synchronous(FULL)", "secure_delete(ON)", fmt.Sprintf("cache_size(-%d)", writeCache)}
	if options.MaxPages > 0 {
		pragmas = append(pragmas, fmt.Sprintf("max_page_count(%d)", options.MaxPages))
	}
	if s.temporary != "" { // it does not outlive the process
		pragmas[0] = "synchronous(OFF)"
	}
	write, c, err := layout.Open(ctx, s.file, busy, pragmas...)
	if err != nil {
		return err
	}
	s.write = write
	db, err := sqlitefile.Connect(s.file, busy, "query_only(1)")
	if err != nil {
		return errors.Join(err, c.Close(), s.write.Close())
	}
	s.read = newPool(db, max(4, runtime.GOMAXPROCS(0)))
	s.writer = newWriter(&conn{sql: c, stmts: map[string]*sql.Stmt{}}, busy, s.tidy)
	if err := s.writer.conn.wait(0); err != nil { // the writer waits itself
		_ = s.Close() // the error that led here says more
		return err
	}
	if err := s.reindex(ctx, options.Log); err != nil {
		_ = s.Close() // the error that led here says more
		return err
	}
	return nil
}

// writeCache is how much of the file who writes keeps in memory, in KiB: new words go to
// many places.
const writeCache = 16 << 10

// File is the path of the database.
func (s *Store) File() string { return s.file }

// Close finishes what is being written and closes the file.
func (s *Store) Close() error {
	s.once.Do(func() {
		s.mu.Lock()
		if s.again != nil {
			s.again.Stop()
			s.writer.later() // the last time
		}
		s.mu.Unlock()
		s.closing = explain(s.file, "closing", errors.Join(s.writer.close(), s.read.close(), s.write.Close()))
		if s.temporary != "" {
			s.closing = errors.Join(s.closing, os.RemoveAll(s.temporary))
		}
	})
	return s.closing
}

// change is a write whose errors say which file they are about.
func (s *Store) change(ctx context.Context, do func(*conn) error) error {
	return s.save(ctx, func(c *conn) error {
		c.known.forget()
		return do(c)
	})
}

// save is a change that only brings memories: what is known of users stays known.
func (s *Store) save(ctx context.Context, do func(*conn) error) error {
	return explain(s.file, "writing to", s.writer.write(ctx, do))
}

// look is a read whose errors say which file they are about.
func (s *Store) look(ctx context.Context, f func(*conn) error) error {
	return explain(s.file, "reading", s.read.read(ctx, f))
}
