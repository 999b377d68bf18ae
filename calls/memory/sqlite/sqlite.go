// Package sqlite keeps memories in one SQLite file that several processes share.
//
// A memory and the snapshot that it makes due are one commit, which is on the disk when
// saving returns. Words are found through posting lists per user: blobs of (memory,
// frequency). New memories are folded into them some hundred at a time; until then
// searches read the words from the memories themselves.
package sqlite

import (
	"context"
	"sync"
	"time"

	"github.com/callnode/scheduler/calls/memory"
	"github.com/callnode/scheduler/calls/memory/internal/packed"
	"github.com/callnode/scheduler/calls/sqlitefile"
)

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

// File returns the path of the database.
func (s *Store) File() string { return s.db.File() }

// write makes a change of any kind.
func (s *Store) write(ctx context.Context, do func(*sqlitefile.Conn) error) error {
	return s.db.Write(ctx, func(c *sqlitefile.Conn) error {
		s.users.forget()
		return do(c)
	})
}
