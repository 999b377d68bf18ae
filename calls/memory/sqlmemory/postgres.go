package sqlmemory

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
	"github.com/callnode/scheduler/calls/database"
	"github.com/callnode/scheduler/calls/database/pgdb"
	"github.com/callnode/scheduler/calls/memory"
	"github.com/callnode/scheduler/calls/memory/internal/packed"
	"github.com/callnode/scheduler/calls/memory/rank"
)

//go:embed migrations/*.sql
var sharedMigrations embed.FS

// SharedOptions are how [OpenShared] opens a store. Only the URL is needed.
type SharedOptions struct {
	// URL is the address of the database: postgres://user:password@host:port/database.
	URL string
	// Clock dates new memories; nil is the machine's.
	Clock func() time.Time
	// Log gets a message when memories of an older version are reindexed, and when tidying
	// up fails; nil discards it.
	Log *slog.Logger
	// Retry is how long a lost connection is tried again; 0 is the default of pgdb.
	Retry time.Duration
	// Facts are which memories state facts.
	Facts FactOptions
}

// The connections of a store at most.
const (
	writers = 8
	readers = 8
)

// OpenShared opens the store in a Postgres database. It creates missing tables.
func OpenShared(ctx context.Context, options SharedOptions) (*Store, error) {
	files, err := fs.Sub(sharedMigrations, "migrations")
	if err != nil {
		return nil, err
	}
	d := &sharedDialect{log: options.Log, factVersion: options.Facts.newVersion(), toFold: map[string]bool{}}
	if d.log == nil {
		d.log = slog.New(slog.DiscardHandler)
	}
	d.tidyCtx, d.endTidy = context.WithCancel(context.WithoutCancel(ctx))
	db, err := pgdb.Open(ctx, pgdb.Options{
		Name: storeName, URL: options.URL, Migrations: files, VersionTable: "memory_schema",
		Writers: writers, Readers: readers, Retry: options.Retry,
		KeepError: func(err error) bool { return errors.Is(err, packed.ErrDry) || errors.Is(err, packed.ErrStop) },
	})
	if err != nil {
		d.endTidy()
		return nil, err
	}
	d.db = database.Shared{Store: db}
	s, err := newStore(ctx, d, options.Clock, options.Log, options.Facts)
	if err != nil {
		return nil, errors.Join(err, s.Close())
	}
	return s, nil
}

