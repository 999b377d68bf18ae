// Package postgres keeps memories in a Postgres database that several machines share.
//
// # What is stored
//
// The tables are those of the SQLite store with the prefix memory_, and so is the index:
// chunks of postings and entries, which package packed reads and writes, and the tail that is
// read from the memories themselves. The ranker is the same, so both stores answer alike;
// texts that Postgres cannot hold (zero bytes) are escaped.
//
// # Who waits for whom
//
// A change locks the rows of its users in the order of their ids, so changes of a user come
// one after the other, and those of different users side by side. Whoever reads sees one
// version of the database and waits for no one. Jobs are taken by FOR UPDATE SKIP LOCKED:
// two workers never get the same one.
//
// A save is two round trips: what it needs to know (users, sessions, memories with the same ids
// or texts) comes in one, what it writes goes in another; a large one by COPY. A search is
// three, inside one transaction that only reads: the row of the user, the postings of all
// terms, the texts.
//
// A connection that is lost in the middle is repeated by package pgdb. Where it is lost during
// the commit, a save looks whether its memories are there before it makes them again: none is
// stored twice.
//
// # What is deleted
//
// Deleting removes the rows, and a VACUUM in the background makes their space free to be
// written over. Until that happens the bytes stay in the files of the server, and they stay in
// its write-ahead log, in replicas and in backups for as long as its operator keeps those:
// unlike the SQLite store this one cannot wipe them.
package postgres

import (
	"context"
	"embed"
	"errors"
	"io/fs"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/callnode/scheduler/calls"
	"github.com/callnode/scheduler/calls/memory"
	"github.com/callnode/scheduler/calls/memory/internal/packed"
	"github.com/callnode/scheduler/calls/pgdb"
	"github.com/callnode/scheduler/llm/value/wording"
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

// Store is a memory store in a database. A program opens one with [Open] and closes it at its
// end; programs on any number of machines may have the same one open. It is safe for
// concurrent use.
type Store struct {
	db      *pgdb.Store
	clock   func() time.Time
	log     *slog.Logger
	indexes *packed.Indexes

	tidy      sync.WaitGroup  // the goroutine that tidies up
	tidyCtx   context.Context //nolint:containedctx // it ends that goroutine
	endTidy   context.CancelFunc
	closeOnce sync.Once

	mu         sync.Mutex      // guards the fields below
	toFold     map[string]bool // users with many memories that are not in the postings
	mustVacuum bool            // something was deleted
	tidying    bool            // the goroutine runs
	closed     bool
}

var _ memory.Store = (*Store)(nil)

// errIndex means that the index contradicts itself or the memories.
var errIndex = calls.Errorf(calls.Internal, "the index of the memory store in Postgres is wrong").
	WithHint("run UPDATE memory_user SET analysis = 0 in the database and start the program again, which makes the index from the memories; check the disk of the server")

// errDry undoes what a dry run has done.
var errDry = wording.Errorf("a dry run")

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
		KeepError: func(err error) bool { return errors.Is(err, errDry) || errors.Is(err, errStop) },
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

// Place returns the host and the name of the database.
func (s *Store) Place() string { return s.db.Place() }

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

// write makes a change that may be made twice.
func (s *Store) write(ctx context.Context, do func(*pgdb.Conn) error) error {
	return s.repeat(ctx, pgdb.Change{Do: do})
}

// errGone means that a user was deleted, or another row inserted, while a change waited for it.
var errGone = wording.Errorf("the user was deleted at the same time")

// maxRaces is how often a change is begun again because of others.
const maxRaces = 10

// repeat makes a change, and begins again if another one was faster.
func (s *Store) repeat(ctx context.Context, change pgdb.Change) (err error) {
	for range maxRaces {
		err = s.db.Write(ctx, change)
		if !errors.Is(err, errGone) && !pgdb.IsUniqueViolation(err) {
			return err
		}
	}
	return err
}

// requestFold has the new memories of a user folded in the background.
func (s *Store) requestFold(name string) {
	s.mu.Lock()
	s.toFold[name] = true
	s.mu.Unlock()
	s.startTidying()
}

// requestVacuum has the space of what was deleted made free in the background.
func (s *Store) requestVacuum() {
	s.mu.Lock()
	s.mustVacuum = true
	s.mu.Unlock()
	s.startTidying()
}

// startTidying starts the goroutine that tidies up, unless it runs.
func (s *Store) startTidying() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.tidying || s.closed {
		return
	}
	s.tidying = true
	s.tidy.Go(func() {
		for s.tidyUp() {
		}
	})
}

// tidyUp does what was requested, and reports whether there may be more.
func (s *Store) tidyUp() (more bool) {
	s.mu.Lock()
	users, vacuum := slices.Sorted(maps.Keys(s.toFold)), s.mustVacuum
	clear(s.toFold)
	s.mustVacuum = false
	if len(users) == 0 && !vacuum {
		s.tidying = false
		s.mu.Unlock()
		return false
	}
	s.mu.Unlock()
	for _, name := range users {
		if err := s.foldUser(s.tidyCtx, name); err != nil && s.tidyCtx.Err() == nil {
			s.log.Warn("the words of new memories could not be packed; it is tried again with the next ones", "err", err)
		}
	}
	if vacuum {
		if err := s.vacuum(s.tidyCtx); err != nil && s.tidyCtx.Err() == nil {
			s.log.Warn("the space of deleted memories could not be made free; autovacuum will do it", "err", err)
		}
	}
	return true
}

// vacuum makes the space of deleted rows free to be written over.
func (s *Store) vacuum(ctx context.Context) error {
	return s.db.Read(ctx, func(c *pgdb.Conn) error {
		_, err := c.Exec(ctx, "VACUUM memory, memory_old, memory_posting, memory_entry, memory_session, memory_speaker, memory_snapshot, memory_meta, memory_vector, memory_user")
		return err
	})
}
