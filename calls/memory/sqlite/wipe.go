package sqlite

import (
	"cmp"
	"context"
	"math"
	"strings"
	"time"

	"github.com/callnode/scheduler/calls/memory"
	"github.com/callnode/scheduler/calls/memory/internal/packed"
	"github.com/callnode/scheduler/calls/sqlitefile"
)

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

// How long the log is waited for before it is emptied, and when it is tried again.
const (
	wipeWait  = 50 * time.Millisecond
	wipeAgain = 2 * time.Second
)

// wipeLog empties the write-ahead log, which still contains what was deleted. As long
// as another process reads, it cannot be emptied, and waiting would block all writers:
// it is tried again later.
func (s *Store) wipeLog(c *sqlitefile.Conn) error {
	if err := c.SetBusyTimeout(wipeWait); err != nil {
		return err
	}
	busy := false
	_, err := c.QueryRow("PRAGMA wal_checkpoint(TRUNCATE)", nil, &busy, new(int), new(int))
	if err := cmp.Or(err, c.SetBusyTimeout(0)); err != nil || !busy {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.mustWipeLog = true
	s.retryWipe = time.AfterFunc(wipeAgain, s.db.RequestIdle)
	return nil
}
