package postgres

import (
	"context"

	"github.com/callnode/scheduler/calls/memory/internal/packed"
	"github.com/callnode/scheduler/calls/memory/rank"
	"github.com/callnode/scheduler/calls/pgdb"
	"github.com/callnode/scheduler/llm/value/wording"
)

// Check looks for memories that a search would not find. It reads all tables.
func (s *Store) Check(ctx context.Context) error {
	return s.db.ReadSnapshot(ctx, func(c *pgdb.Conn) error {
		var users []user
		err := c.QueryRows(ctx, "SELECT u.id, u.name, "+nextNumber+", u.folded FROM memory_user u ORDER BY u.id", nil, func(scan func(...any) error) error {
			var u user
			err := scan(&u.id, scanText{&u.name}, &u.n, &u.folded)
			users = append(users, u)
			return err
		})
		for i := range users {
			if err == nil {
				err = users[i].checkIndex(ctx, c)
			}
		}
		return err
	})
}

// checkIndex looks for memories of a user without an entry or without words in the
// index.
func (u *user) checkIndex(ctx context.Context, c *pgdb.Conn) error {
	if tail := u.n - u.folded; tail > 2*packed.MaxTail {
		return wording.Errorf("%w: the user %q has %d memories that are not in it", errIndex, u.name, tail)
	}
	entries, err := readEntries(ctx, c, u.id, 0, u.folded)
	if err != nil {
		return err
	}
	if int64(len(entries)) != u.folded {
		return wording.Errorf("%w: the user %q has %d entries, want %d", errIndex, u.name, len(entries), u.folded)
	}
	found := make([]int, u.folded)
	var room []rank.Posting
	err = c.QueryRows(ctx, "SELECT chunk, data FROM memory_posting WHERE owner = $1 AND chunk >= 0", []any{u.id}, func(scan func(...any) error) error {
		var chunk int64
		var b []byte
		err := scan(&chunk, &b)
		room = packed.ReadPostings(b, uint32(chunk), room[:0]) //nolint:gosec // of fewer than 1<<28 memories
		for _, p := range room {
			if int64(p.Seq()) < u.folded {
				found[p.Seq()]++
			}
		}
		return err
	})
	if err != nil {
		return err
	}
	for seq, e := range entries {
		if !e.Deleted && e.Len > 0 && found[seq] == 0 {
			return wording.Errorf("%w: the memory %d of the user %q has no words", errIndex, seq, u.name)
		}
	}
	// Those beyond are found by what they say.
	return c.QueryRows(ctx, "SELECT rid FROM memory WHERE rid >= $1 AND rid < $2", []any{u.rid(0), u.rid(u.folded)}, func(scan func(...any) error) error {
		var rid int64
		if err := scan(&rid); err != nil {
			return err
		}
		if seq := rid & lastSeq; entries[seq].Deleted {
			return wording.Errorf("%w: the memory %d of the user %q is not in it", errIndex, seq, u.name)
		}
		return nil
	})
}
