package postgres

import (
	"bytes"
	"context"
	"iter"
	"slices"
	"time"

	"github.com/callnode/scheduler/calls/pgdb"
	"github.com/callnode/scheduler/scheduler/journal"
	"github.com/callnode/scheduler/scheduler/journal/internal/stored"
)

var _ journal.RunLog = (*pgLog)(nil)

func newLog(j *Postgres, worker int64, mode journal.Durability) *pgLog {
	return &pgLog{journal: j, lease: stored.NewLease(), worker: worker, async: mode == journal.Async, known: map[stored.Digest]struct{}{}}
}

// Append adds events. In mode async it does not wait, unless the database cannot keep up.
func (l *pgLog) Append(ctx context.Context, events ...*journal.Event) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	wait := !l.async || l.journal.appends.isFull(l)
	done := make(chan error, 1)
	if err := l.submitEvents(events, wait, done); err != nil || !wait {
		return err
	}
	return <-done
}

// submitEvents queues events that go on where the last ended.
func (l *pgLog) submitEvents(events []*journal.Event, wait bool, done chan<- error) error {
	l.Lock()
	defer l.Unlock()
	ch, err := l.encodeLocked(events)
	if err == nil {
		ch.done = func(err error) {
			l.SettleWrite(err, wait)
			done <- err
		}
		if !l.journal.appends.submit(l, ch) {
			err = stored.ErrJournalClosed
		}
	}
	if err != nil {
		return l.RefuseLocked(err)
	}
	l.AcceptLocked(events)
	l.state, l.summary = ch.state, ch.after
	return nil
}

// encodeLocked checks events and returns their stored form. The lock is held.
func (l *pgLog) encodeLocked(events []*journal.Event) (*change, error) {
	if err := l.CheckLocked(events); err != nil {
		return nil, err
	}
	ch := &change{before: l.NextLocked - 1, last: l.NextLocked - 1, state: l.state, after: l.summary}
	blobs := stored.Blobs{}
	for _, ev := range events {
		body, err := blobs.EncodeEvent(ev)
		if err != nil {
			return nil, err
		}
		ch.bodies = append(ch.bodies, body)
		ch.size += len(body)
		ch.last, ch.state, ch.updated = ev.Seq, ch.state.After(ev.Type), ev.Time.Format(time.RFC3339Nano)
		ch.after = ch.after.After(ev)
	}
	ch.summary = stored.ChangedSummary(l.summary, ch.after)
	for d := range blobs {
		if _, ok := l.known[d]; ok {
			delete(blobs, d)
		}
	}
	var err error
	ch.payloads, err = l.journal.sealBlobs(blobs)
	if err != nil {
		return nil, err
	}
	for d, one := range blobs {
		l.known[d] = struct{}{}
		ch.size += len(one.Data)
	}
	return ch, nil
}

// sealBlobs encrypts those payloads that must not be readable.
func (j *Postgres) sealBlobs(found stored.Blobs) (p payloads, err error) {
	order := make([]stored.Digest, 0, len(found))
	for d := range found {
		order = append(order, d)
	}
	slices.SortFunc(order, func(a, b stored.Digest) int { return bytes.Compare(a[:], b[:]) })
	p = payloads{digests: [][]byte{}, data: [][]byte{}}
	for _, d := range order {
		one := found[d]
		data := one.Data
		if one.Secret {
			data, err = j.vault.Seal(data)
			if err != nil {
				return p, err
			}
		}
		if data == nil {
			data = []byte{}
		}
		p.digests, p.data = append(p.digests, bytes.Clone(d[:])), append(p.data, data)
	}
	return p, nil
}

// Revise replaces the text of the flow.
func (l *pgLog) Revise(ctx context.Context, text journal.FlowText) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if err := l.Failed(); err != nil {
		return err
	}
	j, found := l.journal, stored.Blobs{}
	source, files := found.EncodeText(text)
	p, err := j.sealBlobs(found)
	if err != nil {
		return err
	}
	return j.write(ctx, func(c *pgdb.Conn) error {
		n, err := c.Exec(ctx, `
			WITH b AS (INSERT INTO journal_blob SELECT * FROM unnest($5::bytea[], $6::bytea[]) n(sha256, data) ORDER BY sha256 ON CONFLICT DO NOTHING),
				x AS (INSERT INTO journal_run_blob SELECT $1, sha256 FROM unnest($5::bytea[]) n(sha256) ON CONFLICT DO NOTHING)
			UPDATE journal_header SET source = $3, files = $4
			WHERE run = $1 AND EXISTS (SELECT 1 FROM journal_run WHERE key = $1 AND lease = $2 FOR UPDATE)`,
			l.key, l.lease, source[:], files, p.digests, p.data)
		if err != nil {
			return retryLostBlob(err)
		}
		if n == 0 {
			return l.lostRowError(ctx, c)
		}
		return nil
	})
}

// Header returns what the run began with.
func (l *pgLog) Header(ctx context.Context) (*journal.RunHeader, error) {
	h, err := l.journal.readHeader(ctx, l.Opened.ID, true)
	return h, l.journal.db.Explain("reading", err)
}

// Events returns those of the run.
func (l *pgLog) Events(ctx context.Context, from int64) iter.Seq2[*journal.Event, error] {
	return l.journal.readEvents(ctx, l.Opened.ID, from, true)
}

// Close commits what was added and lets go of the run.
func (l *pgLog) Close() error {
	if !l.BeginClose() {
		return nil
	}
	j := l.journal
	j.appends.waitFor(l)
	j.mu.Lock()
	delete(j.logs, l)
	j.mu.Unlock()
	ctx := context.Background()
	err := j.write(ctx, func(c *pgdb.Conn) error { return l.endLease(ctx, c) })
	j.db.Notify(channel, l.Opened.ID)
	return l.EndClose(err)
}

// endLease releases the lease, and cancels the run where its holder did not do what was asked of it.
func (l *pgLog) endLease(ctx context.Context, c *pgdb.Conn) error {
	var cancel bool
	held, err := c.QueryRow(ctx, "UPDATE journal_run SET lease = NULL WHERE key = $1 AND lease = $2 RETURNING cancel", []any{l.key, l.lease}, &cancel)
	if err != nil || !held || !cancel {
		return err
	}
	r, err := l.journal.lockRun(ctx, c, l.Opened.ID)
	if err != nil || stored.CheckCancel(&r.RunInfo) != nil {
		return err
	}
	return l.journal.appendCancelled(ctx, c, r)
}
