package sqljournal

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/callnode/scheduler/calls/database"
	"github.com/callnode/scheduler/calls/database/sqlitefile"
	"github.com/callnode/scheduler/llm/value/wording"
	"github.com/callnode/scheduler/scheduler/journal"
	"github.com/callnode/scheduler/scheduler/journal/internal/stored"
)

// FileName is the name of the database in its directory.
const FileName = "runs.db"

// FileOptions are how [OpenFile] opens a journal; the zero value is right for programs.
type FileOptions struct {
	// Clock dates leases and cancellations; nil is the machine's. Processes that share a journal
	// must agree on the time.
	Clock func() time.Time
	// Heartbeat is how often a lease is renewed; 0 is once a second. A lease runs out after four
	// times as long. A negative one has leases of that length and never renews them, as if the
	// process had died.
	Heartbeat time.Duration
	// BusyTimeout is how long a locked file is waited for; 0 is 10 s.
	BusyTimeout time.Duration
}

// maxReaders is how many connections read at a time.
const maxReaders = 4

// damagedHint is the remedy for a damaged file.
const damagedHint = "the file is damaged or not a journal; nothing was changed: move it away to begin a new one, or save what can be saved with: sqlite3 FILE .recover"

// OpenFile opens the journal in a directory. It creates a missing directory and journal with
// access for the current user only. A journal that cannot be written is refused.
func OpenFile(ctx context.Context, dir string, options FileOptions) (*Journal, error) {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return nil, wording.Errorf("opening the journal: %w", err)
	}
	t := newTerms(options.Clock, options.Heartbeat, newFileVault(filepath.Join(dir, KeyName)))
	db, err := sqlitefile.Open(ctx, sqlitefile.Options{
		Name: "journal", File: filepath.Join(dir, FileName), Layout: &layout, DamagedHint: damagedHint, KeepError: stored.IsHeld,
		BusyTimeout: cmp.Or(options.BusyTimeout, 10*time.Second), Pragmas: []string{"synchronous(FULL)", "foreign_keys(1)"},
		Readers: maxReaders,
	})
	if err != nil {
		return nil, err
	}
	return newJournal(ctx, t, newFileDialect(t, db)), nil
}

// File returns the path of the database, "" if it is not in a file.
func (j *Journal) File() string {
	if d, ok := j.db.(*fileDialect); ok {
		return d.Store.File()
	}
	return ""
}

// fileDialect is a SQLite file, whose tables have short names: run, header. Times in it are milliseconds since 1970. The row of a run has its
// holder, and lease_until when the lease ends: one lease after a process last wrote.
type fileDialect struct {
	database.File
	*terms
	parts fragments
}

func newFileDialect(t *terms, db *sqlitefile.Store) *fileDialect {
	untilLease := fmt.Sprintf("$1 + %d", t.lease.Milliseconds())
	return &fileDialect{File: database.NewFile(db, "journal_", ""), terms: t, parts: fragments{
		selectRuns: fmt.Sprintf(`SELECT r.key, r.id, r.flow, r.state, r.started_at, r.updated_at, r.last_seq, r.cancel, r.lease, r.lease_until - %d,
			(SELECT json_group_object(name, value) FROM label l WHERE l.run = r.key), r.summary,
			nullif(r.held_since, 0), r.holder_pid, r.holder_host, r.holder_identity, r.lease_until, r.lease_until > $1,
			(SELECT mode FROM header h WHERE h.run = r.key) FROM run r `, t.lease.Milliseconds()),
		touch:      "lease_until = " + untilLease,
		hold:       "holder_pid = $6, holder_host = $7, holder_identity = $8, held_since = $1, lease_until = " + untilLease,
		reviseHash: ", hash = lower(hex($3))",
	}}
}

func (d *fileDialect) fragments() *fragments             { return &d.parts }
func (d *fileDialect) now() any                          { return d.timeOf(d.clock()) }
func (*fileDialect) timeOf(t time.Time) any              { return t.UnixMilli() }
func (d *fileDialect) holderArgs() []any                 { return []any{d.self.PID, d.self.Host, d.self.Identity} }
func (*fileDialect) enlistProcess(context.Context) error { return nil }
func (*fileDialect) delistProcess() error                { return nil }

