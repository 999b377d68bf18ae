package sqlmemory

import (
	"cmp"
	"context"
	"fmt"
	"iter"
	"slices"
	"strconv"

	"github.com/google/uuid"

	"github.com/callnode/scheduler/calls/database"
	"github.com/callnode/scheduler/calls/memory"
	"github.com/callnode/scheduler/calls/memory/internal/packed"
	"github.com/callnode/scheduler/llm/value"
)

// SaveSnapshot saves a snapshot of a user's memories.
func (s *Store) SaveSnapshot(ctx context.Context, user string, x memory.MemorySnapshot) error {
	now := s.clock()
	if err := cmp.Or(memory.CheckUser(user), memory.CheckLine("user", user), s.db.checkName("user", user), x.Normalize(now)); err != nil {
		return err
	}
	return s.db.change(ctx, func(c conn) error {
		u, err := lockUser(c, user, true)
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
	if err := cmp.Or(memory.CheckUser(user), memory.CheckLine("user", user), s.db.checkName("user", user), x.Normalize(s.clock())); err != nil {
		return err
	}
	return s.db.change(ctx, func(c conn) error {
		u, err := lockUser(c, user, true)
		if err != nil {
			return err
		}
		if err := saveMeta(c, u, x); err != nil {
			return err
		}
		return u.save(c)
	})
}

// The tables of snapshots and meta snapshots.
const (
	snapshotTable = "memory_snapshot"
	metaTable     = "memory_meta"
)

// extra is a row of a table of snapshots.
type extra struct {
	table          string
	kind           memory.Kind
	id             string
	category, body string
	text           string
}

// save saves the row and the words of an extra in place of the old one, whose
// references are removed.
func (x *extra) save(c conn, u *user) (key int64, err error) {
	id, err := memory.UUIDOf(x.kind, x.id)
	if err != nil {
		return 0, err
	}
	key, err = x.remove(c, u)
	if err != nil {
		return 0, err
	}
	columns, values := "id, owner, number, category, body", "$1, $2, $3, $4, $5"
	args := []any{id[:], u.id, u.extras, c.d.keyOf(memory.CategoryKey(x.category)), c.d.encode(x.body)}
	if key != 0 { // the key of the old one
		columns, values, args = columns+", key", values+", $6", append(args, key)
	}
	_, err = c.QueryRow("INSERT INTO "+x.table+"("+columns+") VALUES ("+values+") RETURNING key", args, &key)
	if err != nil {
		return 0, err
	}
	lists := packed.Lists{}
	lists.AddExtra(u.extras, x.text)
	u.extras++
	u.changed = true
	return key, indexer{c, u}.addPostings(lists)
}

// remove removes the extra with that id and returns its key, 0 if the id is unknown. Another user's is refused.
func (x *extra) remove(c conn, u *user) (key int64, err error) {
	id, err := memory.UUIDOf(x.kind, x.id)
	if err != nil {
		return 0, err
	}
	var owner, number int64
	var body value.Value
	found, err := c.QueryRow("SELECT key, owner, number, body FROM "+x.table+" WHERE id = $1", []any{id[:]}, &key, &owner, &number, c.scanJSON(func(v value.Value) error { body = v; return nil }))
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
	if x.table == snapshotTable {
		err = unlinkMemories(c, u, key)
	} else {
		_, err = c.Exec("DELETE FROM memory_meta_ref WHERE meta = $1", key)
	}
	if err != nil {
		return 0, err
	}
	_, err = c.Exec("DELETE FROM "+x.table+" WHERE key = $1", key)
	return key, err
}

// uuidsOf returns the UUIDs of ids, each once. A text that is not an id stays unchanged in the body.
func uuidsOf(kind memory.Kind, ids []string) (list [][]byte) {
	seen := map[uuid.UUID]bool{}
	for _, id := range ids {
		if u, err := memory.UUIDOf(kind, id); err == nil && !seen[u] {
			seen[u] = true
			list = append(list, u[:])
		}
	}
	return list
}

func saveSnapshot(c conn, u *user, s memory.MemorySnapshot, now int64) error {
	x := &extra{snapshotTable, memory.SnapshotID, s.ID, s.Category, value.Must(s).JSON(), s.Text()}
	key, err := x.save(c, u)
	if err != nil {
		return err
	}
	refs := uuidsOf(memory.MemoryID, s.MemoryRefs)
	err = c.Pipeline(
		// The memories no longer wait for a snapshot, if they did.
		database.Statement{Query: `UPDATE memory_session AS s SET fresh = greatest(0, s.fresh - w.n), waits = s.fresh > w.n
			FROM (SELECT session, CAST(count(*) AS integer) AS n FROM memory m WHERE id = ANY($1) AND rid >> 32 = $2
				AND NOT EXISTS (SELECT 1 FROM memory_snapshot_ref r WHERE r.rid = m.rid) GROUP BY session) AS w
			WHERE s.owner = $2 AND s.number = w.session`, Any: refs, Args: []any{u.id}},
		database.Statement{Query: `INSERT INTO memory_snapshot_ref(snapshot, rid) SELECT $2, rid FROM memory WHERE id = ANY($1) AND rid >> 32 = $3
			ON CONFLICT DO NOTHING`, Any: refs, Args: []any{key, u.id}},
		database.Statement{Query: `INSERT INTO memory_category(owner, name, fresh, last) VALUES ($1, $2, 0, $3)
			ON CONFLICT (owner, name) DO UPDATE SET last = excluded.last`, Args: []any{u.id, c.d.keyOf(memory.CategoryKey(s.Category)), now}},
	)
	if err != nil {
		return err
	}
	return countCategories(c, u)
}

// unlinkMemories removes the links of a snapshot. Memories without another one wait
// again.
func unlinkMemories(c conn, u *user, key int64) error {
	var rids []int64
	err := c.QueryRows("DELETE FROM memory_snapshot_ref WHERE snapshot = $1 RETURNING rid", []any{key}, packed.Collect(&rids, packed.Column))
	if err != nil {
		return err
	}
	return c.Pipeline(database.Statement{Query: `UPDATE memory_session AS s SET fresh = s.fresh + w.n, waits = true, after = least(s.after, w.first)
		FROM (SELECT session, CAST(count(*) AS integer) AS n, min(rid) AS first FROM memory m WHERE rid = ANY($1)
			AND NOT EXISTS (SELECT 1 FROM memory_snapshot_ref r WHERE r.rid = m.rid) GROUP BY session) AS w
		WHERE s.owner = $2 AND s.number = w.session`, Any: rids, Args: []any{u.id}})
}

func saveMeta(c conn, u *user, m memory.MetaSnapshot) error {
	x := &extra{metaTable, memory.MetaID, m.ID, m.Category, value.Must(m).JSON(), m.Text()}
	key, err := x.save(c, u)
	if err != nil {
		return err
	}
	err = c.Pipeline(database.Statement{Query: `INSERT INTO memory_meta_ref(meta, snapshot) SELECT $2, key FROM memory_snapshot WHERE id = ANY($1) AND owner = $3
		ON CONFLICT DO NOTHING`, Any: uuidsOf(memory.SnapshotID, m.SnapshotRefs), Args: []any{key, u.id}})
	if err != nil {
		return err
	}
	return countCategories(c, u)
}

// countCategories counts the snapshots that wait for a meta snapshot.
func countCategories(c conn, u *user) error {
	return c.Pipeline(
		database.Statement{Query: `UPDATE memory_category AS c SET fresh = (SELECT count(*) FROM memory_snapshot s WHERE s.owner = c.owner AND s.category = c.name
			AND NOT EXISTS (SELECT 1 FROM memory_meta_ref r WHERE r.snapshot = s.key)) WHERE owner = $1`, Args: []any{u.id}},
		database.Statement{Query: "DELETE FROM memory_category WHERE owner = $1 AND fresh = 0", Args: []any{u.id}},
	)
}

// LoadSnapshot returns a snapshot, or nil.
func (s *Store) LoadSnapshot(ctx context.Context, id string) (*memory.MemorySnapshot, error) {
	return loadExtra(ctx, s, snapshotTable, memory.SnapshotID, id, packed.DecodeSnapshot)
}

// LoadMetaSnapshot returns a meta snapshot, or nil.
func (s *Store) LoadMetaSnapshot(ctx context.Context, id string) (*memory.MetaSnapshot, error) {
	return loadExtra(ctx, s, metaTable, memory.MetaID, id, packed.DecodeMeta)
}

func loadExtra[T any](ctx context.Context, s *Store, table string, kind memory.Kind, id string, decode func(value.Value) (T, error)) (x *T, err error) {
	u, err := memory.UUIDOf(kind, id)
	if err != nil {
		return nil, err
	}
	err = s.db.read(ctx, func(c conn) error {
		var fresh T
		found, err := c.QueryRow("SELECT body FROM "+table+" WHERE id = $1", []any{u[:]}, scanInto(c, &fresh, decode))
		x = nil
		if found {
			x = &fresh
		}
		return err
	})
	return x, err
}

// Snapshots lists snapshots in the order of their ids.
func (s *Store) Snapshots(ctx context.Context, which memory.Selection) iter.Seq2[memory.Owned[memory.MemorySnapshot], error] {
	return listExtras(ctx, s, snapshotTable, memory.SnapshotID, which, packed.DecodeSnapshot)
}

// MetaSnapshots lists meta snapshots in the order of their ids.
func (s *Store) MetaSnapshots(ctx context.Context, which memory.Selection) iter.Seq2[memory.Owned[memory.MetaSnapshot], error] {
	return listExtras(ctx, s, metaTable, memory.MetaID, which, packed.DecodeMeta)
}

// listExtras reads the rows of a table, some at a time.
func listExtras[T any](ctx context.Context, s *Store, table string, kind memory.Kind, which memory.Selection, decode func(value.Value) (T, error)) iter.Seq2[memory.Owned[T], error] {
	return packed.ListPages(func(after []byte) (page []memory.Owned[T], last []byte, err error) {
		where, with, err := s.whereExtras(kind, which)
		if err != nil {
			return nil, nil, err
		}
		query := "SELECT x.id, u.name, x.body FROM " + table + " x JOIN memory_user u ON u.id = x.owner WHERE x.id > $1" + where +
			" ORDER BY x.id LIMIT " + strconv.Itoa(packed.PageSize)
		err = s.db.read(ctx, func(c conn) error {
			page = nil
			return c.QueryRows(query, slices.Concat([]any{after}, with), func(scan func(...any) error) error {
				var x memory.Owned[T]
				err := scan(&last, c.scanText(&x.User), scanInto(c, &x.Snapshot, decode))
				page = append(page, x)
				return err
			})
		})
		return page, last, err
	})
}

// whereExtras returns the conditions of a selection, as far as it applies to snapshots; their
// arguments begin with $2.
func (s *Store) whereExtras(kind memory.Kind, which memory.Selection) (where string, args []any, err error) {
	if err := which.Users.Check(); err != nil {
		return "", nil, err
	}
	add := func(condition string, arg any) {
		args = append(args, arg)
		where += fmt.Sprintf(" AND "+condition, 1+len(args))
	}
	if which.ID != "" {
		id, err := memory.UUIDOf(kind, which.ID)
		if err != nil {
			return "", nil, err
		}
		add("x.id = $%d", id[:])
	}
	if name, one := which.Users.One(); one {
		add("u.name = $%d", s.db.encode(name))
	}
	if which.Category != "" {
		add("x.category = $%d", s.db.keyOf(memory.CategoryKey(which.Category)))
	}
	return where, args, nil
}
