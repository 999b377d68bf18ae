package sqlite

import (
	"cmp"
	"context"
	"iter"

	"github.com/callnode/scheduler/calls/memory"
	"github.com/callnode/scheduler/calls/memory/internal/packed"
	"github.com/callnode/scheduler/calls/sqlitefile"
	"github.com/callnode/scheduler/llm/value"
)

// SaveSnapshot saves a snapshot of a user's memories.
func (s *Store) SaveSnapshot(ctx context.Context, user string, x memory.MemorySnapshot) error {
	now := s.clock()
	if err := cmp.Or(memory.CheckUser(user), memory.CheckLine("user", user), x.Normalize(now)); err != nil {
		return err
	}
	return s.write(ctx, func(c *sqlitefile.Conn) error {
		u, err := findOrCreateUser(c, user)
		if err != nil {
			return err
		}
		if err := saveSnapshot(c, u, x, now.UnixMilli()); err != nil {
			return err
		}
		return u.save(c)
	})
}

// SaveMetaSnapshot saves a meta snapshot of a user's snapshots.
func (s *Store) SaveMetaSnapshot(ctx context.Context, user string, x memory.MetaSnapshot) error {
	if err := cmp.Or(memory.CheckUser(user), memory.CheckLine("user", user), x.Normalize(s.clock())); err != nil {
		return err
	}
	return s.write(ctx, func(c *sqlitefile.Conn) error {
		u, err := findOrCreateUser(c, user)
		if err != nil {
			return err
		}
		if err := saveMeta(c, u, x); err != nil {
			return err
		}
		return u.save(c)
	})
}

// extra is a row of table snapshot or meta.
type extra struct {
	table          string
	kind           memory.Kind
	id             string
	category, body string
	text           string
}

// save saves the row and the words of an extra in place of the old one, whose
// references are removed.
func (x *extra) save(c *sqlitefile.Conn, u *user) (key int64, err error) {
	id, err := memory.UUIDOf(x.kind, x.id)
	if err != nil {
		return 0, err
	}
	key, err = x.remove(c, u)
	if err != nil {
		return 0, err
	}
	var at any // a new key, or the one that the old one had
	if key != 0 {
		at = key
	}
	err = c.Exec("INSERT INTO "+x.table+"(key, id, user, number, category, body) VALUES (?, ?, ?, ?, ?, ?)", at, id[:], u.id, u.extras, memory.CategoryKey(x.category), x.body)
	if err != nil {
		return 0, err
	}
	if _, err := c.QueryRow("SELECT last_insert_rowid()", nil, &key); err != nil {
		return 0, err
	}
	lists := packed.Lists{}
	lists.AddExtra(u.extras, x.text)
	u.extras++
	u.changed = true
	return key, indexer{c, u}.addPostings(lists)
}

// remove removes the extra with that id and returns its key, 0 if there was none.
// Another user's is refused.
func (x *extra) remove(c *sqlitefile.Conn, u *user) (key int64, err error) {
	id, err := memory.UUIDOf(x.kind, x.id)
	if err != nil {
		return 0, err
	}
	var owner, number int64
	var body value.Value
	found, err := c.QueryRow("SELECT key, user, number, body FROM "+x.table+" WHERE id = ?", []any{id[:]}, &key, &owner, &number, packed.ScanJSON{Use: func(v value.Value) { body = v }})
	if !found {
		return 0, err
	}
	if owner != u.id {
		return 0, memory.NewForeignIDError(x.id)
	}
	text, err := packed.TextOf(x.kind, body)
	if err != nil {
		return 0, err
	}
	gone := packed.Removed{}
	gone.AddExtra(number, text)
	if err := (indexer{c, u}).removePostings(gone); err != nil {
		return 0, err
	}
	u.generation++
	u.changed = true
	if x.table == "snapshot" {
		err = unlinkMemories(c, u, key)
	} else {
		err = c.Exec("DELETE FROM meta_ref WHERE meta = ?", key)
	}
	if err != nil {
		return 0, err
	}
	return key, c.Exec("DELETE FROM "+x.table+" WHERE key = ?", key)
}

