package sqlmemory

import (
	"context"
	"math"

	"github.com/callnode/scheduler/calls/database"
	"github.com/callnode/scheduler/calls/memory"
	"github.com/callnode/scheduler/calls/memory/internal/packed"
	"github.com/callnode/scheduler/calls/memory/rank"
	"github.com/callnode/scheduler/llm/value"
	"github.com/callnode/scheduler/llm/value/wording"
)

// errEnded means that a view was used after the round trip that ended its transaction.
var errEnded = wording.Errorf("the transaction has ended")

// findIndex returns the number of a user and its state; 0 if the user is unknown. first are statements that are
// sent before.
func findIndex(c conn, name string, first ...database.Statement) (id int64, seen packed.State, err error) {
	analysis := rank.AnalysisVersion
	err = c.Pipeline(append(first, database.Statement{
		Query: "SELECT u.id, " + nextNumber + ", u.folded, u.extras, u.generation, u.analysis FROM memory_user u WHERE u.name = $1", Args: []any{c.d.encode(name)},
		Each: func(scan func(...any) error) error {
			return scan(&id, &seen.N, &seen.Folded, &seen.Extras, &seen.Generation, &analysis)
		},
	})...)
	if err != nil {
		return 0, seen, err
	}
	return id, seen, packed.CheckAnalysis(analysis)
}

// findRids returns the first and the last rid that the memories of the users can have; found is false if the user
// is unknown.
func findRids(c conn, users memory.Users) (first, last int64, found bool, err error) {
	name, one := users.One()
	if !one {
		return 0, math.MaxInt64, true, nil
	}
	id, _, err := findIndex(c, name)
	return ridOf(id, 0), ridOf(id, lastSeq), id != 0, err
}

// reader reads the index of a user.
type reader struct {
	conn conn
	user int64
}

var _ packed.Reader = reader{}

// Entries is part of [packed.Reader], as are the methods below.
func (r reader) Entries(_ context.Context, from, until int64) ([]rank.Entry, error) {
	return readEntries(r.conn, r.user, from, until)
}

// readEntries reads the entries from a number on. until is how many there are.
func readEntries(c conn, user, from, until int64) ([]rank.Entry, error) {
	entries := packed.NewEntries(from, until)
	err := c.QueryRows("SELECT data FROM memory_entry WHERE owner = $1 AND chunk >= $2 ORDER BY chunk", []any{user, from >> packed.EntryBits}, func(scan func(...any) error) error {
		var b borrowed
		err := scan(&b)
		entries = packed.AppendEntries(entries, b)
		return err
	})
	return packed.CutEntries(entries, from), err
}

// Speakers returns the names of speakers from a number on.
func (r reader) Speakers(_ context.Context, from int) (names []string, err error) {
	err = r.conn.QueryRows("SELECT name FROM memory_speaker WHERE owner = $1 AND number >= $2 ORDER BY number", []any{r.user, from}, packed.Collect(&names, r.conn.textColumn))
	return names, err
}

// Documents returns the words of memories from a number on.
func (r reader) Documents(_ context.Context, from, n int64, speaker func(string) (int32, error)) ([]packed.Document, error) {
	return readDocuments(r.conn, ridOf(r.user, from), n, speaker)
}

// Extras returns the snapshots and meta snapshots from a number on.
func (r reader) Extras(_ context.Context, from int64) ([]packed.Extra, error) {
	snapshots, err := r.readExtras("SELECT key, number, id, body FROM memory_snapshot WHERE owner = $1 AND number >= $2", from,
		"SELECT snapshot, rid FROM memory_snapshot_ref WHERE snapshot = ANY($1)", memory.SnapshotID, memory.SnapshotWeight)
	if err != nil {
		return nil, err
	}
	metas, err := r.readExtras("SELECT key, number, id, body FROM memory_meta WHERE owner = $1 AND number >= $2", from,
		"SELECT meta, rid FROM memory_meta_ref JOIN memory_snapshot_ref USING (snapshot) WHERE meta = ANY($1)", memory.MetaID, memory.MetaWeight)
	return append(snapshots, metas...), err
}

