package postgres

import (
	"context"
	"math"
	"time"

	"github.com/callnode/scheduler/calls/memory"
	"github.com/callnode/scheduler/calls/memory/vector"
	"github.com/callnode/scheduler/calls/pgdb"
)

// UseModel makes a model the one in use. Where it is already, nothing waits for anything.
func (s *Store) UseModel(ctx context.Context, m memory.Model) error {
	if used, err := s.Model(ctx); err != nil || used == m {
		return err
	}
	return s.write(ctx, func(c *pgdb.Conn) error {
		return c.Pipeline(ctx,
			// Whoever saves at the same time would not know of the model.
			pgdb.Statement{Query: "LOCK TABLE memory_user IN EXCLUSIVE MODE"},
			pgdb.Statement{Query: "UPDATE memory_model SET used = false WHERE name <> $1", Args: []any{encodeText(m.Name)}},
			pgdb.Statement{Query: `INSERT INTO memory_model(name, dimensions, unrelated, related, used) VALUES ($1, $2, $3, $4, true)
				ON CONFLICT (name) DO UPDATE SET dimensions = excluded.dimensions, unrelated = excluded.unrelated, related = excluded.related, used = true`,
				Args: []any{encodeText(m.Name), m.Dimensions, m.Unrelated, m.Related}},
			pgdb.Statement{Query: `INSERT INTO memory_unembedded(rid) SELECT rid FROM memory
				WHERE NOT EXISTS (SELECT 1 FROM memory_vector v WHERE v.rid = memory.rid AND v.model = (SELECT number FROM memory_model WHERE used))
				ON CONFLICT DO NOTHING`},
		)
	})
}

// Model returns the one in use.
func (s *Store) Model(ctx context.Context) (m memory.Model, err error) {
	err = s.db.Read(ctx, func(c *pgdb.Conn) error {
		m = memory.Model{}
		_, err := c.QueryRow(ctx, "SELECT name, dimensions, unrelated, related FROM memory_model WHERE used", nil, scanText{&m.Name}, &m.Dimensions, &m.Unrelated, &m.Related)
		return err
	})
	return m, err
}

// Unembedded reserves memories that wait for their vector.
func (s *Store) Unembedded(ctx context.Context, claim memory.Claim, n int) (list []memory.Embedding, err error) {
	if err := claim.Users.Check(); err != nil {
		return nil, err
	}
	// Most of the time there is none: no need to write for that.
	waiting := false
	err = s.db.Read(ctx, func(c *pgdb.Conn) (err error) {
		waiting, err = c.QueryRow(ctx, "SELECT 1 FROM memory_unembedded LIMIT 1", nil, new(int))
		return err
	})
	if err != nil || !waiting {
		return nil, err
	}
	err = s.write(ctx, func(c *pgdb.Conn) error {
		list = nil
		from, until := int64(0), int64(math.MaxInt64)
		if name, one := claim.Users.One(); one {
			id, _, err := findIndex(ctx, c, name)
			if id == 0 || err != nil {
				return err
			}
			from, until = ridOf(id, 0), ridOf(id, lastSeq)
		}
		var rids []int64
		attempts := map[int64]int{}
		err := c.QueryRows(ctx, `UPDATE memory_unembedded SET not_before = $1 WHERE rid IN (SELECT rid FROM memory_unembedded
			WHERE rid BETWEEN $2 AND $3 AND not_before <= $4 ORDER BY rid LIMIT $5 FOR UPDATE SKIP LOCKED) RETURNING rid, attempts`,
			[]any{claim.Now.Add(claim.Lease).UnixMilli(), from, until, claim.Now.UnixMilli(), n}, func(scan func(...any) error) error {
				var rid int64
				var tried int
				err := scan(&rid, &tried)
				rids, attempts[rid] = append(rids, rid), tried
				return err
			})
		if err != nil || len(rids) == 0 {
			return err
		}
		return c.QueryRows(ctx, selectMemory+" WHERE m.rid = ANY($1) ORDER BY m.rid", []any{rids}, func(scan func(...any) error) error {
			var rid int64
			var m memory.BaseMemory
			err := scan(memoryColumns(&rid, &m)...)
			list = append(list, memory.Embedding{ID: m.ID, Text: m.EmbeddedText(), Attempts: attempts[rid]})
			return err
		})
	})
	return list, err
}

