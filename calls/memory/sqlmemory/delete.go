package sqlmemory

import (
	"context"
	"errors"

	"github.com/callnode/scheduler/calls/database"
	"github.com/callnode/scheduler/calls/memory"
	"github.com/callnode/scheduler/calls/memory/internal/packed"
)

// Delete deletes memories and the parts of snapshots that mention them: one user's all or none, several users'
// some at a time.
func (s *Store) Delete(ctx context.Context, which memory.Selection) (d memory.Deleted, err error) {
	names, err := s.userNames(ctx, which.Users)
	if err != nil {
		return d, err
	}
	remove := s.deleteSome
	if which.IsEverything() {
		remove = s.wipeSome
	}
	return packed.DeleteByUsers(names, which.Progress, func(names []string) (int, memory.Deleted, error) { return remove(ctx, names, which) })
}

// deleteSome deletes the selected memories of the first n users.
func (s *Store) deleteSome(ctx context.Context, names []string, which memory.Selection) (n int, d memory.Deleted, err error) {
	found, total, err := packed.SelectTogether(names, func(name string) ([]int64, error) { return s.findSelected(ctx, name, which) })
	if err != nil || total == 0 {
		return len(found), d, err
	}
	var affected []string
	for i, rids := range found {
		if len(rids) > 0 {
			affected = append(affected, names[i])
		}
	}
	err = s.writeDeletion(ctx, which.DryRun, func(c conn) error {
		d = memory.Deleted{}
		users, err := lockUsers(c, false, affected...)
		if err != nil {
			return err
		}
		for i, rids := range found {
			u := users[names[i]]
			if u == nil || len(rids) == 0 {
				continue
			}
			one, err := s.deleteOf(ctx, c, u, rids, which)
			if err != nil {
				return err
			}
			d.Add(one)
		}
		return nil
	})
	return len(found), d, err
}

func (s *Store) deleteOf(ctx context.Context, c conn, u *user, rids []int64, which memory.Selection) (d memory.Deleted, err error) {
	x := &deletion{conn: c, user: u, Deletion: packed.NewDeletion(which.KeepSnapshots)}
	if err := x.run(ctx, rids); err != nil {
		return d, err
	}
	if which.HasSession {
		if err := x.deleteSession(which.Session); err != nil {
			return d, err
		}
	}
	s.indexes.Drop(u.id)
	return x.Deleted, nil
}

// writeDeletion makes a change that deletes. A dry run is undone.
func (s *Store) writeDeletion(ctx context.Context, dry bool, do func(conn) error) error {
	err := s.db.change(ctx, func(c conn) error {
		if err := do(c); err != nil || !dry {
			return err
		}
		return packed.ErrDry
	})
	if errors.Is(err, packed.ErrDry) {
		return nil
	}
	if err == nil {
		s.db.requestWipe()
	}
	return err
}

// findSelected returns the rids of the selected memories.
func (s *Store) findSelected(ctx context.Context, name string, which memory.Selection) (rids []int64, err error) {
	err = s.db.readIndex(ctx, s, name, false, func(of userView) error {
		v := of.base()
		if which.ID == "" {
			rids = v.selectRids(which)
			return nil
		}
		rids = nil
		id, err := memory.UUIDOf(memory.MemoryID, which.ID)
		if err != nil {
			return err
		}
		var rid int64
		var m memory.BaseMemory
		found, err := v.conn.QueryRow(selectMemory+" WHERE m.id = $1 AND m.rid >> 32 = $2", []any{id[:], v.user}, v.conn.memoryColumns(&rid, &m)...)
		if found && which.Matches(&m) {
			rids = []int64{rid}
		}
		return err
	})
	return rids, err
}

// wipeSome removes everything of the first n users.
func (s *Store) wipeSome(ctx context.Context, names []string, which memory.Selection) (n int, d memory.Deleted, err error) {
	part := names[:min(len(names), packed.UsersTogether)]
	err = s.writeDeletion(ctx, which.DryRun, func(c conn) error {
		n, d = 0, memory.Deleted{}
		users, err := s.db.lockUsers(c, false, part) // whatever version has made their words
		if err != nil {
			return err
		}
		for ; n < len(part) && d.Memories < packed.GoneTogether; n++ {
			if u := users[part[n]]; u != nil {
				if err := s.wipeUser(c, u, &d); err != nil {
					return err
				}
			}
		}
		return nil
	})
	return n, d, err
}

// wipeUser removes everything of a user, names included.
func (s *Store) wipeUser(c conn, u *user, d *memory.Deleted) error {
	var statements []database.Statement
	var memories, snapshots, metas int64
	remove := func(condition string, count *int64, args ...any) {
		statements = append(statements, database.Statement{Query: "DELETE FROM " + condition, Args: args, Changed: count})
	}
	first, last := u.rid(0), u.rid(lastSeq)
	for _, table := range []string{"memory_old", "memory_vector", "memory_unembedded", "memory_fact", "memory_fact_alias"} {
		remove(table+" WHERE rid BETWEEN $1 AND $2", nil, first, last)
	}
	remove("memory WHERE rid BETWEEN $1 AND $2", &memories, first, last)
	remove("memory_snapshot_ref WHERE snapshot IN (SELECT key FROM memory_snapshot WHERE owner = $1)", nil, u.id)
	remove("memory_meta_ref WHERE meta IN (SELECT key FROM memory_meta WHERE owner = $1)", nil, u.id)
	remove(snapshotTable+" WHERE owner = $1", &snapshots, u.id)
	remove(metaTable+" WHERE owner = $1", &metas, u.id)
	for _, table := range []string{"memory_category", "memory_session", "memory_speaker", "memory_entry", "memory_posting"} {
		remove(table+" WHERE owner = $1", nil, u.id)
	}
	remove("memory_user WHERE id = $1", nil, u.id)
	if err := c.Pipeline(statements...); err != nil {
		return err
	}
	d.Add(memory.Deleted{Memories: int(memories), Snapshots: int(snapshots), MetaSnapshots: int(metas)})
	s.indexes.Drop(u.id)
	return nil
}
