package sqlite

import (
	"context"
	"maps"
	"slices"
	"time"

	"github.com/callnode/scheduler/calls"
	"github.com/callnode/scheduler/calls/memory"
	"github.com/callnode/scheduler/calls/memory/internal/packed"
	"github.com/callnode/scheduler/calls/memory/rank"
	"github.com/callnode/scheduler/calls/sqlitefile"
	"github.com/callnode/scheduler/llm/value"
)

// SaveMemories saves all or none.
func (s *Store) SaveMemories(ctx context.Context, list []memory.BaseMemory) ([]memory.Saved, error) {
	now := s.clock()
	ready := make([]packed.Row, len(list))
	for i := range list {
		if i&0xff == 0 && ctx.Err() != nil {
			return nil, ctx.Err()
		}
		if err := ready[i].Prepare(list[i], now); err != nil {
			return nil, memory.WrapIndex(i, len(list), err)
		}
	}
	saved := make([]memory.Saved, len(list))
	err := s.db.Write(ctx, func(c *sqlitefile.Conn) error {
		batch := &batch{store: s, conn: c, now: now, users: map[string]*user{}}
		if err := s.users.refresh(c); err != nil {
			return err
		}
		for i := range ready {
			var err error
			saved[i], err = batch.saveOne(&ready[i])
			if err != nil {
				return memory.WrapIndex(i, len(ready), err)
			}
		}
		return batch.finish()
	})
	if err != nil {
		return nil, err
	}
	return saved, nil
}

// batch is the memories that are saved in one change.
type batch struct {
	store *Store
	conn  *sqlitefile.Conn
	now   time.Time
	users map[string]*user
}

func (b *batch) findOrCreateUser(name string) (*user, error) {
	if u := b.users[name]; u != nil {
		return u, nil
	}
	u := b.store.users.byName[name]
	if u == nil {
		var err error
		u, err = findOrCreateUser(b.conn, name)
		if err != nil {
			return nil, err
		}
	}
	b.users[name] = u
	return u, nil
}

func (b *batch) saveOne(p *packed.Row) (memory.Saved, error) {
	saved := memory.Saved{ID: p.ID, State: memory.Created}
	u, err := b.findOrCreateUser(p.Context.UserID)
	if err != nil {
		return saved, err
	}
	if p.Given {
		var rid int64
		found, err := b.conn.QueryRow("SELECT rid FROM memory WHERE id = ?", []any{p.UUID[:]}, &rid)
		if err != nil {
			return saved, err
		}
		if found {
			saved.State, err = b.replaceMemory(u, rid, p)
			return saved, err
		}
	} else {
		id, err := b.findDuplicate(p)
		if err != nil || id != "" {
			return memory.Saved{ID: id, State: memory.Merged}, err
		}
	}
	if u.n >= rank.MaxEntries {
		return saved, calls.Errorf(calls.Invalid, "the user %q has %d memories, and can have no more", u.name, u.n)
	}
	in, err := b.findOrCreateSession(u, p.Context.SessionID)
	if err != nil {
		return saved, err
	}
	rid := u.rid(u.n)
	err = b.conn.Exec("INSERT INTO memory(rid, id, session, time, saved, content, other, extra, hash) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
		rid, p.UUID[:], in.number, p.Timestamp.UnixMilli(), b.now.UnixMilli(), p.Content, p.Other, p.Extra, p.Hash)
	if err != nil {
		return saved, err
	}
	if u.embeds {
		if err := b.conn.Exec("INSERT INTO unembedded(rid) VALUES (?)", rid); err != nil {
			return saved, err
		}
	}
	in.fresh++
	u.n++
	u.growth.Add(p.Content)
	return saved, nil
}

// findDuplicate returns the id of an equal memory, or "".
func (b *batch) findDuplicate(p *packed.Row) (id string, err error) {
	var rids []int64
	err = b.conn.QueryRows("SELECT rid FROM memory WHERE hash = ? ORDER BY rid", []any{p.Hash}, packed.Collect(&rids, packed.Column))
	for _, rid := range rids {
		m, err := loadMemory(b.conn, rid)
		if err != nil {
			return "", err
		}
		if m != nil && memory.IsDuplicate(m, &p.BaseMemory) {
			return m.ID, nil
		}
	}
	return "", err
}

// findOrCreateSession returns a session as the batch knows it.
func (b *batch) findOrCreateSession(u *user, name string) (in *session, err error) {
	in = u.sessions[name]
	if in == nil {
		in, err = findOrCreateSession(b.conn, u, name)
		if err == nil {
			u.sessions[name] = in
		}
	}
	return in, err
}

// replaceMemory saves a new version of a memory.
func (b *batch) replaceMemory(u *user, rid int64, p *packed.Row) (memory.SaveState, error) {
	if rid>>32 != u.id {
		return "", memory.NewForeignIDError(p.ID)
	}
	old, err := loadMemory(b.conn, rid)
	if err != nil {
		return "", err
	}
	if p.IsRepetitionOf(old, p.Dated) {
		return memory.Unchanged, nil
	}
	in, err := b.findOrCreateSession(u, p.Context.SessionID)
	if err != nil {
		return "", err
	}
	if err := b.moveToSession(u, rid, old, in); err != nil {
		return "", err
	}
	if err := (indexer{b.conn, u}).replaceDocument(rid&0xffffffff, old, &p.BaseMemory, in.number); err != nil {
		return "", err
	}
	if u.embeds && old.EmbeddedText() != p.EmbeddedText() {
		if err := b.conn.Exec("DELETE FROM vector WHERE rid = ?", rid); err != nil {
			return "", err
		}
		if err := b.conn.Exec("INSERT OR REPLACE INTO unembedded(rid) VALUES (?)", rid); err != nil {
			return "", err
		}
	}
	if err := b.conn.Exec("INSERT INTO version(rid, body) VALUES (?, ?)", rid, value.Must(*old).JSON()); err != nil {
		return "", err
	}
	err = b.conn.Exec("UPDATE memory SET session = ?, time = ?, content = ?, other = ?, extra = ?, hash = ? WHERE rid = ?",
		in.number, p.Timestamp.UnixMilli(), p.Content, p.Other, p.Extra, p.Hash, rid)
	u.generation++
	u.changed = true
	return memory.Updated, err
}

// moveToSession makes another session wait for a snapshot of a memory, if there is none
// yet.
func (b *batch) moveToSession(u *user, rid int64, old *memory.BaseMemory, to *session) error {
	from, err := b.findOrCreateSession(u, old.Context.SessionID)
	if err != nil || from == to {
		return err
	}
	if summed, err := b.conn.QueryRow("SELECT 1 FROM snapshot_ref WHERE rid = ?", []any{rid}, new(int)); summed || err != nil {
		return err
	}
	from.fresh--
	to.fresh++
	return b.conn.Exec("UPDATE session SET after = min(after, ?) WHERE user = ? AND number = ?", rid, u.id, to.number)
}

func (b *batch) finish() error {
	for _, name := range slices.Sorted(maps.Keys(b.users)) {
		u := b.users[name]
		if u.growth.MustFold(u.n - u.folded) {
			if err := (indexer{b.conn, u}).fold(u.n); err != nil {
				return err
			}
		}
		if err := u.save(b.conn); err != nil {
			return err
		}
		if u.growth.FoldsLater(u.n - u.folded) {
			b.store.requestFold(u)
		}
		for _, in := range u.sessions {
			if in.fresh == 0 {
				continue
			}
			if err := in.save(b.conn, u, b.now); err != nil {
				return err
			}
		}
		b.store.users.add(u)
	}
	return nil
}
