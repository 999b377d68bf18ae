package sqljournal

import (
	"context"
	"embed"
	"encoding/json"
	"io/fs"
	"log/slog"
	"strings"
	"sync"
	"time"

	"github.com/callnode/scheduler/calls"
	"github.com/callnode/scheduler/calls/database"
	"github.com/callnode/scheduler/calls/database/pgdb"
	"github.com/callnode/scheduler/llm/value/wording"
	"github.com/callnode/scheduler/scheduler/journal"
	"github.com/callnode/scheduler/scheduler/journal/internal/stored"
)

// SharedOptions are how [OpenShared] opens a journal; only URL is needed.
type SharedOptions struct {
	// URL is the database's; see [pgdb.Options].
	URL string
	// ImageKey is the key of 32 bytes that encrypts images, nil if there is none; KeySource names its origin for
	// users, for example a setting.
	ImageKey  []byte
	KeySource string
	// Version is the version of the program, for people who look into the table of workers.
	Version string
	// Clock dates leases and cancellations; nil is the clock of the database.
	Clock func() time.Time
	// Heartbeat is [FileOptions] Heartbeat.
	Heartbeat time.Duration
	// Retry is for how long a write waits for a database that cannot be reached; 0 is 30 s.
	Retry time.Duration
	// Log is [pgdb.Options] Log.
	Log *slog.Logger
}

//go:embed migrations/*.sql
var sharedMigrations embed.FS

// channel carries the ids of runs that have new events.
const channel = "scheduler_journal"

// OpenShared opens the journal in a Postgres database. It creates missing tables.
func OpenShared(ctx context.Context, options SharedOptions) (*Journal, error) {
	files, err := fs.Sub(sharedMigrations, "migrations")
	if err != nil {
		return nil, wording.Errorf("opening the journal: %w", err)
	}
	t := newTerms(options.Clock, options.Heartbeat, newSharedVault(options.ImageKey, options.KeySource))
	db, err := pgdb.Open(ctx, pgdb.Options{
		Name: "journal", URL: options.URL, Migrations: files, VersionTable: "journal_version", Channels: []string{channel},
		Writers: maxWriters, Retry: options.Retry, KeepError: stored.IsHeld, Log: options.Log,
	})
	if err != nil {
		return nil, err
	}
	d := &sharedDialect{Shared: database.Shared{Store: db}, terms: t, version: options.Version, hasClock: options.Clock != nil}
	d.appends = newAppender(d)
	return newJournal(ctx, t, d), nil
}

// newSharedVault returns a vault whose key is configured.
func newSharedVault(key []byte, source string) *stored.Vault {
	return &stored.Vault{Source: wording.Of(source), Key: func(create bool) ([]byte, error) {
		if len(key) == stored.KeySize {
			return key, nil
		}
		if create {
			return nil, newNoKeyError()
		}
		return nil, fs.ErrNotExist
	}}
}

// newNoKeyError returns the error of an image that cannot be encrypted.
func newNoKeyError() error {
	return calls.Errorf(calls.Invalid, "the run has an image, and the journal in Postgres has no key to encrypt it with").
		WithHint("set journal.key_env to the name of a variable that holds %d random bytes in hex (openssl rand -hex %d), the same on every machine", stored.KeySize, stored.KeySize)
}

// sharedDialect is a Postgres database. The row of a run refers to the row in journal_worker of the process that
// holds it, which that process renews for all of its runs at once.
type sharedDialect struct {
	database.Shared
	*terms
	version  string
	hasClock bool // else the time is the database's
	appends  *appender

	mu      sync.Mutex // guards the fields below
	worker  int64      // the key of this process; 0 before the first run
	renewed time.Time  // when its leases were renewed, by the clock of this machine
}

// sharedFragments are the same for all databases.
var sharedFragments = fragments{
	selectRuns: `SELECT r.key, r.id, r.flow, r.state, r.started_at, r.updated_at, r.last_seq, r.cancel, r.lease, r.touched, r.labels, r.summary,
		r.held_since, w.pid, w.host, w.identity, w.until, coalesce(w.until > coalesce($1, now()), false), h.mode
		FROM journal_run r LEFT JOIN journal_worker w ON w.key = r.worker LEFT JOIN journal_header h ON h.run = r.key `,
	lock:  " FOR UPDATE OF r",
	touch: "touched = coalesce($1, now())",
	hold:  "worker = $6, held_since = coalesce($1, now()), touched = coalesce($1, now())",
}

func (*sharedDialect) fragments() *fragments  { return &sharedFragments }
func (*sharedDialect) timeOf(t time.Time) any { return t }

// now returns nil, which is the time of the database, unless a test has a clock.
func (d *sharedDialect) now() any {
	if d.hasClock {
		return d.clock()
	}
	return nil
}

