package sqlite

import (
	"cmp"
	"context"
	"maps"
	"math"
	"slices"

	"github.com/callnode/scheduler/calls/memory"
	"github.com/callnode/scheduler/calls/memory/internal/packed"
	"github.com/callnode/scheduler/calls/memory/rank"
	"github.com/callnode/scheduler/calls/sqlitefile"
	"github.com/callnode/scheduler/llm/value"
)

// deletion deletes memories of one user in one change.
type deletion struct {
	packed.Deletion
	conn *sqlitefile.Conn
	user *user
}

func (x *deletion) run(ctx context.Context, rids []int64) error {
	// The numbers of the tail are those of its memories: none of them may go.
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
	return x.conn.Exec(`DELETE FROM session WHERE user = ?1 AND name = ?2
		AND NOT EXISTS (SELECT 1 FROM memory WHERE rid BETWEEN ?1 << 32 AND ?1 << 32 | ?3 AND memory.session = session.number)`,
		x.user.id, name, math.MaxUint32)
}

// deleteMemories deletes memories with their old versions, words and references.
func (x *deletion) deleteMemories(rids []int64) error {
	postings := packed.Removed{}
	entries := map[int64]rank.Entry{}
	ix := indexer{x.conn, x.user}
	for _, rid := range rids {
		m, err := loadMemory(x.conn, rid)
		if err != nil {
			return err
		}
		if m == nil {
			continue // another process was faster
		}
		seq := rid & 0xffffffff
		postings.AddDocument(seq, m)
		entries[seq] = x.AddMemory(m)
		if err := x.deleteRows(rid); err != nil {
			return err
		}
	}
	if err := ix.removePostings(postings); err != nil {
		return err
	}
	return ix.setEntries(entries)
}

// deleteRows deletes the rows of a memory in all tables.
func (x *deletion) deleteRows(rid int64) error {
	waits := true
	err := x.conn.QueryRows("SELECT snapshot FROM snapshot_ref WHERE rid = ?", []any{rid}, func(scan func(...any) error) error {
		var key int64
		err := scan(&key)
		x.Touched[key] = true
		waits = false
		return err
	})
	if err != nil {
		return err
	}
	if waits {
		err := x.conn.Exec("UPDATE session SET fresh = max(0, fresh - 1), waits = fresh > 1 WHERE user = ? AND number = (SELECT session FROM memory WHERE rid = ?)", x.user.id, rid)
		if err != nil {
			return err
		}
	}
	for _, query := range []string{
		"DELETE FROM snapshot_ref WHERE rid = ?", "DELETE FROM version WHERE rid = ?",
		"DELETE FROM vector WHERE rid = ?", "DELETE FROM unembedded WHERE rid = ?", "DELETE FROM memory WHERE rid = ?",
	} {
		if err := x.conn.Exec(query, rid); err != nil {
			return err
		}
	}
	return nil
}

// scrubSnapshot rewrites a snapshot without the deleted memories, or deletes it.
func (x *deletion) scrubSnapshot(key int64) error {
	var s memory.MemorySnapshot
	if err := x.readBody("snapshot", key, s.DecodeValue); err != nil {
		return err
	}
	var left []memory.BaseMemory
	err := x.conn.QueryRows(selectMemory+" JOIN snapshot_ref r ON r.rid = m.rid WHERE r.snapshot = ?", []any{key}, packed.Collect(&left, packed.Columns))
	if err != nil {
		return err
	}
	fresh, ok := x.ScrubSnapshot(s, left)
	if ok {
		return saveSnapshot(x.conn, x.user, fresh, fresh.Timestamp.UnixMilli())
	}
	_, err = (&extra{table: "snapshot", kind: memory.SnapshotID, id: s.ID}).remove(x.conn, x.user)
	return err
}

// scrubMetas rewrites the meta snapshots whose snapshots changed, or deletes them.
func (x *deletion) scrubMetas() error {
	keys := map[int64]bool{}
	for key := range x.Touched {
		err := x.conn.QueryRows("SELECT meta FROM meta_ref WHERE snapshot = ?", []any{key}, func(scan func(...any) error) error {
			var meta int64
			err := scan(&meta)
			keys[meta] = true
			return err
		})
		if err != nil {
			return err
		}
	}
	for _, key := range slices.Sorted(maps.Keys(keys)) {
		if err := x.scrubMeta(key); err != nil {
			return err
		}
	}
	return nil
}

// scrubMeta rewrites a meta snapshot, or deletes it.
func (x *deletion) scrubMeta(meta int64) error {
	var m memory.MetaSnapshot
	if err := x.readBody("meta", meta, m.DecodeValue); err != nil {
		return err
	}
	var left []memory.MemorySnapshot
	err := x.conn.QueryRows("SELECT body FROM snapshot JOIN meta_ref ON snapshot = key WHERE meta = ?", []any{meta}, func(scan func(...any) error) error {
		var s memory.MemorySnapshot
		var bad error
		err := scan(packed.ScanJSON{Use: func(v value.Value) { bad = s.DecodeValue(v) }})
		left = append(left, s)
		return cmp.Or(err, bad)
	})
	if err != nil {
		return err
	}
	fresh, ok := x.ScrubMeta(m, left)
	if ok {
		return saveMeta(x.conn, x.user, fresh)
	}
	_, err = (&extra{table: "meta", kind: memory.MetaID, id: m.ID}).remove(x.conn, x.user)
	return err
}

// readBody reads the body of a snapshot or a meta snapshot.
func (x *deletion) readBody(table string, key int64, decode func(value.Value) error) error {
	var bad error
	_, err := x.conn.QueryRow("SELECT body FROM "+table+" WHERE key = ?", []any{key}, packed.ScanJSON{Use: func(v value.Value) { bad = decode(v) }})
	return cmp.Or(err, bad)
}
