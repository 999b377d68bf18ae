package postgres

import (
	"context"
	"embed"
	"errors"
	"io/fs"
	"log/slog"
	"time"

	"github.com/callnode/scheduler/calls/memory/internal/packed"
	"github.com/callnode/scheduler/calls/pgdb"
)

//go:embed migrations/*.sql
var migrations embed.FS

// Options are how a store is opened. Only the URL is needed.
type Options struct {
	// URL is that of the database: postgres://user:password@host:port/database.
	URL string
	// Clock dates what is saved; nil is the machine's.
	Clock func() time.Time
	// Log gets a message when memories of an older version are reindexed, and when tidying
	// up fails; nil discards it.
	Log *slog.Logger
	// Retry is how long a lost connection is tried again; 0 is the default of pgdb.
	Retry time.Duration
}

// The connections of a store at most.
const (
	writers = 8
	readers = 8
)

// Open opens the store in a database, and makes its tables if they are missing.
func Open(ctx context.Context, options Options) (*Store, error) {
	files, err := fs.Sub(migrations, "migrations")
	if err != nil {
		return nil, err
	}
	s := &Store{clock: options.Clock, log: options.Log, indexes: packed.NewIndexes(errIndex), toFold: map[string]bool{}}
	if s.clock == nil {
		s.clock = time.Now
	}
	if s.log == nil {
		s.log = slog.New(slog.DiscardHandler)
	}
	s.tidyCtx, s.endTidy = context.WithCancel(context.WithoutCancel(ctx))
	s.db, err = pgdb.Open(ctx, pgdb.Options{
		Name: "memory store", URL: options.URL, Migrations: files, VersionTable: "memory_schema",
		Writers: writers, Readers: readers, Retry: options.Retry,
		KeepError: func(err error) bool { return errors.Is(err, packed.ErrDry) || errors.Is(err, packed.ErrStop) },
	})
	if err != nil {
		s.endTidy()
		return nil, err
	}
	if err := s.reindex(ctx); err != nil {
		return nil, errors.Join(err, s.Close())
	}
	return s, nil
}

// tidyWait is how long Close waits for what is tidied up in the background.
const tidyWait = 10 * time.Second

// Close ends what runs in the background and the connections. It may be called twice.
func (s *Store) Close() error {
	s.closeOnce.Do(func() {
		s.mu.Lock()
		s.closed = true
		s.mu.Unlock()
		late := time.AfterFunc(tidyWait, s.endTidy)
		s.tidy.Wait()
		late.Stop()
		s.endTidy()
		s.db.Close()
	})
	return nil
}
