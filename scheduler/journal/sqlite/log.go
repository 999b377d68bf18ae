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
)

var _ journal.RunLog = (*sqliteLog)(nil)

// Begin records a new run.
func (j *SQLite) Begin(ctx context.Context, h *journal.RunHeader) (journal.RunLog, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if err := stored.CheckHeader(h); err != nil {
		return nil, err
	}
	l := &sqliteLog{journal: j, lease: stored.NewLease(), async: h.Mode == journal.Async, known: map[stored.Digest]struct{}{}}
	var info *journal.RunInfo
	err := j.write(func(c *sqlitefile.Conn) error {
		err := l.insertRun(c, h)
		if err == nil {
			err = l.insertHeader(c, h, stored.Blobs{})
		}
		if err == nil {
			info, err = l.takeLease(c, h.ID)
		}
		return err
	})
	return j.holdRun(l, info, err)
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
	inputs, conversation, options := found.Encode(h.Inputs), found.EncodeConversation(h.Conversation), found.Encode(h.Options)
	source, files := found.EncodeText(h.Text)
	mode := h.Mode
	if mode == "" {
		mode = journal.Sync
	}
	err := c.Exec("INSERT INTO header(run, file, mode, source, hash, files, inputs, conversation, options, program) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
		l.key, h.File, string(mode), source[:], source.String(), files, inputs, conversation, options, h.Program)
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

// Reopen holds a run that exists.
func (j *SQLite) Reopen(ctx context.Context, id string) (journal.RunLog, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	l := &sqliteLog{journal: j, lease: stored.NewLease(), known: map[stored.Digest]struct{}{}}
	var info *journal.RunInfo
	err := j.write(func(c *sqlitefile.Conn) error {
		r, err := j.findRun(c, id)
		if err != nil {
			return err
		}
		if r.Holder != nil {
			return r.heldError()
		}
		if stored.IsUnheeded(&r.RunInfo) {
			if err := j.appendCancelled(c, r); err != nil {
				return err
			}
		}
		var mode journal.Durability
		if _, err := c.QueryRow("SELECT mode FROM header WHERE run = ?", []any{r.key}, &mode); err != nil {
			return err
		}
		l.key, l.async = r.key, mode == journal.Async
		info, err = l.takeLease(c, id)
		if err == nil {
			info.Abandoned = r.Abandoned
		}
		return err
	})
	return j.holdRun(l, info, err)
}

// takeLease makes this process the holder.
func (l *sqliteLog) takeLease(c *sqlitefile.Conn, id string) (*journal.RunInfo, error) {
	j := l.journal
	err := c.Exec(`UPDATE run SET lease = ?, holder_pid = ?, holder_host = ?, holder_identity = ?, held_since = ?, lease_until = ?, cancel = 0 WHERE key = ?`,
		l.lease, j.self.PID, j.self.Host, j.self.Identity, j.clock().UnixMilli(), j.leaseEnd(), l.key)
	if err != nil {
		return nil, err
	}
	r, err := j.findRun(c, id)
	if err != nil {
		return nil, err
	}
	return &r.RunInfo, nil
}

// holdRun begins to renew the lease of a run that was taken.
func (j *SQLite) holdRun(l *sqliteLog, info *journal.RunInfo, err error) (journal.RunLog, error) {
	if err != nil {
		return nil, err
	}
	l.LogState, l.state, l.summary = stored.NewLogState(info), info.State, info.Summary
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.closed {
		return nil, stored.ErrJournalClosed
	}
	j.logs[l] = struct{}{}
	return l, nil
}

// Append adds events. In mode async it does not wait, unless the disk cannot keep up.
func (l *sqliteLog) Append(ctx context.Context, events ...*journal.Event) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	wait := !l.async || l.journal.db.IsBusy()
	done := make(chan error, 1)
	if err := l.submitEvents(events, wait, done); err != nil || !wait {
		return err
	}
	return <-done
}

// submitEvents queues events that go on where the last ended.
func (l *sqliteLog) submitEvents(events []*journal.Event, wait bool, done chan<- error) error {
	l.Lock()
	defer l.Unlock()
	change, err := l.encodeLocked(events)
	if err == nil {
		submitted := l.journal.db.Submit(sqlitefile.Change{Do: change.storeEvents, Lazy: !wait, Done: func(err error) {
			l.SettleWrite(err, wait)
			done <- err
		}})
		if !submitted {
			err = stored.ErrJournalClosed
		}
	}
	if err != nil {
		return l.RefuseLocked(err)
	}
	l.AcceptLocked(events)
	l.state, l.summary = change.state, change.after
	return nil
}

// change is a batch of events in stored form.
type change struct {
	log         *sqliteLog
	first, last int64
	state       journal.RunStatus
	updated     string
	after       journal.Summary
	summary     []byte // in stored form; nil where it has not changed
	bodies      [][]byte
	blobs       stored.Blobs
}

