package sqlmemory

import (
	"bytes"
	"context"
	"maps"
	"slices"
	"time"

	"github.com/callnode/scheduler/calls/database/sqlitefile"
	"github.com/callnode/scheduler/calls/memory"
	"github.com/callnode/scheduler/calls/memory/internal/packed"
)

// saveRows saves all or none.
func (d *fileDialect) saveRows(ctx context.Context, rows []packed.Row, now time.Time) ([]memory.Saved, error) {
	var b *batch
	err := d.file.Store.Write(ctx, func(c *sqlitefile.Conn) error {
		if err := d.users.refresh(c); err != nil {
			return err
		}
		b = newBatch(d.conn(c), now, rows)
		if err := d.load(b); err != nil {
			return err
		}
		if err := b.saveAll(); err != nil {
			return err
		}
		return d.store(b)
	})
	if err != nil {
		return nil, err
	}
	return b.saved, nil
}

// load reads the values that the rows need, one after the other.
func (d *fileDialect) load(b *batch) error {
	hashes := map[int64]bool{}
	for i := range b.rows {
		r := &b.rows[i]
		u, err := d.loadUser(b, r.Context.UserID)
		if err != nil {
			return err
		}
		name := r.Context.SessionID
		if u.sessions[name] == nil {
			in, err := readSession(b.c, u, name)
			if err != nil {
				return err
			}
			if in != nil {
				u.sessions[name] = in
			}
		}
		switch {
		case r.Given:
			err = b.c.QueryRows(selectMemory+" WHERE m.id = $1", []any{r.UUID[:]}, b.addStored)
		case !hashes[r.Hash]:
			hashes[r.Hash] = true
			err = b.c.QueryRows(selectMemory+" WHERE m.hash = $1 ORDER BY m.rid", []any{r.Hash}, b.addDuplicate)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// loadUser returns a user of the batch, from the cache if it is there.
func (d *fileDialect) loadUser(b *batch, name string) (*user, error) {
	u := b.users[name]
	if u == nil {
		u = d.users.byName[name]
	}
	if u == nil {
		var err error
		u, err = lockUser(b.c, name, true)
		if err != nil {
			return nil, err
		}
	}
	b.users[name] = u
	return u, nil
}

// store writes the rows of the batch.
func (d *fileDialect) store(b *batch) error {
	for _, x := range b.inserts {
		r := x.row
		_, err := b.c.Exec("INSERT INTO memory(rid, id, session, time, saved, content, other, extra, hash) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
			x.rid, r.UUID[:], x.session, r.Timestamp.UnixMilli(), b.now.UnixMilli(), r.Content, r.Other, r.Extra, r.Hash)
		if err != nil {
			return err
		}
	}
	for _, rid := range b.waitingRows() {
		if _, err := b.c.Exec("INSERT INTO unembedded(rid) VALUES (?)", rid); err != nil {
			return err
		}
	}
	if err := b.c.Pipeline(b.statements()...); err != nil {
		return err
	}
	for _, name := range b.foldLater() {
		d.requestFold(name)
	}
	for _, name := range b.userNames() {
		u := b.users[name]
		if err := u.saveGrown(b.c); err != nil {
			return err
		}
		d.users.add(u)
	}
	return nil
}

// userCache keeps the users whose memories the writer has saved, so that the next save need not read them. It is
// true as long as only saves change the file. Only the goroutine that writes uses it.
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
		in.waits, in.fresh, in.isNew = in.waits || in.fresh != 0, 0, false
	}
	u.growth, u.changed = packed.Growth{}, false
	k.byName[u.name] = u
}

// addPostings appends postings, in the order of the table.
func (*fileDialect) addPostings(c conn, user int64, lists packed.Lists) error {
	for _, at := range packed.SortedPlaces(lists) {
		_, err := c.Exec(`INSERT INTO posting(user, term, chunk, data) VALUES (?, ?, ?, ?)
			ON CONFLICT DO UPDATE SET data = CAST(data || excluded.data AS BLOB)`, user, at.Term, at.Chunk, lists[at])
		if err != nil {
			return err
		}
	}
	return nil
}

// removePostings removes the postings of some memories.
func (*fileDialect) removePostings(c conn, user int64, gone packed.Removed) error {
	for _, at := range packed.SortedPlaces(gone) {
		var data []byte
		found, err := c.QueryRow("SELECT data FROM posting WHERE user = ? AND term = ? AND chunk = ?", []any{user, at.Term, at.Chunk}, &data)
		if err != nil {
			return err
		}
		if !found {
			continue
		}
		left := packed.RemovePostings(data, gone[at])
		if len(left) > 0 {
			_, err = c.Exec("UPDATE posting SET data = ? WHERE user = ? AND term = ? AND chunk = ?", left, user, at.Term, at.Chunk)
		} else {
			_, err = c.Exec("DELETE FROM posting WHERE user = ? AND term = ? AND chunk = ?", user, at.Term, at.Chunk)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// appendEntries appends to chunks.
func (*fileDialect) appendEntries(c conn, user int64, entries map[int64][]byte) error {
	for _, chunk := range slices.Sorted(maps.Keys(entries)) {
		_, err := c.Exec(`INSERT INTO entry(user, chunk, data) VALUES (?, ?, ?)
			ON CONFLICT DO UPDATE SET data = CAST(data || excluded.data AS BLOB)`, user, chunk, entries[chunk])
		if err != nil {
			return err
		}
	}
	return nil
}

// loadEntries reads chunks. A missing one is empty.
func (*fileDialect) loadEntries(c conn, user int64, chunks []int64) (map[int64][]byte, error) {
	found := make(map[int64][]byte, len(chunks))
	for _, chunk := range chunks {
		var data []byte
		if _, err := c.QueryRow("SELECT data FROM entry WHERE user = ? AND chunk = ?", []any{user, chunk}, &data); err != nil {
			return nil, err
		}
		found[chunk] = bytes.Clone(data)
	}
	return found, nil
}

// storeEntries overwrites chunks.
func (*fileDialect) storeEntries(c conn, user int64, entries map[int64][]byte) error {
	for _, chunk := range slices.Sorted(maps.Keys(entries)) {
		if _, err := c.Exec("UPDATE entry SET data = ? WHERE user = ? AND chunk = ?", entries[chunk], user, chunk); err != nil {
			return err
		}
	}
	return nil
}
