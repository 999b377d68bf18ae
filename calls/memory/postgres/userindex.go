package postgres

import (
	"context"
	"errors"
	"time"

	"github.com/callnode/scheduler/calls/memory"
	"github.com/callnode/scheduler/calls/memory/internal/packed"
	"github.com/callnode/scheduler/calls/memory/rank"
	"github.com/callnode/scheduler/calls/pgdb"
	"github.com/callnode/scheduler/llm/value"
	"github.com/callnode/scheduler/llm/value/wording"
)

// errEnded means that a view was used after the round trip that ended its transaction.
var errEnded = wording.Errorf("the transaction has ended")

// withUser calls f with the memories of a user as they are at one moment, unless there is no
// such user. f may be called again, after a lost connection. With once, f calls Load at most
// once in most cases, and nothing after it: then the end of the transaction goes with it.
func (s *Store) withUser(ctx context.Context, name string, once bool, f func(*view) error) error {
	for again := true; again; {
		err := s.db.Read(ctx, func(c *pgdb.Conn) (err error) {
			v := &view{conn: c, once: once}
			again, err = s.useView(ctx, v, name, f)
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

// useView begins a transaction that only reads, brings the index of a user to its state and
// calls f.
func (s *Store) useView(ctx context.Context, v *view, name string, f func(*view) error) (again bool, err error) {
	var seen packed.State
	v.user, seen, err = findIndex(ctx, v.conn, name, pgdb.Statement{Query: beginSnapshot})
	if v.user == 0 || err != nil {
		return false, err
	}
	return s.indexes.Use(ctx, v.user, seen, reader{v.conn, v.user}, func(ix *packed.Index) error {
		v.known = ix
		return f(v)
	})
}

// What begins a transaction in the round trip of its first statements, and ends it in that of
// the last.
const (
	beginSnapshot = "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY"
	beginChange   = "BEGIN ISOLATION LEVEL READ COMMITTED READ WRITE"
	commitChange  = "COMMIT"
)

// rollBack ends a transaction. Where that fails the connection is not used again.
func rollBack(ctx context.Context, c *pgdb.Conn) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Second)
	defer cancel()
	_, _ = c.Exec(ctx, "ROLLBACK")
}

// findIndex returns the number of a user and its state; 0 if there is no such user. first are
// statements that are sent before.
func findIndex(ctx context.Context, c *pgdb.Conn, name string, first ...pgdb.Statement) (id int64, seen packed.State, err error) {
	analysis := rank.AnalysisVersion
	err = c.Pipeline(ctx, append(first, pgdb.Statement{
		Query: "SELECT u.id, " + nextNumber + ", u.folded, u.extras, u.generation, u.analysis FROM memory_user u WHERE u.name = $1", Args: []any{encodeText(name)},
		Each: func(scan func(...any) error) error {
			return scan(&id, &seen.N, &seen.Folded, &seen.Extras, &seen.Generation, &analysis)
		},
	})...)
	if err != nil {
		return 0, seen, err
	}
	return id, seen, packed.CheckAnalysis(analysis)
}

// reader reads what belongs to the index of a user.
type reader struct {
	conn *pgdb.Conn
	user int64
}

var _ packed.Reader = reader{}

// Entries is part of [packed.Reader], as are the methods below.
func (r reader) Entries(ctx context.Context, from, until int64) ([]rank.Entry, error) {
	return readEntries(ctx, r.conn, r.user, from, until)
}

// readEntries reads the entries from a number on. until is how many there are.
func readEntries(ctx context.Context, c *pgdb.Conn, user, from, until int64) ([]rank.Entry, error) {
	entries := packed.NewEntries(from, until)
	err := c.QueryRows(ctx, "SELECT data FROM memory_entry WHERE owner = $1 AND chunk >= $2 ORDER BY chunk", []any{user, from >> packed.EntryBits}, func(scan func(...any) error) error {
		var b []byte
		err := scan(&b)
		entries = packed.AppendEntries(entries, b)
		return err
	})
	return packed.CutEntries(entries, from), err
}

func (r reader) Speakers(ctx context.Context, from int) (names []string, err error) {
	err = r.conn.QueryRows(ctx, "SELECT name FROM memory_speaker WHERE owner = $1 AND number >= $2 ORDER BY number", []any{r.user, from}, packed.Collect(&names, textColumn))
	return names, err
}

func (r reader) Documents(ctx context.Context, from, n int64, speaker func(string) (int32, error)) ([]packed.Document, error) {
	return readDocuments(ctx, r.conn, ridOf(r.user, from), n, speaker)
}

func (r reader) Extras(ctx context.Context, from int64) ([]packed.Extra, error) {
	snapshots, err := r.readExtras(ctx, "SELECT key, number, id, body FROM memory_snapshot WHERE owner = $1 AND number >= $2", from,
		"SELECT snapshot, rid FROM memory_snapshot_ref WHERE snapshot = ANY($1)", memory.SnapshotID, memory.SnapshotWeight)
	if err != nil {
		return nil, err
	}
	metas, err := r.readExtras(ctx, "SELECT key, number, id, body FROM memory_meta WHERE owner = $1 AND number >= $2", from,
		"SELECT meta, rid FROM memory_meta_ref JOIN memory_snapshot_ref USING (snapshot) WHERE meta = ANY($1)", memory.MetaID, memory.MetaWeight)
	return append(snapshots, metas...), err
}

// readExtras reads the rows of a query with the memories of another.
func (r reader) readExtras(ctx context.Context, query string, from int64, refs string, kind memory.Kind, weight float64) (found []packed.Extra, err error) {
	var keys []int64
	index := map[int64]int{}
	err = r.conn.QueryRows(ctx, query, []any{r.user, from}, func(scan func(...any) error) error {
		x := packed.Extra{Extra: rank.Extra{Weight: weight}}
		var key int64
		var body value.Value
		if err := scan(&key, &x.Number, packed.ScanID{Kind: kind, To: &x.ID}, scanJSON(func(v value.Value) error { body = v; return nil })); err != nil {
			return err
		}
		text, err := packed.TextOf(kind, body)
		x.Len = int32(rank.Analyze(text, "").Len) //nolint:gosec // of a text that is in memory
		index[key] = len(found)
		keys, found = append(keys, key), append(found, x)
		return err
	})
	if err != nil || len(keys) == 0 {
		return nil, err
	}
	err = r.conn.QueryRows(ctx, refs, []any{keys}, func(scan func(...any) error) error {
		var key, rid int64
		err := scan(&key, &rid)
		i := index[key]
		found[i].Refs = append(found[i].Refs, uint32(rid)) //nolint:gosec // the lower half is the number
		return err
	})
	return found, err
}

// view is a user's index during one read.
type view struct {
	known   *packed.Index
	user    int64
	conn    *pgdb.Conn
	fetched map[string]*chunks // by key of the term
	// once is set where Load ends the transaction, ended when it has.
	once, ended bool
}

// chunks are the postings of a term, in memories and in snapshots.
type chunks struct{ memories, extras []rank.Posting }

var (
	_ memory.UserIndex = (*view)(nil)
	_ rank.Fetcher     = (*view)(nil)
)

// Index is part of [memory.UserIndex], as are the methods below.
func (v *view) Index() *rank.Index { return v.known.Index }

// SessionNumber returns the number of a session. An error is met again by what follows.
func (v *view) SessionNumber(name string) int32 {
	number := int32(rank.None)
	if name != "" && !v.ended {
		_, _ = v.conn.QueryRow(context.Background(), "SELECT number FROM memory_session WHERE owner = $1 AND name = $2", []any{v.user, encodeText(name)}, &number)
	}
	return number
}

// Fetch is part of [rank.Fetcher].
func (v *view) Fetch(ctx context.Context, terms []string) error {
	if v.fetched == nil {
		v.fetched = map[string]*chunks{}
	}
	var missing []string
	for _, term := range terms {
		key := keyOf(term)
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
	return v.conn.QueryRows(ctx, "SELECT term, chunk, data FROM memory_posting WHERE owner = $1 AND term = ANY($2)", []any{v.user, missing}, func(scan func(...any) error) error {
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

// Postings is part of [rank.Source], as is the method below.
func (v *view) Postings(ctx context.Context, term string, to []rank.Posting) ([]rank.Posting, error) {
	if err := v.Fetch(ctx, []string{term}); err != nil {
		return to, err
	}
	return v.known.TailPostings(term, append(to, v.fetched[keyOf(term)].memories...)), nil
}

// ExtraPostings appends the postings of a term in the snapshots.
func (v *view) ExtraPostings(ctx context.Context, term string, to []rank.Posting) ([]rank.Posting, error) {
	if err := v.Fetch(ctx, []string{term}); err != nil {
		return to, err
	}
	return append(to, v.fetched[keyOf(term)].extras...), nil
}

// KeyPoints is part of [memory.UserIndex].
func (v *view) KeyPoints(ctx context.Context, ids []string) (map[string][]string, error) {
	if v.ended {
		return nil, errEnded
	}
	uuids := make([][]byte, len(ids))
	for i, id := range ids {
		u, err := memory.UUIDOf(memory.SnapshotID, id)
		if err != nil {
			return nil, err
		}
		uuids[i] = u[:]
	}
	points := make(map[string][]string, len(ids))
	err := v.conn.QueryRows(ctx, "SELECT id, body FROM memory_snapshot WHERE owner = $1 AND id = ANY($2)", []any{v.user, uuids}, func(scan func(...any) error) error {
		var id string
		var s memory.MemorySnapshot
		err := scan(packed.ScanID{Kind: memory.SnapshotID, To: &id}, scanInto(&s, packed.DecodeSnapshot))
		points[id] = s.KeyPoints
		return err
	})
	return points, err
}

// Load is part of [memory.UserIndex].
func (v *view) Load(ctx context.Context, seqs []uint32) ([]memory.BaseMemory, error) {
	rids := make([]int64, len(seqs))
	for i, seq := range seqs {
		rids[i] = ridOf(v.user, int64(seq))
	}
	found, err := v.loadLast(ctx, rids)
	if err != nil {
		return nil, err
	}
	list := make([]memory.BaseMemory, len(rids))
	for i, rid := range rids {
		m := found[rid]
		if m == nil {
			return nil, errIndex
		}
		list[i] = *m
	}
	return list, nil
}

// loadLast returns the memories that exist, by their rids. It ends the transaction if it is
// probably the last that needs it.
func (v *view) loadLast(ctx context.Context, rids []int64) (map[int64]*memory.BaseMemory, error) {
	if v.ended {
		return nil, errEnded
	}
	if !v.once {
		return loadMemories(ctx, v.conn, rids)
	}
	found, err := loadMemories(ctx, v.conn, rids, pgdb.Statement{Query: commitChange})
	v.ended = err == nil
	return found, err
}
