package sqlite

import (
	"context"

	"github.com/callnode/scheduler/calls"
	"github.com/callnode/scheduler/calls/sqlitefile"
	"github.com/callnode/scheduler/scheduler/journal"
)

// Prune deletes runs, one after the other: whoever writes meanwhile waits for one
// at most.
func (j *SQLite) Prune(ctx context.Context, p journal.Prune) (*journal.Pruned, error) {
	rows, err := j.listRuns(ctx, journal.RunFilter{})
	if err != nil {
		return nil, err
	}
	all := make([]*journal.RunInfo, len(rows))
	for i, r := range rows {
		all[i] = &r.RunInfo
	}
	done := &journal.Pruned{Runs: []string{}}
	var before, after int64
	before, err = j.fileSize(ctx)
	if err != nil {
		return nil, err
	}
	for _, id := range p.Pick(all) {
		deleted, err := j.deleteRun(ctx, &p, id)
		if err != nil {
			return done, err
		}
		if deleted {
			done.Runs = append(done.Runs, id)
		}
	}
	if len(done.Runs) == 0 {
		return done, nil
	}
	if err := j.shrinkFile(ctx); err != nil {
		return done, err
	}
	after, err = j.fileSize(ctx)
	done.Bytes = max(before-after, 0)
	return done, err
}

// deleteRun deletes a run and the payloads that no other run has, if it still fits.
func (j *SQLite) deleteRun(ctx context.Context, p *journal.Prune, id string) (deleted bool, err error) {
	if err := ctx.Err(); err != nil {
		return false, err
	}
	err = j.write(func(c *sqlitefile.Conn) error {
		r, err := j.findRun(c, id)
		isGone := calls.KindOf(err) == calls.NotFound
		fitsNoLonger := err == nil && !p.Matches(&r.RunInfo)
		if isGone || fitsNoLonger {
			return nil
		}
		if err != nil {
			return err
		}
		if err := c.Exec("CREATE TEMP TABLE IF NOT EXISTS gone(blob INTEGER PRIMARY KEY)"); err != nil {
			return err
		}
		for _, step := range []string{
			`INSERT INTO gone SELECT mine.blob FROM run_blob mine WHERE mine.run = ?1
				AND NOT EXISTS (SELECT 1 FROM run_blob other WHERE other.blob = mine.blob AND other.run <> ?1)`,
			"DELETE FROM event WHERE run = ?1",
			"DELETE FROM run_blob WHERE run = ?1",
			"DELETE FROM run WHERE key = ?1",
		} {
			if err := c.Exec(step, r.key); err != nil {
				return err
			}
		}
		if err := c.Exec("DELETE FROM blob WHERE key IN (SELECT blob FROM gone)"); err != nil {
			return err
		}
		deleted = true
		err = c.Exec("DELETE FROM gone")
		return err
	})
	return deleted && err == nil, err
}

// shrinkFile returns freed pages back to the disk, some at a time.
func (j *SQLite) shrinkFile(ctx context.Context) error {
	for free := int64(1); free > 0; {
		if err := ctx.Err(); err != nil {
			return err
		}
		err := j.write(func(c *sqlitefile.Conn) error {
			if err := c.Exec("PRAGMA incremental_vacuum(1000)"); err != nil {
				return err
			}
			left := int64(0)
			_, err := c.QueryRow("PRAGMA freelist_count", nil, &left)
			if left >= free && free > 1 {
				left = 0 // it cannot be shrunk further
			}
			free = left
			return err
		})
		if err != nil {
			return err
		}
	}
	// The file itself becomes smaller when the log is emptied into it, which another
	// process may put off.
	return j.db.Checkpoint(ctx)
}

// fileSize returns the size of the database, in bytes.
func (j *SQLite) fileSize(ctx context.Context) (n int64, err error) {
	err = j.db.Read(ctx, func(c *sqlitefile.Conn) error {
		_, err := c.QueryRow("SELECT page_count * page_size FROM pragma_page_count, pragma_page_size", nil, &n)
		return err
	})
	return n, err
}
