package postgres

import (
	"context"
	"maps"
	"slices"

	"github.com/callnode/scheduler/calls/memory"
	"github.com/callnode/scheduler/calls/memory/internal/packed"
	"github.com/callnode/scheduler/calls/memory/rank"
	"github.com/callnode/scheduler/calls/pgdb"
	"github.com/callnode/scheduler/llm/value"
)

// deletion deletes memories of one user in one change.
type deletion struct {
	packed.Deletion
	conn *pgdb.Conn
	user *user
}

func (x *deletion) run(ctx context.Context, rids []int64) error {
	// The numbers of the tail are those of its memories: none of them may go.
	if err := (indexer{x.conn, x.user}).fold(ctx, x.user.n); err != nil {
		return err
	}
	for part := range slices.Chunk(rids, 1000) {
		if err := x.deleteMemories(ctx, part); err != nil {
			return err
		}
	}
	for _, key := range slices.Sorted(maps.Keys(x.Touched)) {
		if err := x.scrubSnapshot(ctx, key); err != nil {
			return err
		}
	}
	if err := x.scrubMetas(ctx); err != nil {
		return err
	}
	if err := countCategories(ctx, x.conn, x.user); err != nil {
		return err
	}
	if x.Memories > 0 {
		x.user.generation++
		x.user.changed = true
	}
	return x.user.save(ctx, x.conn)
}

// deleteSession deletes a session without memories, because its name may be
// confidential.
func (x *deletion) deleteSession(ctx context.Context, name string) error {
	_, err := x.conn.Exec(ctx, `DELETE FROM memory_session s WHERE owner = $1 AND name = $2
		AND NOT EXISTS (SELECT 1 FROM memory m WHERE m.rid BETWEEN $3 AND $4 AND m.session = s.number)`,
		x.user.id, encodeText(name), x.user.rid(0), x.user.rid(lastSeq))
	return err
}

// deleteMemories deletes memories with their old versions, words and references.
func (x *deletion) deleteMemories(ctx context.Context, rids []int64) error {
	// Those that another process was faster with are not found.
	found, err := loadMemories(ctx, x.conn, rids)
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
	if err := x.deleteRows(ctx, slices.Sorted(maps.Keys(found))); err != nil {
		return err
	}
	ix := indexer{x.conn, x.user}
	if err := ix.removePostings(ctx, postings); err != nil {
		return err
	}
	return ix.setEntries(ctx, entries)
}

// deleteRows deletes the rows of memories in all tables.
func (x *deletion) deleteRows(ctx context.Context, rids []int64) error {
	statements := []pgdb.Statement{
		// Those without a snapshot no longer wait for one.
		{Query: `UPDATE memory_session s SET fresh = greatest(0, s.fresh - w.n), waits = s.fresh > w.n
			FROM (SELECT session, count(*)::int AS n FROM memory m WHERE rid = ANY($1)
				AND NOT EXISTS (SELECT 1 FROM memory_snapshot_ref r WHERE r.rid = m.rid) GROUP BY session) w
			WHERE s.owner = $2 AND s.number = w.session`, Args: []any{rids, x.user.id}},
		{Query: "DELETE FROM memory_snapshot_ref WHERE rid = ANY($1) RETURNING snapshot", Args: []any{rids}, Each: func(scan func(...any) error) error {
			var key int64
			err := scan(&key)
			x.Touched[key] = true
			return err
		}},
	}
	for _, table := range []string{"memory_old", "memory_vector", "memory_unembedded", "memory"} {
		statements = append(statements, pgdb.Statement{Query: "DELETE FROM " + table + " WHERE rid = ANY($1)", Args: []any{rids}})
	}
	return x.conn.Pipeline(ctx, statements...)
}

// scrubSnapshot rewrites a snapshot without the deleted memories, or deletes it.
func (x *deletion) scrubSnapshot(ctx context.Context, key int64) error {
	var s memory.MemorySnapshot
	if err := x.readBody(ctx, snapshotTable, key, s.DecodeValue); err != nil {
		return err
	}
	var left []memory.BaseMemory
	err := x.conn.QueryRows(ctx, selectMemory+" JOIN memory_snapshot_ref r ON r.rid = m.rid WHERE r.snapshot = $1", []any{key}, packed.Collect(&left, columnsOf))
	if err != nil {
		return err
	}
	fresh, ok := x.ScrubSnapshot(s, left)
	if ok {
		return saveSnapshot(ctx, x.conn, x.user, fresh, fresh.Timestamp.UnixMilli())
	}
	_, err = (&extra{table: snapshotTable, kind: memory.SnapshotID, id: s.ID}).remove(ctx, x.conn, x.user)
	return err
}

// scrubMetas rewrites the meta snapshots whose snapshots changed, or deletes them.
func (x *deletion) scrubMetas(ctx context.Context) error {
	var keys []int64
	err := x.conn.QueryRows(ctx, "SELECT DISTINCT meta FROM memory_meta_ref WHERE snapshot = ANY($1) ORDER BY meta", []any{slices.Collect(maps.Keys(x.Touched))}, packed.Collect(&keys, packed.Column))
	if err != nil {
		return err
	}
	for _, key := range keys {
		if err := x.scrubMeta(ctx, key); err != nil {
			return err
		}
	}
	return nil
}

// scrubMeta rewrites a meta snapshot, or deletes it.
func (x *deletion) scrubMeta(ctx context.Context, key int64) error {
	var m memory.MetaSnapshot
	if err := x.readBody(ctx, metaTable, key, m.DecodeValue); err != nil {
		return err
	}
	var left []memory.MemorySnapshot
	err := x.conn.QueryRows(ctx, "SELECT body FROM memory_snapshot JOIN memory_meta_ref ON snapshot = key WHERE meta = $1", []any{key}, packed.Collect(&left, bodyOf))
	if err != nil {
		return err
	}
	fresh, ok := x.ScrubMeta(m, left)
	if ok {
		return saveMeta(ctx, x.conn, x.user, fresh)
	}
	_, err = (&extra{table: metaTable, kind: memory.MetaID, id: m.ID}).remove(ctx, x.conn, x.user)
	return err
}

// readBody reads the body of a snapshot or a meta snapshot.
func (x *deletion) readBody(ctx context.Context, table string, key int64, decode func(value.Value) error) error {
	_, err := x.conn.QueryRow(ctx, "SELECT body FROM "+table+" WHERE key = $1", []any{key}, scanJSON(decode))
	return err
}