func saveSnapshot(c *sqlitefile.Conn, u *user, s memory.MemorySnapshot, now int64) error {
	x := &extra{"snapshot", memory.SnapshotID, s.ID, s.Category, value.Must(s).JSON(), s.Text()}
	key, err := x.save(c, u)
	if err != nil {
		return err
	}
	for _, ref := range s.MemoryRefs {
		id, err := memory.UUIDOf(memory.MemoryID, ref)
		if err != nil {
			continue // kept in the body, as it is
		}
		if err := linkMemory(c, u, key, id[:]); err != nil {
			return err
		}
	}
	err = c.Exec("INSERT INTO category(user, name, fresh, last) VALUES (?, ?, 0, ?) ON CONFLICT DO UPDATE SET last = excluded.last", u.id, memory.CategoryKey(s.Category), now)
	if err != nil {
		return err
	}
	return countCategories(c, u)
}

// linkMemory links a snapshot to a memory of the same user. The memory then no longer
// waits for a snapshot.
func linkMemory(c *sqlitefile.Conn, u *user, key int64, id []byte) error {
	var rid int64
	var waiting bool
	found, err := c.QueryRow("SELECT rid, NOT EXISTS (SELECT 1 FROM snapshot_ref r WHERE r.rid = m.rid) FROM memory m WHERE id = ? AND rid >> 32 = ?", []any{id, u.id}, &rid, &waiting)
	if !found {
		return err
	}
	if waiting {
		err := c.Exec("UPDATE session SET fresh = max(0, fresh - 1), waits = fresh > 1 WHERE user = ? AND number = (SELECT session FROM memory WHERE rid = ?)", u.id, rid)
		if err != nil {
			return err
		}
	}
	return c.Exec("INSERT OR IGNORE INTO snapshot_ref(snapshot, rid) VALUES (?, ?)", key, rid)
}

// unlinkMemories removes the links of a snapshot. Memories without another one wait
// again.
func unlinkMemories(c *sqlitefile.Conn, u *user, key int64) error {
	var rids []int64
	err := c.QueryRows("SELECT rid FROM snapshot_ref WHERE snapshot = ?", []any{key}, packed.Collect(&rids, packed.Column))
	if err != nil {
		return err
	}
	if err := c.Exec("DELETE FROM snapshot_ref WHERE snapshot = ?", key); err != nil {
		return err
	}
	for _, rid := range rids {
		err := c.Exec(`UPDATE session SET fresh = fresh + 1, waits = 1, after = min(after, ?1) WHERE user = ?2 AND number = (SELECT session FROM memory WHERE rid = ?1)
			AND NOT EXISTS (SELECT 1 FROM snapshot_ref WHERE rid = ?1)`, rid, u.id)
		if err != nil {
			return err
		}
	}
	return nil
}

func saveMeta(c *sqlitefile.Conn, u *user, m memory.MetaSnapshot) error {
	x := &extra{"meta", memory.MetaID, m.ID, m.Category, value.Must(m).JSON(), m.Text()}
	key, err := x.save(c, u)
	if err != nil {
		return err
	}
	for _, ref := range m.SnapshotRefs {
		id, err := memory.UUIDOf(memory.SnapshotID, ref)
		if err != nil {
			continue // kept in the body, as it is
		}
		err = c.Exec("INSERT OR IGNORE INTO meta_ref(meta, snapshot) SELECT ?, key FROM snapshot WHERE id = ? AND user = ?", key, id[:], u.id)
		if err != nil {
			return err
		}
	}
	return countCategories(c, u)
}

// countCategories counts the snapshots that wait for a meta snapshot.
func countCategories(c *sqlitefile.Conn, u *user) error {
	err := c.Exec(`UPDATE category SET fresh = (SELECT count(*) FROM snapshot s WHERE s.user = category.user AND s.category = category.name
		AND NOT EXISTS (SELECT 1 FROM meta_ref WHERE meta_ref.snapshot = s.key)) WHERE user = ?`, u.id)
	if err != nil {
		return err
	}
	return c.Exec("DELETE FROM category WHERE user = ? AND fresh = 0", u.id)
}

