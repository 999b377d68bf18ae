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
	err = r.conn.QueryRows(ctx, "SELECT name FROM memory_speaker WHERE owner = $1 AND number >= $2 ORDER BY number", []any{r.user, from}, func(scan func(...any) error) error {
		var name string
		err := scan(scanText{&name})
		names = append(names, name)
		return err
	})
	return names, err
}

func (r reader) Documents(ctx context.Context, from, n int64, speaker func(string) (int32, error)) ([]packed.Document, error) {
	return readDocuments(ctx, r.conn, ridOf(r.user, from), n, speaker)
}

// readDocuments reads the n memories from a rid on, or the first of them if together they
// have too many words; see [packed.Reader].
func readDocuments(ctx context.Context, c *pgdb.Conn, first, n int64, speaker func(name string) (int32, error)) ([]packed.Document, error) {
	docs := packed.NewDocuments(n)
	err := c.QueryRows(ctx, "SELECT rid, session, time, content, other FROM memory WHERE rid >= $1 AND rid < $2 ORDER BY rid", []any{first, first + n}, func(scan func(...any) error) error {
		var rid int64
		var session int32
		var m memory.BaseMemory
		err := scan(&rid, &session, packed.ScanTime{To: &m.Timestamp}, scanText{&m.Content}, scanJSON(func(v value.Value) error { m.Context.Other = v; return nil }))
		if err != nil {
			return err
		}
		doc, name := packed.DocumentOf(&m)
		if !docs.Set(rid-first, session, doc, name) {
			return errStop
		}
		return nil
	})
	if err != nil && !errors.Is(err, errStop) {
		return nil, err
	}
	return docs.Number(speaker)
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