// encodeLocked checks events and returns their stored form. The lock is held.
func (l *sqliteLog) encodeLocked(events []*journal.Event) (*change, error) {
	if err := l.CheckLocked(events); err != nil {
		return nil, err
	}
	c := &change{log: l, first: l.NextLocked, last: l.NextLocked - 1, state: l.state, after: l.summary, blobs: stored.Blobs{}}
	for _, ev := range events {
		body, err := c.blobs.EncodeEvent(ev)
		if err != nil {
			return nil, err
		}
		c.bodies = append(c.bodies, body)
		c.last, c.state, c.updated = ev.Seq, c.state.After(ev.Type), ev.Time.Format(time.RFC3339Nano)
		c.after = c.after.After(ev)
	}
	c.summary = stored.ChangedSummary(l.summary, c.after)
	for d := range c.blobs {
		if _, ok := l.known[d]; ok {
			delete(c.blobs, d)
		}
		l.known[d] = struct{}{}
	}
	return c, nil
}

// storeEvents stores the events if the run is still held.
func (ch *change) storeEvents(c *sqlitefile.Conn) error {
	l := ch.log
	if len(ch.bodies) == 0 {
		return nil
	}
	n, err := c.ExecCount("UPDATE run SET state = ?, updated_at = ?, last_seq = ?, summary = coalesce(?, summary) WHERE key = ? AND lease = ? AND last_seq = ?",
		string(ch.state), ch.updated, ch.last, ch.summary, l.key, l.lease, ch.first-1)
	if err != nil {
		return err
	}
	if n == 0 {
		return l.lostRowError(c)
	}
	for i, body := range ch.bodies {
		if err := c.Exec("INSERT INTO event(run, seq, body) VALUES (?, ?, ?)", l.key, ch.first+int64(i), body); err != nil {
			return err
		}
	}
	return l.storeBlobs(c, ch.blobs)
}

// storeBlobs stores payloads and records that the run has them.
func (l *sqliteLog) storeBlobs(c *sqlitefile.Conn, found stored.Blobs) error {
	for d, one := range found {
		data := one.Data
		if one.Secret {
			var err error
			data, err = l.journal.vault.Seal(data)
			if err != nil {
				return err
			}
		}
		if data == nil {
			data = []byte{}
		}
		if err := c.Exec("INSERT INTO blob(sha256, data) VALUES (?, ?) ON CONFLICT(sha256) DO NOTHING", d[:], data); err != nil {
			return err
		}
		if err := c.Exec("INSERT OR IGNORE INTO run_blob(run, blob) SELECT ?, key FROM blob WHERE sha256 = ?", l.key, d[:]); err != nil {
			return err
		}
	}
	return nil
}

// Revise replaces the text of the flow.
func (l *sqliteLog) Revise(ctx context.Context, text journal.FlowText) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if err := l.Failed(); err != nil {
		return err
	}
	found := stored.Blobs{}
	source, files := found.EncodeText(text)
	return l.journal.write(func(c *sqlitefile.Conn) error {
		n, err := c.ExecCount(`UPDATE header SET source = ?, hash = ?, files = ?
			WHERE run = ? AND EXISTS (SELECT 1 FROM run WHERE key = header.run AND lease = ?)`,
			source[:], source.String(), files, l.key, l.lease)
		if err != nil {
			return err
		}
		if n == 0 {
			return l.lostRowError(c)
		}
		return l.storeBlobs(c, found)
	})
}

// Header returns what the run began with.
func (l *sqliteLog) Header(ctx context.Context) (*journal.RunHeader, error) {
	h, err := l.journal.readHeader(ctx, l.Opened.ID, true)
	return h, l.journal.db.Explain("reading", err)
}

// Events returns those of the run.
func (l *sqliteLog) Events(ctx context.Context, from int64) iter.Seq2[*journal.Event, error] {
	return l.journal.readEvents(ctx, l.Opened.ID, from, true)
}

// Close commits what was added and lets go of the run.
func (l *sqliteLog) Close() error {
	if !l.BeginClose() {
		return nil
	}
	j := l.journal
	j.mu.Lock()
	delete(j.logs, l)
	j.mu.Unlock()
	return l.EndClose(j.write(l.endLease))
}

// endLease releases the lease, and cancels the run where its holder did not do what was asked of it.
func (l *sqliteLog) endLease(c *sqlitefile.Conn) error {
	var cancel bool
	held, err := c.QueryRow("UPDATE run SET lease = NULL WHERE key = ? AND lease = ? RETURNING cancel", []any{l.key, l.lease}, &cancel)
	if err != nil || !held || !cancel {
		return err
	}
	r, err := l.journal.findRun(c, l.Opened.ID)
	if err != nil || stored.CheckCancel(&r.RunInfo) != nil {
		return err
	}
	return l.journal.appendCancelled(c, r)
}
