// Package sqlite keeps a [journal.Journal] in a SQLite file that several processes
// share.
//
// A run is a row with its state, a header with what it began with, and
// its events. Payloads of 4 KiB and more stand apart, each once.
//
// So do the bytes of images, wherever they come from: a file that a call has read, a
// data: URL among the inputs, the answer of a tool. No event shows them, only a run
// that goes on gets them back, and in the database they are encrypted, with a key
// that lies beside it ([KeyName]) for the user only. Whoever gets the database
// without the key, from a backup or a bug report, sees of an image its SHA-256 and
// its size. A run with images cannot go on without the key; all others can.
package sqlite

import (
	"context"
	"sync"
	"time"

	"github.com/callnode/scheduler/calls/sqlitefile"
	"github.com/callnode/scheduler/scheduler/journal"
	"github.com/callnode/scheduler/scheduler/journal/internal/stored"
)

// FileName is the name of the database in its directory.
const FileName = "runs.db"

// SQLite is a journal in a file. A program opens one with [Open] and closes it at its
// end; several processes may have the same file open. It is safe for concurrent use.
type SQLite struct {
	db    *sqlitefile.Store
	clock func() time.Time
	self  stored.Process
	beat  time.Duration
	lease time.Duration
	vault *stored.Vault

	mu     sync.Mutex
	logs   map[*sqliteLog]struct{}
	quit   chan struct{}
	beats  sync.WaitGroup
	closed bool
}

var _ journal.Journal = (*SQLite)(nil)

// sqliteLog is a run that is held.
type sqliteLog struct {
	*stored.LogState
	journal *SQLite
	key     int64
	lease   []byte
	async   bool

	// The lock of the state guards these. known are the payloads that need not be stored again.
	state   journal.RunStatus
	summary journal.Summary
	known   map[stored.Digest]struct{}
}

// write makes a change and waits until it is on the disk.
func (j *SQLite) write(do func(*sqlitefile.Conn) error) error {
	return j.db.Write(context.Background(), do)
}

func (j *SQLite) leaseEnd() int64 { return j.clock().Add(j.lease).UnixMilli() }

// isHeldBy reports whether the run is still held through l.
func (j *SQLite) isHeldBy(l *sqliteLog) bool {
	j.mu.Lock()
	defer j.mu.Unlock()
	_, ok := j.logs[l]
	return ok
}
