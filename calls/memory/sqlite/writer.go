package sqlite

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/callnode/scheduler/calls/sqlitefile"
)

// change is something to be written. Changes that wait at the same time share a
// commit, and with it the time that the disk takes.
type change struct {
	// do runs in a savepoint: its error undoes this change alone.
	do    func(*conn) error
	until time.Time // other processes that write are waited for
	done  chan error
}

// maxTogether is how many changes share a commit at most.
const maxTogether = 256

// writer lets one goroutine at a time write. Who waits for the turn has its change
// queued already: who has the turn commits what is queued by all, so that the others
// find theirs done.
type writer struct {
	conn *conn
	busy time.Duration // how long other processes that write are waited for
	// idle tidies up, some time after a call of later.
	idle func(*conn) error
	turn chan struct{} // held by who writes

	mu     sync.Mutex
	queue  []*change
	closed bool
	wake   chan struct{}
	over   chan struct{}
}

func newWriter(c *conn, busy time.Duration, idle func(*conn) error) *writer {
	w := &writer{conn: c, busy: busy, idle: idle, turn: make(chan struct{}, 1), wake: make(chan struct{}, 1), over: make(chan struct{})}
	go w.tidy(w.wake)
	return w
}

// write makes a change and waits until it is on the disk. A change that still waits when
// ctx ends is not made; one that is being made is.
func (w *writer) write(ctx context.Context, do func(*conn) error) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	op := &change{do: do, until: time.Now().Add(w.busy), done: make(chan error, 1)}
	w.mu.Lock()
	if w.closed {
		w.mu.Unlock()
		return errClosed
	}
	w.queue = append(w.queue, op)
	w.mu.Unlock()
	canceled := ctx.Done()
	for {
		select {
		case err := <-op.done:
			return err
		case <-canceled:
			if w.drop(op) {
				return ctx.Err()
			}
			canceled = nil // it is being made
		case w.turn <- struct{}{}:
			w.serve(ctx, op)
			<-w.turn
		}
	}
}

// serve commits what is queued, as soon as no other process writes; where that takes too
// long for op, that one is given up and the others are left to those who wait for them.
func (w *writer) serve(ctx context.Context, op *change) {
	if len(op.done) > 0 { // somebody else has committed it
		return
	}
	err := begin(ctx, w.conn, op.until)
	if err == nil {
		w.commit(w.next())
		return
	}
	w.drop(op)
	op.done <- err
}

// drop takes a change out of the queue; false where it is not there any more.
func (w *writer) drop(op *change) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	i := slices.Index(w.queue, op)
	if i >= 0 {
		w.queue = slices.Delete(slices.Clone(w.queue), i, i+1) // a batch may be a part of it
	}
	return i >= 0
}

// next takes what is queued, or as much of it as fits into a commit.
func (w *writer) next() []*change {
	w.mu.Lock()
	defer w.mu.Unlock()
	n := min(len(w.queue), maxTogether)
	batch := w.queue[:n:n]
	w.queue = w.queue[n:]
	return batch
}

// later asks for tidying up when nobody writes.
func (w *writer) later() {
	w.mu.Lock()
	defer w.mu.Unlock()
	select { // once it is closed, wake is nil
	case w.wake <- struct{}{}:
	default: // it will be done anyway
	}
}

// tidy tidies up when it is asked to, until the writer is closed.
func (w *writer) tidy(wake <-chan struct{}) {
	defer close(w.over)
	for range wake {
		w.turn <- struct{}{}
		// What is tidied up now or later makes no difference: an error will be met again by
		// a change that somebody waits for.
		_ = w.idle(w.conn)
		<-w.turn
	}
}

// close waits until all that is queued is written, and ends the goroutine.
func (w *writer) close() error {
	w.mu.Lock()
	w.closed = true
	w.mu.Unlock()
	w.turn <- struct{}{}
	for batch := w.next(); len(batch) > 0; batch = w.next() {
		if err := begin(background, w.conn, batch[0].until); err != nil {
			for _, op := range batch {
				op.done <- err
			}
			continue
		}
		w.commit(batch)
	}
	w.mu.Lock()
	close(w.wake)
	w.wake = nil
	w.mu.Unlock()
	<-w.turn
	<-w.over
	return w.conn.close()
}

// commit makes the changes of a batch in the transaction that has begun, and tells
// everybody how it ended.
func (w *writer) commit(batch []*change) {
	errs := make([]error, len(batch))
	err := commit(w.conn, func() (err error) {
		for i, op := range batch {
			if errs[i], err = apply(w.conn, op.do, len(batch) == 1); err != nil {
				return err
			}
		}
		return nil
	})
	for i, op := range batch {
		if errs[i] == nil {
			errs[i] = err
		}
		op.done <- errs[i]
	}
}

// longestPause is between two looks at whether another process still writes.
const longestPause = 32 * time.Millisecond

// begin starts a transaction when no other process has one. SQLite would wait by itself,
// but it would not hear that ctx ends.
func begin(ctx context.Context, c *conn, until time.Time) error {
	for pause := time.Millisecond; ; pause = min(2*pause, longestPause) {
		if err := c.exec("BEGIN IMMEDIATE"); sqlitefile.CodeOf(err) != sqlitefile.Busy || time.Now().After(until) {
			return err
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("another process writes to the memory store, which was waited for: %w", ctx.Err())
		case <-time.After(pause):
		}
	}
}

// commit runs f in the transaction that has begun and ends it.
func commit(c *conn, f func() error) (err error) {
	defer func() {
		if err != nil {
			c.known.forget()
			_ = c.exec("ROLLBACK") // a full disk may have ended the transaction already
		}
	}()
	if err := f(); err != nil {
		return err
	}
	return c.exec("COMMIT")
}

// apply makes one change; failed is the error of the change, err one of the whole
// transaction. A change that is alone needs no savepoint.
func apply(c *conn, do func(*conn) error, alone bool) (failed, err error) {
	if alone {
		failed = do(c)
		return failed, failed
	}
	if err := c.exec("SAVEPOINT change"); err != nil {
		return nil, err
	}
	if failed = do(c); failed != nil {
		c.known.forget()
		if err := c.exec("ROLLBACK TO change"); err != nil {
			return failed, failed // the transaction is gone, for the same reason
		}
	}
	return failed, c.exec("RELEASE change")
}
