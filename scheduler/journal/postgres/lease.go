package postgres

import (
	"bytes"
	"context"
	"time"

	"github.com/callnode/scheduler/calls/pgdb"
	"github.com/callnode/scheduler/scheduler/journal"
	"github.com/callnode/scheduler/scheduler/journal/internal/stored"
)

// The row of this process, which all of its leases are. Rows of processes that ended long ago
// are taken away with it: their runs are free with and without it.
const insertWorker = `
WITH gone AS (DELETE FROM journal_worker WHERE until < coalesce($5, now()) - interval '7 days')
INSERT INTO journal_worker(host, pid, identity, version, until) VALUES ($1, $2, $3, $4, coalesce($5, now()) + $6) RETURNING key`

// Where the row is gone it is made again: the runs are still those of this process, unless
// another has taken them.
const renewWorker = `
INSERT INTO journal_worker(key, host, pid, identity, version, until) VALUES ($7, $1, $2, $3, $4, coalesce($5, now()) + $6)
ON CONFLICT (key) DO UPDATE SET until = excluded.until`

func (j *Postgres) workerArgs(more ...any) []any {
	return append([]any{j.self.Host, j.self.PID, j.self.Identity, j.version, j.now(), j.lease}, more...)
}

// enlist makes sure that this process has a row whose lease is fresh, and returns its key.
func (j *Postgres) enlist(ctx context.Context) (int64, error) {
	j.mu.Lock()
	worker, isFresh := j.worker, j.localTime().Sub(j.renewed) < 2*j.beat
	j.mu.Unlock()
	if worker != 0 && isFresh {
		return worker, nil
	}
	now := j.localTime()
	err := j.write(ctx, func(c *pgdb.Conn) error {
		if worker != 0 {
			_, err := c.Exec(ctx, renewWorker, j.workerArgs(worker)...)
			return err
		}
		_, err := c.QueryRow(ctx, insertWorker, j.workerArgs(), &worker)
		return err
	})
	if err != nil {
		return 0, err
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.worker == 0 {
		j.worker = worker // two runs may begin at once: a row too many ends by itself
	}
	j.renewed = now
	return j.worker, nil
}

// localTime returns the time of this process, for what it remembers itself.
func (j *Postgres) localTime() time.Time {
	if j.clock != nil {
		return j.clock()
	}
	return time.Now()
}

// forgetWorker deletes the row of this process, which holds no run any more.
func (j *Postgres) forgetWorker(worker int64) error {
	ctx := context.Background()
	return j.write(ctx, func(c *pgdb.Conn) error {
		_, err := c.Exec(ctx, "DELETE FROM journal_worker WHERE key = $1", worker)
		return err
	})
}

// keepLeases renews the leases of this process until it ends, and looks whether a run is to be
// cancelled.
func (j *Postgres) keepLeases() {
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

// holding is the database's row of a run that this process holds.
type holding struct {
	lease  []byte
	cancel bool
}

// renewLeases renews the leases once. An error of the database is ignored here: the next beat
// tries again.
func (j *Postgres) renewLeases() {
	j.mu.Lock()
	worker := j.worker
	logs := make([]*pgLog, 0, len(j.logs))
	keys := make([]int64, 0, len(j.logs))
	for l := range j.logs {
		logs, keys = append(logs, l), append(keys, l.key)
	}
	j.mu.Unlock()
	if worker == 0 {
		return
	}
	held, now := map[int64]holding{}, j.localTime()
	err := j.write(j.ctx, func(c *pgdb.Conn) error {
		clear(held)
		return c.Pipeline(j.ctx,
			pgdb.Statement{Query: renewWorker, Args: j.workerArgs(worker)},
			pgdb.Statement{Query: "SELECT key, lease, cancel FROM journal_run WHERE key = ANY($1)", Args: []any{keys}, Each: func(scan func(...any) error) error {
				var key int64
				var one holding
				err := scan(&key, &one.lease, &one.cancel)
				held[key] = one
				return err
			}})
	})
	if err != nil {
		return
	}
	j.mu.Lock()
	j.renewed = now
	j.mu.Unlock()
	for _, l := range logs {
		one, ok := held[l.key]
		if !ok || !bytes.Equal(one.lease, l.lease) {
			j.tellLoss(l)
		} else if one.cancel {
			l.Stop(journal.ErrCancelRequested)
		}
	}
}

// tellLoss ends a log whose run was taken away.
func (j *Postgres) tellLoss(l *pgLog) {
	var err error
	readError := j.db.Read(j.ctx, func(c *pgdb.Conn) error {
		err = l.lostRowError(j.ctx, c)
		return nil
	})
	if readError != nil || !stored.IsHeld(err) || !j.isHeldBy(l) {
		return
	}
	l.Fail(err)
	l.Stop(err)
}

// isHeldBy reports whether the run is still held through l.
func (j *Postgres) isHeldBy(l *pgLog) bool {
	j.mu.Lock()
	defer j.mu.Unlock()
	_, ok := j.logs[l]
	return ok
}

// Release takes a run from its holder, unless that is known to be alive.
func (j *Postgres) Release(ctx context.Context, id string) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	return j.db.Write(ctx, pgdb.Change{Do: func(c *pgdb.Conn) error {
		r, err := j.lockRun(ctx, c, id)
		if err != nil {
			return err
		}
		if r.Holder != nil && r.holder.Alive() {
			return stored.ErrAlive(id, r.Holder)
		}
		_, err = c.Exec(ctx, "UPDATE journal_run SET lease = NULL WHERE key = $1", r.key)
		return err
	}})
}

// Cancel asks the holder to stop the run, or cancels it.
func (j *Postgres) Cancel(ctx context.Context, id string) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	last := int64(-1) // the event that cancels the run
	err := j.db.Write(ctx, pgdb.Change{
		Do: func(c *pgdb.Conn) error {
			r, err := j.lockRun(ctx, c, id)
			if err != nil {
				return err
			}
			if r.Holder != nil {
				_, err := c.Exec(ctx, "UPDATE journal_run SET cancel = true WHERE key = $1", r.key)
				return err
			}
			if err := stored.CheckCancel(&r.RunInfo); err != nil {
				return err
			}
			last = r.LastSeq + 1
			return j.appendCancelled(ctx, c, r)
		},
		Committed: func(c *pgdb.Conn) (bool, error) {
			r, err := j.findRun(ctx, c, id)
			return err == nil && r.LastSeq == last && r.State == journal.RunCancelled, err
		},
	})
	if err == nil {
		j.db.Notify(channel, id)
	}
	return err
}

