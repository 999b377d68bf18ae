package sqlite

import (
	"context"
	"errors"
	"math"
	"strings"

	"github.com/callnode/scheduler/calls/memory"
	"github.com/callnode/scheduler/calls/memory/internal/packed"
	"github.com/callnode/scheduler/calls/sqlitefile"
)

// Delete deletes memories and what snapshots say of them: of one user all or none, of
// several users some at a time.
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
	err = s.writeDeletion(ctx, which.DryRun, func(c *sqlitefile.Conn) error {
		for i, rids := range found {
			if len(rids) == 0 {
				continue
			}
			one, err := s.deleteOf(ctx, c, names[i], rids, which)
			if err != nil {
				return err
			}
			d.Add(one)
		}
		return nil
	})
	return len(found), d, err
}

func (s *Store) deleteOf(ctx context.Context, c *sqlitefile.Conn, name string, rids []int64, which memory.Selection) (d memory.Deleted, err error) {
	u, err := findUser(c, name)
	if u == nil {
		return d, err
	}
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

// writeDeletion returns a write that deletes. A dry run is undone.
func (s *Store) writeDeletion(ctx context.Context, dry bool, do func(*sqlitefile.Conn) error) error {
	err := s.write(ctx, func(c *sqlitefile.Conn) error {
		if err := do(c); err != nil || !dry {
			return err
		}
		return packed.ErrDry
	})
	if errors.Is(err, packed.ErrDry) {
		return nil
	}
	if err == nil {
		s.mu.Lock()
		s.mustWipeLog = true
		s.mu.Unlock()
		s.db.RequestIdle()
	}
	return err
}

// findSelected returns the rowids of the selected memories.
func (s *Store) findSelected(ctx context.Context, name string, which memory.Selection) (rids []int64, err error) {
	err = s.withUser(ctx, name, func(v *view) error {
		u := user{id: v.user}
		if which.ID == "" {
			for _, seq := range packed.SelectNumbers(v.known.Index, which, v.SessionNumber) {
				rids = append(rids, u.rid(int64(seq)))
			}
			return nil
		}
		id, err := memory.UUIDOf(memory.MemoryID, which.ID)
		if err != nil {
			return err
		}
		var rid int64
		found, err := v.conn.QueryRow("SELECT rid FROM memory WHERE id = ? AND rid >> 32 = ?", []any{id[:], v.user}, &rid)
		if !found {
			return err
		}
		m, err := loadMemory(v.conn, rid)
		if m != nil && which.Matches(m) {
			rids = []int64{rid}
		}
		return err
	})
	return rids, err
}

// wipeSome removes everything of the first n users.
func (s *Store) wipeSome(ctx context.Context, names []string, which memory.Selection) (n int, d memory.Deleted, err error) {
	err = s.writeDeletion(ctx, which.DryRun, func(c *sqlitefile.Conn) error {
		for ; n < min(len(names), packed.UsersTogether) && d.Memories < packed.GoneTogether; n++ {
			if err := s.wipeUser(names[n], &d)(c); err != nil {
				return err
			}
		}
		return nil
	})
	return n, d, err
}

// wipeUser returns a change that removes everything of a user, names included.
func (s *Store) wipeUser(name string, d *memory.Deleted) func(*sqlitefile.Conn) error {
	return func(c *sqlitefile.Conn) error {
		u, err := readUser(c, name)
		if u == nil {
			return err
		}
		for _, q := range []struct {
			query string
			count *int
		}{
			{"DELETE FROM version WHERE rid BETWEEN ?1 AND ?2", nil},
			{"DELETE FROM vector WHERE rid BETWEEN ?1 AND ?2", nil},
			{"DELETE FROM unembedded WHERE rid BETWEEN ?1 AND ?2", nil},
			{"DELETE FROM memory WHERE rid BETWEEN ?1 AND ?2", &d.Memories},
			{"DELETE FROM snapshot_ref WHERE snapshot IN (SELECT key FROM snapshot WHERE user = ?1 >> 32)", nil},
			{"DELETE FROM meta_ref WHERE meta IN (SELECT key FROM meta WHERE user = ?1 >> 32)", nil},
			{"DELETE FROM snapshot WHERE user = ?1 >> 32", &d.Snapshots},
			{"DELETE FROM meta WHERE user = ?1 >> 32", &d.MetaSnapshots},
			{"DELETE FROM category WHERE user = ?1 >> 32", nil},
			{"DELETE FROM session WHERE user = ?1 >> 32", nil},
			{"DELETE FROM speaker WHERE user = ?1 >> 32", nil},
			{"DELETE FROM entry WHERE user = ?1 >> 32", nil},
			{"DELETE FROM posting WHERE user = ?1 >> 32", nil},
			{"DELETE FROM user WHERE id = ?1 >> 32", nil},
		} {
			args := []any{u.rid(0), u.rid(math.MaxUint32)}
			n, err := c.ExecCount(q.query, args[:1+strings.Count(q.query, "?2")]...)
			if err != nil {
				return err
			}
			if q.count != nil {
				*q.count += int(n)
			}
		}
		s.indexes.Drop(u.id)
		return nil
	}
}