// sharedDialect is a Postgres database. A change locks the rows of its users first.
type sharedDialect struct {
	escapedText
	db  database.Shared
	log *slog.Logger
	// factVersion is the version of the facts of new users.
	factVersion int

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

// errSharedIndex means that the index contradicts itself or the memories.
var errSharedIndex = calls.Errorf(calls.Internal, "the index of the memory store in Postgres is wrong").
	WithHint("run UPDATE memory_user SET analysis = 0 in the database and start the program again, which makes the index from the memories; check the disk of the server")

func (*sharedDialect) indexError() error                       { return errSharedIndex }
func (d *sharedDialect) place() (kind, name string)            { return "database", d.db.Place() }
func (d *sharedDialect) Explain(doing string, err error) error { return d.db.Explain(doing, err) }

// checkIntegrity does nothing: Postgres checks its own pages.
func (*sharedDialect) checkIntegrity(conn) error { return nil }

func (*sharedDialect) sizeQuery() string {
	return `SELECT coalesce(sum(pg_total_relation_size(c.oid)), 0)::bigint FROM pg_class c
		WHERE c.relkind = 'r' AND c.relnamespace = current_schema()::regnamespace AND (c.relname = 'memory' OR c.relname LIKE 'memory\_%')`
}

// tidyWait is how long Close waits for the work in the background.
const tidyWait = 10 * time.Second

// Close ends the work in the background and the connections. It may be called twice.
func (d *sharedDialect) Close() error {
	d.closeOnce.Do(func() {
		d.mu.Lock()
		d.closed = true
		d.mu.Unlock()
		late := time.AfterFunc(tidyWait, d.endTidy)
		d.tidy.Wait()
		late.Stop()
		d.endTidy()
		d.db.Store.Close()
	})
	return nil
}

func (d *sharedDialect) conn(ctx context.Context, c *pgdb.Conn) conn {
	return conn{d.db.Conn(ctx, c), d}
}

// read calls do outside of a transaction.
func (d *sharedDialect) read(ctx context.Context, do func(conn) error) error {
	return d.db.Store.Read(ctx, func(c *pgdb.Conn) error { return do(d.conn(ctx, c)) })
}

func (d *sharedDialect) readSnapshot(ctx context.Context, do func(conn) error) error {
	return d.db.ReadSnapshot(ctx, func(c *pgdb.Conn) error { return do(d.conn(ctx, c)) })
}

// change makes a change that may be made twice.
func (d *sharedDialect) change(ctx context.Context, do func(conn) error) error {
	return d.repeat(ctx, pgdb.Change{Do: func(c *pgdb.Conn) error { return do(d.conn(ctx, c)) }})
}

// maxRaces is how often a change is begun again because of others.
const maxRaces = 10

// repeat makes a change, and begins again if another one was faster.
func (d *sharedDialect) repeat(ctx context.Context, change pgdb.Change) (err error) {
	for range maxRaces {
		err = d.db.Store.Write(ctx, change)
		if !errors.Is(err, errGone) && !pgdb.IsUniqueViolation(err) {
			return err
		}
	}
	return err
}

// lockUsers creates missing users, locks all in the order of their ids, and reads them when no
// one else changes them any more.
func (d *sharedDialect) lockUsers(c conn, create bool, names []string) (map[string]*user, error) {
	users := map[string]*user{}
	return users, c.Pipeline(d.lockStatements(c, create, names, users)...)
}

// lockStatements returns the statements of lockUsers: the first of a change.
func (d *sharedDialect) lockStatements(c conn, create bool, names []string, users map[string]*user) []database.Statement {
	stored := make([]string, len(names))
	for i, name := range names {
		stored[i] = d.encode(name)
	}
	slices.Sort(stored)
	stored = slices.Compact(stored)
	list := []database.Statement{
		{Query: "SELECT 1 FROM memory_user WHERE name = ANY($1) ORDER BY id FOR UPDATE", Any: stored},
		{Query: selectUsers, Any: stored, Each: func(scan func(...any) error) error {
			u, err := scanUser(c, scan)
			users[u.name] = u
			return err
		}},
	}
	if !create {
		return list
	}
	insert := database.Statement{
		Query: `INSERT INTO memory_user(name, analysis, facts) SELECT name, $2, $3 FROM unnest($1::text[]) WITH ORDINALITY n(name, i)
			WHERE NOT EXISTS (SELECT 1 FROM memory_user u WHERE u.name = n.name) ORDER BY i ON CONFLICT DO NOTHING`,
		Args: []any{stored, rank.AnalysisVersion, d.factVersion},
	}
	return append([]database.Statement{insert}, list...)
}

// lockOwners keeps others from changing the texts of memories.
func (*sharedDialect) lockOwners(ids [][]byte) []database.Statement {
	return []database.Statement{{Query: "SELECT 1 FROM memory_user WHERE id IN (SELECT rid >> 32 FROM memory WHERE id = ANY($1)) ORDER BY id FOR UPDATE", Any: ids}}
}

// lockModels keeps others from saving: they would not know of a new model.
func (*sharedDialect) lockModels() []database.Statement {
	return []database.Statement{{Query: "LOCK TABLE memory_user IN EXCLUSIVE MODE"}}
}

// Statements that begin a transaction in the round trip of its first others.
const (
	beginSnapshot = "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY"
	beginChange   = "BEGIN ISOLATION LEVEL READ COMMITTED READ WRITE"
)

// rollBack ends a transaction. If that fails the connection is not used again.
func rollBack(ctx context.Context, c *pgdb.Conn) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Second)
	defer cancel()
	_, _ = c.Exec(ctx, "ROLLBACK")
}