// matchLabels uses the index of labels.
func (*sharedDialect) matchLabels(labels map[string]string, argument func(any) string) (string, error) {
	text, err := json.Marshal(labels)
	return "r.labels @> " + argument(text), err
}

// The row of this process. Rows of processes that ended long ago are taken away with it: their
// runs are free with and without it.
const insertWorker = `
WITH gone AS (DELETE FROM journal_worker WHERE until < coalesce($5, now()) - interval '7 days')
INSERT INTO journal_worker(host, pid, identity, version, until) VALUES ($1, $2, $3, $4, coalesce($5, now()) + $6) RETURNING key`

// A deleted row is inserted again: the runs still belong to this process, unless another has taken them.
const renewWorker = `
INSERT INTO journal_worker(key, host, pid, identity, version, until) VALUES ($7, $1, $2, $3, $4, coalesce($5, now()) + $6)
ON CONFLICT (key) DO UPDATE SET until = excluded.until`

func (d *sharedDialect) workerArgs(more ...any) []any {
	return append([]any{d.self.Host, d.self.PID, d.self.Identity, d.version, d.now(), d.lease}, more...)
}

// enlistProcess makes sure that this process has a row whose lease is fresh.
func (d *sharedDialect) enlistProcess(ctx context.Context) error {
	now := d.clock()
	d.mu.Lock()
	worker, isFresh := d.worker, now.Sub(d.renewed) < 2*d.beat
	d.mu.Unlock()
	if worker != 0 && isFresh {
		return nil
	}
	err := d.Write(ctx, database.Change{Single: true, Do: func(c database.Conn) error {
		if worker != 0 {
			_, err := c.Exec(renewWorker, d.workerArgs(worker)...)
			return err
		}
		_, err := c.QueryRow(insertWorker, d.workerArgs(), &worker)
		return err
	}})
	if err != nil {
		return err
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.worker == 0 {
		d.worker = worker // two runs may begin at once: a row too many ends by itself
	}
	d.renewed = now
	return nil
}

func (d *sharedDialect) holderArgs() []any { return []any{d.ownWorker()} }

// ownWorker returns the key of this process.
func (d *sharedDialect) ownWorker() int64 {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.worker
}

// delistProcess deletes the row of this process, which holds no run any more.
func (d *sharedDialect) delistProcess() error {
	worker := d.ownWorker()
	if worker == 0 {
		return nil
	}
	return d.Write(context.Background(), database.Change{Single: true, Do: func(c database.Conn) error {
		_, err := c.Exec("DELETE FROM journal_worker WHERE key = $1", worker)
		return err
	}})
}

// renewLeases renews the row of this process, and reads the rows of its runs.
func (d *sharedDialect) renewLeases(ctx context.Context, logs []*runLog) (map[int64]holding, error) {
	worker := d.ownWorker()
	if worker == 0 {
		return nil, nil
	}
	keys := make([]int64, len(logs))
	for i, l := range logs {
		keys[i] = l.key
	}
	held, now := map[int64]holding{}, d.clock()
	err := d.Store.Write(ctx, pgdb.Change{Single: true, Do: func(c *pgdb.Conn) error {
		clear(held)
		return c.Pipeline(ctx,
			pgdb.Statement{Query: renewWorker, Args: d.workerArgs(worker)},
			pgdb.Statement{Query: "SELECT key, lease, cancel FROM journal_run WHERE key = ANY($1)", Args: []any{keys}, Each: func(scan func(...any) error) error {
				var key int64
				var one holding
				err := scan(&key, &one.lease, &one.cancel)
				held[key] = one
				return err
			}})
	}})
	if err == nil {
		d.mu.Lock()
		d.renewed = now
		d.mu.Unlock()
	}
	return held, err
}

// One statement, so that it needs one round trip and can be repeated: if the connection was lost
// after the commit, the row has the lease.
const insertRun = `
WITH r AS (INSERT INTO journal_run(id, flow, state, started_at, updated_at, lease, worker, held_since, touched, labels)
		VALUES ($2, $3, $4, $5, $5, $6, $7, CASE WHEN $6::bytea IS NOT NULL THEN coalesce($1, now()) END, coalesce($1, now()), $8)
		ON CONFLICT (id) DO NOTHING RETURNING key),
	h AS (INSERT INTO journal_header(run, file, mode, program, source, files, inputs, conversation, options)
		SELECT key, $9, $10, $11, $12, $13, $14, $15, $16 FROM r),
	b AS (INSERT INTO journal_blob SELECT sha256, data FROM unnest($17::bytea[], $18::bytea[]) n(sha256, data), r ORDER BY sha256
		ON CONFLICT DO NOTHING),
	x AS (INSERT INTO journal_run_blob SELECT key, sha256 FROM r, unnest($17::bytea[]) n(sha256))
SELECT key FROM r`

// insertRun inserts the rows of a run that begins.
func (d *sharedDialect) insertRun(c database.Conn, b *beginning) (key int64, created bool, err error) {
	if err := checkTexts(b.RunHeader); err != nil {
		return 0, false, err
	}
	p, err := d.sealBlobs(b.blobs)
	if err != nil {
		return 0, false, err
	}
	labels, err := json.Marshal(b.Labels)
	if b.Labels == nil || err != nil {
		labels = []byte("{}")
	}
	var worker *int64
	if b.lease != nil {
		own := d.ownWorker()
		worker = &own
	}
	created, err = c.QueryRow(insertRun, []any{
		b.touched, b.ID, b.Flow, string(journal.RunRunning), b.started, b.lease, worker, labels,
		b.File, string(b.mode), b.Program, b.form.Source, b.form.Files, b.form.Inputs, b.form.Conversation, b.form.Options, p.digests, p.data,
	}, &key)
	return key, created, retryLostBlob(err)
}

// checkTexts returns an error for a header that Postgres cannot store.
func checkTexts(h *journal.RunHeader) error {
	texts := []string{h.ID, h.Flow, h.File, h.Program}
	for name, text := range h.Labels {
		texts = append(texts, name, text)
	}
	for _, text := range texts {
		if strings.ContainsRune(text, 0) {
			return calls.Errorf(calls.Invalid, "%q has the byte 0, which Postgres does not store", text)
		}
	}
	return nil
}

// insertEvents inserts all rows at once.
func (*sharedDialect) insertEvents(c database.Conn, key, first int64, bodies [][]byte) error {
	_, err := c.Exec("INSERT INTO journal_event SELECT $1, $2 + n.at - 1, n.body FROM unnest($3::bytea[]) WITH ORDINALITY n(body, at)", key, first, bodies)
	return err
}

// insertBlobs inserts all payloads at once.
func (d *sharedDialect) insertBlobs(c database.Conn, key int64, found stored.Blobs) error {
	if len(found) == 0 {
		return nil
	}
	p, err := d.sealBlobs(found)
	if err != nil {
		return err
	}
	_, err = c.Exec(`
		WITH b AS (INSERT INTO journal_blob SELECT * FROM unnest($2::bytea[], $3::bytea[]) n(sha256, data) ORDER BY sha256 ON CONFLICT DO NOTHING)
		INSERT INTO journal_run_blob SELECT $1, sha256 FROM unnest($2::bytea[]) n(sha256) ON CONFLICT DO NOTHING`,
		key, p.digests, p.data)
	return retryLostBlob(err)
}

// submitChange queues the change for the appender, which stores the changes of several runs at once.
func (d *sharedDialect) submitChange(l *runLog, ch *change, _ bool) (err error) {
	if len(ch.bodies) == 0 {
		ch.done(nil)
		return nil
	}
	ch.payloads, err = d.sealBlobs(ch.blobs)
	if err == nil {
		d.appends.submitChange(l, ch)
	}
	return err
}

func (d *sharedDialect) isFull(l *runLog) bool { return d.appends.isFull(l) }
func (d *sharedDialect) waitFor(l *runLog)     { d.appends.waitFor(l) }

// deleteRows deletes all of a run, and the payloads that no other run has.
func (*sharedDialect) deleteRows(c database.Conn, key int64) (bytes int64, err error) {
	_, err = c.QueryRow(`
		WITH e AS (DELETE FROM journal_event WHERE run = $1 RETURNING length(body) AS n),
			x AS (DELETE FROM journal_run_blob WHERE run = $1 RETURNING sha256),
			b AS (DELETE FROM journal_blob USING x WHERE journal_blob.sha256 = x.sha256
				AND NOT EXISTS (SELECT 1 FROM journal_run_blob other WHERE other.sha256 = x.sha256 AND other.run <> $1) RETURNING length(data) AS n),
			r AS (DELETE FROM journal_run WHERE key = $1)
		SELECT (SELECT coalesce(sum(n), 0) FROM e)::bigint + (SELECT coalesce(sum(n), 0) FROM b)::bigint`, []any{key}, &bytes)
	return bytes, retryLostBlob(err) // another run has just begun to need a payload
}

// reclaimSpace makes the space of deleted rows free for others. Postgres does it by itself later; the
// owner of the tables may do it now.
func (d *sharedDialect) reclaimSpace(ctx context.Context) (int64, error) {
	return 0, d.Write(ctx, database.Change{Single: true, Do: func(c database.Conn) error {
		_, err := c.Exec("VACUUM journal_run, journal_header, journal_event, journal_run_blob, journal_blob")
		return err
	}})
}

func (d *sharedDialect) notifyReaders(run string) { d.Notify(channel, run) }

func (d *sharedDialect) subscribeTo(run string) subscription { return d.Subscribe(channel, run) }

// checkIntegrity does nothing: Postgres checks its own pages.
func (*sharedDialect) checkIntegrity(database.Conn) error { return nil }

func (*sharedDialect) markDamaged(err error) error { return err }
