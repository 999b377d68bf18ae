package sqljournal

import (
	"bytes"
	"context"
	"iter"
	"slices"
	"time"

	"github.com/callnode/scheduler/calls/database"
	"github.com/callnode/scheduler/scheduler/journal"
	"github.com/callnode/scheduler/scheduler/journal/internal/stored"
)

// runLog is a run that is held. [Journal] Begin or Reopen makes it, and its Close ends it.
type runLog struct {
	*stored.LogState
	journal   *Journal
	key       int64
	lease     []byte
	async     bool
	abandoned bool // the holder before has died

	// The lock of the state guards these. known are the payloads that need not be stored again.
	state   journal.RunStatus
	summary journal.Summary
	known   map[stored.Digest]struct{}

	appending appending // of a shared database
}

var _ journal.RunLog = (*runLog)(nil)

func (j *Journal) newLog() *runLog {
	return &runLog{journal: j, lease: stored.NewLease(), known: map[stored.Digest]struct{}{}}
}

// change is a batch of events of one run in stored form.
type change struct {
	before, last int64 // the numbers of the last event without and with it
	state        journal.RunStatus
	updated      string
	after        journal.Summary
	summary      []byte // in stored form; nil if it has not changed
	bodies       [][]byte
	blobs        stored.Blobs
	payloads     payloads // the same, sealed; of a shared database
	size         int      // in bytes
	done         func(error)
}

// Append adds events. In mode async it does not wait, unless the database cannot keep up.
func (l *runLog) Append(ctx context.Context, events ...*journal.Event) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	wait := !l.async || l.journal.db.isFull(l)
	done := make(chan error, 1)
	if err := l.submitEvents(events, wait, done); err != nil || !wait {
		return err
	}
	return <-done
}

// submitEvents queues events that continue after the last one.
func (l *runLog) submitEvents(events []*journal.Event, wait bool, done chan<- error) error {
	l.Lock()
	defer l.Unlock()
	ch, err := l.encodeLocked(events)
	if err == nil {
		ch.done = func(err error) {
			l.SettleWrite(err, wait)
			done <- err
		}
		err = l.journal.db.submitChange(l, ch, !wait)
	}
	if err != nil {
		return l.RefuseLocked(err)
	}
	l.AcceptLocked(events)
	l.state, l.summary = ch.state, ch.after
	return nil
}

// encodeLocked checks events and returns their stored form. The lock is held.
func (l *runLog) encodeLocked(events []*journal.Event) (*change, error) {
	if err := l.CheckLocked(events); err != nil {
		return nil, err
	}
	ch := &change{before: l.NextLocked - 1, last: l.NextLocked - 1, state: l.state, after: l.summary, blobs: stored.Blobs{}}
	for _, ev := range events {
		body, err := ch.blobs.EncodeEvent(ev)
		if err != nil {
			return nil, err
		}
		ch.bodies = append(ch.bodies, body)
		ch.size += len(body)
		ch.last, ch.state, ch.updated = ev.Seq, ch.state.After(ev.Type), ev.Time.Format(time.RFC3339Nano)
		ch.after = ch.after.After(ev)
	}
	ch.summary = stored.ChangedSummary(l.summary, ch.after)
	for d, one := range ch.blobs {
		if _, ok := l.known[d]; ok {
			delete(ch.blobs, d)
			continue
		}
		l.known[d] = struct{}{}
		ch.size += len(one.Data)
	}
	return ch, nil
}

// payloads are the blobs of a statement, in the order of their digests: two statements that
// store the same ones wait for each other, and never both for the other.
type payloads struct{ digests, data [][]byte }

// sealBlobs encrypts the payloads that must not be readable.
func (t *terms) sealBlobs(found stored.Blobs) (p payloads, err error) {
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
			data, err = t.vault.Seal(data)
			if err != nil {
				return p, err
			}
		}
		if data == nil {
			data = []byte{} // it is not NULL
		}
		p.digests, p.data = append(p.digests, bytes.Clone(d[:])), append(p.data, data)
	}
	return p, nil
}

// Revise replaces the text of the flow.
func (l *runLog) Revise(ctx context.Context, text journal.FlowText) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if err := l.Failed(); err != nil {
		return err
	}
	j, found := l.journal, stored.Blobs{}
	source, files := found.EncodeText(text)
	return j.db.Write(ctx, database.Change{Do: func(c database.Conn) error {
		r, err := j.lockRun(c, l.Opened.ID)
		if err != nil {
			return stored.LostRunError(l.Opened.ID, nil, false, err)
		}
		if !bytes.Equal(r.lease, l.lease) {
			return stored.LostRunError(r.ID, &r.RunInfo, false, nil)
		}
		n, err := c.Exec("UPDATE journal_header SET files = $2, source = $3"+j.db.fragments().reviseHash+" WHERE run = $1", l.key, files, source[:])
		if err == nil && n == 0 {
			err = j.newHeaderError(r.ID)
		}
		if err != nil {
			return err
		}
		return j.db.insertBlobs(c, l.key, found)
	}})
}

// Header returns the header that the run began with.
func (l *runLog) Header(ctx context.Context) (*journal.RunHeader, error) {
	return l.journal.ExportHeader(ctx, l.Opened.ID)
}

// Events returns the events of the run.
func (l *runLog) Events(ctx context.Context, from int64) iter.Seq2[*journal.Event, error] {
	return l.journal.readEvents(ctx, l.Opened.ID, from, true)
}

// Close commits the events that were added and releases the run.
func (l *runLog) Close() error {
	if !l.BeginClose() {
		return nil
	}
	j := l.journal
	j.db.waitFor(l)
	j.mu.Lock()
	delete(j.logs, l)
	j.mu.Unlock()
	err := j.write(context.Background(), l.endLease)
	j.db.notifyReaders(l.Opened.ID)
	return l.EndClose(err)
}

// endLease releases the lease, and cancels the run if its holder was asked to stop it and did not.
func (l *runLog) endLease(c database.Conn) error {
	var cancel bool
	held, err := c.QueryRow("UPDATE journal_run SET lease = NULL WHERE key = $1 AND lease = $2 RETURNING cancel", []any{l.key, l.lease}, &cancel)
	if err != nil || !held || !cancel {
		return err
	}
	r, err := l.journal.lockRun(c, l.Opened.ID)
	if err != nil || stored.CheckCancel(&r.RunInfo) != nil {
		return err
	}
	return l.journal.appendCancelled(c, r)
}
