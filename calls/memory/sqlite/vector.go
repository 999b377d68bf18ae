package sqlite

import (
	"context"
	"database/sql"
	"math"
	"time"

	"github.com/callnode/scheduler/calls/memory"
	"github.com/callnode/scheduler/calls/memory/vector"
	"github.com/callnode/scheduler/calls/sqlitefile"
)

// UseModel makes a model the one in use.
func (s *Store) UseModel(ctx context.Context, m memory.Model) error {
	return s.write(ctx, func(c *sqlitefile.Conn) error {
		err := c.Exec(`INSERT INTO model(name, dimensions, unrelated, related, used) VALUES (?, ?, ?, ?, 1)
			ON CONFLICT(name) DO UPDATE SET dimensions = excluded.dimensions, unrelated = excluded.unrelated, related = excluded.related, used = 1`,
			m.Name, m.Dimensions, m.Unrelated, m.Related)
		if err != nil {
			return err
		}
		if err := c.Exec("UPDATE model SET used = 0 WHERE name <> ?", m.Name); err != nil {
			return err
		}
		return c.Exec(`INSERT OR IGNORE INTO unembedded(rid) SELECT rid FROM memory
			WHERE NOT EXISTS (SELECT 1 FROM vector v WHERE v.rid = memory.rid AND v.model = (SELECT number FROM model WHERE used))`)
	})
}

// Model returns the one in use.
func (s *Store) Model(ctx context.Context) (m memory.Model, err error) {
	err = s.db.Read(ctx, func(c *sqlitefile.Conn) error {
		_, err := c.QueryRow("SELECT name, dimensions, unrelated, related FROM model WHERE used", nil, &m.Name, &m.Dimensions, &m.Unrelated, &m.Related)
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
	err = s.db.Read(ctx, func(c *sqlitefile.Conn) error {
		waiting, err = c.QueryRow("SELECT 1 FROM unembedded LIMIT 1", nil, new(int))
		return err
	})
	if err != nil || !waiting {
		return nil, err
	}
	err = s.write(ctx, func(c *sqlitefile.Conn) error {
		from, until := int64(0), int64(math.MaxInt64)
		if name, one := claim.Users.One(); one {
			u, err := findUser(c, name)
			if u == nil {
				return err
			}
			from, until = u.rid(0), u.rid(0)|math.MaxUint32
		}
		rids := []int64{}
		err := c.QueryRows("SELECT rid, attempts FROM unembedded WHERE rid BETWEEN ? AND ? AND not_before <= ? ORDER BY rid LIMIT ?",
			[]any{from, until, claim.Now.UnixMilli(), n}, func(scan func(...any) error) error {
				var rid int64
				var x memory.Embedding
				err := scan(&rid, &x.Attempts)
				rids, list = append(rids, rid), append(list, x)
				return err
			})
		if err != nil {
			return err
		}
		for i, rid := range rids {
			m, err := loadMemory(c, rid)
			if m == nil {
				return missingMemoryError(err)
			}
			list[i].ID, list[i].Text = m.ID, m.EmbeddedText()
			if err := c.Exec("UPDATE unembedded SET not_before = ? WHERE rid = ?", claim.Now.Add(claim.Lease).UnixMilli(), rid); err != nil {
				return err
			}
		}
		return nil
	})
	return list, err
}

// missingMemoryError returns the error for a memory that must exist.
func missingMemoryError(err error) error {
	if err == nil {
		return errIndex
	}
	return err
}

// SaveEmbeddings stores vectors.
func (s *Store) SaveEmbeddings(ctx context.Context, model string, list []memory.Embedding) error {
	packed := make([][]byte, len(list))
	for i := range list {
		packed[i] = vector.Pack(list[i].Vector)
	}
	return s.write(ctx, func(c *sqlitefile.Conn) error {
		var number int64
		if used, err := c.QueryRow("SELECT number FROM model WHERE used AND name = ?", []any{model}, &number); !used {
			return err
		}
		return eachWaiting(c, list, func(i int, rid int64, m *memory.BaseMemory) error {
			if m.EmbeddedText() != list[i].Text {
				return nil // it has changed, and waits for another vector
			}
			err := c.Exec("INSERT INTO vector(rid, model, data) VALUES (?, ?, ?) ON CONFLICT DO UPDATE SET model = excluded.model, data = excluded.data",
				rid, number, packed[i])
			if err != nil {
				return err
			}
			return c.Exec("DELETE FROM unembedded WHERE rid = ?", rid)
		})
	})
}

// PostponeEmbeddings lets memories wait.
func (s *Store) PostponeEmbeddings(ctx context.Context, list []memory.Embedding, until time.Time) error {
	return s.write(ctx, func(c *sqlitefile.Conn) error {
		return eachWaiting(c, list, func(i int, rid int64, _ *memory.BaseMemory) error {
			return c.Exec("UPDATE unembedded SET not_before = ?, attempts = ? WHERE rid = ?", until.UnixMilli(), list[i].Attempts, rid)
		})
	})
}

// eachWaiting calls each with the memories of a list that exist and still wait.
func eachWaiting(c *sqlitefile.Conn, list []memory.Embedding, each func(i int, rid int64, m *memory.BaseMemory) error) error {
	for i := range list {
		id, err := memory.UUIDOf(memory.MemoryID, list[i].ID)
		if err != nil {
			return err
		}
		var rid int64
		found, err := c.QueryRow("SELECT rid FROM memory JOIN unembedded USING (rid) WHERE id = ?", []any{id[:]}, &rid)
		if err != nil {
			return err
		}
		if !found {
			continue
		}
		m, err := loadMemory(c, rid)
		if m == nil {
			return missingMemoryError(err)
		}
		if err := each(i, rid, m); err != nil {
			return err
		}
	}
	return nil
}

// Vectors is part of [memory.UserIndex].
func (v *view) Vectors(ctx context.Context, model string, each func(seq uint32, packed []byte)) error {
	u := user{id: v.user}
	n := 0
	return v.conn.QueryRows("SELECT rid, data FROM vector WHERE rid BETWEEN ? AND ? AND model = (SELECT number FROM model WHERE name = ?)",
		[]any{u.rid(0), u.rid(0) | math.MaxUint32, model}, func(scan func(...any) error) error {
			n++
			if n&0x3ff == 0 && ctx.Err() != nil {
				return ctx.Err()
			}
			var rid int64
			var packed sql.RawBytes
			if err := scan(&rid, &packed); err != nil {
				return err
			}
			each(uint32(rid), packed)
			return nil
		})
}
