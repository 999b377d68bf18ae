package sqlite

import (
	"context"
	"database/sql"

	"github.com/callnode/scheduler/calls/memory/internal/packed"
	"github.com/callnode/scheduler/calls/memory/rank"
	"github.com/callnode/scheduler/calls/sqlitefile"
	"github.com/callnode/scheduler/llm/value/wording"
)

// Check looks for damage of the file, and for memories that a search would not find. It
// reads the whole file.
func (s *Store) Check(ctx context.Context) error {
	err := s.db.Read(ctx, func(c *sqlitefile.Conn) error {
		if err := sqlitefile.CheckIntegrity(c); err != nil {
			return err
		}
		var users []user
		err := c.QueryRows("SELECT id, name, "+nextNumber+", folded FROM user", nil, func(scan func(...any) error) error {
			var u user
			err := scan(&u.id, &u.name, &u.n, &u.folded)
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
	return s.db.Explain("checking", err)
}

// checkIndex looks for memories of a user without an entry or without words in the
// index.
func (u *user) checkIndex(ctx context.Context, c *sqlitefile.Conn) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if tail := u.n - u.folded; tail > 2*packed.MaxTail {
		return wording.Errorf("%w: the user %q has %d memories that are not in it", errIndex, u.name, tail)
	}
	entries, err := readEntries(c, u.id, 0, u.folded)
	if err != nil {
		return err
	}
	if int64(len(entries)) != u.folded {
		return wording.Errorf("%w: the user %q has %d entries, want %d", errIndex, u.name, len(entries), u.folded)
	}
	found := make([]bool, u.folded)
	var room []rank.Posting
	err = c.QueryRows("SELECT chunk, data FROM posting WHERE user = ? AND chunk >= 0", []any{u.id}, func(scan func(...any) error) error {
		var chunk uint32
		var b sql.RawBytes
		err := scan(&chunk, &b)
		room = packed.ReadPostings(b, chunk, room[:0])
		for _, p := range room {
			if int64(p.Seq()) < u.folded {
				found[p.Seq()] = true
			}
		}
		return err
	})
	if err != nil {
		return err
	}
	for seq, e := range entries {
		if !e.Deleted && e.Len > 0 && !found[seq] {
			return wording.Errorf("%w: the memory %d of the user %q has no words", errIndex, seq, u.name)
		}
	}
	// Those beyond are found by what they say.
	return c.QueryRows("SELECT rid FROM memory WHERE rid >= ? AND rid < ?", []any{u.rid(0), u.rid(u.folded)}, func(scan func(...any) error) error {
		var rid int64
		if err := scan(&rid); err != nil {
			return err
		}
		if seq := rid & 0xffffffff; entries[seq].Deleted {
			return wording.Errorf("%w: the memory %d of the user %q is not in it", errIndex, seq, u.name)
		}
		return nil
	})
}
