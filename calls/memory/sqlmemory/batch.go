package sqlmemory

import (
	"context"
	"maps"
	"slices"
	"time"

	"github.com/google/uuid"

	"github.com/callnode/scheduler/calls"
	"github.com/callnode/scheduler/calls/database"
	"github.com/callnode/scheduler/calls/memory"
	"github.com/callnode/scheduler/calls/memory/internal/packed"
	"github.com/callnode/scheduler/calls/memory/rank"
	"github.com/callnode/scheduler/llm/value"
)

// SaveMemories saves all or none.
func (s *Store) SaveMemories(ctx context.Context, list []memory.BaseMemory) ([]memory.Saved, error) {
	now := s.clock()
	rows := make([]packed.Row, len(list))
	for i := range list {
		if i&0xff == 0 && ctx.Err() != nil {
			return nil, ctx.Err()
		}
		if err := s.prepareRow(&rows[i], list[i], now); err != nil {
			return nil, memory.WrapIndex(i, len(list), err)
		}
	}
	if len(rows) == 0 {
		return []memory.Saved{}, nil
	}
	return s.db.saveRows(ctx, rows, now)
}

func (s *Store) prepareRow(r *packed.Row, m memory.BaseMemory, now time.Time) error {
	if err := r.Prepare(m, now); err != nil {
		return err
	}
	r.Reading, r.Unread = s.factOptions.read(&r.BaseMemory), s.factOptions.Off
	if err := s.db.checkName("user", m.Context.UserID); err != nil {
		return err
	}
	return s.db.checkName("session", m.Context.SessionID)
}