// LoadSnapshot returns a snapshot, or nil.
func (s *Store) LoadSnapshot(ctx context.Context, id string) (*memory.MemorySnapshot, error) {
	return loadExtra(ctx, s, "snapshot", memory.SnapshotID, id, packed.DecodeSnapshot)
}

// LoadMetaSnapshot returns a meta snapshot, or nil.
func (s *Store) LoadMetaSnapshot(ctx context.Context, id string) (*memory.MetaSnapshot, error) {
	return loadExtra(ctx, s, "meta", memory.MetaID, id, packed.DecodeMeta)
}

func loadExtra[T any](ctx context.Context, s *Store, table string, kind memory.Kind, id string, decode func(value.Value) (T, error)) (x *T, err error) {
	u, err := memory.UUIDOf(kind, id)
	if err != nil {
		return nil, err
	}
	err = s.db.Read(ctx, func(c *sqlitefile.Conn) error {
		var fresh T
		var bad error
		found, err := c.QueryRow("SELECT body FROM "+table+" WHERE id = ?", []any{u[:]}, packed.ScanJSON{Use: func(v value.Value) { fresh, bad = decode(v) }})
		if found {
			x = &fresh
		}
		return cmp.Or(err, bad)
	})
	return x, err
}

// Snapshots lists snapshots in the order of their ids.
func (s *Store) Snapshots(ctx context.Context, which memory.Selection) iter.Seq2[memory.Owned[memory.MemorySnapshot], error] {
	return listExtras(ctx, s, "snapshot", which, packed.DecodeSnapshot)
}

// MetaSnapshots lists meta snapshots in the order of their ids.
func (s *Store) MetaSnapshots(ctx context.Context, which memory.Selection) iter.Seq2[memory.Owned[memory.MetaSnapshot], error] {
	return listExtras(ctx, s, "meta", which, packed.DecodeMeta)
}

// listExtras reads the rows of a table, some at a time.
func listExtras[T any](ctx context.Context, s *Store, table string, which memory.Selection, decode func(value.Value) (T, error)) iter.Seq2[memory.Owned[T], error] {
	return packed.ListPages(func(after []byte) (page []memory.Owned[T], last []byte, err error) {
		where, args, err := whereExtras(table, which)
		if err != nil {
			return nil, nil, err
		}
		query := "SELECT " + table + ".id, name, body FROM " + table + " JOIN user ON user.id = user WHERE " + where + table + ".id > ? ORDER BY " + table + ".id LIMIT ?"
		err = s.db.Read(ctx, func(c *sqlitefile.Conn) error {
			return c.QueryRows(query, append(args, after, packed.PageSize), func(scan func(...any) error) error {
				var x memory.Owned[T]
				var bad error
				err := scan(&last, &x.User, packed.ScanJSON{Use: func(v value.Value) { x.Snapshot, bad = decode(v) }})
				page = append(page, x)
				return cmp.Or(err, bad)
			})
		})
		return page, last, err
	})
}

// whereExtras returns the condition of a selection, as far as it applies to snapshots.
func whereExtras(table string, which memory.Selection) (where string, args []any, err error) {
	if err := which.Users.Check(); err != nil {
		return "", nil, err
	}
	if which.ID != "" {
		id, err := memory.UUIDOf(memory.Kind(table), which.ID)
		if err != nil {
			return "", nil, err
		}
		where, args = table+".id = ? AND ", append(args, id[:])
	}
	if name, one := which.Users.One(); one {
		where, args = where+"name = ? AND ", append(args, name)
	}
	if which.Category != "" {
		where, args = where+"category = ? AND ", append(args, memory.CategoryKey(which.Category))
	}
	return where, args, nil
}