// readExtras reads the rows of a query with the memories of another.
func (r reader) readExtras(query string, from int64, refs string, kind memory.Kind, weight float64) (found []packed.Extra, err error) {
	var keys []int64
	index := map[int64]int{}
	err = r.conn.QueryRows(query, []any{r.user, from}, func(scan func(...any) error) error {
		x := packed.Extra{Extra: rank.Extra{Weight: weight}}
		var key int64
		var body value.Value
		if err := scan(&key, &x.Number, packed.ScanID{Kind: kind, To: &x.ID}, r.conn.scanJSON(func(v value.Value) error { body = v; return nil })); err != nil {
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
	err = r.conn.Pipeline(database.Statement{Query: refs, Any: keys, Each: func(scan func(...any) error) error {
		var key, rid int64
		err := scan(&key, &rid)
		i := index[key]
		found[i].Refs = append(found[i].Refs, uint32(rid)) //nolint:gosec // the lower half is the number
		return err
	}})
	return found, err
}

// userView is the index of a user during one read, as the dialect reads its postings.
type userView interface {
	memory.UserIndex
	base() *view
}

// view is the part of a [userView] that is the same for both databases.
type view struct {
	known *packed.Index
	user  int64
	conn  conn
	// once is set if Load ends the transaction, ended when it has.
	once, ended bool
}

func (v *view) base() *view { return v }

// Index is part of [memory.UserIndex], as are the methods below.
func (v *view) Index() *rank.Index { return v.known.Index }

// SessionNumber returns the number of a session. An error is met again by the reads that follow.
func (v *view) SessionNumber(name string) int32 {
	number := int32(rank.None)
	if name != "" && !v.ended {
		_, _ = v.conn.QueryRow("SELECT number FROM memory_session WHERE owner = $1 AND name = $2", []any{v.user, v.conn.d.encode(name)}, &number)
	}
	return number
}

// KeyPoints returns the key points of snapshots; missing snapshots have none.
func (v *view) KeyPoints(_ context.Context, ids []string) (map[string][]string, error) {
	if v.ended {
		return nil, errEnded
	}
	for _, id := range ids {
		if _, err := memory.UUIDOf(memory.SnapshotID, id); err != nil {
			return nil, err
		}
	}
	points := make(map[string][]string, len(ids))
	return points, v.conn.Pipeline(database.Statement{
		Query: "SELECT id, body FROM memory_snapshot WHERE id = ANY($1) AND owner = $2", Any: uuidsOf(memory.SnapshotID, ids), Args: []any{v.user},
		Each: func(scan func(...any) error) error {
			var id string
			var s memory.MemorySnapshot
			err := scan(packed.ScanID{Kind: memory.SnapshotID, To: &id}, scanInto(v.conn, &s, packed.DecodeSnapshot))
			points[id] = s.KeyPoints
			return err
		},
	})
}

// Load returns memories by their numbers.
func (v *view) Load(_ context.Context, seqs []uint32) ([]memory.BaseMemory, error) {
	rids := make([]int64, len(seqs))
	for i, seq := range seqs {
		rids[i] = ridOf(v.user, int64(seq))
	}
	found, err := v.loadLast(rids)
	if err != nil {
		return nil, err
	}
	list := make([]memory.BaseMemory, len(rids))
	for i, rid := range rids {
		m := found[rid]
		if m == nil {
			return nil, v.conn.d.indexError()
		}
		list[i] = *m
	}
	return list, nil
}

// commitChange ends a transaction in the round trip of its last statements.
const commitChange = "COMMIT"

// loadLast returns the memories that exist, by their rids. It ends the transaction if it is
// probably the last that needs it.
func (v *view) loadLast(rids []int64) (map[int64]*memory.BaseMemory, error) {
	if v.ended {
		return nil, errEnded
	}
	if !v.once {
		return loadMemories(v.conn, rids)
	}
	found, err := loadMemories(v.conn, rids, database.Statement{Query: commitChange})
	v.ended = err == nil
	return found, err
}

// Vectors calls each with the vectors of a model.
func (v *view) Vectors(ctx context.Context, model string, each func(seq uint32, packed []byte)) error {
	if v.ended {
		return errEnded
	}
	n := 0
	return v.conn.QueryRows("SELECT rid, data FROM memory_vector WHERE rid BETWEEN $1 AND $2 AND model = (SELECT number FROM memory_model WHERE name = $3)",
		[]any{ridOf(v.user, 0), ridOf(v.user, lastSeq), v.conn.d.encode(model)}, func(scan func(...any) error) error {
			n++
			if n&0x3ff == 0 && ctx.Err() != nil {
				return ctx.Err()
			}
			var rid int64
			var data borrowed
			if err := scan(&rid, &data); err != nil {
				return err
			}
			each(uint32(rid), data) //nolint:gosec // the lower half is the number
			return nil
		})
}

// selectRids returns the rids of the selected memories, in the order of their time.
func (v *view) selectRids(which memory.Selection) (rids []int64) {
	for _, seq := range packed.SelectNumbers(v.known.Index, which, v.SessionNumber) {
		rids = append(rids, ridOf(v.user, int64(seq)))
	}
	return rids
}
