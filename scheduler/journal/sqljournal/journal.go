// Package sqljournal keeps a [journal.Journal] in a SQL database: a SQLite file that several
// processes of one machine share ([OpenFile]), or a Postgres database that several machines
// share ([OpenShared]).
//
// A run is a row with its state, a header with the flow and inputs that it began with, and its events. Payloads of
// 4 KiB and more are stored separately, each once.
//
// So do the bytes of images, for example a file that a call has read, a data: URL among the inputs, the answer of
// a tool. No event shows them, only a resumed run gets them back, and in the database they are encrypted. The key
// of a file lies beside it ([KeyName]) for the user only; a shared database's key is configured, the same on all
// machines. Anyone who gets the database without the key, from a backup or a bug report, only sees an image's
// SHA-256 and its size. A run with images cannot continue without the key; all others can.
//
// # Leases
//
// A process that holds a run renews its lease. An append also checks the lease and the number of
// the last event, so a process that was thought dead can write nothing any more, and one whose
// connection was lost finds out whether its last append was made.
//
// # Files
//
// journal.go, log.go, hold.go, lease.go, read.go, prune.go and transfer.go hold the statements
// that both databases run. [dialect] lists the rest: sqlite*.go has them for a file,
// postgres*.go for a shared database. In both, $1 is the time in each statement that needs it.
package sqljournal

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/callnode/scheduler/calls/database"
	"github.com/callnode/scheduler/llm/value/wording"
	"github.com/callnode/scheduler/scheduler/journal"
	"github.com/callnode/scheduler/scheduler/journal/internal/stored"
)

// Journal is an open journal. A program opens one with [OpenFile] or [OpenShared] and closes it
// at its end; other programs may have the same database open. It is safe for concurrent use.
type Journal struct {
	*terms
	db dialect

	beats sync.WaitGroup
	ctx   context.Context //nolint:containedctx // it ends the heartbeat
	end   context.CancelFunc

	mu     sync.Mutex // guards the fields below
	logs   map[*runLog]struct{}
	closed bool
}

var _ journal.Journal = (*Journal)(nil)

// terms are known to a journal and to its dialect. They do not change while it is open.
type terms struct {
	clock func() time.Time // of this machine, unless a test sets it
	self  stored.Process
	beat  time.Duration // negative: leases are never renewed
	lease time.Duration // how long one lasts
	vault *stored.Vault
}

// newTerms returns the terms of options, with zero values replaced by the defaults.
func newTerms(clock func() time.Time, beat time.Duration, vault *stored.Vault) *terms {
	if clock == nil {
		clock = time.Now
	}
	if beat == 0 {
		beat = time.Second
	}
	return &terms{clock: clock, self: stored.ThisProcess(), beat: beat, lease: 4 * max(beat, -beat), vault: vault}
}

// newJournal returns a journal over an open database, and begins to renew its leases.
func newJournal(ctx context.Context, t *terms, db dialect) *Journal {
	j := &Journal{terms: t, db: db, logs: map[*runLog]struct{}{}}
	j.ctx, j.end = context.WithCancel(context.WithoutCancel(ctx))
	if j.beat > 0 {
		j.beats.Go(j.keepLeases)
	}
	return j
}

// Close releases the runs that are still held and closes the database.
func (j *Journal) Close() error {
	j.mu.Lock()
	if j.closed {
		j.mu.Unlock()
		return nil
	}
	j.closed = true
	logs := make([]*runLog, 0, len(j.logs))
	for l := range j.logs {
		logs = append(logs, l)
	}
	j.mu.Unlock()
	j.end()
	j.beats.Wait()
	var errs []error
	for _, l := range logs {
		errs = append(errs, l.Close())
	}
	if errors.Join(errs...) == nil {
		errs = append(errs, j.db.delistProcess())
	}
	return errors.Join(append(errs, j.db.Close())...)
}

// write runs one statement that changes something, or several that may be run twice. In a file
// they are a transaction.
func (j *Journal) write(ctx context.Context, do func(database.Conn) error) error {
	return j.db.Write(ctx, database.Change{Do: do, Single: true})
}

// ID names the journal: the database and its copies.
func (j *Journal) ID(ctx context.Context) (id string, err error) {
	err = j.db.Read(ctx, func(c database.Conn) error {
		_, err := c.QueryRow("SELECT id FROM journal_store", nil, &id)
		return err
	})
	return id, err
}

// CheckWritable returns an error if no run could be recorded now.
func (j *Journal) CheckWritable(ctx context.Context) error { return j.db.CheckWritable(ctx) }

// Check looks for damage of the database and for missing events. It reads all of them.
func (j *Journal) Check(ctx context.Context) error {
	return j.db.Read(ctx, func(c database.Conn) error {
		if err := j.db.checkIntegrity(c); err != nil {
			return err
		}
		var run string
		found, err := c.QueryRow(`
			SELECT r.id FROM journal_run r LEFT JOIN journal_event e ON e.run = r.key
			GROUP BY r.key HAVING count(e.seq) <> r.last_seq OR coalesce(max(e.seq), 0) <> r.last_seq LIMIT 1`, nil, &run)
		if found {
			return j.db.markDamaged(wording.Errorf("events of the run %s are missing", run))
		}
		return err
	})
}
