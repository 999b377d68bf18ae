package sqljournal

import (
	"bytes"
	"cmp"
	"context"
	"time"

	"github.com/callnode/scheduler/calls"
	"github.com/callnode/scheduler/calls/database"
	"github.com/callnode/scheduler/scheduler/journal"
	"github.com/callnode/scheduler/scheduler/journal/internal/stored"
)

// beginning is a run that begins, in stored form.
type beginning struct {
	*journal.RunHeader
	mode    journal.Durability
	started string
	lease   []byte // nil: no process holds it
	touched any    // when a process last wrote to it; an argument
	form    stored.Header
	source  stored.Digest
	blobs   stored.Blobs
}

// newBeginning returns the stored form of a header.
func newBeginning(h *journal.RunHeader) *beginning {
	b := &beginning{RunHeader: h, mode: cmp.Or(h.Mode, journal.Sync), started: h.StartedAt.Format(time.RFC3339Nano), blobs: stored.Blobs{}}
	b.form.Inputs, b.form.Conversation, b.form.Options = b.blobs.Encode(h.Inputs), b.blobs.EncodeConversation(h.Conversation), b.blobs.Encode(h.Options)
	b.source, b.form.Files = b.blobs.EncodeText(h.Text)
	b.form.Source = b.source[:]
	return b
}

// Begin records a new run.
func (j *Journal) Begin(ctx context.Context, h *journal.RunHeader) (journal.RunLog, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if err := stored.CheckHeader(h); err != nil {
		return nil, err
	}
	if err := j.db.enlistProcess(ctx); err != nil {
		return nil, err
	}
	b, l := newBeginning(h), j.newLog()
	b.lease, l.async = l.lease, b.mode == journal.Async
	for d := range b.blobs {
		l.known[d] = struct{}{}
	}
	var info *journal.RunInfo
	err := j.write(ctx, func(c database.Conn) error {
		b.touched = j.db.now()
		_, created, err := j.db.insertRun(c, b)
		if err != nil {
			return err
		}
		r, err := j.findRun(c, h.ID)
		if err != nil {
			return err
		}
		// A run with this lease was made by an attempt before, whose connection was lost.
		isMine := created || bytes.Equal(r.lease, l.lease)
		if !isMine {
			return stored.ErrExists(h.ID)
		}
		l.key, info = r.key, &r.RunInfo
		return nil
	})
	return j.holdRun(l, info, err)
}

// maxTries is how often taking a run is tried while others change it.
const maxTries = 5

// Reopen holds a run that exists.
func (j *Journal) Reopen(ctx context.Context, id string) (journal.RunLog, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if err := j.db.enlistProcess(ctx); err != nil {
		return nil, err
	}
	l := j.newLog()
	var info *journal.RunInfo
	err := j.write(ctx, func(c database.Conn) (err error) {
		for range maxTries {
			info, err = l.tryTake(c, id)
			if info != nil || err != nil {
				return err
			}
		}
		return calls.Errorf(calls.Internal, "the run %s is taken by other processes again and again", id)
	})
	return j.holdRun(l, info, err)
}

// tryTake takes a run that no process holds. It returns nil without an error if another process changed its holder
// in between.
func (l *runLog) tryTake(c database.Conn, id string) (*journal.RunInfo, error) {
	j := l.journal
	r, err := j.findRun(c, id)
	if err != nil {
		return nil, err
	}
	isMine := bytes.Equal(r.lease, l.lease)
	if !isMine {
		if r.Holder != nil {
			return nil, r.heldError()
		}
		if stored.IsUnheeded(&r.RunInfo) {
			return nil, j.cancelUnheeded(c, id)
		}
		args := append([]any{j.db.now(), l.lease, r.key, r.lease, r.CancelRequested}, j.db.holderArgs()...)
		n, err := c.Exec("UPDATE journal_run SET lease = $2, cancel = false, "+j.db.fragments().hold+
			" WHERE key = $3 AND lease IS NOT DISTINCT FROM $4 AND cancel = $5", args...)
		if n == 0 || err != nil {
			return nil, err
		}
		l.abandoned = r.Abandoned
	}
	r, err = j.findRun(c, id)
	if err != nil {
		return nil, err
	}
	if !bytes.Equal(r.lease, l.lease) {
		return nil, r.heldError()
	}
	l.key, l.async = r.key, r.mode == journal.Async
	r.Abandoned = l.abandoned
	return &r.RunInfo, nil
}

// cancelUnheeded ends a run whose holder died before it could heed a request to stop it.
func (j *Journal) cancelUnheeded(c database.Conn, id string) error {
	r, err := j.lockRun(c, id)
	if err != nil || !stored.IsUnheeded(&r.RunInfo) {
		return err
	}
	return j.appendCancelled(c, r)
}

// holdRun begins to renew the lease of a run that was taken.
func (j *Journal) holdRun(l *runLog, info *journal.RunInfo, err error) (journal.RunLog, error) {
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
