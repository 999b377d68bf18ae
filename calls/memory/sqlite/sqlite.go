// Package sqlite keeps memories in one SQLite file that several processes share.
//
// A memory and the snapshot that it makes due are one commit, which is on the disk when
// saving returns. Words are found through posting lists per user: blobs of (memory,
// frequency). New memories are folded into them some hundred at a time; until then
// searches read the words from the memories themselves.
package sqlite

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/callnode/scheduler/calls/memory"
	"github.com/callnode/scheduler/calls/memory/internal/packed"
	"github.com/callnode/scheduler/calls/sqlitefile"
	"github.com/callnode/scheduler/llm/value/wording"
)

// FileName is the name of the file in its directory.
const FileName = "memory.db"

// Options are how a store is opened. The zero value is right for programs.
type Options struct {
	// Clock dates what is saved; nil is the machine's.
	Clock func() time.Time
	// BusyTimeout is how long other processes that write are waited for; 0 is a minute,
	// because imports take some time.
	BusyTimeout time.Duration
	// MaxPages bounds the size of the file, in pages of 4 KiB; 0 means no bound.
	MaxPages int
	// Log gets a message when memories of an older version are reindexed, which takes some
	// time; nil discards it.
	Log *slog.Logger
}

// Store is a memory store in a file. A program opens one with [Open] and closes it at its
// end; several processes may have the same file open. It is safe for concurrent use.
type Store struct {
	db    *sqlitefile.Store
	clock func() time.Time
	// users is what the writer remembers of users; only its goroutine uses it.
	users userCache
	// temporary is a directory that Close removes, for a store of [OpenTemporary].
	temporary string
	closeOnce sync.Once
	closeErr  error

	indexes *packed.Indexes

	mu          sync.Mutex      // guards the fields below
	toFold      map[string]bool // users with many memories that are not in the postings
	mustWipeLog bool            // something was deleted
	retryWipe   *time.Timer     // for a log that could not be emptied, else nil
}

var _ memory.Store = (*Store)(nil)

// Open opens the store in a directory. It creates a missing directory and store with
// access for the current user only. A store that cannot be written is refused.
func Open(ctx context.Context, dir string, options Options) (*Store, error) {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return nil, wording.Errorf("opening the memory store: %w", err)
	}
	return open(ctx, dir, options, "synchronous(FULL)")
}

// OpenTemporary creates an empty store in a temporary directory, which Close removes:
// for runs that keep nothing, and for tests. What it holds does not survive a crash.
func OpenTemporary(ctx context.Context, options Options) (*Store, error) {
	dir, err := os.MkdirTemp("", "scheduler-memory-")
	if err != nil {
		return nil, wording.Errorf("creating a temporary memory store: %w", err)
	}
	s, err := open(ctx, dir, options, "synchronous(OFF)")
	if err != nil {
		return nil, errors.Join(err, os.RemoveAll(dir))
	}
	s.temporary = dir
	return s, nil
}

// writeCache is the page cache of the writing connection, in KiB: new words are written
// to many places.
const writeCache = 16 << 10

func open(ctx context.Context, dir string, options Options, synchronous string) (*Store, error) {
	s := &Store{clock: options.Clock, indexes: packed.NewIndexes(errIndex), toFold: map[string]bool{}}
	if s.clock == nil {
		s.clock = time.Now
	}
	// secure_delete overwrites what is deleted, also in pages that become free.
	pragmas := []string{synchronous, "secure_delete(ON)", fmt.Sprintf("cache_size(-%d)", writeCache)}
	if options.MaxPages > 0 {
		pragmas = append(pragmas, fmt.Sprintf("max_page_count(%d)", options.MaxPages))
	}
	var err error
	s.db, err = sqlitefile.Open(ctx, sqlitefile.Options{
		Name: storeName, File: filepath.Join(dir, FileName), Layout: &layout, DamagedHint: damagedHint,
		BusyTimeout: cmp.Or(options.BusyTimeout, time.Minute), Pragmas: pragmas,
		Idle: s.tidyUp, RolledBack: s.users.forget,
	})
	if err != nil {
		return nil, err
	}
	if err := s.reindex(ctx, options.Log); err != nil {
		_ = s.Close() // err says more
		return nil, err
	}
	return s, nil
}

// File returns the path of the database.
func (s *Store) File() string { return s.db.File() }

// Close makes the changes that still wait and closes the file. It may be called twice.
func (s *Store) Close() error {
	s.closeOnce.Do(func() {
		s.mu.Lock()
		if s.retryWipe != nil {
			s.retryWipe.Stop()
			s.db.RequestIdle() // the last time
		}
		s.mu.Unlock()
		s.closeErr = s.db.Close()
		if s.temporary != "" {
			s.closeErr = errors.Join(s.closeErr, os.RemoveAll(s.temporary))
		}
	})
	return s.closeErr
}

// write makes a change of any kind.
func (s *Store) write(ctx context.Context, do func(*sqlitefile.Conn) error) error {
	return s.db.Write(ctx, func(c *sqlitefile.Conn) error {
		s.users.forget()
		return do(c)
	})
}
