package sqljournal

import (
	"bytes"
	"context"
	"sync"

	"github.com/callnode/scheduler/calls/database"
	"github.com/callnode/scheduler/calls/database/pgdb"
	"github.com/callnode/scheduler/scheduler/journal/internal/stored"
)

// appender stores the events of all runs that the journal holds: the events that wait at the same time in one
// statement, at most maxWriters statements at once, and each run's events one after the other. The dialect makes
// it; it is safe for concurrent use.
type appender struct {
	dialect *sharedDialect

	mu      sync.Mutex // guards the fields below, and the appending of the logs
	idle    *sync.Cond // a log has nothing to store any more
	ready   []*runLog  // logs with changes, none of which is being stored
	writers int        // goroutines
}

// appending is the part of a log that its appender keeps, under the appender's lock.
type appending struct {
	pending []*change
	busy    bool // some are being stored, or will be
}

// Bounds of one statement.
const (
	maxWriters    = 2
	maxBatch      = 128     // runs
	maxBatchBytes = 4 << 20 // of events and payloads
	maxPending    = 512     // changes of one run, before it waits
)

func newAppender(d *sharedDialect) *appender {
	a := &appender{dialect: d}
	a.idle = sync.NewCond(&a.mu)
	return a
}

// submitChange queues a change.
func (a *appender) submitChange(l *runLog, ch *change) {
	a.mu.Lock()
	defer a.mu.Unlock()
	q := &l.appending
	q.pending = append(q.pending, ch)
	if q.busy {
		return
	}
	q.busy = true
	a.ready = append(a.ready, l)
	if a.writers < maxWriters {
		a.writers++
		go a.storeReady()
	}
}

// isFull reports whether so many changes of a run wait that it should wait too.
func (a *appender) isFull(l *runLog) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return len(l.appending.pending) >= maxPending
}

// waitFor returns when all changes of a run are stored, or have failed.
func (a *appender) waitFor(l *runLog) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for l.appending.busy {
		a.idle.Wait()
	}
}

// storeReady stores ready events until none are left.
func (a *appender) storeReady() {
	for {
		batch := a.takeBatch()
		if batch == nil {
			return
		}
		a.dialect.storeBatch(batch)
		a.release(batch)
	}
}

// entry is the part of a statement that belongs to one run.
type entry struct {
	log *runLog
	change
	parts []*change // it was joined from these
	err   error
}

// takeBatch takes the entries that the next statement stores; nil if there are none: then the goroutine ends.
func (a *appender) takeBatch() (batch []*entry) {
	a.mu.Lock()
	defer a.mu.Unlock()
	size := 0
	for len(a.ready) > 0 && len(batch) < maxBatch && size < maxBatchBytes {
		l := a.ready[0]
		a.ready = a.ready[1:]
		e := l.takePending(maxBatchBytes - size)
		size += e.size
		batch = append(batch, e)
	}
	if batch == nil {
		a.writers--
	}
	return batch
}

// takePending joins changes of a run, at least one. The appender is locked.
func (l *runLog) takePending(room int) *entry {
	q := &l.appending
	e := &entry{log: l, change: *q.pending[0]}
	e.parts = q.pending[:1:1]
	for _, ch := range q.pending[1:] {
		if e.size+ch.size > room {
			break
		}
		e.parts = append(e.parts, ch)
		e.bodies = append(e.bodies[:len(e.bodies):len(e.bodies)], ch.bodies...)
		e.payloads.digests = append(e.payloads.digests[:len(e.payloads.digests):len(e.payloads.digests)], ch.payloads.digests...)
		e.payloads.data = append(e.payloads.data[:len(e.payloads.data):len(e.payloads.data)], ch.payloads.data...)
		e.last, e.state, e.updated = ch.last, ch.state, ch.updated
		if ch.summary != nil {
			e.summary = ch.summary
		}
		e.size += ch.size
	}
	q.pending = q.pending[len(e.parts):]
	return e
}

