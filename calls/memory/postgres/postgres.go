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
	"errors"
	"log/slog"
	"sync"
	"time"

	"github.com/callnode/scheduler/calls"
	"github.com/callnode/scheduler/calls/memory"
	"github.com/callnode/scheduler/calls/memory/internal/packed"
	"github.com/callnode/scheduler/calls/pgdb"
	"github.com/callnode/scheduler/llm/value/wording"
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

// Place returns the host and the name of the database.
func (s *Store) Place() string { return s.db.Place() }

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
