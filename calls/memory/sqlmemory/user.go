package sqlmemory

import (
	"github.com/callnode/scheduler/calls/memory/internal/packed"
)

// user is a row of memory_user during a change.
type user struct {
	id   int64
	name string
	// n is the number of the next memory. It is not in the row, so that a save need not
	// write that: memories beyond folded are never deleted, so the rids determine it.
	n                          int64
	folded, extras, generation int64
	analysis                   int // the version that made its words
	// embeds reports whether there is a current model, for whose vectors memories wait.
	embeds, changed bool
	maxSession      int32 // the greatest number of a session
	speakers        map[string]int32
	// unread is set once it is noted that memories were saved without reading their facts.
	unread bool
	// sessions and growth are of a batch.
	sessions map[string]*session
	growth   packed.Growth
}

// session is a session as a batch knows it.
type session struct {
	number int32
	fresh  int   // memories that the batch adds
	waits  bool  // for a snapshot, as its row says
	after  int64 // of a new one
	isNew  bool
}

func (u *user) rid(seq int64) int64 { return ridOf(u.id, seq) }

func ridOf(user, seq int64) int64 { return user<<32 | seq }

// lastSeq is the number in the rid behind all memories of a user.
const lastSeq = 1<<32 - 1

// nextNumber is the SQL expression for user.n of a row u.
const nextNumber = `greatest(u.folded, coalesce((SELECT max(rid) FROM memory WHERE rid BETWEEN u.id << 32 AND (u.id << 32) | 4294967295) - (u.id << 32) + 1, 0))`

// selectUsers selects the columns of scanUser, of users with these names.
const selectUsers = "SELECT u.id, u.name, " + nextNumber + `, u.folded, u.extras, u.generation, u.analysis,
	coalesce((SELECT max(number) FROM memory_session s WHERE s.owner = u.id), -1), EXISTS (SELECT 1 FROM memory_model)
	FROM memory_user u WHERE u.name = ANY($1)`

// scanUser reads a row of selectUsers.
func scanUser(c conn, scan func(...any) error) (*user, error) {
	u := &user{speakers: map[string]int32{}, sessions: map[string]*session{}}
	err := scan(&u.id, c.scanText(&u.name), &u.n, &u.folded, &u.extras, &u.generation, &u.analysis, &u.maxSession, &u.embeds)
	return u, err
}

// lockUsers returns users for a change, whose words this version has made.
func lockUsers(c conn, create bool, names ...string) (map[string]*user, error) {
	users, err := c.d.lockUsers(c, create, names)
	if err != nil {
		return nil, err
	}
	return users, checkUsers(users, create, names)
}

// checkUsers refuses users whose words another version has made, and reports a user that was deleted while the
// change waited for the lock.
func checkUsers(users map[string]*user, create bool, names []string) error {
	for _, name := range names {
		u := users[name]
		if u == nil && create {
			return errGone
		}
		if u == nil {
			continue
		}
		if err := packed.CheckAnalysis(u.analysis); err != nil {
			return err
		}
	}
	return nil
}

// lockUser returns a user for a change, or nil.
func lockUser(c conn, name string, create bool) (*user, error) {
	users, err := lockUsers(c, create, name)
	return users[name], err
}

// save writes the row, if it has changed.
func (u *user) save(c conn) error {
	if !u.changed {
		return nil
	}
	_, err := c.Exec("UPDATE memory_user SET folded = $1, extras = $2, generation = $3 WHERE id = $4", u.folded, u.extras, u.generation, u.id)
	return err
}

// speakerNumber returns the number of a speaker, which it creates.
func (u *user) speakerNumber(c conn, name string) (number int32, err error) {
	if len(u.speakers) == 0 {
		err := c.QueryRows("SELECT number, name FROM memory_speaker WHERE owner = $1", []any{u.id}, func(scan func(...any) error) error {
			var number int32
			var name string
			err := scan(&number, c.scanText(&name))
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
	_, err = c.Exec("INSERT INTO memory_speaker(owner, number, name) VALUES ($1, $2, $3)", u.id, number, c.d.encode(name))
	return number, err
}
