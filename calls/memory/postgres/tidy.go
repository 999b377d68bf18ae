package postgres

import (
	"context"
	"maps"
	"slices"

	"github.com/callnode/scheduler/calls/pgdb"
)

// requestFold has the new memories of a user folded in the background.
func (s *Store) requestFold(name string) {
	s.mu.Lock()
	s.toFold[name] = true
	s.mu.Unlock()
	s.startTidying()
}

// requestVacuum has the space of what was deleted made free in the background.
func (s *Store) requestVacuum() {
	s.mu.Lock()
	s.mustVacuum = true
	s.mu.Unlock()
	s.startTidying()
}

// startTidying starts the goroutine that tidies up, unless it runs.
func (s *Store) startTidying() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.tidying || s.closed {
		return
	}
	s.tidying = true
	s.tidy.Go(func() {
		for s.tidyUp() {
		}
	})
}

// tidyUp does what was requested, and reports whether there may be more.
func (s *Store) tidyUp() (more bool) {
	s.mu.Lock()
	users, vacuum := slices.Sorted(maps.Keys(s.toFold)), s.mustVacuum
	clear(s.toFold)
	s.mustVacuum = false
	if len(users) == 0 && !vacuum {
		s.tidying = false
		s.mu.Unlock()
		return false
	}
	s.mu.Unlock()
	for _, name := range users {
		if err := s.foldUser(s.tidyCtx, name); err != nil && s.tidyCtx.Err() == nil {
			s.log.Warn("the words of new memories could not be packed; it is tried again with the next ones", "err", err)
		}
	}
	if vacuum {
		if err := s.vacuum(s.tidyCtx); err != nil && s.tidyCtx.Err() == nil {
			s.log.Warn("the space of deleted memories could not be made free; autovacuum will do it", "err", err)
		}
	}
	return true
}

// foldUser folds the memories of a user, unless another program changes that user: it will
// ask for a fold itself.
func (s *Store) foldUser(ctx context.Context, name string) error {
	return s.write(ctx, func(c *pgdb.Conn) error {
		free, err := c.QueryRow(ctx, "SELECT 1 FROM memory_user WHERE name = $1 FOR UPDATE SKIP LOCKED", []any{encodeText(name)}, new(int))
		if !free || err != nil {
			return err
		}
		u, err := lockUser(ctx, c, name, false)
		if u == nil || err != nil {
			return err
		}
		if err := (indexer{c, u}).fold(ctx, u.n); err != nil {
			return err
		}
		return u.save(ctx, c)
	})
}

// vacuum makes the space of deleted rows free to be written over.
func (s *Store) vacuum(ctx context.Context) error {
	return s.db.Read(ctx, func(c *pgdb.Conn) error {
		_, err := c.Exec(ctx, "VACUUM memory, memory_old, memory_posting, memory_entry, memory_session, memory_speaker, memory_snapshot, memory_meta, memory_vector, memory_user")
		return err
	})
}
