package sqljournal

import (
	"context"
	"iter"
	"time"

	"github.com/callnode/scheduler/calls"
	"github.com/callnode/scheduler/calls/database"
	"github.com/callnode/scheduler/scheduler/journal"
	"github.com/callnode/scheduler/scheduler/journal/internal/stored"
	"github.com/callnode/scheduler/scheduler/journal/transfer"
)

var _ transfer.Store = (*Journal)(nil)

// ExportHeader returns the header of a run, with the bytes of images in place.
func (j *Journal) ExportHeader(ctx context.Context, id string) (*journal.RunHeader, error) {
	h, err := j.readHeader(ctx, id, true)
	return h, j.db.Explain("reading", err)
}

// ExportEvents returns the events of a run with the bytes of images in place.
func (j *Journal) ExportEvents(ctx context.Context, id string) iter.Seq2[*journal.Event, error] {
	return j.readEvents(ctx, id, 1, true)
}

// Import records a run of another journal, all of it or nothing.
func (j *Journal) Import(ctx context.Context, run *journal.RunInfo, h *journal.RunHeader, events iter.Seq2[*journal.Event, error]) error {
	if err := stored.CheckHeader(h); err != nil {
		return err
	}
	return j.db.Write(ctx, database.Change{
		Do: func(c database.Conn) error { return j.importRun(c, run, h, events) },
		Committed: func(c database.Conn) (bool, error) {
			r, err := j.findRun(c, h.ID)
			if calls.KindOf(err) == calls.NotFound {
				return false, nil
			}
			return err == nil && r.LastSeq == run.LastSeq, err
		},
	})
}

// importRun stores a run of another journal in a transaction.
func (j *Journal) importRun(c database.Conn, run *journal.RunInfo, h *journal.RunHeader, events iter.Seq2[*journal.Event, error]) error {
	b := newBeginning(h)
	var lease []byte
	touched := run.TouchedAt
	if run.Abandoned {
		lease = stored.NewLease() // of no process, and over
		if over := j.clock().Add(-j.lease); touched.After(over) {
			touched = over
		}
	}
	b.touched = j.db.timeOf(touched)
	key, created, err := j.db.insertRun(c, b)
	if err != nil {
		return err
	}
	if !created {
		return stored.ErrExists(h.ID)
	}
	var summary []byte
	for batch, err := range stored.EncodeRun(run, b.blobs, events) {
		if err == nil {
			summary = batch.Summary
			err = j.db.insertEvents(c, key, batch.First, batch.Bodies)
		}
		if err == nil {
			err = j.db.insertBlobs(c, key, batch.Blobs)
		}
		if err != nil {
			return err
		}
	}
	_, err = c.Exec("UPDATE journal_run SET state = $2, updated_at = $3, last_seq = $4, cancel = $5, lease = $6, summary = $7 WHERE key = $1",
		key, string(run.State), run.UpdatedAt.Format(time.RFC3339Nano), run.LastSeq, run.CancelRequested, lease, summary)
	return err
}