// readIndex calls do in a transaction. do may be called again, after a lost connection. With once
// the end of the transaction goes with Load.
func (d *sharedDialect) readIndex(ctx context.Context, s *Store, name string, once bool, do func(userView) error) error {
	for again := true; again; {
		err := d.db.Store.Read(ctx, func(c *pgdb.Conn) (err error) {
			v := &sharedView{view: &view{conn: d.conn(ctx, c), once: once}}
			again, err = v.use(ctx, s, name, do)
			if !v.ended {
				rollBack(ctx, c)
			}
			return err
		})
		if once && errors.Is(err, errEnded) {
			once, again = false, true
			continue
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// use begins a transaction that only reads, brings the index of a user to its state and calls do.
func (v *sharedView) use(ctx context.Context, s *Store, name string, do func(userView) error) (again bool, err error) {
	var seen packed.State
	v.user, seen, err = findIndex(v.conn, name, database.Statement{Query: beginSnapshot})
	if v.user == 0 || err != nil {
		return false, err
	}
	return s.indexes.Use(ctx, v.user, seen, reader{v.conn, v.user}, func(ix *packed.Index) error {
		v.known = ix
		return do(v)
	})
}

// sharedView reads the postings of all terms of a query at once.
type sharedView struct {
	*view
	fetched map[string]*chunks // by key of the term
}

// chunks are the postings of a term, in memories and in snapshots.
type chunks struct{ memories, extras []rank.Posting }

var (
	_ memory.UserIndex = (*sharedView)(nil)
	_ rank.Fetcher     = (*sharedView)(nil)
)

// Fetch is part of [rank.Fetcher].
func (v *sharedView) Fetch(_ context.Context, terms []string) error {
	if v.fetched == nil {
		v.fetched = map[string]*chunks{}
	}
	var missing []string
	for _, term := range terms {
		key := v.conn.d.keyOf(term)
		if v.fetched[key] == nil {
			v.fetched[key] = &chunks{}
			missing = append(missing, key)
		}
	}
	if len(missing) == 0 {
		return nil
	}
	if v.ended {
		return errEnded
	}
	return v.conn.QueryRows("SELECT term, chunk, data FROM memory_posting WHERE owner = $1 AND term = ANY($2)", []any{v.user, missing}, func(scan func(...any) error) error {
		var key string
		var chunk int64
		var data []byte
		if err := scan(&key, &chunk, &data); err != nil {
			return err
		}
		of := v.fetched[key]
		if chunk < 0 {
			of.extras = packed.ReadPostings(data, uint32(-1-chunk), of.extras) //nolint:gosec // of fewer than 1<<28 snapshots
		} else {
			of.memories = packed.ReadPostings(data, uint32(chunk), of.memories) //nolint:gosec // of fewer than 1<<28 memories
		}
		return nil
	})
}

// Postings is part of [rank.Source], like the method below.
func (v *sharedView) Postings(ctx context.Context, term string, to []rank.Posting) ([]rank.Posting, error) {
	if err := v.Fetch(ctx, []string{term}); err != nil {
		return to, err
	}
	return v.known.TailPostings(term, append(to, v.fetched[v.conn.d.keyOf(term)].memories...)), nil
}

// ExtraPostings appends the postings of a term in the snapshots.
func (v *sharedView) ExtraPostings(ctx context.Context, term string, to []rank.Posting) ([]rank.Posting, error) {
	if err := v.Fetch(ctx, []string{term}); err != nil {
		return to, err
	}
	return append(to, v.fetched[v.conn.d.keyOf(term)].extras...), nil
}

// placesAtOnce bounds the chunks of postings in one statement.
const placesAtOnce = 10_000

// placeArgs returns places as two arrays.
func (d *sharedDialect) placeArgs(places []packed.Place) (terms []string, chunks []int64) {
	terms, chunks = make([]string, len(places)), make([]int64, len(places))
	for i, at := range places {
		terms[i], chunks[i] = d.keyOf(at.Term), at.Chunk
	}
	return terms, chunks
}

// addPostings appends postings, many at once, in the order of the table.
func (d *sharedDialect) addPostings(c conn, user int64, lists packed.Lists) error {
	for part := range slices.Chunk(packed.SortedPlaces(lists), placesAtOnce) {
		terms, chunks := d.placeArgs(part)
		data := make([][]byte, len(part))
		for i, at := range part {
			data[i] = lists[at]
		}
		_, err := c.Exec(`INSERT INTO memory_posting(owner, term, chunk, data)
			SELECT $1, term, chunk, data FROM unnest($2::text[], $3::bigint[], $4::bytea[]) p(term, chunk, data)
			ON CONFLICT (owner, term, chunk) DO UPDATE SET data = memory_posting.data || excluded.data`, user, terms, chunks, data)
		if err != nil {
			return err
		}
	}
	return nil
}

// removePostings removes the postings of some memories.
func (d *sharedDialect) removePostings(c conn, user int64, gone packed.Removed) error {
	for part := range slices.Chunk(packed.SortedPlaces(gone), placesAtOnce) {
		if err := d.removeFrom(c, user, part, gone); err != nil {
			return err
		}
	}
	return nil
}

func (d *sharedDialect) removeFrom(c conn, user int64, places []packed.Place, gone packed.Removed) error {
	terms, chunks := d.placeArgs(places)
	var emptyTerms, leftTerms []string
	var emptyChunks, leftChunks []int64
	var left [][]byte
	err := c.QueryRows(`SELECT i, data FROM unnest($2::text[], $3::bigint[]) WITH ORDINALITY w(term, chunk, i)
		JOIN memory_posting p ON p.owner = $1 AND p.term = w.term AND p.chunk = w.chunk`, []any{user, terms, chunks}, func(scan func(...any) error) error {
		var i int64
		var data []byte
		if err := scan(&i, &data); err != nil {
			return err
		}
		i--
		data = packed.RemovePostings(data, gone[places[i]])
		if len(data) == 0 {
			emptyTerms, emptyChunks = append(emptyTerms, terms[i]), append(emptyChunks, chunks[i])
			return nil
		}
		leftTerms, leftChunks, left = append(leftTerms, terms[i]), append(leftChunks, chunks[i]), append(left, data)
		return nil
	})
	if err != nil {
		return err
	}
	return c.Pipeline(
		database.Statement{Query: `UPDATE memory_posting p SET data = w.data FROM unnest($2::text[], $3::bigint[], $4::bytea[]) w(term, chunk, data)
			WHERE p.owner = $1 AND p.term = w.term AND p.chunk = w.chunk`, Args: []any{user, leftTerms, leftChunks, left}},
		database.Statement{Query: `DELETE FROM memory_posting p USING unnest($2::text[], $3::bigint[]) w(term, chunk)
			WHERE p.owner = $1 AND p.term = w.term AND p.chunk = w.chunk`, Args: []any{user, emptyTerms, emptyChunks}},
	)
}

// entryArgs returns chunks of entries as two arrays.
func entryArgs(entries map[int64][]byte) (chunks []int64, data [][]byte) {
	chunks = slices.Sorted(maps.Keys(entries))
	for _, chunk := range chunks {
		data = append(data, entries[chunk])
	}
	return chunks, data
}

// appendEntries appends to chunks.
func (*sharedDialect) appendEntries(c conn, user int64, entries map[int64][]byte) error {
	chunks, data := entryArgs(entries)
	_, err := c.Exec(`INSERT INTO memory_entry(owner, chunk, data) SELECT $1, chunk, data FROM unnest($2::bigint[], $3::bytea[]) e(chunk, data)
		ON CONFLICT (owner, chunk) DO UPDATE SET data = memory_entry.data || excluded.data`, user, chunks, data)
	return err
}

// loadEntries reads chunks. A missing one is empty.
func (*sharedDialect) loadEntries(c conn, user int64, chunks []int64) (map[int64][]byte, error) {
	found := make(map[int64][]byte, len(chunks))
	err := c.QueryRows("SELECT chunk, data FROM memory_entry WHERE owner = $1 AND chunk = ANY($2)", []any{user, chunks}, func(scan func(...any) error) error {
		var chunk int64
		var data []byte
		err := scan(&chunk, &data)
		found[chunk] = data
		return err
	})
	return found, err
}

// storeEntries overwrites chunks.
func (*sharedDialect) storeEntries(c conn, user int64, entries map[int64][]byte) error {
	chunks, data := entryArgs(entries)
	_, err := c.Exec(`UPDATE memory_entry e SET data = w.data FROM unnest($2::bigint[], $3::bytea[]) w(chunk, data)
		WHERE e.owner = $1 AND e.chunk = w.chunk`, user, chunks, data)
	return err
}
