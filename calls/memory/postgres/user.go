package postgres

import (
	"context"
	"slices"

	"github.com/callnode/scheduler/calls/memory/internal/packed"
	"github.com/callnode/scheduler/calls/memory/rank"
	"github.com/callnode/scheduler/calls/pgdb"
)

// user is a row of memory_user during a change, which has locked it.
type user struct {
	id   int64
	name string
	// n is the number of the next memory. It is not in the row, so that a save need not
	// write that: memories beyond folded are never deleted, so the rids determine it.
	n                          int64
	folded, extras, generation int64
	analysis                   int // the version that made its words
	changed                    bool
	maxSession                 int32 // the greatest number of a session
	speakers                   map[string]int32
}

func (u *user) rid(seq int64) int64 { return ridOf(u.id, seq) }

func ridOf(user, seq int64) int64 { return user<<32 | seq }

// lastSeq is the number in the rid behind all memories of a user.
const lastSeq = 1<<32 - 1

// nextNumber is the SQL expression for user.n of a row u.
const nextNumber = `greatest(u.folded, coalesce((SELECT max(rid) FROM memory WHERE rid BETWEEN u.id << 32 AND (u.id << 32) | 4294967295) - (u.id << 32) + 1, 0))`

const selectUser = "SELECT u.id, u.name, " + nextNumber + ", u.folded, u.extras, u.generation, u.analysis, coalesce((SELECT max(number) FROM memory_session WHERE owner = u.id), -1) FROM memory_user u WHERE u.name = ANY($1)"

// userLock locks users and reads them: the first statements of a change. users is filled in
// when they have run.
type userLock struct {
	names  []string
	create bool
	users  map[string]*user
}

func newUserLock(create bool, names ...string) *userLock {
	l := &userLock{create: create, users: map[string]*user{}}
	for _, name := range names {
		l.names = append(l.names, encodeText(name))
	}
	slices.Sort(l.names)
	l.names = slices.Compact(l.names)
	return l
}

// statements returns what creates missing users, locks all in the order of their ids, and
// reads them when no one else changes them any more.
func (l *userLock) statements() []pgdb.Statement {
	list := []pgdb.Statement{
		{Query: "SELECT 1 FROM memory_user WHERE name = ANY($1) ORDER BY id FOR UPDATE", Args: []any{l.names}},
		{Query: selectUser, Args: []any{l.names}, Each: func(scan func(...any) error) error {
			u := &user{speakers: map[string]int32{}}
			err := scan(&u.id, scanText{&u.name}, &u.n, &u.folded, &u.extras, &u.generation, &u.analysis, &u.maxSession)
			l.users[u.name] = u
			return err
		}},
	}
	if !l.create {
		return list
	}
	insert := pgdb.Statement{
		Query: `INSERT INTO memory_user(name, analysis) SELECT name, $2 FROM unnest($1::text[]) WITH ORDINALITY n(name, i)
			WHERE NOT EXISTS (SELECT 1 FROM memory_user u WHERE u.name = n.name) ORDER BY i ON CONFLICT DO NOTHING`,
		Args: []any{l.names, rank.AnalysisVersion},
	}
	return append([]pgdb.Statement{insert}, list...)
}

// check refuses users whose words another version has made, and reports one that was deleted
// while it was waited for.
func (l *userLock) check() error {
	if l.create && len(l.users) < len(l.names) {
		return errGone
	}
	for _, u := range l.users {
		if err := packed.CheckAnalysis(u.analysis); err != nil {
			return err
		}
	}
	return nil
}

// lockUser locks a user and returns it, or nil.
func lockUser(ctx context.Context, c *pgdb.Conn, name string, create bool) (*user, error) {
	l := newUserLock(create, name)
	if err := c.Pipeline(ctx, l.statements()...); err != nil {
		return nil, err
	}
	return l.users[name], l.check()
}

// save writes the row, if it has changed.
func (u *user) save(ctx context.Context, c *pgdb.Conn) error {
	if !u.changed {
		return nil
	}
	_, err := c.Exec(ctx, "UPDATE memory_user SET folded = $1, extras = $2, generation = $3 WHERE id = $4", u.folded, u.extras, u.generation, u.id)
	return err
}

// speakerNumber returns the number of a speaker, which it creates.
func (u *user) speakerNumber(ctx context.Context, c *pgdb.Conn, name string) (number int32, err error) {
	if len(u.speakers) == 0 {
		err := c.QueryRows(ctx, "SELECT number, name FROM memory_speaker WHERE owner = $1", []any{u.id}, func(scan func(...any) error) error {
			var number int32
			var name string
			err := scan(&number, scanText{&name})
			u.speakers[name] = number
			return err
		})
		if err != nil {
			return 0, err
		}
	}
	if number, ok := u.speakers[name]; ok {
		return number, nil
	}
	number = int32(len(u.speakers)) //nolint:gosec // fewer than memories
	u.speakers[name] = number
	_, err = c.Exec(ctx, "INSERT INTO memory_speaker(owner, number, name) VALUES ($1, $2, $3)", u.id, number, encodeText(name))
	return number, err
}
