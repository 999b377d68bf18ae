package sqlite

import (
	"bytes"
	"context"
	"time"

	"github.com/callnode/scheduler/calls/sqlitefile"
	"github.com/callnode/scheduler/scheduler/journal"
	"github.com/callnode/scheduler/scheduler/journal/internal/stored"
)

// keepLeases renews all leases of this process until it ends, and looks whether
// a run is to be cancelled.
func (j *SQLite) keepLeases() {
	ticker := time.NewTicker(j.beat)
	defer ticker.Stop()
	for {
		select {
		case <-j.quit:
			return
		case <-ticker.C:
			j.renewLeases()
		}
	}
}

// renewLeases renews the leases once. An error of the file is ignored here: the next
// beat tries again, and no process can take a run whose file cannot be written.
func (j *SQLite) renewLeases() {
	j.mu.Lock()
	verdicts := make(map[*sqliteLog]error, len(j.logs))
	for l := range j.logs {
		verdicts[l] = nil
	}
	j.mu.Unlock()
	if len(verdicts) == 0 {
		return
	}
	err := j.write(func(c *sqlitefile.Conn) error {
		for l := range verdicts {
			verdict, err := l.renewLease(c)
			if err != nil {
				return err
			}
			verdicts[l] = verdict
		}
		return nil
	})
	if err != nil {
		return
	}
	for l, verdict := range verdicts {
		if verdict == nil || !j.isHeldBy(l) {
			continue
		}
		if stored.IsHeld(verdict) {
			l.Fail(verdict)
		}
		l.Stop(verdict)
	}
}

// renewLease renews one lease. The verdict is why the run should stop, or nil.
func (l *sqliteLog) renewLease(c *sqlitefile.Conn) (verdict, err error) {
	var cancel bool
	renewed, err := c.QueryRow("UPDATE run SET lease_until = ? WHERE key = ? AND lease = ? RETURNING cancel",
		[]any{l.journal.leaseEnd(), l.key, l.lease}, &cancel)
	if err != nil {
		return nil, err
	}
	if !renewed {
		verdict = l.lostRowError(c)
		if stored.IsHeld(verdict) {
			return verdict, nil
		}
		return nil, verdict
	}
	if cancel {
		return journal.ErrCancelRequested, nil
	}
	return nil, nil
}

// Release takes a run from its holder, unless that is known to be alive.
func (j *SQLite) Release(ctx context.Context, id string) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	return j.write(func(c *sqlitefile.Conn) error {
		r, err := j.findRun(c, id)
		if err != nil {
			return err
		}
		if r.Holder != nil && r.holder.Alive() {
			return stored.ErrAlive(id, r.Holder)
		}
		return c.Exec("UPDATE run SET lease = NULL, lease_until = 0 WHERE key = ?", r.key)
	})
}

// Cancel asks the holder to stop the run, or cancels it.
func (j *SQLite) Cancel(ctx context.Context, id string) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	return j.write(func(c *sqlitefile.Conn) error {
		r, err := j.findRun(c, id)
		if err != nil {
			return err
		}
		if r.Holder != nil {
			err = c.Exec("UPDATE run SET cancel = 1 WHERE key = ?", r.key)
			return err
		}
		if err := stored.CheckCancel(&r.RunInfo); err != nil {
			return err
		}
		return j.appendCancelled(c, r)
	})
}

// appendCancelled ends a run that no process holds.
func (j *SQLite) appendCancelled(c *sqlitefile.Conn, r *runRow) error {
	ev := stored.NewCancelledEvent(&r.RunInfo)
	ev.Time = j.clock()
	body, err := stored.Blobs{}.EncodeEvent(ev)
	if err != nil {
		return err
	}
	if err := c.Exec("INSERT INTO event(run, seq, body) VALUES (?, ?, ?)", r.key, ev.Seq, body); err != nil {
		return err
	}
	// A lease that has run out is not given away: its holder may still be alive,
	// and must not go on.
	return c.Exec("UPDATE run SET state = ?, updated_at = ?, last_seq = ?, lease = NULL, lease_until = ? WHERE key = ?",
		string(r.State.After(ev.Type)), ev.Time.Format(time.RFC3339Nano), ev.Seq, j.leaseEnd(), r.key)
}

// lostRowError returns why the row of the run could not be written.
func (l *sqliteLog) lostRowError(c *sqlitefile.Conn) error {
	r, err := l.journal.findRun(c, l.Opened.ID)
	if err != nil {
		return stored.LostRunError(l.Opened.ID, nil, false, err)
	}
	return stored.LostRunError(r.ID, &r.RunInfo, bytes.Equal(r.lease, l.lease), nil)
}
