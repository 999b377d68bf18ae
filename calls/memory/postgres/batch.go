package postgres

import (
	"context"
	"time"

	"github.com/google/uuid"

	"github.com/callnode/scheduler/calls"
	"github.com/callnode/scheduler/calls/memory"
	"github.com/callnode/scheduler/calls/memory/internal/packed"
	"github.com/callnode/scheduler/calls/memory/rank"
	"github.com/callnode/scheduler/calls/pgdb"
)

// batch is the memories that are saved in one change.
type batch struct {
	conn  *pgdb.Conn
	now   time.Time
	rows  []packed.Row
	saved []memory.Saved
	users map[string]*savingUser
	// byID and byHash are the stored memories that the rows may be versions or duplicates
	// of, with those that the batch itself has saved so far.
	byID   map[uuid.UUID]*storedMemory
	byHash map[int64][]*storedMemory
	embeds bool // there is a current model, for whose vectors memories wait

	inserts []insertedMemory
	// later are statements that need the inserted rows.
	later  []pgdb.Statement
	toFold []string // users with many memories in the tail
}

// savingUser is what a batch adds to a user.
type savingUser struct {
	*user
	sessions map[string]*savingSession
	growth   packed.Growth
}

// savingSession is what a batch adds to a session.
type savingSession struct {
	number int32
	fresh  int
	waits  bool  // for a snapshot, as its row says
	after  int64 // of a new one
	isNew  bool
}

// storedMemory is a memory in the table, or on its way there.
type storedMemory struct {
	rid int64
	memory.BaseMemory
}

// insertedMemory is a new row.
type insertedMemory struct {
	rid     int64
	session int32
	row     *packed.Row
}

func newBatch(c *pgdb.Conn, now time.Time, rows []packed.Row) *batch {
	return &batch{
		conn: c, now: now, rows: rows, saved: make([]memory.Saved, len(rows)), users: map[string]*savingUser{},
		byID: map[uuid.UUID]*storedMemory{}, byHash: map[int64][]*storedMemory{},
	}
}

// wasCommitted reports whether the memories that were new are there: the whole change is.
func (b *batch) wasCommitted(ctx context.Context, c *pgdb.Conn) (bool, error) {
	if len(b.inserts) == 0 {
		return false, nil // to save versions again changes nothing
	}
	return c.QueryRow(ctx, "SELECT 1 FROM memory WHERE id = $1", []any{b.inserts[0].row.UUID[:]}, new(int))
}

// load begins the transaction, locks the users and reads what the rows need, in one round
// trip.
func (b *batch) load(ctx context.Context) error {
	var names, sessionUsers, sessions []string
	var ids [][]byte
	var hashes []int64
	known := map[[2]string]bool{}
	for i := range b.rows {
		r := &b.rows[i]
		scope := [2]string{r.Context.UserID, r.Context.SessionID}
		if !known[scope] {
			known[scope] = true
			names = append(names, scope[0])
			sessionUsers, sessions = append(sessionUsers, encodeText(scope[0])), append(sessions, encodeText(scope[1]))
		}
		if r.Given {
			ids = append(ids, r.UUID[:])
		} else {
			hashes = append(hashes, r.Hash)
		}
	}
	lock := newUserLock(true, names...)
	statements := append([]pgdb.Statement{{Query: beginChange}}, lock.statements()...)
	statements = append(statements,
		pgdb.Statement{
			Query: `SELECT u.name, s.name, s.number, s.waits FROM unnest($1::text[], $2::text[]) w(owner, name)
				JOIN memory_user u ON u.name = w.owner JOIN memory_session s ON s.owner = u.id AND s.name = w.name`,
			Args: []any{sessionUsers, sessions}, Each: func(scan func(...any) error) error {
				var owner, name string
				in := &savingSession{}
				err := scan(scanText{&owner}, scanText{&name}, &in.number, &in.waits)
				b.userOf(lock, owner).sessions[name] = in
				return err
			},
		},
		pgdb.Statement{Query: "SELECT EXISTS (SELECT 1 FROM memory_model)", Each: func(scan func(...any) error) error { return scan(&b.embeds) }},
	)
	if len(ids) > 0 {
		statements = append(statements, pgdb.Statement{Query: selectMemory + " WHERE m.id = ANY($1)", Args: []any{ids}, Each: b.addStored})
	}
	if len(hashes) > 0 {
		statements = append(statements, pgdb.Statement{Query: selectMemory + " WHERE m.hash = ANY($1) ORDER BY m.rid", Args: []any{hashes}, Each: b.addDuplicate})
	}
	if err := b.conn.Pipeline(ctx, statements...); err != nil {
		return err
	}
	for _, name := range names {
		b.userOf(lock, name)
	}
	return lock.check()
}

// userOf returns a user of the batch.
func (b *batch) userOf(lock *userLock, name string) *savingUser {
	u := b.users[name]
	if u == nil {
		u = &savingUser{user: lock.users[name], sessions: map[string]*savingSession{}}
		b.users[name] = u
	}
	return u
}

func (b *batch) addStored(scan func(...any) error) error {
	m := &storedMemory{}
	if err := scan(memoryColumns(&m.rid, &m.BaseMemory)...); err != nil {
		return err
	}
	id, err := memory.UUIDOf(memory.MemoryID, m.ID)
	b.byID[id] = m
	return err
}

