package postgres

import (
	"context"
	"iter"
	"time"

	"github.com/callnode/scheduler/calls"
	"github.com/callnode/scheduler/calls/pgdb"
	"github.com/callnode/scheduler/scheduler/journal"
	"github.com/callnode/scheduler/scheduler/journal/internal/stored"
	"github.com/callnode/scheduler/scheduler/journal/transfer"
)

var _ transfer.Store = (*Postgres)(nil)

// ExportHeader returns what a run began with, with the bytes of images in place.
func (j *Postgres) ExportHeader(ctx context.Context, id string) (*journal.RunHeader, error) {
	h, err := j.readHeader(ctx, id, true)
	return h, j.db.Explain("reading", err)
}

// ExportEvents returns the events of a run with the bytes of images in place.
func (j *Postgres) ExportEvents(ctx context.Context, id string) iter.Seq2[*journal.Event, error] {
	return j.readEvents(ctx, id, 1, true)
}

// Import records a run of another journal, all of it or nothing.
func (j *Postgres) Import(ctx context.Context, run *journal.RunInfo, h *journal.RunHeader, events iter.Seq2[*journal.Event, error]) error {
	if err := checkHeader(h); err != nil {
		return err
	}
	found := stored.Blobs{}
	begin, err := j.encodeHeader(h, found)
	if err != nil {
		return err
	}
	return j.db.Write(ctx, pgdb.Change{
		Do: func(c *pgdb.Conn) error {
			var key int64
			var summary []byte
			created, err := c.QueryRow(ctx, beginRun, begin(nil, nil, &run.TouchedAt), &key)
			if err != nil {
				return retryLostBlob(err)
			}
			if !created {
				return stored.ErrExists(h.ID)
			}
			for batch, err := range stored.EncodeRun(run, found, events) {
				if err == nil {
					summary = batch.Summary
					err = j.insertBatch(ctx, c, key, batch)
				}
				if err != nil {
					return err
				}
			}
			var lease []byte
			if run.Abandoned {
				lease = stored.NewLease() // of no process
			}
			_, err = c.Exec(ctx, "UPDATE journal_run SET state = $2, updated_at = $3, last_seq = $4, cancel = $5, lease = $6, held_since = NULL, summary = $7 WHERE key = $1",
				key, string(run.State), run.UpdatedAt.Format(time.RFC3339Nano), run.LastSeq, run.CancelRequested, lease, summary)
			return err
		},
		Committed: func(c *pgdb.Conn) (bool, error) {
			r, err := j.findRun(ctx, c, h.ID)
			if calls.KindOf(err) == calls.NotFound {
				return false, nil
			}
			return err == nil && r.LastSeq == run.LastSeq, err
		},
	})
}

// insertBatch stores events of a run that comes from another journal.
func (j *Postgres) insertBatch(ctx context.Context, c *pgdb.Conn, key int64, batch *stored.Batch) error {
	p, err := j.sealBlobs(batch.Blobs)
	if err != nil {
		return err
	}
	_, err = c.Exec(ctx, `
		WITH b AS (INSERT INTO journal_blob SELECT * FROM unnest($4::bytea[], $5::bytea[]) n(sha256, data) ORDER BY sha256 ON CONFLICT DO NOTHING),
			x AS (INSERT INTO journal_run_blob SELECT $1, sha256 FROM unnest($4::bytea[]) n(sha256))
		INSERT INTO journal_event SELECT $1, $2 + n.at - 1, n.body FROM unnest($3::bytea[]) WITH ORDINALITY n(body, at)`,
		key, batch.First, batch.Bodies, p.digests, p.data)
	return retryLostBlob(err)
}
