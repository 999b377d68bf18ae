// Package sqlmemory keeps a [memory.Store] in a SQL database: a SQLite file that several
// processes of one machine share ([OpenFile]), or a Postgres database that programs on any number
// of machines share ([OpenShared]).
//
// A user's memories have numbers from 0, and the rid of a memory is user << 32 | number. Searches do without the
// full-text search of either database: the words of memories are packed into chunks of postings (package packed),
// which both store as bytes. The newest memories are searched in their own rows, until so many have come that
// their words are packed together, a fold.
//
// # Files
//
// batch.go saves, view.go reads an index, index.go changes it; list.go, jobs.go, snapshot.go,
// deletion.go, vector.go, reindex.go, facts.go, reread.go and check.go hold the other statements that both databases
// run. [dialect] lists the rest: sqlite*.go has them for a file, postgres*.go for a shared
// database, for example how the words of many memories are inserted.
package sqlmemory

import (
	"cmp"
	"context"
	"log/slog"
	"time"

	"github.com/callnode/scheduler/calls/database"
	"github.com/callnode/scheduler/calls/memory"
	"github.com/callnode/scheduler/calls/memory/internal/packed"
	"github.com/callnode/scheduler/llm/value/wording"
)

// storeName is the name of the store for users.
const storeName = "memory store"

// Store is an open memory store. A program opens one with [OpenFile] or [OpenShared] and closes
// it at its end; other programs may have the same database open. It is safe for concurrent use.
type Store struct {
	db      dialect
	clock   func() time.Time
	log     *slog.Logger
	indexes *packed.Indexes

	factOptions FactOptions
	rereading   rereader
}

var _ memory.Store = (*Store)(nil)

// newStore returns a store over an open database and rebuilds its old indexes.
func newStore(ctx context.Context, db dialect, clock func() time.Time, log *slog.Logger, facts FactOptions) (*Store, error) {
	s := &Store{db: db, clock: clock, log: log, factOptions: facts, indexes: packed.NewIndexes(db.indexError())}
	if s.clock == nil {
		s.clock = time.Now
	}
	if s.log == nil {
		s.log = slog.New(slog.DiscardHandler)
	}
	return s, cmp.Or(s.reindex(ctx), s.startRereading(ctx))
}

// Close makes the changes that still wait and closes the database. It may be called twice.
func (s *Store) Close() error {
	s.stopRereading()
	return s.db.Close()
}

// dialect is the database of a [Store] with the statements that differ between the two:
// [fileDialect] and [sharedDialect]. It is safe for concurrent use.
type dialect interface {
	// Explain adds the place and the remedy to an error; doing is a gerund.
	Explain(doing string, err error) error
	Close() error
	// place returns the kind of the database's place, for a log, and its name.
	place() (kind, name string)
	// indexError means that the index contradicts itself or the memories.
	indexError() error
	checkIntegrity(c conn) error
	// sizeQuery selects the size of the database in bytes.
	sizeQuery() string

	codec

	// read calls do with a connection, readSnapshot with one that sees one version of the
	// database. Both may call do several times.
	read(ctx context.Context, do func(conn) error) error
	readSnapshot(ctx context.Context, do func(conn) error) error
	// readIndex calls do with the index of a user as it is at one moment; it does not call do for an unknown user.
	// It may call do again. With once, do calls Load at most once in most cases, and nothing after it.
	readIndex(ctx context.Context, s *Store, name string, once bool, do func(userView) error) error
	// change makes a change, except for saveRows. It may call do several times.
	change(ctx context.Context, do func(conn) error) error
	// saveRows saves memories, all or none.
	saveRows(ctx context.Context, rows []packed.Row, now time.Time) ([]memory.Saved, error)
	// requestFold has the new memories of a user folded later, requestWipe has the space of deleted memories
	// wiped.
	requestFold(name string)
	requestWipe()

	// lockUsers returns users by their names, which no other process changes until the change
	// ends; with create, missing ones are created.
	lockUsers(c conn, create bool, names []string) (map[string]*user, error)
	// lockOwners returns statements that lock the users of memories with these UUIDs, lockModels statements that
	// keep others from saving. Both are for changes.
	lockOwners(ids [][]byte) []database.Statement
	lockModels() []database.Statement

	// addPostings appends postings, in the order of the table; removePostings removes the postings of some
	// memories.
	addPostings(c conn, user int64, lists packed.Lists) error
	removePostings(c conn, user int64, gone packed.Removed) error
	// appendEntries appends to chunks of entries, loadEntries returns chunks, and storeEntries
	// overwrites them.
	appendEntries(c conn, user int64, entries map[int64][]byte) error
	loadEntries(c conn, user int64, chunks []int64) (map[int64][]byte, error)
	storeEntries(c conn, user int64, entries map[int64][]byte) error
}

// codec is how a database stores texts.
type codec interface {
	encode(text string) string
	decode(text string) (string, error)
	// keyOf returns the stored form of a text in a key, for example of a term.
	keyOf(text string) string
	// checkName refuses a name that is too long for a key.
	checkName(what, name string) error
}

// conn is a connection with the dialect of its database. It is valid during the call of the
// function that it is passed to.
type conn struct {
	database.Conn
	d dialect
}

// errGone means that a user was deleted, or another row inserted, while a change waited for it.
var errGone = wording.Errorf("the user was deleted at the same time")
