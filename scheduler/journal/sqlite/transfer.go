package sqlite

import (
	"context"
	"iter"
	"time"

	"github.com/callnode/scheduler/calls/sqlitefile"
	"github.com/callnode/scheduler/scheduler/journal"
	"github.com/callnode/scheduler/scheduler/journal/internal/stored"
	"github.com/callnode/scheduler/scheduler/journal/transfer"
)

var _ transfer.Store = (*SQLite)(nil)

// ExportHeader returns what a run began with, with the bytes of images in place.
func (j *SQLite) ExportHeader(ctx context.Context, id string) (*journal.RunHeader, error) {
	h, err := j.readHeader(ctx, id, true)
	return h, j.db.Explain("reading", err)
}

// ExportEvents returns the events of a run with the bytes of images in place.
func (j *SQLite) ExportEvents(ctx context.Context, id string) iter.Seq2[*journal.Event, error] {
	return j.readEvents(ctx, id, 1, true)
}

// Import records a run of another journal, all of it or nothing.
func (j *SQLite) Import(ctx context.Context, run *journal.RunInfo, h *journal.RunHeader, events iter.Seq2[*journal.Event, error]) error {
	if err := stored.CheckHeader(h); err != nil {
		return err
	}
	return j.db.Write(ctx, func(c *sqlitefile.Conn) error {
		l := &sqliteLog{journal: j}
		if err := l.insertRun(c, h); err != nil {
			return err
		}
		header, summary := stored.Blobs{}, []byte(nil)
		if err := l.insertHeader(c, h, header); err != nil {
			return err
		}
		for batch, err := range stored.EncodeRun(run, header, events) {
			if err != nil {
				return err
			}
			for i, body := range batch.Bodies {
				if err := c.Exec("INSERT INTO event(run, seq, body) VALUES (?, ?, ?)", l.key, batch.First+int64(i), body); err != nil {
					return err
				}
			}
			if err := l.storeBlobs(c, batch.Blobs); err != nil {
				return err
			}
			summary = batch.Summary
		}
		var lease []byte
		until := run.TouchedAt.Add(j.lease).UnixMilli() // which is how TouchedAt is kept
		if run.Abandoned {
			lease = stored.NewLease() // of no process
			until = min(until, j.clock().UnixMilli())
		}
		return c.Exec("UPDATE run SET state = ?, updated_at = ?, last_seq = ?, cancel = ?, lease = ?, lease_until = ?, summary = ? WHERE key = ?",
			string(run.State), run.UpdatedAt.Format(time.RFC3339Nano), run.LastSeq, run.CancelRequested, lease, until, summary, l.key)
	})
}
