package sqlite

import (
	"context"
	"hash/fnv"
	"maps"
	"slices"
	"time"

	"github.com/google/uuid"

	"github.com/callnode/scheduler/calls"
	"github.com/callnode/scheduler/calls/memory"
	"github.com/callnode/scheduler/calls/memory/rank"
	"github.com/callnode/scheduler/llm/value"
)

// prepared is a memory with all that can be computed before the transaction.
type prepared struct {
	memory.BaseMemory
	given bool // it came with its id
	uuid  uuid.UUID
	doc   document
	// speaker is the name that doc.entry.Speaker stands for.
	speaker      string
	other, extra any
	hash         int64
}

// SaveMemories stores all or none.
func (s *Store) SaveMemories(ctx context.Context, list []memory.BaseMemory) ([]memory.Saved, error) {
	now := s.clock()
	ready := make([]prepared, len(list))
	for i := range list {
		if i&0xff == 0 && ctx.Err() != nil {
			return nil, ctx.Err()
		}
		if err := ready[i].prepare(list[i], now); err != nil {
			return nil, memory.At(i, len(list), err)
		}
	}
	saved := make([]memory.Saved, len(list))
	err := s.change(ctx, func(c *conn) error {
		batch := &batch{store: s, conn: c, now: now, users: map[string]*user{}}
		for i := range ready {
			var err error
			if saved[i], err = batch.save(&ready[i]); err != nil {
				return memory.At(i, len(ready), err)
			}
		}
		return batch.finish()
	})
	if err != nil {
		return nil, err
	}
	return saved, nil
}

func (p *prepared) prepare(m memory.BaseMemory, now time.Time) error {
	p.given = m.ID != ""
	if err := m.Normalize(now); err != nil {
		return err
	}
	var err error
	if p.uuid, err = memory.UUIDOf(memory.MemoryID, m.ID); err != nil {
		return err
	}
	p.BaseMemory = m
	p.doc, p.speaker = documentOf(&m)
	if !m.Context.Other.IsNull() {
		p.other = m.Context.Other.JSON()
	}
	if m.Extra != nil || m.Context.Extra != nil {
		p.extra = value.OfList(value.OfMap(m.Extra), value.OfMap(m.Context.Extra)).JSON()
	}
	p.hash = hashOf(&m)
	return nil
}

// documentOf is a memory in the index, but for the numbers of its session and its
// speaker.
func documentOf(m *memory.BaseMemory) (d document, speaker string) {
	doc := rank.Analyze(m.Content, m.Speaker())
	return document{
		entry: rank.Entry{Time: m.Timestamp.UnixMilli(), Session: rank.None, Speaker: rank.None, Len: int32(doc.Len),
			Timed: doc.Time, Question: doc.Question, Utterance: m.Role() != ""},
		terms: doc.Terms,
	}, doc.Speaker
}

// hashOf is equal for what [memory.Duplicate] says is one.
func hashOf(m *memory.BaseMemory) int64 {
	h := fnv.New64a()
	for _, part := range []string{m.Context.UserID, m.Context.SessionID, memory.ContentKey(m.Content)} {
		_, _ = h.Write([]byte(part + "\x00")) // it is documented never to fail
	}
	return int64(h.Sum64())
}

// user is a row of table user while it is changed.
type user struct {
	id                            int64
	name                          string
	n, folded, extras, generation int64
	analysis                      int // the version that made its words
	// embeds says that there is a model in use, for whose vectors memories wait.
	embeds, changed bool
	sessions        map[string]*session
	speakers        map[string]int32
	// fresh are documents that go into the postings at once, from number folded on.
	fresh []document
}

// session is what a batch brings to a session.
type session struct {
	number int32
	fresh  int
	waits  bool // for a snapshot, as its row says
}

func (u *user) rid(seq int64) int64 { return u.id<<32 | seq }

// batch is the memories that are saved in one change.
type batch struct {
	store *Store
	conn  *conn
	now   time.Time
	users map[string]*user
}

// findUser gives a user; nil where there is none.
func findUser(c *conn, name string) (*user, error) {
	u, err := readUser(c, name)
	if u == nil || err != nil {
		return nil, err
	}
	return u, checkAnalysis(u.analysis)
}

// readUser is findUser whatever version made the user's words.
func readUser(c *conn, name string) (*user, error) {
	u := &user{name: name, sessions: map[string]*session{}, speakers: map[string]int32{}}
	found, err := c.row("SELECT id, n, folded, extras, generation, analysis, EXISTS (SELECT 1 FROM model) FROM user WHERE name = ?", []any{name},
		&u.id, &u.n, &u.folded, &u.extras, &u.generation, &u.analysis, &u.embeds)
	if !found {
		return nil, err
	}
	return u, nil
}

// makeUser gives a user, a new one where there is none.
func makeUser(c *conn, name string) (*user, error) {
	u, err := findUser(c, name)
	if u != nil || err != nil {
		return u, err
	}
	if err := c.exec("INSERT INTO user(name, analysis) VALUES (?, ?)", name, rank.AnalysisVersion); err != nil {
		return nil, err
	}
	return findUser(c, name)
}

