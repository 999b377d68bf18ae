package postgres

import (
	"context"

	"github.com/callnode/scheduler/calls/memory"
	"github.com/callnode/scheduler/calls/memory/internal/packed"
	"github.com/callnode/scheduler/calls/memory/rank"
	"github.com/callnode/scheduler/calls/pgdb"
)

// view is a user's index during one read.
type view struct {
	known   *packed.Index
	user    int64
	conn    *pgdb.Conn
	fetched map[string]*chunks // by key of the term
	// once is set where Load ends the transaction, ended when it has.
	once, ended bool
}

// chunks are the postings of a term, in memories and in snapshots.
type chunks struct{ memories, extras []rank.Posting }

var (
	_ memory.UserIndex = (*view)(nil)
	_ rank.Fetcher     = (*view)(nil)
)

// Index is part of [memory.UserIndex], as are the methods below.
func (v *view) Index() *rank.Index { return v.known.Index }

// SessionNumber returns the number of a session. An error is met again by what follows.
func (v *view) SessionNumber(name string) int32 {
	number := int32(rank.None)
	if name != "" && !v.ended {
		_, _ = v.conn.QueryRow(context.Background(), "SELECT number FROM memory_session WHERE owner = $1 AND name = $2", []any{v.user, encodeText(name)}, &number)
	}
	return number
}

// Fetch is part of [rank.Fetcher].
func (v *view) Fetch(ctx context.Context, terms []string) error {
	if v.fetched == nil {
		v.fetched = map[string]*chunks{}
	}
	var missing []string
	for _, term := range terms {
		key := keyOf(term)
		if v.fetched[key] == nil {
			v.fetched[key] = &chunks{}
			missing = append(missing, key)
		}
	}
	if len(missing) == 0 {
		return nil
	}
	if v.ended {
		return errEnded
	}
	return v.conn.QueryRows(ctx, "SELECT term, chunk, data FROM memory_posting WHERE owner = $1 AND term = ANY($2)", []any{v.user, missing}, func(scan func(...any) error) error {
		var key string
		var chunk int64
		var data []byte
		if err := scan(&key, &chunk, &data); err != nil {
			return err
		}
		of := v.fetched[key]
		if chunk < 0 {
			of.extras = packed.ReadPostings(data, uint32(-1-chunk), of.extras) //nolint:gosec // of fewer than 1<<28 snapshots
		} else {
			of.memories = packed.ReadPostings(data, uint32(chunk), of.memories) //nolint:gosec // of fewer than 1<<28 memories
		}
		return nil
	})
}

// Postings is part of [rank.Source], as is the method below.
func (v *view) Postings(ctx context.Context, term string, to []rank.Posting) ([]rank.Posting, error) {
	if err := v.Fetch(ctx, []string{term}); err != nil {
		return to, err
	}
	return v.known.TailPostings(term, append(to, v.fetched[keyOf(term)].memories...)), nil
}

// ExtraPostings appends the postings of a term in the snapshots.
func (v *view) ExtraPostings(ctx context.Context, term string, to []rank.Posting) ([]rank.Posting, error) {
	if err := v.Fetch(ctx, []string{term}); err != nil {
		return to, err
	}
	return append(to, v.fetched[keyOf(term)].extras...), nil
}

// Load is part of [memory.UserIndex].
func (v *view) Load(ctx context.Context, seqs []uint32) ([]memory.BaseMemory, error) {
	rids := make([]int64, len(seqs))
	for i, seq := range seqs {
		rids[i] = ridOf(v.user, int64(seq))
	}
	found, err := v.loadLast(ctx, rids)
	if err != nil {
		return nil, err
	}
	list := make([]memory.BaseMemory, len(rids))
	for i, rid := range rids {
		m := found[rid]
		if m == nil {
			return nil, errIndex
		}
		list[i] = *m
	}
	return list, nil
}

// loadLast returns the memories that exist, by their rids. It ends the transaction if it is
// probably the last that needs it.
func (v *view) loadLast(ctx context.Context, rids []int64) (map[int64]*memory.BaseMemory, error) {
	if v.ended {
		return nil, errEnded
	}
	if !v.once {
		return loadMemories(ctx, v.conn, rids)
	}
	found, err := loadMemories(ctx, v.conn, rids, pgdb.Statement{Query: commitChange})
	v.ended = err == nil
	return found, err
}

// loadMemories returns the memories that exist, by their rids. last are statements that are
// sent after.
func loadMemories(ctx context.Context, c *pgdb.Conn, rids []int64, last ...pgdb.Statement) (map[int64]*memory.BaseMemory, error) {
	found := make(map[int64]*memory.BaseMemory, len(rids))
	load := pgdb.Statement{Query: selectMemory + " WHERE m.rid = ANY($1)", Args: []any{rids}, Each: func(scan func(...any) error) error {
		m := &memory.BaseMemory{}
		var rid int64
		err := scan(memoryColumns(&rid, m)...)
		found[rid] = m
		return err
	}}
	return found, c.Pipeline(ctx, append([]pgdb.Statement{load}, last...)...)
}

// Search returns the memories that match a query.
func (s *Store) Search(ctx context.Context, q *memory.Query) (*memory.Found, error) {
	names, err := s.userNames(ctx, q.Users)
	if err != nil {
		return nil, err
	}
	lists := make([][]memory.Scored, len(names))
	for i, name := range names {
		err := s.withUser(ctx, name, true, func(v *view) (err error) {
			lists[i], err = memory.SearchUser(ctx, v, q)
			return err
		})
		if err != nil {
			return nil, err
		}
	}
	return &memory.Found{Memories: memory.Merge(q, lists...)}, nil
}
