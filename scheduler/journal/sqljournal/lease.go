package sqljournal

import (
	"bytes"
	"context"
	"time"

	"github.com/callnode/scheduler/calls/database"
	"github.com/callnode/scheduler/scheduler/journal"
	"github.com/callnode/scheduler/scheduler/journal/internal/stored"
)

// keepLeases renews the leases of this process until it ends, and checks whether a run should be cancelled.
func (j *Journal) keepLeases() {
	ticker := time.NewTicker(j.beat)
	defer ticker.Stop()
	for {
		select {
		case <-j.ctx.Done():
			return
		case <-ticker.C:
			j.renewLeases()
		}
	}
}

// holding is the row of a run that this process holds.
type holding struct {
	lease  []byte
	cancel bool
}

// renewLeases renews the leases once. An error of the database is ignored here: the next beat
// tries again, and no process can take a run of a database that cannot be written.
func (j *Journal) renewLeases() {
	j.mu.Lock()
	logs := make([]*runLog, 0, len(j.logs))
	for l := range j.logs {
		logs = append(logs, l)
	}
	j.mu.Unlock()
	held, err := j.db.renewLeases(j.ctx, logs)
	if err != nil {
		return
	}
	for _, l := range logs {
		one, ok := held[l.key]
		switch {
		case !ok || !bytes.Equal(one.lease, l.lease):
			j.tellLoss(l)
		case one.cancel && j.isHeldBy(l):
			l.Stop(journal.ErrCancelRequested)
		}
	}
}

// tellLoss ends a log whose run was taken away.
func (j *Journal) tellLoss(l *runLog) {
	var err error
	readError := j.db.Read(j.ctx, func(c database.Conn) error {
		err = l.lostRowError(c)
		return nil
	})
	if readError != nil || !stored.IsHeld(err) || !j.isHeldBy(l) {
		return
	}
	l.Fail(err)
	l.Stop(err)
}

// isHeldBy reports whether the run is still held through l.
func (j *Journal) isHeldBy(l *runLog) bool {
	j.mu.Lock()
	defer j.mu.Unlock()
	_, ok := j.logs[l]
	return ok
}

// Release takes a run from its holder, unless that is known to be alive.
func (j *Journal) Release(ctx context.Context, id string) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	return j.db.Write(ctx, database.Change{Do: func(c database.Conn) error {
		r, err := j.lockRun(c, id)
		if err != nil {
			return err
		}
		if r.Holder != nil && r.holder.Alive() {
			return stored.ErrAlive(id, r.Holder)
		}
		_, err = c.Exec("UPDATE journal_run SET lease = NULL WHERE key = $1", r.key)
		return err
	}})
}

// Cancel asks the holder to stop the run, or cancels it.
func (j *Journal) Cancel(ctx context.Context, id string) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	last := int64(-1) // the event that cancels the run
	err := j.db.Write(ctx, database.Change{
		Do: func(c database.Conn) error {
			r, err := j.lockRun(c, id)
			if err != nil {
				return err
			}
			if r.Holder != nil {
				_, err := c.Exec("UPDATE journal_run SET cancel = true WHERE key = $1", r.key)
				return err
			}
			if err := stored.CheckCancel(&r.RunInfo); err != nil {
				return err
			}
			last = r.LastSeq + 1
			return j.appendCancelled(c, r)
		},
		Committed: func(c database.Conn) (bool, error) {
			r, err := j.findRun(c, id)
			return err == nil && r.LastSeq == last && r.State == journal.RunCancelled, err
		},
	})
	if err == nil {
		j.db.notifyReaders(id)
	}
	return err
}

// appendCancelled ends a run that no process holds.
func (j *Journal) appendCancelled(c database.Conn, r *runRow) error {
	ev := stored.NewCancelledEvent(&r.RunInfo)
	ev.Time = j.clock()
	body, err := stored.Blobs{}.EncodeEvent(ev)
	if err != nil {
		return err
	}
	// A lease that has run out is not given away: its holder may still be alive, and must not continue.
	return c.Pipeline(
		database.Statement{Query: "INSERT INTO journal_event(run, seq, body) VALUES ($1, $2, $3)", Args: []any{r.key, ev.Seq, body}},
		database.Statement{
			Query: "UPDATE journal_run SET state = $2, updated_at = $3, last_seq = $4, lease = NULL, " + j.db.fragments().touch + " WHERE key = $5",
			Args:  []any{j.db.now(), string(r.State.After(ev.Type)), ev.Time.Format(time.RFC3339Nano), ev.Seq, r.key},
		})
}

// lostRowError returns why the row of the run could not be written.
func (l *runLog) lostRowError(c database.Conn) error {
	r, err := l.journal.findRun(c, l.Opened.ID)
	if err != nil {
		return stored.LostRunError(l.Opened.ID, nil, false, err)
	}
	return stored.LostRunError(r.ID, &r.RunInfo, bytes.Equal(r.lease, l.lease), nil)
}