func (u *user) store(c *conn) error {
	if !u.changed {
		return nil
	}
	return c.exec("UPDATE user SET n = ?, folded = ?, extras = ?, generation = ? WHERE id = ?", u.n, u.folded, u.extras, u.generation, u.id)
}

func (b *batch) user(name string) (*user, error) {
	if u := b.users[name]; u != nil {
		return u, nil
	}
	u, err := makeUser(b.conn, name)
	if err == nil {
		b.users[name] = u
	}
	return u, err
}

func (b *batch) save(p *prepared) (memory.Saved, error) {
	saved := memory.Saved{ID: p.ID, State: memory.Created}
	u, err := b.user(p.Context.UserID)
	if err != nil {
		return saved, err
	}
	if p.given {
		var rid int64
		found, err := b.conn.row("SELECT rid FROM memory WHERE id = ?", []any{p.uuid[:]}, &rid)
		if err != nil {
			return saved, err
		}
		if found {
			saved.State, err = b.replace(u, rid, p)
			return saved, err
		}
	} else {
		id, err := b.duplicate(p)
		if err != nil || id != "" {
			return memory.Saved{ID: id, State: memory.Merged}, err
		}
	}
	if u.n >= rank.MaxEntries {
		return saved, calls.Errorf(calls.Invalid, "the user %q has %d memories, and can have no more", u.name, u.n)
	}
	if err := b.place(u, p); err != nil {
		return saved, err
	}
	rid := u.rid(u.n)
	err = b.conn.exec("INSERT INTO memory(rid, id, session, time, saved, content, other, extra, hash) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
		rid, p.uuid[:], p.doc.entry.Session, p.doc.entry.Time, b.now.UnixMilli(), p.Content, p.other, p.extra, p.hash)
	if err != nil {
		return saved, err
	}
	if u.embeds {
		if err := b.conn.exec("INSERT INTO unembedded(rid) VALUES (?)", rid); err != nil {
			return saved, err
		}
	}
	u.sessions[p.Context.SessionID].fresh++
	u.fresh = append(u.fresh, p.doc)
	u.n++
	u.changed = true
	return saved, nil
}

// duplicate is the id of a memory that is the same; "" where there is none.
func (b *batch) duplicate(p *prepared) (id string, err error) {
	var rids []int64
	err = b.conn.rows("SELECT rid FROM memory WHERE hash = ? ORDER BY rid", []any{p.hash}, func(scan func(...any) error) error {
		var rid int64
		err := scan(&rid)
		rids = append(rids, rid)
		return err
	})
	for _, rid := range rids {
		m, err := loadMemory(b.conn, rid)
		if err != nil {
			return "", err
		}
		if m != nil && memory.Duplicate(m, &p.BaseMemory) {
			return m.ID, nil
		}
	}
	return "", err
}

// session gives what the batch knows of a session.
func (b *batch) session(u *user, name string) (in *session, err error) {
	if in = u.sessions[name]; in == nil {
		if in, err = findSession(b.conn, u, name); err == nil {
			u.sessions[name] = in
		}
	}
	return in, err
}

// place finds the numbers of the session and of the speaker.
func (b *batch) place(u *user, p *prepared) error {
	in, err := b.session(u, p.Context.SessionID)
	if err != nil {
		return err
	}
	p.doc.entry.Session = in.number
	if p.speaker != "" {
		p.doc.entry.Speaker, err = u.speaker(b.conn, p.speaker)
	}
	return err
}

// findSession gives a session, a new one where there is none.
func findSession(c *conn, u *user, name string) (*session, error) {
	s := &session{number: rank.None}
	found, err := c.row("SELECT number, waits FROM session WHERE user = ? AND name = ?", []any{u.id, name}, &s.number, &s.waits)
	if found || err != nil {
		return s, err
	}
	if name != "" {
		if _, err := c.row("SELECT coalesce(max(number), -1) + 1 FROM session WHERE user = ?", []any{u.id}, &s.number); err != nil {
			return nil, err
		}
	}
	return s, c.exec("INSERT INTO session(user, number, name, after) VALUES (?, ?, ?, ?)", u.id, s.number, name, u.rid(u.n))
}

