package sqlite

import (
	"context"
	"sync"
)

// change is something to be written. Changes that wait at the same time share a
// commit, and with it the time that the disk takes.
type change struct {
	// do runs in a savepoint: its error undoes this change alone.
	do   func(*conn) error
	done chan error
}

// maxTogether is how many changes share a commit at most.
const maxTogether = 256

// writer lets one goroutine at a time write. Who waits for the turn has its change
// queued already: who has the turn commits what is queued by all, so that the others
// find theirs done.
type writer struct {
	conn *conn
	// idle tidies up, some time after a call of later.
	idle func(*conn) error
	turn chan struct{} // held by who writes

	mu     sync.Mutex
	queue  []*change
	closed bool
	wake   chan struct{}
	over   chan struct{}
}

func newWriter(c *conn, idle func(*conn) error) *writer {
	w := &writer{conn: c, idle: idle, turn: make(chan struct{}, 1), wake: make(chan struct{}, 1), over: make(chan struct{})}
	go w.tidy(w.wake)
	return w
}

// write makes a change and waits until it is on the disk. A change that is queued is
// made even when ctx ends.
func (w *writer) write(ctx context.Context, do func(*conn) error) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	op := &change{do: do, done: make(chan error, 1)}
	w.mu.Lock()
	if w.closed {
		w.mu.Unlock()
		return errClosed
	}
	w.queue = append(w.queue, op)
	w.mu.Unlock()
	for {
		select {
		case err := <-op.done:
			return err
		case w.turn <- struct{}{}:
			if batch := w.next(); len(batch) > 0 {
				w.commit(batch)
			}
			<-w.turn
		}
	}
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

// commit makes the changes of a batch in one transaction and tells everybody how it
// ended.
func (w *writer) commit(batch []*change) {
	errs := make([]error, len(batch))
	err := transact(w.conn, func() (err error) {
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

// transact runs f in a transaction.
func transact(c *conn, f func() error) (err error) {
	if err := c.exec("BEGIN IMMEDIATE"); err != nil {
		return err
	}
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
