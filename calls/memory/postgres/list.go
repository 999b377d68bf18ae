package postgres

import (
	"context"
	"iter"
	"math"
	"slices"
	"time"

	"github.com/callnode/scheduler/calls/memory"
	"github.com/callnode/scheduler/calls/memory/internal/packed"
	"github.com/callnode/scheduler/calls/pgdb"
)

// LoadMemory returns a memory, or nil.
func (s *Store) LoadMemory(ctx context.Context, id string) (m *memory.BaseMemory, err error) {
	u, err := memory.UUIDOf(memory.MemoryID, id)
	if err != nil {
		return nil, err
	}
	err = s.db.Read(ctx, func(c *pgdb.Conn) error {
		var x memory.BaseMemory
		found, err := c.QueryRow(ctx, selectMemory+" WHERE m.id = $1", []any{u[:]}, columnsOf(&x)...)
		m = nil
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
	err = s.db.Read(ctx, func(c *pgdb.Conn) error {
		list = nil
		return c.QueryRows(ctx, "SELECT body FROM memory_old JOIN memory USING (rid) WHERE id = $1 ORDER BY key", []any{u[:]}, packed.Collect(&list, func(m *memory.BaseMemory) []any { return []any{scanJSON(m.DecodeValue)} }))
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

// pagesOf yields the selected memories of one user, some at a time, so that a slow reader keeps no
// transaction open.
func (s *Store) pagesOf(ctx context.Context, name string, which memory.Selection) iter.Seq2[[]memory.BaseMemory, error] {
	return func(yield func([]memory.BaseMemory, error) bool) {
		var rids []int64
		err := s.withUser(ctx, name, false, func(v *view) error {
			rids = v.selectRids(which)
			return nil
		})
		if err != nil {
			yield(nil, err)
			return
		}
		for part := range slices.Chunk(rids, packed.PageSize) {
			page, err := s.loadPage(ctx, part)
			if !yield(page, err) || err != nil {
				return
			}
		}
	}
}

// loadPage returns memories by their rids, but for those deleted meanwhile.
func (s *Store) loadPage(ctx context.Context, rids []int64) (page []memory.BaseMemory, err error) {
	var found map[int64]*memory.BaseMemory
	err = s.db.Read(ctx, func(c *pgdb.Conn) (err error) {
		found, err = loadMemories(ctx, c, rids)
		return err
	})
	for _, rid := range rids {
		if m := found[rid]; m != nil {
			page = append(page, *m)
		}
	}
	return page, err
}

// selectRids returns the rids of the selected memories, in the order of their time.
func (v *view) selectRids(which memory.Selection) (rids []int64) {
	for _, seq := range packed.SelectNumbers(v.known.Index, which, v.SessionNumber) {
		rids = append(rids, ridOf(v.user, int64(seq)))
	}
	return rids
}

// Stats counts what is stored.
func (s *Store) Stats(ctx context.Context, users memory.Users) (st memory.Stats, err error) {
	if err := users.Check(); err != nil {
		return st, err
	}
	err = s.db.ReadSnapshot(ctx, func(c *pgdb.Conn) error {
		st = memory.Stats{}
		from, until := int64(0), int64(math.MaxInt64)
		name, one := users.One()
		if one {
			id, _, err := findIndex(ctx, c, name)
			if id == 0 || err != nil {
				return err
			}
			from, until = ridOf(id, 0), ridOf(id, lastSeq)
		}
		return countRows(ctx, c, &st, from, until, one)
	})
	return st, err
}

// countRows counts what belongs to the memories of these rids; one is true for those of a
// single user.
func countRows(ctx context.Context, c *pgdb.Conn, st *memory.Stats, from, until int64, one bool) error {
	var oldest, newest *int64
	size := `SELECT coalesce(sum(pg_total_relation_size(c.oid)), 0)::bigint FROM pg_class c
		WHERE c.relkind = 'r' AND c.relnamespace = current_schema()::regnamespace AND (c.relname = 'memory' OR c.relname LIKE 'memory\_%') AND $1::bigint <= $2::bigint`
	if one {
		size = "SELECT coalesce(sum(octet_length(content)), 0)::bigint FROM memory WHERE rid BETWEEN $1 AND $2"
	}
	count := func(query string, to ...any) pgdb.Statement {
		return pgdb.Statement{Query: query, Args: []any{from, until}, Each: func(scan func(...any) error) error { return scan(to...) }}
	}
	err := c.Pipeline(ctx,
		count("SELECT count(*), min(time), max(time), count(DISTINCT rid >> 32) FROM memory WHERE rid BETWEEN $1 AND $2", &st.Memories, &oldest, &newest, &st.Users),
		count("SELECT count(*) FROM (SELECT DISTINCT rid >> 32, session FROM memory WHERE rid BETWEEN $1 AND $2 AND session >= 0) s", &st.Sessions),
		count("SELECT count(*) FROM memory_old WHERE rid BETWEEN $1 AND $2", &st.Versions),
		count("SELECT count(*) FROM memory_snapshot WHERE owner BETWEEN $1::bigint >> 32 AND $2::bigint >> 32", &st.Snapshots),
		count("SELECT count(*) FROM memory_meta WHERE owner BETWEEN $1::bigint >> 32 AND $2::bigint >> 32", &st.MetaSnapshots),
		count(`SELECT (SELECT count(*) FROM memory_session WHERE waits AND fresh > 0 AND owner BETWEEN $1::bigint >> 32 AND $2::bigint >> 32)
			+ (SELECT count(*) FROM memory_category WHERE owner BETWEEN $1::bigint >> 32 AND $2::bigint >> 32)`, &st.Jobs),
		count(`SELECT (SELECT count(*) FROM memory_vector WHERE model = (SELECT number FROM memory_model WHERE used) AND rid BETWEEN $1 AND $2),
			(SELECT count(*) FROM memory_unembedded WHERE rid BETWEEN $1 AND $2)`, &st.Vectors, &st.Unembedded),
		count(size, &st.Bytes),
	)
	if oldest != nil && newest != nil {
		st.Oldest, st.Newest = time.UnixMilli(*oldest).UTC(), time.UnixMilli(*newest).UTC()
	}
	return err
}

// userNames returns the selected users, sorted.
func (s *Store) userNames(ctx context.Context, users memory.Users) (names []string, err error) {
	if err := users.Check(); err != nil {
		return nil, err
	}
	if name, one := users.One(); one {
		return []string{name}, nil
	}
	err = s.db.Read(ctx, func(c *pgdb.Conn) error {
		names = nil
		return c.QueryRows(ctx, "SELECT name FROM memory_user", nil, packed.Collect(&names, textColumn))
	})
	slices.Sort(names)
	return names, err
}
