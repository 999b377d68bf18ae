package sqlmemory

import (
	"context"
	"iter"
	"slices"
	"time"

	"github.com/callnode/scheduler/calls/database"
	"github.com/callnode/scheduler/calls/memory"
	"github.com/callnode/scheduler/calls/memory/internal/packed"
)

// Search returns the memories that match a query.
func (s *Store) Search(ctx context.Context, q *memory.Query) (*memory.Found, error) {
	names, err := s.userNames(ctx, q.Users)
	if err != nil {
		return nil, err
	}
	if s.factOptions.Off {
		plain := *q
		plain.NoFacts = true
		q = &plain
	}
	lists := make([][]memory.Scored, len(names))
	for i, name := range names {
		err := s.db.readIndex(ctx, s, name, true, func(v userView) (err error) {
			lists[i], err = memory.SearchUser(ctx, v, q)
			return err
		})
		if err != nil {
			return nil, err
		}
	}
	found := &memory.Found{Memories: memory.Merge(q, lists...)}
	if note := s.rereading.note(); note != "" {
		found.Notes = append(found.Notes, note)
	}
	return found, nil
}

// LoadMemory returns a memory, or nil.
func (s *Store) LoadMemory(ctx context.Context, id string) (m *memory.BaseMemory, err error) {
	u, err := memory.UUIDOf(memory.MemoryID, id)
	if err != nil {
		return nil, err
	}
	err = s.db.read(ctx, func(c conn) error {
		var x memory.BaseMemory
		found, err := c.QueryRow(selectMemory+" WHERE m.id = $1", []any{u[:]}, c.columnsOf(&x)...)
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
	err = s.db.read(ctx, func(c conn) error {
		list = nil
		return c.QueryRows("SELECT body FROM memory_old JOIN memory USING (rid) WHERE id = $1 ORDER BY key", []any{u[:]},
			packed.Collect(&list, func(m *memory.BaseMemory) []any { return []any{c.scanJSON(m.DecodeValue)} }))
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
		err := s.db.readIndex(ctx, s, name, false, func(v userView) error {
			rids = v.base().selectRids(which)
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

// loadPage returns memories by their rids, without the ones deleted meanwhile.
func (s *Store) loadPage(ctx context.Context, rids []int64) (page []memory.BaseMemory, err error) {
	var found map[int64]*memory.BaseMemory
	err = s.db.read(ctx, func(c conn) (err error) {
		found, err = loadMemories(c, rids)
		return err
	})
	for _, rid := range rids {
		if m := found[rid]; m != nil {
			page = append(page, *m)
		}
	}
	return page, err
}

// Stats counts the memories of users and everything that belongs to them.
func (s *Store) Stats(ctx context.Context, users memory.Users) (st memory.Stats, err error) {
	if err := users.Check(); err != nil {
		return st, err
	}
	err = s.db.readSnapshot(ctx, func(c conn) error {
		st = memory.Stats{}
		first, last, found, err := findRids(c, users)
		if !found || err != nil {
			return err
		}
		_, one := users.One()
		return countRows(c, &st, first, last, one)
	})
	return st, err
}

// countRows counts the rows that belong to the memories of these rids; one is true if the rids are a single
// user's.
func countRows(c conn, st *memory.Stats, first, last int64, one bool) error {
	var oldest, newest *int64
	rids, owners := []any{first, last}, []any{first >> 32, last >> 32}
	size, sizeArgs := c.d.sizeQuery(), []any(nil)
	if one {
		size, sizeArgs = "SELECT coalesce(sum(octet_length(content)), 0) FROM memory WHERE rid BETWEEN $1 AND $2", rids
	}
	count := func(query string, args []any, to ...any) database.Statement {
		return database.Statement{Query: query, Args: args, Each: func(scan func(...any) error) error { return scan(to...) }}
	}
	err := c.Pipeline(
		count("SELECT count(*), min(time), max(time), count(DISTINCT rid >> 32) FROM memory WHERE rid BETWEEN $1 AND $2", rids, &st.Memories, &oldest, &newest, &st.Users),
		count("SELECT count(*) FROM (SELECT DISTINCT rid >> 32, session FROM memory WHERE rid BETWEEN $1 AND $2 AND session >= 0) AS s", rids, &st.Sessions),
		count("SELECT count(*) FROM memory_old WHERE rid BETWEEN $1 AND $2", rids, &st.Versions),
		count("SELECT count(*) FROM memory_snapshot WHERE owner BETWEEN $1 AND $2", owners, &st.Snapshots),
		count("SELECT count(*) FROM memory_meta WHERE owner BETWEEN $1 AND $2", owners, &st.MetaSnapshots),
		count(`SELECT (SELECT count(*) FROM memory_session WHERE waits AND fresh > 0 AND owner BETWEEN $1 AND $2)
			+ (SELECT count(*) FROM memory_category WHERE owner BETWEEN $1 AND $2)`, owners, &st.Jobs),
		count(`SELECT (SELECT count(*) FROM memory_vector WHERE model = (SELECT number FROM memory_model WHERE used) AND rid BETWEEN $1 AND $2),
			(SELECT count(*) FROM memory_unembedded WHERE rid BETWEEN $1 AND $2)`, rids, &st.Vectors, &st.Unembedded),
		count(size, sizeArgs, &st.Bytes),
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
	err = s.db.read(ctx, func(c conn) error {
		names = nil
		return c.QueryRows("SELECT name FROM memory_user", nil, packed.Collect(&names, c.textColumn))
	})
	slices.Sort(names)
	return names, err
}
