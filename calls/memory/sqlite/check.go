package sqlite

import (
	"cmp"
	"context"
	"database/sql"

	"github.com/callnode/scheduler/calls/memory/internal/packed"
	"github.com/callnode/scheduler/calls/sqlitefile"
)

// Check looks for damage of the file, and for memories that a search would not find. It
// reads the whole file.
func (s *Store) Check(ctx context.Context) error {
	err := s.db.Read(ctx, func(c *sqlitefile.Conn) error {
		if err := sqlitefile.CheckIntegrity(c); err != nil {
			return err
		}
		var users []user
		err := c.QueryRows("SELECT id, name, "+nextNumber+", folded FROM user", nil, packed.Collect(&users, func(u *user) []any { return []any{&u.id, &u.name, &u.n, &u.folded} }))
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
	entries, err := readEntries(c, u.id, 0, u.folded)
	if err != nil {
		return err
	}
	audit, err := packed.NewAudit(errIndex, u.name, packed.State{N: u.n, Folded: u.folded}, entries)
	if err != nil {
		return err
	}
	err = c.QueryRows("SELECT chunk, data FROM posting WHERE user = ? AND chunk >= 0", []any{u.id}, func(scan func(...any) error) error {
		var chunk uint32
		var b sql.RawBytes
		err := scan(&chunk, &b)
		audit.AddPostings(b, chunk)
		return err
	})
	if err := cmp.Or(err, audit.CheckWords()); err != nil {
		return err
	}
	return c.QueryRows("SELECT rid FROM memory WHERE rid >= ? AND rid < ?", []any{u.rid(0), u.rid(u.folded)}, func(scan func(...any) error) error {
		var rid int64
		err := scan(&rid)
		return cmp.Or(err, audit.CheckMemory(rid&0xffffffff))
	})
}
