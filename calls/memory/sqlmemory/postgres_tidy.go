package sqlmemory

import (
	"context"
	"maps"
	"slices"
)

// requestFold has the new memories of a user folded in the background.
func (d *sharedDialect) requestFold(name string) {
	d.mu.Lock()
	d.toFold[name] = true
	d.mu.Unlock()
	d.startTidying()
}

// requestWipe has the space of deleted rows made free in the background.
func (d *sharedDialect) requestWipe() {
	d.mu.Lock()
	d.mustVacuum = true
	d.mu.Unlock()
	d.startTidying()
}

// startTidying starts the goroutine that tidies up, unless it runs.
func (d *sharedDialect) startTidying() {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.tidying || d.closed {
		return
	}
	d.tidying = true
	d.tidy.Go(func() {
		for d.tidyUp() {
		}
	})
}

// tidyUp does the work that was requested, and reports whether there may be more.
func (d *sharedDialect) tidyUp() (more bool) {
	d.mu.Lock()
	users, vacuum := slices.Sorted(maps.Keys(d.toFold)), d.mustVacuum
	clear(d.toFold)
	d.mustVacuum = false
	if len(users) == 0 && !vacuum {
		d.tidying = false
		d.mu.Unlock()
		return false
	}
	d.mu.Unlock()
	for _, name := range users {
		if err := d.foldUser(d.tidyCtx, name); err != nil && d.tidyCtx.Err() == nil {
			d.log.Warn("the words of new memories could not be packed; it is tried again with the next ones", "err", err)
		}
	}
	if vacuum {
		if err := d.vacuumTables(d.tidyCtx); err != nil && d.tidyCtx.Err() == nil {
			d.log.Warn("the space of deleted memories could not be made free; autovacuum will do it", "err", err)
		}
	}
	return true
}

// foldUser folds the memories of a user, unless another program changes that user: it will
// ask for a fold itself.
func (d *sharedDialect) foldUser(ctx context.Context, name string) error {
	return d.change(ctx, func(c conn) error {
		free, err := c.QueryRow("SELECT 1 FROM memory_user WHERE name = $1 FOR UPDATE SKIP LOCKED", []any{d.encode(name)}, new(int))
		if !free || err != nil {
			return err
		}
		return foldUser(c, name)
	})
}

// vacuumTables makes the space of deleted rows free to be written over.
func (d *sharedDialect) vacuumTables(ctx context.Context) error {
	return d.read(ctx, func(c conn) error {
		_, err := c.Exec("VACUUM memory, memory_old, memory_posting, memory_entry, memory_session, memory_speaker, memory_snapshot, memory_meta, memory_vector, memory_user")
		return err
	})
}