// appendCancelled ends a run that no process holds.
func (j *Postgres) appendCancelled(ctx context.Context, c *pgdb.Conn, r *runRow) error {
	ev := stored.NewCancelledEvent(&r.RunInfo)
	ev.Time = j.eventTime()
	body, err := stored.Blobs{}.EncodeEvent(ev)
	if err != nil {
		return err
	}
	// A lease that has run out is not given away: its holder may still be alive, and must not
	// go on.
	return c.Pipeline(ctx,
		pgdb.Statement{Query: "INSERT INTO journal_event(run, seq, body) VALUES ($1, $2, $3)", Args: []any{r.key, ev.Seq, body}},
		pgdb.Statement{
			Query: "UPDATE journal_run SET state = $2, updated_at = $3, last_seq = $4, lease = NULL, touched = coalesce($5, now()) WHERE key = $1",
			Args:  []any{r.key, string(r.State.After(ev.Type)), ev.Time.Format(time.RFC3339Nano), ev.Seq, j.now()},
		})
}

// lostRowError returns why the row of the run could not be written.
func (l *pgLog) lostRowError(ctx context.Context, c *pgdb.Conn) error {
	r, err := l.journal.findRun(ctx, c, l.Opened.ID)
	if err != nil {
		return stored.LostRunError(l.Opened.ID, nil, false, err)
	}
	return stored.LostRunError(r.ID, &r.RunInfo, bytes.Equal(r.lease, l.lease), nil)
}
