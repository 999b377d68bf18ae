package sqlite

import (
	"context"
	"iter"
	"maps"
	"slices"
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
		header := stored.Blobs{}
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
		}
		var lease []byte
		until := run.TouchedAt.Add(j.lease).UnixMilli() // which is how TouchedAt is kept
		if run.Abandoned {
			lease = stored.NewLease() // of no process
			until = min(until, j.clock().UnixMilli())
		}
		return c.Exec("UPDATE run SET state = ?, updated_at = ?, last_seq = ?, cancel = ?, lease = ?, lease_until = ? WHERE key = ?",
			string(run.State), run.UpdatedAt.Format(time.RFC3339Nano), run.LastSeq, run.CancelRequested, lease, until, l.key)
	})
}

// insertRun inserts the row of a run that begins.
func (l *sqliteLog) insertRun(c *sqlitefile.Conn, h *journal.RunHeader) error {
	started := h.StartedAt.Format(time.RFC3339Nano)
	created, err := c.QueryRow(`INSERT INTO run(id, flow, state, started_at, updated_at) VALUES (?, ?, ?, ?, ?)
		ON CONFLICT(id) DO NOTHING RETURNING key`,
		[]any{h.ID, h.Flow, string(journal.RunRunning), started, started}, &l.key)
	if err == nil && !created {
		return stored.ErrExists(h.ID)
	}
	return err
}

// insertHeader stores what a run begins with, whose payloads it adds to found.
func (l *sqliteLog) insertHeader(c *sqlitefile.Conn, h *journal.RunHeader, found stored.Blobs) error {
	inputs, options := found.Encode(h.Inputs), found.Encode(h.Options)
	source, files := found.EncodeText(h.Text)
	mode := h.Mode
	if mode == "" {
		mode = journal.Sync
	}
	err := c.Exec("INSERT INTO header(run, file, mode, source, hash, files, inputs, options, program) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
		l.key, h.File, string(mode), source[:], source.String(), files, inputs, options, h.Program)
	for _, name := range slices.Sorted(maps.Keys(h.Labels)) {
		if err == nil {
			err = c.Exec("INSERT INTO label(run, name, value) VALUES (?, ?, ?)", l.key, name, h.Labels[name])
		}
	}
	if err != nil {
		return err
	}
	return l.storeBlobs(c, found)
}