func (b *batch) addDuplicate(scan func(...any) error) error {
	m := &storedMemory{}
	if err := scan(memoryColumns(&m.rid, &m.BaseMemory)...); err != nil {
		return err
	}
	hash := packed.HashOf(&m.BaseMemory)
	b.byHash[hash] = append(b.byHash[hash], m)
	return nil
}

func (b *batch) saveOne(ctx context.Context, r *packed.Row) (memory.Saved, error) {
	u := b.users[r.Context.UserID]
	if r.Given {
		if old := b.byID[r.UUID]; old != nil {
			state, err := b.replaceMemory(ctx, u, old, r)
			return memory.Saved{ID: r.ID, State: state}, err
		}
	} else {
		for _, old := range b.byHash[r.Hash] {
			if memory.IsDuplicate(&old.BaseMemory, &r.BaseMemory) {
				return memory.Saved{ID: old.ID, State: memory.Merged}, nil
			}
		}
	}
	if u.n >= rank.MaxEntries {
		return memory.Saved{}, calls.Errorf(calls.Invalid, "the user %q has %d memories, and can have no more", u.name, u.n)
	}
	in := u.findOrCreateSession(r.Context.SessionID)
	stored := &storedMemory{u.rid(u.n), r.BaseMemory}
	b.byID[r.UUID] = stored
	b.byHash[r.Hash] = append(b.byHash[r.Hash], stored)
	b.inserts = append(b.inserts, insertedMemory{stored.rid, in.number, r})
	in.fresh++
	u.n++
	u.growth.Add(r.Content)
	return memory.Saved{ID: r.ID, State: memory.Created}, nil
}

func (u *savingUser) findOrCreateSession(name string) *savingSession {
	in := u.sessions[name]
	if in != nil {
		return in
	}
	in = &savingSession{number: rank.None, isNew: true, after: u.rid(u.n)}
	if name != "" {
		u.maxSession++
		in.number = u.maxSession
	}
	u.sessions[name] = in
	return in
}

// replaceMemory saves a new version of a memory.
func (b *batch) replaceMemory(ctx context.Context, u *savingUser, stored *storedMemory, r *packed.Row) (memory.SaveState, error) {
	if stored.rid>>32 != u.id {
		return "", memory.NewForeignIDError(r.ID)
	}
	old := stored.BaseMemory
	if r.IsRepetitionOf(&old, r.Dated) {
		return memory.Unchanged, nil
	}
	in := u.findOrCreateSession(r.Context.SessionID)
	if err := b.moveToSession(ctx, u, stored, in); err != nil {
		return "", err
	}
	if err := (indexer{b.conn, u.user}).replaceDocument(ctx, stored.rid&lastSeq, &old, &r.BaseMemory, in.number); err != nil {
		return "", err
	}
	if b.embeds && old.EmbeddedText() != r.EmbeddedText() {
		b.addLater("DELETE FROM memory_vector WHERE rid = $1", stored.rid)
		b.addLater("INSERT INTO memory_unembedded(rid) VALUES ($1) ON CONFLICT (rid) DO UPDATE SET not_before = 0, attempts = 0", stored.rid)
	}
	b.addLater("INSERT INTO memory_old(rid, body) VALUES ($1, $2)", stored.rid, encodeVersion(&old))
	b.addLater("UPDATE memory SET session = $1, time = $2, content = $3, other = $4, extra = $5, hash = $6 WHERE rid = $7",
		in.number, r.Timestamp.UnixMilli(), encodeText(r.Content), encodeJSON(r.Other), encodeJSON(r.Extra), r.Hash, stored.rid)
	stored.BaseMemory = r.BaseMemory
	b.byHash[r.Hash] = append(b.byHash[r.Hash], stored)
	u.generation++
	u.changed = true
	return memory.Updated, nil
}

func (b *batch) addLater(query string, args ...any) {
	b.later = append(b.later, pgdb.Statement{Query: query, Args: args})
}

// moveToSession makes another session wait for a snapshot of a memory, if there is none
// yet.
func (b *batch) moveToSession(ctx context.Context, u *savingUser, stored *storedMemory, to *savingSession) error {
	from, err := b.loadSession(ctx, u, stored.Context.SessionID)
	if err != nil || from == to {
		return err
	}
	if summed, err := b.conn.QueryRow(ctx, "SELECT 1 FROM memory_snapshot_ref WHERE rid = $1", []any{stored.rid}, new(int)); summed || err != nil {
		return err
	}
	from.fresh--
	to.fresh++
	to.after = min(to.after, stored.rid)
	b.addLater("UPDATE memory_session SET after = least(after, $1) WHERE owner = $2 AND number = $3", stored.rid, u.id, to.number)
	return nil
}

// loadSession returns a session in which memories of the batch have been so far.
func (b *batch) loadSession(ctx context.Context, u *savingUser, name string) (*savingSession, error) {
	if in := u.sessions[name]; in != nil {
		return in, nil
	}
	in := &savingSession{}
	found, err := b.conn.QueryRow(ctx, "SELECT number, waits FROM memory_session WHERE owner = $1 AND name = $2", []any{u.id, encodeText(name)}, &in.number, &in.waits)
	if err == nil && !found {
		err = errIndex
	}
	u.sessions[name] = in
	return in, err
}
