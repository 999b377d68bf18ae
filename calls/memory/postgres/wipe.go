package postgres

import (
	"context"

	"github.com/callnode/scheduler/calls/memory"
	"github.com/callnode/scheduler/calls/memory/internal/packed"
	"github.com/callnode/scheduler/calls/pgdb"
)

// wipeSome removes everything of the first users, and returns of how many. Each is one
// change.
func (s *Store) wipeSome(ctx context.Context, names []string, which memory.Selection) (n int, d memory.Deleted, err error) {
	part := names[:min(len(names), packed.UsersTogether)]
	err = s.writeDeletion(ctx, which.DryRun, func(c *pgdb.Conn) error {
		n, d = 0, memory.Deleted{}
		lock := newUserLock(false, part...)
		if err := c.Pipeline(ctx, lock.statements()...); err != nil {
			return err
		}
		for ; n < len(part) && d.Memories < packed.GoneTogether; n++ {
			if u := lock.users[part[n]]; u != nil {
				if err := s.wipeUser(ctx, c, u, &d); err != nil {
					return err
				}
			}
		}
		return nil
	})
	return n, d, err
}

// wipeUser removes everything of a user, names included.
func (s *Store) wipeUser(ctx context.Context, c *pgdb.Conn, u *user, d *memory.Deleted) error {
	var statements []pgdb.Statement
	var memories, snapshots, metas int
	remove := func(from, where string, count *int, args ...any) {
		st := pgdb.Statement{Query: "DELETE FROM " + from + " WHERE " + where, Args: args}
		if count != nil {
			st.Query = "WITH d AS (" + st.Query + " RETURNING 1) SELECT count(*) FROM d"
			st.Each = func(scan func(...any) error) error { return scan(count) }
		}
		statements = append(statements, st)
	}
	first, last := u.rid(0), u.rid(lastSeq)
	for _, table := range []string{"memory_old", "memory_vector", "memory_unembedded"} {
		remove(table, "rid BETWEEN $1 AND $2", nil, first, last)
	}
	remove("memory", "rid BETWEEN $1 AND $2", &memories, first, last)
	remove("memory_snapshot_ref", "snapshot IN (SELECT key FROM memory_snapshot WHERE owner = $1)", nil, u.id)
	remove("memory_meta_ref", "meta IN (SELECT key FROM memory_meta WHERE owner = $1)", nil, u.id)
	remove(snapshotTable, "owner = $1", &snapshots, u.id)
	remove(metaTable, "owner = $1", &metas, u.id)
	for _, table := range []string{"memory_category", "memory_session", "memory_speaker", "memory_entry", "memory_posting"} {
		remove(table, "owner = $1", nil, u.id)
	}
	remove("memory_user", "id = $1", nil, u.id)
	if err := c.Pipeline(ctx, statements...); err != nil {
		return err
	}
	d.Add(memory.Deleted{Memories: memories, Snapshots: snapshots, MetaSnapshots: metas})
	s.indexes.Drop(u.id)
	return nil
}