// matchLabels looks into the table of labels.
func (*fileDialect) matchLabels(labels map[string]string, argument func(any) string) (string, error) {
	var conditions []string
	for _, name := range slices.Sorted(maps.Keys(labels)) {
		conditions = append(conditions, "EXISTS (SELECT 1 FROM label l WHERE l.run = r.key AND l.name = "+argument(name)+" AND l.value = "+argument(labels[name])+")")
	}
	return strings.Join(conditions, " AND "), nil
}

// renewLeases renews the lease in each row.
func (d *fileDialect) renewLeases(ctx context.Context, logs []*runLog) (map[int64]holding, error) {
	if len(logs) == 0 {
		return nil, nil
	}
	held := make(map[int64]holding, len(logs))
	err := d.Write(ctx, database.Change{Do: func(c database.Conn) error {
		for _, l := range logs {
			var one holding
			renewed, err := c.QueryRow("UPDATE run SET "+d.parts.touch+" WHERE key = $2 AND lease = $3 RETURNING lease, cancel",
				[]any{d.now(), l.key, l.lease}, &one.lease, &one.cancel)
			if err != nil {
				return err
			}
			if renewed {
				held[l.key] = one
			}
		}
		return nil
	}})
	return held, err
}

// insertRun inserts the rows of a run that begins.
func (d *fileDialect) insertRun(c database.Conn, b *beginning) (key int64, created bool, err error) {
	holder, since := []any{0, "", ""}, any(0)
	if b.lease != nil {
		holder, since = d.holderArgs(), b.touched
	}
	args := append([]any{b.touched, b.ID, b.Flow, string(journal.RunRunning), b.started, b.lease, since}, holder...)
	created, err = c.QueryRow(`INSERT INTO run(id, flow, state, started_at, updated_at, lease, held_since, holder_pid, holder_host, holder_identity, lease_until)
		VALUES ($2, $3, $4, $5, $5, $6, $7, $8, $9, $10, `+fmt.Sprintf("$1 + %d", d.lease.Milliseconds())+`) ON CONFLICT(id) DO NOTHING RETURNING key`, args, &key)
	if err != nil || !created {
		return 0, false, err
	}
	_, err = c.Exec("INSERT INTO header(run, file, mode, source, hash, files, inputs, conversation, options, program) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)",
		key, b.File, string(b.mode), b.form.Source, b.source.String(), b.form.Files, b.form.Inputs, b.form.Conversation, b.form.Options, b.Program)
	for _, name := range slices.Sorted(maps.Keys(b.Labels)) {
		if err == nil {
			_, err = c.Exec("INSERT INTO label(run, name, value) VALUES ($1, $2, $3)", key, name, b.Labels[name])
		}
	}
	if err == nil {
		err = d.insertBlobs(c, key, b.blobs)
	}
	return key, err == nil, err
}

// insertEvents inserts one row after the other.
func (*fileDialect) insertEvents(c database.Conn, key, first int64, bodies [][]byte) error {
	for i, body := range bodies {
		if _, err := c.Exec("INSERT INTO event(run, seq, body) VALUES (?, ?, ?)", key, first+int64(i), body); err != nil {
			return err
		}
	}
	return nil
}

// insertBlobs seals the payloads in the transaction that stores them, so that no two processes
// make the key at the same time.
func (d *fileDialect) insertBlobs(c database.Conn, key int64, found stored.Blobs) error {
	err := d.checkKey(c, found)
	if err != nil {
		return err
	}
	p, err := d.sealBlobs(found)
	if err != nil {
		return err
	}
	for i, digest := range p.digests {
		if _, err := c.Exec("INSERT INTO blob(sha256, data) VALUES (?, ?) ON CONFLICT(sha256) DO NOTHING", digest, p.data[i]); err != nil {
			return err
		}
		if _, err := c.Exec("INSERT OR IGNORE INTO run_blob(run, blob) SELECT ?, key FROM blob WHERE sha256 = ?", key, digest); err != nil {
			return err
		}
	}
	return nil
}

// submitChange queues the change for the writer of the file, which commits several at once.
func (d *fileDialect) submitChange(l *runLog, ch *change, lazy bool) error {
	isOpen := d.Submit(sqlitefile.Change{
		Do:   func(c *sqlitefile.Conn) error { return d.storeChange(d.Conn(c), l, ch) },
		Lazy: lazy, Done: ch.done,
	})
	if !isOpen {
		return stored.ErrJournalClosed
	}
	return nil
}

