package sqlmemory

import (
	"cmp"
	"context"

	"github.com/callnode/scheduler/calls/memory/internal/packed"
)

// Check looks for damage of the database, and for memories that a search would not find. It reads
// all tables.
func (s *Store) Check(ctx context.Context) error {
	err := s.db.readSnapshot(ctx, func(c conn) error {
		if err := s.db.checkIntegrity(c); err != nil {
			return err
		}
		var users []user
		err := c.QueryRows("SELECT u.id, u.name, "+nextNumber+", u.folded FROM memory_user u ORDER BY u.id", nil,
			packed.Collect(&users, func(u *user) []any { return []any{&u.id, c.scanText(&u.name), &u.n, &u.folded} }))
		for i := range users {
			if err == nil {
				err = cmp.Or(ctx.Err(), users[i].checkIndex(c))
			}
		}
		return err
	})
	return s.db.Explain("checking", err)
}

// checkIndex looks for memories of a user without an entry or without words in the
// index.
func (u *user) checkIndex(c conn) error {
	entries, err := readEntries(c, u.id, 0, u.folded)
	if err != nil {
		return err
	}
	audit, err := packed.NewAudit(c.d.indexError(), u.name, packed.State{N: u.n, Folded: u.folded}, entries)
	if err != nil {
		return err
	}
	err = c.QueryRows("SELECT chunk, data FROM memory_posting WHERE owner = $1 AND chunk >= 0", []any{u.id}, func(scan func(...any) error) error {
		var chunk int64
		var b borrowed
		err := scan(&chunk, &b)
		audit.AddPostings(b, uint32(chunk)) //nolint:gosec // of fewer than 1<<28 memories
		return err
	})
	if err := cmp.Or(err, audit.CheckWords()); err != nil {
		return err
	}
	return c.QueryRows("SELECT rid FROM memory WHERE rid >= $1 AND rid < $2", []any{u.rid(0), u.rid(u.folded)}, func(scan func(...any) error) error {
		var rid int64
		err := scan(&rid)
		return cmp.Or(err, audit.CheckMemory(rid&lastSeq))
	})
}
