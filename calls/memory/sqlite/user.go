package sqlite

import (
	"time"

	"github.com/callnode/scheduler/calls/memory/internal/packed"
	"github.com/callnode/scheduler/calls/memory/rank"
	"github.com/callnode/scheduler/calls/sqlitefile"
)

// user is a row of table user during a change.
type user struct {
	id   int64
	name string
	// n is the number of the next memory. It is not in the row, so that a save need not
	// write that: memories beyond folded are never deleted, so the rowids determine it.
	n                          int64
	folded, extras, generation int64
	analysis                   int // the version that made its words
	// embeds reports whether there is a current model, for whose vectors memories wait.
	embeds, changed bool
	sessions        map[string]*session
	speakers        map[string]int32
	growth          packed.Growth // by a batch
}

// session is what a batch adds to a session.
type session struct {
	number int32
	fresh  int
	waits  bool // for a snapshot, as its row says
}

func (u *user) rid(seq int64) int64 { return u.id<<32 | seq }

// findUser returns a user, or nil.
func findUser(c *sqlitefile.Conn, name string) (*user, error) {
	u, err := readUser(c, name)
	if u == nil || err != nil {
		return nil, err
	}
	return u, packed.CheckAnalysis(u.analysis)
}

// readUser is findUser for an index of any version.
func readUser(c *sqlitefile.Conn, name string) (*user, error) {
	u := &user{name: name, sessions: map[string]*session{}, speakers: map[string]int32{}}
	found, err := c.QueryRow("SELECT id, "+nextNumber+", folded, extras, generation, analysis, EXISTS (SELECT 1 FROM model) FROM user WHERE name = ?", []any{name},
		&u.id, &u.n, &u.folded, &u.extras, &u.generation, &u.analysis, &u.embeds)
	if !found {
		return nil, err
	}
	return u, nil
}

// nextNumber is the SQL expression for user.n.
const nextNumber = "max(folded, coalesce((SELECT max(rid) FROM memory WHERE rid BETWEEN user.id << 32 AND user.id << 32 | 4294967295) - (user.id << 32) + 1, 0))"

// findOrCreateUser returns a user.
func findOrCreateUser(c *sqlitefile.Conn, name string) (*user, error) {
	u, err := findUser(c, name)
	if u != nil || err != nil {
		return u, err
	}
	if err := c.Exec("INSERT INTO user(name, analysis) VALUES (?, ?)", name, rank.AnalysisVersion); err != nil {
		return nil, err
	}
	return findUser(c, name)
}

func (u *user) save(c *sqlitefile.Conn) error {
	if !u.changed {
		return nil
	}
	return c.Exec("UPDATE user SET folded = ?, extras = ?, generation = ? WHERE id = ?", u.folded, u.extras, u.generation, u.id)
}

// findOrCreateSession returns a session of a user.
func findOrCreateSession(c *sqlitefile.Conn, u *user, name string) (*session, error) {
	s := &session{number: rank.None}
	found, err := c.QueryRow("SELECT number, waits FROM session WHERE user = ? AND name = ?", []any{u.id, name}, &s.number, &s.waits)
	if found || err != nil {
		return s, err
	}
	if name != "" {
		if _, err := c.QueryRow("SELECT coalesce(max(number), -1) + 1 FROM session WHERE user = ?", []any{u.id}, &s.number); err != nil {
			return nil, err
		}
	}
	return s, c.Exec("INSERT INTO session(user, number, name, after) VALUES (?, ?, ?, ?)", u.id, s.number, name, u.rid(u.n))
}

func (u *user) speakerNumber(c *sqlitefile.Conn, name string) (number int32, err error) {
	if len(u.speakers) == 0 {
		err := c.QueryRows("SELECT number, name FROM speaker WHERE user = ?", []any{u.id}, func(scan func(...any) error) error {
			var number int32
			var name string
			err := scan(&number, &name)
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
	number = int32(len(u.speakers))
	u.speakers[name] = number
	return number, c.Exec("INSERT INTO speaker(user, number, name) VALUES (?, ?, ?)", u.id, number, name)
}

// save writes what a batch has added to a session.
func (s *session) save(c *sqlitefile.Conn, u *user, now time.Time) error {
	set := ""
	if !s.waits {
		set = ", waits = 1"
	}
	return c.Exec("UPDATE session SET fresh = max(0, fresh + ?), last = ?"+set+" WHERE user = ? AND number = ?", s.fresh, now.UnixMilli(), u.id, s.number)
}

// userCache is what the writer remembers of the users whose memories it has saved, so
// that the next save need not read it. It is true as long as nothing but saves changes
// the file. Only the goroutine that writes uses it.
type userCache struct {
	version int64 // of the file; other processes change it when they write
	byName  map[string]*user
}

// maxUserCache bounds the users in the cache, and the sessions of each.
const maxUserCache = 64

// forget empties the cache.
func (k *userCache) forget() { k.byName = nil }

// refresh empties the cache if another process has written to the file.
func (k *userCache) refresh(c *sqlitefile.Conn) error {
	before := k.version
	_, err := c.QueryRow("PRAGMA data_version", nil, &k.version)
	if err != nil || k.version != before {
		k.forget()
	}
	return err
}

// add keeps a user as a batch has left it.
func (k *userCache) add(u *user) {
	if k.byName == nil || len(k.byName) >= maxUserCache {
		k.byName = map[string]*user{}
	}
	if len(u.sessions) > maxUserCache {
		clear(u.sessions)
	}
	for _, in := range u.sessions {
		in.waits, in.fresh = in.waits || in.fresh != 0, 0
	}
	u.growth, u.changed = packed.Growth{}, false
	k.byName[u.name] = u
}
