package postgres

import (
	"context"
	"time"

	"github.com/callnode/scheduler/calls/memory"
	"github.com/callnode/scheduler/calls/memory/internal/packed"
	"github.com/callnode/scheduler/calls/pgdb"
)

// SaveMemories saves all or none.
func (s *Store) SaveMemories(ctx context.Context, list []memory.BaseMemory) ([]memory.Saved, error) {
	now := s.clock()
	rows := make([]packed.Row, len(list))
	for i := range list {
		if i&0xff == 0 && ctx.Err() != nil {
			return nil, ctx.Err()
		}
		if err := prepareRow(&rows[i], list[i], now); err != nil {
			return nil, memory.WrapIndex(i, len(list), err)
		}
	}
	if len(rows) == 0 {
		return []memory.Saved{}, nil
	}
	var b *batch
	err := s.repeat(ctx, pgdb.Change{
		Single: true, // the batch begins and ends the transaction itself, to save round trips
		Do: func(c *pgdb.Conn) error {
			b = newBatch(c, now, rows)
			err := b.run(ctx)
			if err != nil {
				rollBack(ctx, c)
			}
			return err
		},
		Committed: func(c *pgdb.Conn) (bool, error) { return b.wasCommitted(ctx, c) },
	})
	if err != nil {
		return nil, err
	}
	for _, name := range b.toFold {
		s.requestFold(name)
	}
	return b.saved, nil
}

func prepareRow(r *packed.Row, m memory.BaseMemory, now time.Time) error {
	if err := r.Prepare(m, now); err != nil {
		return err
	}
	if err := checkName("user", m.Context.UserID); err != nil {
		return err
	}
	return checkName("session", m.Context.SessionID)
}

// run saves the rows in a transaction of its own.
func (b *batch) run(ctx context.Context) error {
	if err := b.load(ctx); err != nil {
		return err
	}
	for i := range b.rows {
		var err error
		b.saved[i], err = b.saveOne(ctx, &b.rows[i])
		if err != nil {
			return memory.WrapIndex(i, len(b.rows), err)
		}
	}
	return b.store(ctx)
}
