package sqlmemory

import (
	"context"
	"maps"
	"slices"

	"github.com/callnode/scheduler/calls/database"
	"github.com/callnode/scheduler/calls/memory"
	"github.com/callnode/scheduler/calls/memory/internal/packed"
	"github.com/callnode/scheduler/calls/memory/rank"
	"github.com/callnode/scheduler/llm/value"
)

// deletion deletes memories of one user in one change.
type deletion struct {
	packed.Deletion
	conn conn
	user *user
}

func (x *deletion) run(ctx context.Context, rids []int64) error {
	// The tail takes its numbers from its memories: it is folded before any of them is deleted.
	if err := (indexer{x.conn, x.user}).fold(x.user.n); err != nil {
		return err
	}
	for part := range slices.Chunk(rids, 1000) {
		if err := ctx.Err(); err != nil {
			return err
		}
		if err := x.deleteMemories(part); err != nil {
			return err
		}
	}
	for _, key := range slices.Sorted(maps.Keys(x.Touched)) {
		if err := x.scrubSnapshot(key); err != nil {
			return err
		}
	}
	if err := x.scrubMetas(); err != nil {
		return err
	}
	if err := countCategories(x.conn, x.user); err != nil {
		return err
	}
	if x.Memories > 0 {
		x.user.generation++
		x.user.changed = true
	}
	return x.user.save(x.conn)
}

// deleteSession deletes a session without memories, because its name may be
// confidential.
func (x *deletion) deleteSession(name string) error {
	_, err := x.conn.Exec(`DELETE FROM memory_session AS s WHERE owner = $1 AND name = $2
		AND NOT EXISTS (SELECT 1 FROM memory m WHERE m.rid BETWEEN $3 AND $4 AND m.session = s.number)`,
		x.user.id, x.conn.d.encode(name), x.user.rid(0), x.user.rid(lastSeq))
	return err
}

// deleteMemories deletes memories with their old versions, words and references.
func (x *deletion) deleteMemories(rids []int64) error {
	// Memories that another process has deleted meanwhile are not found.
	found, err := loadMemories(x.conn, rids)
	if err != nil {
		return err
	}
	postings := packed.Removed{}
	entries := map[int64]rank.Entry{}
	for rid, m := range found {
		seq := rid & lastSeq
		postings.AddDocument(seq, m)
		entries[seq] = x.AddMemory(m)
	}
	if len(found) == 0 {
		return nil
	}
	if err := x.deleteRows(slices.Sorted(maps.Keys(found))); err != nil {
		return err
	}
	ix := indexer{x.conn, x.user}
	if err := ix.removePostings(postings); err != nil {
		return err
	}
	return ix.setEntries(entries)
}

// deleteRows deletes the rows of memories in all tables.
func (x *deletion) deleteRows(rids []int64) error {
	statements := []database.Statement{
		// Memories without a snapshot no longer wait for one.
		{Query: `UPDATE memory_session AS s SET fresh = greatest(0, s.fresh - w.n), waits = s.fresh > w.n
			FROM (SELECT session, CAST(count(*) AS integer) AS n FROM memory m WHERE rid = ANY($1)
				AND NOT EXISTS (SELECT 1 FROM memory_snapshot_ref r WHERE r.rid = m.rid) GROUP BY session) AS w
			WHERE s.owner = $2 AND s.number = w.session`, Any: rids, Args: []any{x.user.id}},
		{Query: "DELETE FROM memory_snapshot_ref WHERE rid = ANY($1) RETURNING snapshot", Any: rids, Each: func(scan func(...any) error) error {
			var key int64
			err := scan(&key)
			x.Touched[key] = true
			return err
		}},
	}
	for _, table := range []string{"memory_old", "memory_vector", "memory_unembedded", "memory_fact", "memory_fact_alias", "memory"} {
		statements = append(statements, database.Statement{Query: "DELETE FROM " + table + " WHERE rid = ANY($1)", Any: rids})
	}
	return x.conn.Pipeline(statements...)
}

// scrubSnapshot rewrites a snapshot without the deleted memories, or deletes it.
func (x *deletion) scrubSnapshot(key int64) error {
	var s memory.MemorySnapshot
	if err := x.readBody(snapshotTable, key, s.DecodeValue); err != nil {
		return err
	}
	var left []memory.BaseMemory
	err := x.conn.QueryRows(selectMemory+" JOIN memory_snapshot_ref r ON r.rid = m.rid WHERE r.snapshot = $1", []any{key}, packed.Collect(&left, x.conn.columnsOf))
	if err != nil {
		return err
	}
	fresh, ok := x.ScrubSnapshot(s, left)
	if ok {
		return saveSnapshot(x.conn, x.user, fresh, fresh.Timestamp.UnixMilli())
	}
	_, err = (&extra{table: snapshotTable, kind: memory.SnapshotID, id: s.ID}).remove(x.conn, x.user)
	return err
}

// scrubMetas rewrites the meta snapshots whose snapshots changed, or deletes them.
func (x *deletion) scrubMetas() error {
	metas := map[int64]bool{}
	err := x.conn.Pipeline(database.Statement{
		Query: "SELECT meta FROM memory_meta_ref WHERE snapshot = ANY($1)", Any: slices.Sorted(maps.Keys(x.Touched)),
		Each: func(scan func(...any) error) error {
			var key int64
			err := scan(&key)
			metas[key] = true
			return err
		},
	})
	if err != nil {
		return err
	}
	for _, key := range slices.Sorted(maps.Keys(metas)) {
		if err := x.scrubMeta(key); err != nil {
			return err
		}
	}
	return nil
}

// scrubMeta rewrites a meta snapshot, or deletes it.
func (x *deletion) scrubMeta(key int64) error {
	var m memory.MetaSnapshot
	if err := x.readBody(metaTable, key, m.DecodeValue); err != nil {
		return err
	}
	var left []memory.MemorySnapshot
	err := x.conn.QueryRows("SELECT body FROM memory_snapshot JOIN memory_meta_ref ON snapshot = key WHERE meta = $1", []any{key}, packed.Collect(&left, x.conn.bodyOf))
	if err != nil {
		return err
	}
	fresh, ok := x.ScrubMeta(m, left)
	if ok {
		return saveMeta(x.conn, x.user, fresh)
	}
	_, err = (&extra{table: metaTable, kind: memory.MetaID, id: m.ID}).remove(x.conn, x.user)
	return err
}

// readBody reads the body of a snapshot or a meta snapshot.
func (x *deletion) readBody(table string, key int64, decode func(value.Value) error) error {
	_, err := x.conn.QueryRow("SELECT body FROM "+table+" WHERE key = $1", []any{key}, x.conn.scanJSON(decode))
	return err
}
