package postgres

import (
	"cmp"
	"context"

	"github.com/callnode/scheduler/calls/memory/internal/packed"
	"github.com/callnode/scheduler/calls/pgdb"
)

// Check looks for memories that a search would not find. It reads all tables.
func (s *Store) Check(ctx context.Context) error {
	return s.db.ReadSnapshot(ctx, func(c *pgdb.Conn) error {
		var users []user
		err := c.QueryRows(ctx, "SELECT u.id, u.name, "+nextNumber+", u.folded FROM memory_user u ORDER BY u.id", nil, packed.Collect(&users, func(u *user) []any { return []any{&u.id, scanText{&u.name}, &u.n, &u.folded} }))
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
	entries, err := readEntries(ctx, c, u.id, 0, u.folded)
	if err != nil {
		return err
	}
	audit, err := packed.NewAudit(errIndex, u.name, packed.State{N: u.n, Folded: u.folded}, entries)
	if err != nil {
		return err
	}
	err = c.QueryRows(ctx, "SELECT chunk, data FROM memory_posting WHERE owner = $1 AND chunk >= 0", []any{u.id}, func(scan func(...any) error) error {
		var chunk int64
		var b []byte
		err := scan(&chunk, &b)
		audit.AddPostings(b, uint32(chunk)) //nolint:gosec // of fewer than 1<<28 memories
		return err
	})
	if err := cmp.Or(err, audit.CheckWords()); err != nil {
		return err
	}
	return c.QueryRows(ctx, "SELECT rid FROM memory WHERE rid >= $1 AND rid < $2", []any{u.rid(0), u.rid(u.folded)}, func(scan func(...any) error) error {
		var rid int64
		err := scan(&rid)
		return cmp.Or(err, audit.CheckMemory(rid&lastSeq))
	})
}