func (u *user) speaker(c *conn, name string) (number int32, err error) {
	if len(u.speakers) == 0 {
		err := c.rows("SELECT number, name FROM speaker WHERE user = ?", []any{u.id}, func(scan func(...any) error) error {
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
	return number, c.exec("INSERT INTO speaker(user, number, name) VALUES (?, ?, ?)", u.id, number, name)
}

// replace makes a new version of a memory.
func (b *batch) replace(u *user, rid int64, p *prepared) (memory.SaveState, error) {
	if rid>>32 != u.id {
		return "", memory.ErrForeign(p.ID)
	}
	old, err := loadMemory(b.conn, rid)
	switch {
	case err != nil:
		return "", err
	case old.Equal(&p.BaseMemory):
		return memory.Unchanged, nil
	}
	// The index takes the old words back first.
	if err := b.flush(u); err != nil {
		return "", err
	}
	before := rank.Analyze(old.Content, old.Speaker())
	if err := b.place(u, p); err != nil {
		return "", err
	}
	if err := b.move(u, rid, old, p); err != nil {
		return "", err
	}
	ix := indexer{b.conn, u}
	if err := ix.replace(rid&0xffffffff, before.Terms, &p.doc); err != nil {
		return "", err
	}
	if u.embeds && old.EmbeddedText() != p.EmbeddedText() {
		if err := b.conn.exec("DELETE FROM vector WHERE rid = ?", rid); err != nil {
			return "", err
		}
		if err := b.conn.exec("INSERT OR REPLACE INTO unembedded(rid) VALUES (?)", rid); err != nil {
			return "", err
		}
	}
	if err := b.conn.exec("INSERT INTO version(rid, body) VALUES (?, ?)", rid, value.Must(*old).JSON()); err != nil {
		return "", err
	}
	err = b.conn.exec("UPDATE memory SET session = ?, time = ?, content = ?, other = ?, extra = ?, hash = ? WHERE rid = ?",
		p.doc.entry.Session, p.doc.entry.Time, p.Content, p.other, p.extra, p.hash, rid)
	u.generation++
	u.changed = true
	return memory.Updated, err
}

// move lets another session wait for a snapshot of a memory, if none has it yet.
func (b *batch) move(u *user, rid int64, old *memory.BaseMemory, p *prepared) error {
	from, err := b.session(u, old.Context.SessionID)
	if err != nil || from.number == p.doc.entry.Session {
		return err
	}
	if summed, err := b.conn.row("SELECT 1 FROM snapshot_ref WHERE rid = ?", []any{rid}, new(int)); summed || err != nil {
		return err
	}
	from.fresh--
	u.sessions[p.Context.SessionID].fresh++
	return b.conn.exec("UPDATE session SET after = min(after, ?) WHERE user = ? AND number = ?", rid, u.id, p.doc.entry.Session)
}

// foldAt is how many memories wait in the tail before their words go into the
// postings, when nobody writes; maxTail how many wait at all.
const (
	foldAt  = 256
	maxTail = 4 * foldAt
)

// flush puts the new documents of a user into the index: many at once into the
// postings, few into the tail.
func (b *batch) flush(u *user) error {
	defer func() { u.fresh = u.fresh[:0] }()
	first := u.n - int64(len(u.fresh))
	if len(u.fresh) >= foldAt || u.n-u.folded >= maxTail {
		ix := indexer{b.conn, u}
		if err := ix.foldTail(first); err != nil {
			return err
		}
		return ix.fold(u.fresh)
	}
	var room []byte
	for i := range u.fresh {
		room = u.fresh[i].append(room[:0])
		if err := b.conn.exec("INSERT INTO tail(rid, doc) VALUES (?, ?)", u.rid(first+int64(i)), room); err != nil {
			return err
		}
	}
	return nil
}

func (b *batch) finish() error {
	for _, name := range slices.Sorted(maps.Keys(b.users)) {
		u := b.users[name]
		if err := b.flush(u); err != nil {
			return err
		}
		if err := u.store(b.conn); err != nil {
			return err
		}
		if u.n-u.folded >= foldAt {
			b.store.mu.Lock()
			b.store.toFold[u.id] = true
			b.store.mu.Unlock()
			b.store.writer.later()
		}
		for _, in := range u.sessions {
			if in.fresh == 0 {
				continue
			}
			if err := in.store(b.conn, u, b.now); err != nil {
				return err
			}
		}
	}
	return nil
}

// store writes what a batch has brought to a session.
func (s *session) store(c *conn, u *user, now time.Time) error {
	set := ""
	if !s.waits {
		set = ", waits = 1"
	}
	return c.exec("UPDATE session SET fresh = max(0, fresh + ?), last = ?"+set+" WHERE user = ? AND number = ?", s.fresh, now.UnixMilli(), u.id, s.number)
}

// loadMemory gives nil where there is none.
func loadMemory(c *conn, rid int64) (*memory.BaseMemory, error) {
	var m memory.BaseMemory
	found, err := c.row(selectMemory+" WHERE rid = ?", []any{rid}, memoryColumns(&m)...)
	if !found {
		return nil, err
	}
	return &m, nil
}

const selectMemory = `SELECT m.id, u.name, s.name, m.time, m.content, m.other, m.extra FROM memory m
	JOIN user u ON u.id = m.rid >> 32 JOIN session s ON s.user = m.rid >> 32 AND s.number = m.session`

// memoryColumns are where the columns of selectMemory go.
func memoryColumns(m *memory.BaseMemory) []any {
	return []any{scanID{memory.MemoryID, &m.ID}, &m.Context.UserID, &m.Context.SessionID, scanTime{&m.Timestamp}, &m.Content,
		scanJSON{func(v value.Value) { m.Context.Other = v }},
		scanJSON{func(v value.Value) {
			if l := v.List(); len(l) == 2 {
				m.Extra, m.Context.Extra = l[0].Map(), l[1].Map()
			}
		}}}
}
