package sqlmemory

import (
	"context"
	"slices"
	"time"

	"github.com/callnode/scheduler/calls/database"
	"github.com/callnode/scheduler/calls/memory"
	"github.com/callnode/scheduler/calls/memory/vector"
)

// UseModel makes a model the one in use. If it is in use already, nothing changes.
func (s *Store) UseModel(ctx context.Context, m memory.Model) error {
	if used, err := s.Model(ctx); err != nil || used == m {
		return err
	}
	return s.db.change(ctx, func(c conn) error {
		return c.Pipeline(append(s.db.lockModels(),
			database.Statement{Query: "UPDATE memory_model SET used = false WHERE name <> $1", Args: []any{c.d.encode(m.Name)}},
			database.Statement{Query: `INSERT INTO memory_model(name, dimensions, unrelated, related, used) VALUES ($1, $2, $3, $4, true)
				ON CONFLICT (name) DO UPDATE SET dimensions = excluded.dimensions, unrelated = excluded.unrelated, related = excluded.related, used = true`,
				Args: []any{c.d.encode(m.Name), m.Dimensions, m.Unrelated, m.Related}},
			database.Statement{Query: `INSERT INTO memory_unembedded(rid) SELECT rid FROM memory
				WHERE NOT EXISTS (SELECT 1 FROM memory_vector v WHERE v.rid = memory.rid AND v.model = (SELECT number FROM memory_model WHERE used))
				ON CONFLICT DO NOTHING`})...)
	})
}

// Model returns the one in use.
func (s *Store) Model(ctx context.Context) (m memory.Model, err error) {
	err = s.db.read(ctx, func(c conn) error {
		m = memory.Model{}
		_, err := c.QueryRow("SELECT name, dimensions, unrelated, related FROM memory_model WHERE used", nil, c.scanText(&m.Name), &m.Dimensions, &m.Unrelated, &m.Related)
		return err
	})
	return m, err
}

// Unembedded reserves memories that wait for their vector.
func (s *Store) Unembedded(ctx context.Context, claim memory.Claim, n int) (list []memory.Embedding, err error) {
	if err := claim.Users.Check(); err != nil {
		return nil, err
	}
	// Most of the time no memory waits: that needs no write.
	waiting := false
	err = s.db.read(ctx, func(c conn) (err error) {
		waiting, err = c.QueryRow("SELECT 1 FROM memory_unembedded LIMIT 1", nil, new(int))
		return err
	})
	if err != nil || !waiting {
		return nil, err
	}
	err = s.db.change(ctx, func(c conn) error {
		list = nil
		first, last, found, err := findRids(c, claim.Users)
		if !found || err != nil {
			return err
		}
		var rids []int64
		attempts := map[int64]int{}
		err = c.QueryRows(`UPDATE memory_unembedded SET not_before = $1 WHERE rid IN (SELECT rid FROM memory_unembedded
			WHERE rid BETWEEN $2 AND $3 AND not_before <= $4 ORDER BY rid LIMIT $5 FOR UPDATE SKIP LOCKED) RETURNING rid, attempts`,
			[]any{claim.Now.Add(claim.Lease).UnixMilli(), first, last, claim.Now.UnixMilli(), n}, func(scan func(...any) error) error {
				var rid int64
				var tried int
				err := scan(&rid, &tried)
				rids, attempts[rid] = append(rids, rid), tried
				return err
			})
		if err != nil || len(rids) == 0 {
			return err
		}
		slices.Sort(rids)
		memories, err := loadMemories(c, rids)
		for _, rid := range rids {
			if m := memories[rid]; m != nil {
				list = append(list, memory.Embedding{ID: m.ID, Text: m.EmbeddedText(), Attempts: attempts[rid]})
			} else if err == nil {
				err = s.db.indexError()
			}
		}
		return err
	})
	return list, err
}

// SaveEmbeddings stores vectors.
func (s *Store) SaveEmbeddings(ctx context.Context, model string, list []memory.Embedding) error {
	vectors := make([][]byte, len(list))
	for i := range list {
		vectors[i] = vector.Pack(list[i].Vector)
	}
	return s.db.change(ctx, func(c conn) error {
		var number int64
		if used, err := c.QueryRow("SELECT number FROM memory_model WHERE used AND name = $1", []any{c.d.encode(model)}, &number); !used {
			return err
		}
		waiting, err := lockWaiting(c, list)
		if err != nil {
			return err
		}
		var statements []database.Statement
		for i := range list {
			m := waiting[list[i].ID]
			if m == nil || m.EmbeddedText() != list[i].Text {
				continue // it is gone, or has changed and waits for another vector
			}
			waiting[list[i].ID] = nil // the first of a list with the same one twice
			statements = append(statements,
				database.Statement{Query: `INSERT INTO memory_vector(rid, model, data) VALUES ($1, $2, $3)
					ON CONFLICT (rid) DO UPDATE SET model = excluded.model, data = excluded.data`, Args: []any{m.rid, number, vectors[i]}},
				database.Statement{Query: "DELETE FROM memory_unembedded WHERE rid = $1", Args: []any{m.rid}})
		}
		return c.Pipeline(statements...)
	})
}

// PostponeEmbeddings lets memories wait.
func (s *Store) PostponeEmbeddings(ctx context.Context, list []memory.Embedding, until time.Time) error {
	return s.db.change(ctx, func(c conn) error {
		waiting, err := lockWaiting(c, list)
		if err != nil {
			return err
		}
		var statements []database.Statement
		for i := range list {
			if m := waiting[list[i].ID]; m != nil {
				waiting[list[i].ID] = nil
				statements = append(statements, database.Statement{
					Query: "UPDATE memory_unembedded SET not_before = $1, attempts = $2 WHERE rid = $3",
					Args:  []any{until.UnixMilli(), list[i].Attempts, m.rid},
				})
			}
		}
		return c.Pipeline(statements...)
	})
}

// lockWaiting locks the users of memories, so that their texts do not change, and returns the ones that exist and
// still wait, by their ids.
func lockWaiting(c conn, list []memory.Embedding) (map[string]*storedMemory, error) {
	ids := make([]string, len(list))
	for i := range list {
		ids[i] = list[i].ID
		if _, err := memory.UUIDOf(memory.MemoryID, ids[i]); err != nil {
			return nil, err
		}
	}
	uuids := uuidsOf(memory.MemoryID, ids)
	waiting := map[string]*storedMemory{}
	load := database.Statement{Query: selectMemory + " JOIN memory_unembedded w ON w.rid = m.rid WHERE m.id = ANY($1)", Any: uuids, Each: func(scan func(...any) error) error {
		m := &storedMemory{}
		err := scan(c.memoryColumns(&m.rid, &m.BaseMemory)...)
		waiting[m.ID] = m
		return err
	}}
	return waiting, c.Pipeline(append(c.d.lockOwners(uuids), load)...)
}
