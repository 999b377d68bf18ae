package postgres

import (
	"context"

	"github.com/callnode/scheduler/calls"
	"github.com/callnode/scheduler/calls/pgdb"
	"github.com/callnode/scheduler/scheduler/journal"
)

// Prune deletes runs, each in a transaction. Their space is free for other rows afterwards;
// Postgres gives it back to the disk where it can.
func (j *Postgres) Prune(ctx context.Context, p journal.Prune) (*journal.Pruned, error) {
	done := &journal.Pruned{Runs: []string{}}
	var all []*journal.RunInfo
	for info, err := range j.Runs(ctx, journal.RunFilter{}) {
		if err != nil {
			return done, err
		}
		all = append(all, info)
	}
	for _, id := range p.Pick(all) {
		bytes, deleted, err := j.deleteRun(ctx, &p, id)
		if err != nil {
			return done, err
		}
		if deleted {
			done.Runs = append(done.Runs, id)
			done.Bytes += bytes
		}
	}
	if len(done.Runs) == 0 {
		return done, nil
	}
	// Postgres does it by itself later; the owner of the tables may do it now.
	err := j.write(ctx, func(c *pgdb.Conn) error {
		_, err := c.Exec(ctx, "VACUUM journal_run, journal_header, journal_event, journal_run_blob, journal_blob")
		return err
	})
	return done, err
}

// deleteRows deletes all of a run, and the payloads that no other run has.
const deleteRows = `
WITH e AS (DELETE FROM journal_event WHERE run = $1 RETURNING length(body) AS n),
	x AS (DELETE FROM journal_run_blob WHERE run = $1 RETURNING sha256),
	b AS (DELETE FROM journal_blob USING x WHERE journal_blob.sha256 = x.sha256
		AND NOT EXISTS (SELECT 1 FROM journal_run_blob other WHERE other.sha256 = x.sha256 AND other.run <> $1) RETURNING length(data) AS n),
	r AS (DELETE FROM journal_run WHERE key = $1)
SELECT (SELECT coalesce(sum(n), 0) FROM e)::bigint + (SELECT coalesce(sum(n), 0) FROM b)::bigint`

// deleteRun deletes a run if it still fits, and returns how many bytes its events and payloads
// were.
func (j *Postgres) deleteRun(ctx context.Context, p *journal.Prune, id string) (bytes int64, deleted bool, err error) {
	err = j.db.Write(ctx, pgdb.Change{Do: func(c *pgdb.Conn) error {
		r, err := j.lockRun(ctx, c, id)
		if calls.KindOf(err) == calls.NotFound {
			return nil // perhaps by an attempt before, whose commit was not confirmed
		}
		if err != nil {
			return err
		}
		deleted = p.Matches(&r.RunInfo)
		if !deleted {
			return nil
		}
		_, err = c.QueryRow(ctx, deleteRows, []any{r.key}, &bytes)
		return retryLostBlob(err) // another run has just begun to need a payload
	}})
	return bytes, deleted && err == nil, err
}
