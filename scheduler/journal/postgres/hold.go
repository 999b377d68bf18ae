package postgres

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"strings"
	"time"

	"github.com/callnode/scheduler/calls"
	"github.com/callnode/scheduler/calls/pgdb"
	"github.com/callnode/scheduler/scheduler/journal"
	"github.com/callnode/scheduler/scheduler/journal/internal/stored"
)

// One statement, so that it needs one round trip and can be repeated: where the connection was
// lost after the commit, the row has the lease.
const beginRun = `
WITH r AS (INSERT INTO journal_run(id, flow, state, started_at, updated_at, lease, worker, held_since, touched, labels)
		VALUES ($1, $2, $3, $4, $4, $5, $6, coalesce($7, now()), coalesce($7, now()), $8)
		ON CONFLICT (id) DO NOTHING RETURNING key),
	h AS (INSERT INTO journal_header(run, file, mode, program, source, files, inputs, conversation, options)
		SELECT key, $9, $10, $11, $12, $13, $14, $15, $16 FROM r),
	b AS (INSERT INTO journal_blob SELECT sha256, data FROM unnest($17::bytea[], $18::bytea[]) n(sha256, data), r ORDER BY sha256
		ON CONFLICT DO NOTHING),
	x AS (INSERT INTO journal_run_blob SELECT key, sha256 FROM r, unnest($17::bytea[]) n(sha256))
SELECT key FROM r`

// Begin records a new run.
func (j *Postgres) Begin(ctx context.Context, h *journal.RunHeader) (journal.RunLog, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if err := checkHeader(h); err != nil {
		return nil, err
	}
	found := stored.Blobs{}
	begin, err := j.encodeHeader(h, found)
	if err != nil {
		return nil, err
	}
	worker, err := j.enlist(ctx)
	if err != nil {
		return nil, err
	}
	l := newLog(j, worker, cmp.Or(h.Mode, journal.Sync))
	for d := range found {
		l.known[d] = struct{}{}
	}
	var info *journal.RunInfo
	err = j.write(ctx, func(c *pgdb.Conn) error {
		created, err := c.QueryRow(ctx, beginRun, begin(l.lease, &worker, j.now()), &l.key)
		if err != nil {
			return retryLostBlob(err)
		}
		r, err := j.findRun(ctx, c, h.ID)
		if err != nil {
			return err
		}
		isMine := created || bytes.Equal(r.lease, l.lease)
		if !isMine {
			return stored.ErrExists(h.ID)
		}
		l.key, info = r.key, &r.RunInfo
		return nil
	})
	return j.holdRun(l, info, err)
}

// encodeHeader returns the arguments of beginRun, but for who holds the run and since when. It
// adds the payloads of the header to found.
func (j *Postgres) encodeHeader(h *journal.RunHeader, found stored.Blobs) (func(lease []byte, worker *int64, touched *time.Time) []any, error) {
	inputs, conversation, options := found.Encode(h.Inputs), found.EncodeConversation(h.Conversation), found.Encode(h.Options)
	source, files := found.EncodeText(h.Text)
	payloads, err := j.sealBlobs(found)
	if err != nil {
		return nil, err
	}
	labels, err := json.Marshal(h.Labels)
	if h.Labels == nil || err != nil {
		labels = []byte("{}")
	}
	return func(lease []byte, worker *int64, touched *time.Time) []any {
		return []any{
			h.ID, h.Flow, string(journal.RunRunning), h.StartedAt.Format(time.RFC3339Nano), lease, worker, touched, labels,
			h.File, string(cmp.Or(h.Mode, journal.Sync)), h.Program, source[:], files, inputs, conversation, options, payloads.digests, payloads.data,
		}
	}, nil
}

// checkHeader returns an error for a header that no run can begin with.
func checkHeader(h *journal.RunHeader) error {
	if err := stored.CheckHeader(h); err != nil {
		return err
	}
	texts := []string{h.ID, h.Flow, h.File, h.Program}
	for name, text := range h.Labels {
		texts = append(texts, name, text)
	}
	for _, text := range texts {
		if strings.ContainsRune(text, 0) {
			return calls.Errorf(calls.Invalid, "%q has the byte 0, which Postgres does not store", text)
		}
	}
	return nil
}

// maxTries is how often taking a run is tried while others change it.
const maxTries = 5

// Reopen holds a run that exists.
func (j *Postgres) Reopen(ctx context.Context, id string) (journal.RunLog, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	worker, err := j.enlist(ctx)
	if err != nil {
		return nil, err
	}
	l := newLog(j, worker, journal.Sync)
	var info *journal.RunInfo
	err = j.write(ctx, func(c *pgdb.Conn) (err error) {
		for range maxTries {
			info, err = l.tryTake(ctx, c, id)
			if info != nil || err != nil {
				return err
			}
		}
		return calls.Errorf(calls.Internal, "the run %s is taken by other processes again and again", id)
	})
	return j.holdRun(l, info, err)
}

// tryTake takes a run that no process holds. It returns nil without an error where another
// process changed who holds it in between.
func (l *pgLog) tryTake(ctx context.Context, c *pgdb.Conn, id string) (*journal.RunInfo, error) {
	j := l.journal
	r, err := j.findRun(ctx, c, id)
	if err != nil {
		return nil, err
	}
	isMine := bytes.Equal(r.lease, l.lease)
	if !isMine {
		if r.Holder != nil {
			return nil, r.heldError()
		}
		if stored.IsUnheeded(&r.RunInfo) {
			return nil, j.cancelUnheeded(ctx, c, id)
		}
		n, err := c.Exec(ctx, `UPDATE journal_run SET lease = $1, worker = $2, held_since = coalesce($3, now()), touched = coalesce($3, now()), cancel = false
			WHERE key = $4 AND lease IS NOT DISTINCT FROM $5 AND cancel = $6`, l.lease, l.worker, j.now(), r.key, r.lease, r.CancelRequested)
		if n == 0 || err != nil {
			return nil, err
		}
		l.abandoned = r.Abandoned
	}
	r, err = j.findRun(ctx, c, id)
	if err != nil {
		return nil, err
	}
	if !bytes.Equal(r.lease, l.lease) {
		return nil, r.heldError()
	}
	l.key = r.key
	l.async = r.mode == journal.Async
	r.Abandoned = l.abandoned
	return &r.RunInfo, nil
}

// cancelUnheeded ends a run whose holder died before it could heed a request to stop it.
func (j *Postgres) cancelUnheeded(ctx context.Context, c *pgdb.Conn, id string) error {
	r, err := j.lockRun(ctx, c, id)
	if err != nil || !stored.IsUnheeded(&r.RunInfo) {
		return err
	}
	return j.appendCancelled(ctx, c, r)
}

// holdRun begins to renew the lease of a run that was taken.
func (j *Postgres) holdRun(l *pgLog, info *journal.RunInfo, err error) (journal.RunLog, error) {
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
