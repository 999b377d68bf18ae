package sqlite

import (
	"cmp"
	"context"
	"iter"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/callnode/scheduler/calls/memory"
	"github.com/callnode/scheduler/calls/memory/internal/packed"
	"github.com/callnode/scheduler/calls/sqlitefile"
	"github.com/callnode/scheduler/llm/value"
)

// LoadMemory returns a memory, or nil.
func (s *Store) LoadMemory(ctx context.Context, id string) (m *memory.BaseMemory, err error) {
	u, err := memory.UUIDOf(memory.MemoryID, id)
	if err != nil {
		return nil, err
	}
	err = s.db.Read(ctx, func(c *sqlitefile.Conn) error {
		var x memory.BaseMemory
		found, err := c.QueryRow(selectMemory+" WHERE m.id = ?", []any{u[:]}, packed.Columns(&x)...)
		if found {
			m = &x
		}
		return err
	})
	return m, err
}

// History returns the old versions of a memory.
func (s *Store) History(ctx context.Context, id string) (list []memory.BaseMemory, err error) {
	u, err := memory.UUIDOf(memory.MemoryID, id)
	if err != nil {
		return nil, err
	}
	err = s.db.Read(ctx, func(c *sqlitefile.Conn) error {
		return c.QueryRows("SELECT body FROM version JOIN memory USING (rid) WHERE id = ? ORDER BY key", []any{u[:]}, func(scan func(...any) error) error {
			var m memory.BaseMemory
			var bad error
			err := scan(packed.ScanJSON{Use: func(v value.Value) { bad = m.DecodeValue(v) }})
			list = append(list, m)
			return cmp.Or(err, bad)
		})
	})
	return list, err
}

// Memories lists memories by user, in the order of their time.
func (s *Store) Memories(ctx context.Context, which memory.Selection) iter.Seq2[memory.BaseMemory, error] {
	return packed.ListMemories(which, packed.Source{
		Load:  func(id string) (*memory.BaseMemory, error) { return s.LoadMemory(ctx, id) },
		Names: func(users memory.Users) ([]string, error) { return s.userNames(ctx, users) },
		Pages: func(name string) iter.Seq2[[]memory.BaseMemory, error] { return s.pagesOf(ctx, name, which) },
	})
}

// pagesOf yields the selected memories of one user, some at a time, so that a slow reader does not
// hold the file.
func (s *Store) pagesOf(ctx context.Context, name string, which memory.Selection) iter.Seq2[[]memory.BaseMemory, error] {
	return func(yield func([]memory.BaseMemory, error) bool) {
		var u user
		var seqs []uint32
		err := s.withUser(ctx, name, func(v *view) error {
			u.id = v.user
			seqs = packed.SelectNumbers(v.known.Index, which, v.SessionNumber)
			return nil
		})
		if err != nil {
			yield(nil, err)
			return
		}
		for part := range slices.Chunk(seqs, packed.PageSize) {
			page, err := s.loadPage(ctx, &u, part)
			if !yield(page, err) || err != nil {
				return
			}
		}
	}
}

// loadPage returns the memories of a user by their numbers, but for those deleted meanwhile.
func (s *Store) loadPage(ctx context.Context, u *user, seqs []uint32) (page []memory.BaseMemory, err error) {
	err = s.db.Read(ctx, func(c *sqlitefile.Conn) error {
		for _, seq := range seqs {
			m, err := loadMemory(c, u.rid(int64(seq)))
			if err != nil {
				return err
			}
			if m != nil {
				page = append(page, *m)
			}
		}
		return nil
	})
	return page, err
}

// Stats counts what is stored.
func (s *Store) Stats(ctx context.Context, users memory.Users) (st memory.Stats, err error) {
	if err := users.Check(); err != nil {
		return st, err
	}
	from, until, name, one := int64(0), int64(math.MaxInt64), "", false
	name, one = users.One()
	err = s.db.Read(ctx, func(c *sqlitefile.Conn) error {
		if one {
			u, err := findUser(c, name)
			if u == nil {
				return err
			}
			from, until = u.rid(0), u.rid(0)|math.MaxUint32
		}
		bounds := []any{from, until}
		low, high := from>>32, until>>32
		var oldest, newest *int64
		for _, q := range []struct {
			query string
			args  []any
			dest  []any
		}{
			{"SELECT count(*), min(time), max(time), count(DISTINCT rid >> 32) FROM memory WHERE rid BETWEEN ? AND ?", bounds, []any{&st.Memories, &oldest, &newest, &st.Users}},
			{"SELECT count(*) FROM (SELECT DISTINCT rid >> 32, session FROM memory WHERE rid BETWEEN ? AND ? AND session >= 0)", bounds, []any{&st.Sessions}},
			{"SELECT count(*) FROM version WHERE rid BETWEEN ? AND ?", bounds, []any{&st.Versions}},
			{"SELECT count(*) FROM snapshot WHERE user BETWEEN ? AND ?", []any{low, high}, []any{&st.Snapshots}},
			{"SELECT count(*) FROM meta WHERE user BETWEEN ? AND ?", []any{low, high}, []any{&st.MetaSnapshots}},
			{`SELECT (SELECT count(*) FROM session WHERE waits AND fresh > 0 AND user BETWEEN ? AND ?)
				+ (SELECT count(*) FROM category WHERE user BETWEEN ? AND ?)`, []any{low, high, low, high}, []any{&st.Jobs}},
			{`SELECT (SELECT count(*) FROM vector WHERE model = (SELECT number FROM model WHERE used) AND rid BETWEEN ? AND ?),
				(SELECT count(*) FROM unembedded WHERE rid BETWEEN ? AND ?)`, []any{from, until, from, until}, []any{&st.Vectors, &st.Unembedded}},
			{"SELECT page_count * page_size FROM pragma_page_count, pragma_page_size", nil, []any{&st.Bytes}},
		} {
			if _, err := c.QueryRow(q.query, q.args, q.dest...); err != nil {
				return err
			}
		}
		if oldest != nil {
			st.Oldest, st.Newest = time.UnixMilli(*oldest).UTC(), time.UnixMilli(*newest).UTC()
		}
		if one {
			_, err := c.QueryRow("SELECT coalesce(sum(length(content)), 0) FROM memory WHERE rid BETWEEN ? AND ?", bounds, &st.Bytes)
			return err
		}
		return nil
	})
	return st, err
}

// userNames returns the selected users, sorted.
func (s *Store) userNames(ctx context.Context, users memory.Users) (names []string, err error) {
	if err := users.Check(); err != nil {
		return nil, err
	}
	if name, one := users.One(); one {
		return []string{name}, nil
	}
	err = s.db.Read(ctx, func(c *sqlitefile.Conn) error {
		return c.QueryRows("SELECT name FROM user", nil, packed.Collect(&names, packed.Column))
	})
	slices.SortFunc(names, strings.Compare)
	return names, err
}