// release reports the results of changes, and makes their logs ready for the next.
func (a *appender) release(batch []*entry) {
	for _, e := range batch {
		for _, part := range e.parts {
			part.done(e.err)
		}
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, e := range batch {
		if len(e.log.appending.pending) > 0 {
			a.ready = append(a.ready, e.log)
			continue
		}
		e.log.appending.busy = false
	}
	a.idle.Broadcast()
}

// The statement that appends. A run gets its events if the same lease still holds it and its last event is
// unchanged; the others of the batch do not depend on it.
const appendEvents = `
WITH c AS (SELECT * FROM unnest($1::bigint[], $2::bytea[], $3::bigint[], $4::bigint[], $5::text[], $6::text[], $11::bytea[]) c(key, lease, before, last, state, updated, summary)),
	ok AS (UPDATE journal_run SET last_seq = c.last, state = c.state, updated_at = c.updated, touched = coalesce($7, now()), summary = coalesce(c.summary, journal_run.summary) FROM c
		WHERE journal_run.key = c.key AND journal_run.lease = c.lease AND journal_run.last_seq = c.before RETURNING journal_run.key),
	e AS (INSERT INTO journal_event SELECT n.run, n.seq, n.body FROM unnest($8::bigint[], $9::bigint[], $10::bytea[]) n(run, seq, body) JOIN ok ON ok.key = n.run)
SELECT key FROM ok`

// The same with payloads, which most appends have not.
const appendWithBlobs = `
WITH c AS (SELECT * FROM unnest($1::bigint[], $2::bytea[], $3::bigint[], $4::bigint[], $5::text[], $6::text[], $11::bytea[]) c(key, lease, before, last, state, updated, summary)),
	ok AS (UPDATE journal_run SET last_seq = c.last, state = c.state, updated_at = c.updated, touched = coalesce($7, now()), summary = coalesce(c.summary, journal_run.summary) FROM c
		WHERE journal_run.key = c.key AND journal_run.lease = c.lease AND journal_run.last_seq = c.before RETURNING journal_run.key),
	e AS (INSERT INTO journal_event SELECT n.run, n.seq, n.body FROM unnest($8::bigint[], $9::bigint[], $10::bytea[]) n(run, seq, body) JOIN ok ON ok.key = n.run),
	b AS (INSERT INTO journal_blob SELECT DISTINCT ON (sha256) sha256, data FROM unnest($12::bigint[], $13::bytea[], $14::bytea[]) n(run, sha256, data)
		JOIN ok ON ok.key = n.run ORDER BY sha256 ON CONFLICT DO NOTHING),
	x AS (INSERT INTO journal_run_blob SELECT n.run, n.sha256 FROM unnest($12::bigint[], $13::bytea[]) n(run, sha256) JOIN ok ON ok.key = n.run ON CONFLICT DO NOTHING)
SELECT key FROM ok`

// retryLostBlob marks the error of a payload that was pruned while the statement counted on
// it: the next attempt stores it again.
func retryLostBlob(err error) error {
	if pgdb.IsForeignKeyViolation(err) {
		return pgdb.Again(err)
	}
	return err
}

// storeBatch stores changes of several runs, and notes the error of each.
func (d *sharedDialect) storeBatch(batch []*entry) {
	err := d.storeEntries(batch)
	if err != nil && len(batch) > 1 { // one may be the reason that none was stored
		for _, e := range batch {
			d.storeBatch([]*entry{e})
		}
		return
	}
	for _, e := range batch {
		if err != nil {
			e.err = err
		}
		if e.err == nil {
			d.notifyReaders(e.log.Opened.ID)
		}
	}
}

// storeEntries runs the statement. An append is not given up when its caller is.
func (d *sharedDialect) storeEntries(batch []*entry) error {
	query, args := appendArgs(batch)
	args[6] = d.now()
	return d.Write(context.Background(), database.Change{Single: true, Do: func(c database.Conn) error {
		isStored := make(map[int64]bool, len(batch))
		err := c.QueryRows(query, args, func(scan func(...any) error) error {
			var key int64
			err := scan(&key)
			isStored[key] = true
			return err
		})
		if err != nil {
			return retryLostBlob(err)
		}
		for _, e := range batch {
			e.err = nil
			if isStored[e.log.key] {
				continue
			}
			if err := e.explainRefusal(c); err != nil {
				return err
			}
		}
		return nil
	}})
}

// explainRefusal notes why a run did not get its events, or that it has them already: an
// attempt before was committed, and its connection lost.
func (e *entry) explainRefusal(c database.Conn) error {
	r, err := e.log.journal.findRun(c, e.log.Opened.ID)
	if err != nil {
		e.err = stored.LostRunError(e.log.Opened.ID, nil, false, err)
		if !stored.IsHeld(e.err) {
			return err
		}
		return nil
	}
	hasLease := bytes.Equal(r.lease, e.log.lease)
	if !hasLease || r.LastSeq != e.last {
		e.err = stored.LostRunError(r.ID, &r.RunInfo, hasLease, nil)
	}
	return nil
}

// appendArgs returns the statement and its arguments.
func appendArgs(batch []*entry) (query string, args []any) {
	n := len(batch)
	keys, before, last := make([]int64, n), make([]int64, n), make([]int64, n)
	leases, states, updated, summaries := make([][]byte, n), make([]string, n), make([]string, n), make([][]byte, n)
	var runs, seqs, owners []int64
	var bodies, digests, data [][]byte
	for i, e := range batch {
		keys[i], leases[i], before[i], last[i] = e.log.key, e.log.lease, e.before, e.last
		states[i], updated[i], summaries[i] = string(e.state), e.updated, e.summary
		for k, body := range e.bodies {
			runs, seqs, bodies = append(runs, e.log.key), append(seqs, e.before+1+int64(k)), append(bodies, body)
		}
		for k, d := range e.payloads.digests {
			owners, digests, data = append(owners, e.log.key), append(digests, d), append(data, e.payloads.data[k])
		}
	}
	args = []any{keys, leases, before, last, states, updated, nil, runs, seqs, bodies, summaries}
	if len(owners) == 0 {
		return appendEvents, args
	}
	return appendWithBlobs, append(args, owners, digests, data)
}
