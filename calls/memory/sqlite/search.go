package sqlite

import (
	"context"
	"database/sql"
	"slices"
	"strings"

	"github.com/callnode/scheduler/calls/memory"
	"github.com/callnode/scheduler/calls/memory/internal/packed"
	"github.com/callnode/scheduler/calls/memory/rank"
	"github.com/callnode/scheduler/calls/sqlitefile"
)

// view is a user's index during one read.
type view struct {
	known *packed.Index
	user  int64
	conn  *sqlitefile.Conn
}

var _ memory.UserIndex = (*view)(nil)

// Index is part of [memory.UserIndex], as are the methods below.
func (v *view) Index() *rank.Index { return v.known.Index }

// SessionNumber returns the number of a session. An error is met again by what follows.
func (v *view) SessionNumber(name string) int32 {
	number := int32(rank.None)
	if name != "" {
		_, _ = v.conn.QueryRow("SELECT number FROM session WHERE user = ? AND name = ?", []any{v.user, name}, &number)
	}
	return number
}

func (v *view) Postings(ctx context.Context, term string, to []rank.Posting) ([]rank.Posting, error) {
	to, err := v.readLists(ctx, "SELECT chunk, data FROM posting WHERE user = ? AND term = ? AND chunk >= 0", term, to)
	return v.known.TailPostings(term, to), err
}

func (v *view) ExtraPostings(ctx context.Context, term string, to []rank.Posting) ([]rank.Posting, error) {
	return v.readLists(ctx, "SELECT -1 - chunk, data FROM posting WHERE user = ? AND term = ? AND chunk < 0", term, to)
}

func (v *view) readLists(ctx context.Context, query, term string, to []rank.Posting) ([]rank.Posting, error) {
	if err := ctx.Err(); err != nil {
		return to, err
	}
	err := v.conn.QueryRows(query, []any{v.user, term}, func(scan func(...any) error) error {
		var chunk uint32
		var b sql.RawBytes
		err := scan(&chunk, &b)
		to = packed.ReadPostings(b, chunk, to)
		return err
	})
	return to, err
}

func (v *view) Load(_ context.Context, seqs []uint32) ([]memory.BaseMemory, error) {
	u := user{id: v.user}
	list := make([]memory.BaseMemory, len(seqs))
	for i, seq := range seqs {
		m, err := loadMemory(v.conn, u.rid(int64(seq)))
		if err != nil {
			return nil, err
		}
		if m == nil {
			return nil, errIndex
		}
		list[i] = *m
	}
	return list, nil
}

// Search returns the memories that match a query.
func (s *Store) Search(ctx context.Context, q *memory.Query) (*memory.Found, error) {
	names, err := s.userNames(ctx, q.Users)
	if err != nil {
		return nil, err
	}
	var lists [][]memory.Scored
	for _, name := range names {
		err := s.withUser(ctx, name, func(v *view) error {
			found, err := memory.SearchUser(ctx, v, q)
			lists = append(lists, found)
			return err
		})
		if err != nil {
			return nil, err
		}
	}
	return &memory.Found{Memories: memory.Merge(q, lists...)}, nil
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
		return c.QueryRows("SELECT name FROM user", nil, func(scan func(...any) error) error {
			var name string
			err := scan(&name)
			names = append(names, name)
			return err
		})
	})
	slices.SortFunc(names, strings.Compare)
	return names, err
}