// SaveEmbeddings stores vectors.
func (s *Store) SaveEmbeddings(ctx context.Context, model string, list []memory.Embedding) error {
	vectors := make([][]byte, len(list))
	for i := range list {
		vectors[i] = vector.Pack(list[i].Vector)
	}
	return s.write(ctx, func(c *pgdb.Conn) error {
		var number int64
		if used, err := c.QueryRow(ctx, "SELECT number FROM memory_model WHERE used AND name = $1", []any{encodeText(model)}, &number); !used {
			return err
		}
		waiting, err := lockWaiting(ctx, c, list)
		if err != nil {
			return err
		}
		var rids []int64
		var data [][]byte
		for i := range list {
			m := waiting[list[i].ID]
			if m == nil || m.EmbeddedText() != list[i].Text {
				continue // it is gone, or has changed and waits for another vector
			}
			waiting[list[i].ID] = nil // the first of a list with the same one twice
			rids, data = append(rids, m.rid), append(data, vectors[i])
		}
		return c.Pipeline(ctx,
			pgdb.Statement{Query: `INSERT INTO memory_vector(rid, model, data) SELECT rid, $1, data FROM unnest($2::bigint[], $3::bytea[]) v(rid, data)
				ON CONFLICT (rid) DO UPDATE SET model = excluded.model, data = excluded.data`, Args: []any{number, rids, data}},
			pgdb.Statement{Query: "DELETE FROM memory_unembedded WHERE rid = ANY($1)", Args: []any{rids}},
		)
	})
}

// PostponeEmbeddings lets memories wait.
func (s *Store) PostponeEmbeddings(ctx context.Context, list []memory.Embedding, until time.Time) error {
	return s.write(ctx, func(c *pgdb.Conn) error {
		waiting, err := lockWaiting(ctx, c, list)
		if err != nil {
			return err
		}
		var rids, attempts []int64
		for i := range list {
			if m := waiting[list[i].ID]; m != nil {
				waiting[list[i].ID] = nil
				rids, attempts = append(rids, m.rid), append(attempts, int64(list[i].Attempts))
			}
		}
		_, err = c.Exec(ctx, `UPDATE memory_unembedded u SET not_before = $1, attempts = w.attempts
			FROM unnest($2::bigint[], $3::bigint[]) w(rid, attempts) WHERE u.rid = w.rid`, until.UnixMilli(), rids, attempts)
		return err
	})
}

// lockWaiting locks the users of memories, so that no one changes their texts, and returns
// those that exist and still wait, by their ids.
func lockWaiting(ctx context.Context, c *pgdb.Conn, list []memory.Embedding) (map[string]*storedMemory, error) {
	ids := make([][]byte, len(list))
	for i := range list {
		id, err := memory.UUIDOf(memory.MemoryID, list[i].ID)
		if err != nil {
			return nil, err
		}
		ids[i] = id[:]
	}
	waiting := map[string]*storedMemory{}
	err := c.Pipeline(ctx,
		pgdb.Statement{Query: "SELECT 1 FROM memory_user WHERE id IN (SELECT rid >> 32 FROM memory WHERE id = ANY($1)) ORDER BY id FOR UPDATE", Args: []any{ids}},
		pgdb.Statement{Query: selectMemory + " JOIN memory_unembedded w ON w.rid = m.rid WHERE m.id = ANY($1)", Args: []any{ids}, Each: func(scan func(...any) error) error {
			m := &storedMemory{}
			err := scan(memoryColumns(&m.rid, &m.BaseMemory)...)
			waiting[m.ID] = m
			return err
		}},
	)
	return waiting, err
}

// Vectors is part of [memory.UserIndex].
func (v *view) Vectors(ctx context.Context, model string, each func(seq uint32, packed []byte)) error {
	if v.ended {
		return errEnded
	}
	return v.conn.QueryRows(ctx, "SELECT rid, data FROM memory_vector WHERE rid BETWEEN $1 AND $2 AND model = (SELECT number FROM memory_model WHERE name = $3)",
		[]any{ridOf(v.user, 0), ridOf(v.user, lastSeq), encodeText(model)}, func(scan func(...any) error) error {
			var rid int64
			var data []byte
			if err := scan(&rid, &data); err != nil {
				return err
			}
			each(uint32(rid), data) //nolint:gosec // the lower half is the number
			return nil
		})
}
