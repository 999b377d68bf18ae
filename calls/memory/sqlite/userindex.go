package sqlite

import (
	"cmp"
	"context"
	"database/sql"

	"github.com/callnode/scheduler/calls/memory"
	"github.com/callnode/scheduler/calls/memory/internal/packed"
	"github.com/callnode/scheduler/calls/memory/rank"
	"github.com/callnode/scheduler/calls/sqlitefile"
	"github.com/callnode/scheduler/llm/value"
)

// withUser calls f with the memories of a user, unless there is no such user.
func (s *Store) withUser(ctx context.Context, name string, f func(*view) error) error {
	for again := true; again; {
		err := s.db.Read(ctx, func(c *sqlitefile.Conn) error {
			id, seen, err := findIndex(c, name)
			again = false
			if id == 0 || err != nil {
				return err
			}
			again, err = s.indexes.Use(ctx, id, seen, reader{c, id}, func(ix *packed.Index) error {
				return f(&view{ix, id, c})
			})
			return err
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// findIndex returns the number of a user and the state of the file; 0 if there is no such
// user.
func findIndex(c *sqlitefile.Conn, name string) (id int64, seen packed.State, err error) {
	var analysis int
	found, err := c.QueryRow("SELECT id, "+nextNumber+", folded, extras, generation, analysis FROM user WHERE name = ?", []any{name},
		&id, &seen.N, &seen.Folded, &seen.Extras, &seen.Generation, &analysis)
	if !found {
		return 0, seen, err
	}
	return id, seen, packed.CheckAnalysis(analysis)
}

// reader reads what belongs to the index of a user.
type reader struct {
	conn *sqlitefile.Conn
	user int64
}

var _ packed.Reader = reader{}

// Entries is part of [packed.Reader], as are the methods below.
func (r reader) Entries(_ context.Context, from, until int64) ([]rank.Entry, error) {
	return readEntries(r.conn, r.user, from, until)
}

// readEntries reads the entries from a number on. until is how many there are.
func readEntries(c *sqlitefile.Conn, user, from, until int64) ([]rank.Entry, error) {
	entries := packed.NewEntries(from, until)
	err := c.QueryRows("SELECT data FROM entry WHERE user = ? AND chunk >= ? ORDER BY chunk", []any{user, from >> packed.EntryBits}, func(scan func(...any) error) error {
		var b sql.RawBytes
		err := scan(&b)
		entries = packed.AppendEntries(entries, b)
		return err
	})
	return packed.CutEntries(entries, from), err
}

func (r reader) Speakers(_ context.Context, from int) (names []string, err error) {
	err = r.conn.QueryRows("SELECT name FROM speaker WHERE user = ? AND number >= ? ORDER BY number", []any{r.user, from}, packed.Collect(&names, packed.Column))
	return names, err
}

func (r reader) Documents(_ context.Context, from, n int64, speaker func(string) (int32, error)) ([]packed.Document, error) {
	u := user{id: r.user}
	return readDocuments(r.conn, u.rid(from), n, speaker)
}

func (r reader) Extras(_ context.Context, from int64) ([]packed.Extra, error) {
	snapshots, err := r.readExtras("SELECT key, number, id, body FROM snapshot WHERE user = ? AND number >= ?", from,
		"SELECT rid FROM snapshot_ref WHERE snapshot = ?", memory.SnapshotID, memory.SnapshotWeight)
	if err != nil {
		return nil, err
	}
	metas, err := r.readExtras("SELECT key, number, id, body FROM meta WHERE user = ? AND number >= ?", from,
		"SELECT rid FROM meta_ref JOIN snapshot_ref USING (snapshot) WHERE meta = ?", memory.MetaID, memory.MetaWeight)
	return append(snapshots, metas...), err
}

// readExtras reads the rows of a query with the memories of another.
func (r reader) readExtras(query string, from int64, refs string, kind memory.Kind, weight float64) (found []packed.Extra, err error) {
	var keys []int64
	err = r.conn.QueryRows(query, []any{r.user, from}, func(scan func(...any) error) error {
		x := packed.Extra{Extra: rank.Extra{Weight: weight}}
		var key int64
		var body value.Value
		if err := scan(&key, &x.Number, packed.ScanID{Kind: kind, To: &x.ID}, packed.ScanJSON{Use: func(v value.Value) { body = v }}); err != nil {
			return err
		}
		text, err := packed.TextOf(kind, body)
		x.Len = int32(rank.Analyze(text, "").Len)
		keys, found = append(keys, key), append(found, x)
		return err
	})
	for i, key := range keys {
		if err != nil {
			return nil, err
		}
		err = r.conn.QueryRows(refs, []any{key}, func(scan func(...any) error) error {
			var rid int64
			err := scan(&rid)
			found[i].Refs = append(found[i].Refs, uint32(rid))
			return err
		})
	}
	return found, err
}

// view is a user's index during one read.
type view struct {
	known *packed.Index
	user  int64
	conn  *sqlitefile.Conn
}

var _ memory.UserIndex = (*view)(nil)

// Index is part of [memory.UserIndex], as are the methods below.
func (v *view) Index() *rank.Index { return v.known.Index }

// SessionNumber returns the number of a session. An error is met again by what follows.
func (v *view) SessionNumber(name string) int32 {
	number := int32(rank.None)
	if name != "" {
		_, _ = v.conn.QueryRow("SELECT number FROM session WHERE user = ? AND name = ?", []any{v.user, name}, &number)
	}
	return number
}

func (v *view) Postings(ctx context.Context, term string, to []rank.Posting) ([]rank.Posting, error) {
	to, err := v.readLists(ctx, "SELECT chunk, data FROM posting WHERE user = ? AND term = ? AND chunk >= 0", term, to)
	return v.known.TailPostings(term, to), err
}

func (v *view) ExtraPostings(ctx context.Context, term string, to []rank.Posting) ([]rank.Posting, error) {
	return v.readLists(ctx, "SELECT -1 - chunk, data FROM posting WHERE user = ? AND term = ? AND chunk < 0", term, to)
}

func (v *view) readLists(ctx context.Context, query, term string, to []rank.Posting) ([]rank.Posting, error) {
	if err := ctx.Err(); err != nil {
		return to, err
	}
	err := v.conn.QueryRows(query, []any{v.user, term}, func(scan func(...any) error) error {
		var chunk uint32
		var b sql.RawBytes
		err := scan(&chunk, &b)
		to = packed.ReadPostings(b, chunk, to)
		return err
	})
	return to, err
}

// KeyPoints returns the key points of snapshots; what is not there has none.
func (v *view) KeyPoints(_ context.Context, ids []string) (map[string][]string, error) {
	points := make(map[string][]string, len(ids))
	for _, id := range ids {
		u, err := memory.UUIDOf(memory.SnapshotID, id)
		if err != nil {
			return nil, err
		}
		var bad error
		_, err = v.conn.QueryRow("SELECT body FROM snapshot WHERE user = ? AND id = ?", []any{v.user, u[:]}, packed.ScanJSON{Use: func(body value.Value) {
			var s memory.MemorySnapshot
			s, bad = packed.DecodeSnapshot(body)
			points[id] = s.KeyPoints
		}})
		if err := cmp.Or(err, bad); err != nil {
			return nil, err
		}
	}
	return points, nil
}

func (v *view) Load(_ context.Context, seqs []uint32) ([]memory.BaseMemory, error) {
	u := user{id: v.user}
	list := make([]memory.BaseMemory, len(seqs))
	for i, seq := range seqs {
		m, err := loadMemory(v.conn, u.rid(int64(seq)))
		if err != nil {
			return nil, err
		}
		if m == nil {
			return nil, errIndex
		}
		list[i] = *m
	}
	return list, nil
}
