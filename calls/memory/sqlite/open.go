package sqlite

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"time"

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