// storeChange stores events if the run is still held.
func (d *fileDialect) storeChange(c database.Conn, l *runLog, ch *change) error {
	if len(ch.bodies) == 0 {
		return nil
	}
	n, err := c.Exec("UPDATE run SET state = ?, updated_at = ?, last_seq = ?, summary = coalesce(?, summary) WHERE key = ? AND lease = ? AND last_seq = ?",
		string(ch.state), ch.updated, ch.last, ch.summary, l.key, l.lease, ch.before)
	if err != nil {
		return err
	}
	if n == 0 {
		return l.lostRowError(c)
	}
	if err := d.insertEvents(c, l.key, ch.before+1, ch.bodies); err != nil {
		return err
	}
	return d.insertBlobs(c, l.key, ch.blobs)
}

func (d *fileDialect) isFull(*runLog) bool { return d.IsBusy() }

// waitFor does not wait: the writer makes changes in the order in which they were submitted.
func (*fileDialect) waitFor(*runLog) {}

// deleteRows deletes a run. Its pages stay in the file until reclaim.
func (*fileDialect) deleteRows(c database.Conn, key int64) (int64, error) {
	if _, err := c.Exec("CREATE TEMP TABLE IF NOT EXISTS gone(blob INTEGER PRIMARY KEY)"); err != nil {
		return 0, err
	}
	return 0, c.Pipeline(
		database.Statement{Query: `INSERT INTO gone SELECT mine.blob FROM run_blob mine WHERE mine.run = $1
			AND NOT EXISTS (SELECT 1 FROM run_blob other WHERE other.blob = mine.blob AND other.run <> $1)`, Args: []any{key}},
		database.Statement{Query: "DELETE FROM event WHERE run = $1", Args: []any{key}},
		database.Statement{Query: "DELETE FROM run_blob WHERE run = $1", Args: []any{key}},
		database.Statement{Query: "DELETE FROM run WHERE key = $1", Args: []any{key}},
		database.Statement{Query: "DELETE FROM blob WHERE key IN (SELECT blob FROM gone)"},
		database.Statement{Query: "DELETE FROM gone"},
	)
}

// reclaimSpace gives freed pages back to the disk, some at a time, and returns by how much the file
// has shrunk.
func (d *fileDialect) reclaimSpace(ctx context.Context) (int64, error) {
	before, err := d.fileSize(ctx)
	for free := int64(1); err == nil && free > 0; {
		err = d.Write(ctx, database.Change{Do: func(c database.Conn) error {
			if _, err := c.Exec("PRAGMA incremental_vacuum(1000)"); err != nil {
				return err
			}
			left := int64(0)
			_, err := c.QueryRow("PRAGMA freelist_count", nil, &left)
			if left >= free && free > 1 {
				left = 0 // it cannot be shrunk further
			}
			free = left
			return err
		}})
	}
	if err != nil {
		return 0, err
	}
	// The file itself becomes smaller when the log is emptied into it, which another process may
	// put off.
	if err := d.Checkpoint(ctx); err != nil {
		return 0, err
	}
	after, err := d.fileSize(ctx)
	return max(before-after, 0), err
}

// fileSize returns the size of the database, in bytes.
func (d *fileDialect) fileSize(ctx context.Context) (n int64, err error) {
	err = d.Read(ctx, func(c database.Conn) error {
		_, err := c.QueryRow("SELECT page_count * page_size FROM pragma_page_count, pragma_page_size", nil, &n)
		return err
	})
	return n, err
}

// notifyReaders does nothing: SQLite sends no notices to other processes.
func (*fileDialect) notifyReaders(string) {}

// pollInterval is how often a run of a file that is followed is read.
const pollInterval = 100 * time.Millisecond

func (*fileDialect) subscribeTo(string) subscription { return polling{time.NewTicker(pollInterval)} }

// polling looks again and again.
type polling struct{ *time.Ticker }

// Wait returns at the next time to look.
func (p polling) Wait(ctx context.Context) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-p.C:
		return nil
	}
}

// Noticed returns nil.
func (polling) Noticed() <-chan struct{} { return nil }

// Close ends the ticker.
func (p polling) Close() { p.Stop() }

func (*fileDialect) checkIntegrity(c database.Conn) error { return sqlitefile.CheckIntegrity(c) }

func (*fileDialect) markDamaged(err error) error {
	return wording.Errorf("%w: %w", sqlitefile.ErrDamaged, err)
}