// batch holds the memories that are saved in one change. The dialect makes it, reads the rows it needs into users,
// sessions, byID and byHash, calls saveAll, and stores the rows that it collected.
type batch struct {
	c     conn
	now   time.Time
	rows  []packed.Row
	saved []memory.Saved
	users map[string]*user
	// byID and byHash are the stored memories that the rows may be versions or duplicates of, and the ones that
	// the batch itself has saved so far.
	byID   map[uuid.UUID]*storedMemory
	byHash map[int64][]*storedMemory

	inserts []insertedMemory
	later   []database.Statement // they need the inserted rows
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

func newBatch(c conn, now time.Time, rows []packed.Row) *batch {
	return &batch{
		c: c, now: now, rows: rows, saved: make([]memory.Saved, len(rows)), users: map[string]*user{},
		byID: map[uuid.UUID]*storedMemory{}, byHash: map[int64][]*storedMemory{},
	}
}

// addStored notes a memory that a row may be a version of.
func (b *batch) addStored(scan func(...any) error) error {
	m := &storedMemory{}
	if err := scan(b.c.memoryColumns(&m.rid, &m.BaseMemory)...); err != nil {
		return err
	}
	id, err := memory.UUIDOf(memory.MemoryID, m.ID)
	b.byID[id] = m
	return err
}

// addDuplicate notes a memory that a row may be a duplicate of.
func (b *batch) addDuplicate(scan func(...any) error) error {
	m := &storedMemory{}
	if err := scan(b.c.memoryColumns(&m.rid, &m.BaseMemory)...); err != nil {
		return err
	}
	hash := packed.HashOf(&m.BaseMemory)
	b.byHash[hash] = append(b.byHash[hash], m)
	return nil
}

// saveAll decides for each row how it is saved.
func (b *batch) saveAll() error {
	for i := range b.rows {
		var err error
		b.saved[i], err = b.saveOne(&b.rows[i])
		if err != nil {
			return memory.WrapIndex(i, len(b.rows), err)
		}
	}
	return nil
}

func (b *batch) saveOne(r *packed.Row) (memory.Saved, error) {
	u := b.users[r.Context.UserID]
	if r.Given {
		if old := b.byID[r.UUID]; old != nil {
			state, err := b.replaceMemory(u, old, r)
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
	b.addFacts(u, stored.rid, r)
	in.fresh++
	u.n++
	u.growth.Add(r.Content)
	return memory.Saved{ID: r.ID, State: memory.Created}, nil
}

// findOrCreateSession returns a session, which is new if the dialect has not read it.
func (u *user) findOrCreateSession(name string) *session {
	in := u.sessions[name]
	if in != nil {
		return in
	}
	in = &session{number: rank.None, isNew: true, after: u.rid(u.n)}
	if name != "" {
		u.maxSession++
		in.number = u.maxSession
	}
	u.sessions[name] = in
	return in
}

// replaceMemory saves a new version of a memory.
func (b *batch) replaceMemory(u *user, stored *storedMemory, r *packed.Row) (memory.SaveState, error) {
	if stored.rid>>32 != u.id {
		return "", memory.NewForeignIDError(r.ID)
	}
	old := stored.BaseMemory
	if r.IsRepetitionOf(&old, r.Dated) {
		return memory.Unchanged, nil
	}
	in := u.findOrCreateSession(r.Context.SessionID)
	if err := b.moveToSession(u, stored, in); err != nil {
		return "", err
	}
	if err := (indexer{b.c, u}).replaceDocument(stored.rid&lastSeq, &old, &r.BaseMemory, in.number); err != nil {
		return "", err
	}
	if u.embeds && old.EmbeddedText() != r.EmbeddedText() {
		b.addLater("DELETE FROM memory_vector WHERE rid = $1", stored.rid)
		b.addLater("INSERT INTO memory_unembedded(rid) VALUES ($1) ON CONFLICT (rid) DO UPDATE SET not_before = 0, attempts = 0", stored.rid)
	}
	b.addLater("INSERT INTO memory_old(rid, body) VALUES ($1, $2)", stored.rid, b.c.d.encode(value.Must(old).JSON()))
	b.addLater("UPDATE memory SET session = $1, time = $2, content = $3, other = $4, extra = $5, hash = $6 WHERE rid = $7",
		in.number, r.Timestamp.UnixMilli(), b.c.d.encode(r.Content), b.c.encodeJSON(r.Other), b.c.encodeJSON(r.Extra), r.Hash, stored.rid)
	b.later = append(b.later, dropFacts([]int64{stored.rid})...)
	b.addFacts(u, stored.rid, r)
	stored.BaseMemory = r.BaseMemory
	b.byHash[r.Hash] = append(b.byHash[r.Hash], stored)
	u.generation++
	u.changed = true
	return memory.Updated, nil
}

// addFacts stores the facts of a memory. If facts are off, all memories of the user are read once they are on
// again.
func (b *batch) addFacts(u *user, rid int64, r *packed.Row) {
	b.later = append(b.later, addFacts(b.c, u.id, rid, &r.Reading)...)
	if r.Unread && !u.unread {
		u.unread = true
		b.addLater("UPDATE memory_user SET facts = 0, facts_next = 0 WHERE id = $1 AND facts > 0", u.id)
	}
}

func (b *batch) addLater(query string, args ...any) {
	b.later = append(b.later, database.Statement{Query: query, Args: args})
}

// moveToSession makes another session wait for a snapshot of a memory, unless the memory has one already.
func (b *batch) moveToSession(u *user, stored *storedMemory, to *session) error {
	from, err := b.loadSession(u, stored.Context.SessionID)
	if err != nil || from == to {
		return err
	}
	if summed, err := b.c.QueryRow("SELECT 1 FROM memory_snapshot_ref WHERE rid = $1", []any{stored.rid}, new(int)); summed || err != nil {
		return err
	}
	from.fresh--
	to.fresh++
	to.after = min(to.after, stored.rid)
	b.addLater("UPDATE memory_session SET after = least(after, $1) WHERE owner = $2 AND number = $3", stored.rid, u.id, to.number)
	return nil
}

// loadSession returns a session in which memories of the batch have been so far.
func (b *batch) loadSession(u *user, name string) (*session, error) {
	if in := u.sessions[name]; in != nil {
		return in, nil
	}
	in, err := readSession(b.c, u, name)
	if err == nil && in == nil {
		err = b.c.d.indexError()
	}
	u.sessions[name] = in
	return in, err
}

// readSession returns a session of a user, or nil.
func readSession(c conn, u *user, name string) (*session, error) {
	in := &session{}
	found, err := c.QueryRow("SELECT number, waits FROM memory_session WHERE owner = $1 AND name = $2", []any{u.id, c.d.encode(name)}, &in.number, &in.waits)
	if !found {
		return nil, err
	}
	return in, nil
}

// statements returns the statements for all rows but the new memories, which come before.
func (b *batch) statements() []database.Statement {
	return append(b.sessionStatements(), b.later...)
}

// waitingRows returns the rids of the new memories that wait for a vector.
func (b *batch) waitingRows() (rids []int64) {
	for _, x := range b.inserts {
		if b.users[x.row.Context.UserID].embeds {
			rids = append(rids, x.rid)
		}
	}
	return rids
}

// sessionStatements returns the statements that create new sessions and count the new memories
// of all.
func (b *batch) sessionStatements() (statements []database.Statement) {
	now := b.now.UnixMilli()
	for _, userName := range b.userNames() {
		u := b.users[userName]
		for _, name := range slices.Sorted(maps.Keys(u.sessions)) {
			in := u.sessions[name]
			if in.isNew {
				fresh := max(0, in.fresh)
				statements = append(statements, database.Statement{
					Query: "INSERT INTO memory_session(owner, number, name, fresh, waits, last, after) VALUES ($1, $2, $3, $4, $5, $6, $7)",
					Args:  []any{u.id, in.number, b.c.d.encode(name), fresh, fresh > 0, now, in.after},
				})
			} else if in.fresh != 0 {
				set := ""
				if !in.waits {
					set = ", waits = true"
				}
				statements = append(statements, database.Statement{
					Query: "UPDATE memory_session SET fresh = greatest(0, fresh + $1), last = $2" + set + " WHERE owner = $3 AND number = $4",
					Args:  []any{in.fresh, now, u.id, in.number},
				})
			}
		}
	}
	return statements
}

// userNames returns the names of the users of the batch, sorted.
func (b *batch) userNames() []string { return slices.Sorted(maps.Keys(b.users)) }

// mustFold reports whether the words of the new memories are packed in the change itself.
func (u *user) mustFold() bool { return u.growth.MustFold(u.n - u.folded) }

// saveGrown folds a user if that must be now, and writes the row if it has changed.
func (u *user) saveGrown(c conn) error {
	if u.mustFold() {
		if err := (indexer{c, u}).fold(u.n); err != nil {
			return err
		}
	}
	return u.save(c)
}

// foldLater returns the users whose words are to be packed in the background. It decides by the numbers before
// saveGrown.
func (b *batch) foldLater() (names []string) {
	for _, name := range b.userNames() {
		u := b.users[name]
		if u.growth.FoldsLater(u.n-u.folded) && !u.mustFold() {
			names = append(names, name)
		}
	}
	return names
}
