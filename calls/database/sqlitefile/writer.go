package sqlitefile

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/callnode/scheduler/llm/value/wording"
)

// Change is one change to the file. Changes that wait at the same time share a commit,
// and with it the time that the disk takes.
type Change struct {
	// Do makes the change on the writer's goroutine. Its error undoes this change alone.
	Do func(*Conn) error
	// Done is called with the result, once the change is on the disk or has failed. It
	// runs on the writer's goroutine and must not block.
	Done func(error)
	// Lazy lets the commit wait a little for more changes.
	Lazy bool

	deadline time.Time // when waiting for other processes ends
}

const (
	// lazyDelay is how long a lazy change waits at most; 50 ms are promised, which leaves
	// time for the commit.
	lazyDelay = 30 * time.Millisecond
	// maxLazy is how many changes may wait for company.
	maxLazy = 512
	// maxBatch is how many changes share a commit.
	maxBatch = maxLazy
	// maxPause separates two attempts to begin while another process writes.
	maxPause = 32 * time.Millisecond
)

// writer commits changes in batches, in the order of submission, on a goroutine of its
// own. Its methods are safe for concurrent use.
type writer struct {
	conn *Conn // used by run only
	busy time.Duration
	// rolledBack is called when a change or a transaction was undone, idle after
	// requestIdle; both on the writer's goroutine. Either may be nil.
	rolledBack func()
	idle       func(*Conn) error
	// inPlace returns an error if committed changes would not be found.
	inPlace func() error

	wake  chan struct{}
	ended chan struct{}

	mu            sync.Mutex // guards the fields below
	queue         []*Change
	urgent        bool      // a change that is not lazy waits, or too many wait
	due           time.Time // when the first lazy change must be committed
	idleRequested bool
	blocked       bool // by another process that writes
	closed        bool
}

func newWriter(c *Conn, busy time.Duration, idle func(*Conn) error, rolledBack func(), inPlace func() error) *writer {
	w := &writer{conn: c, busy: busy, idle: idle, rolledBack: rolledBack, inPlace: inPlace, wake: make(chan struct{}, 1), ended: make(chan struct{})}
	go w.commitLoop()
	return w
}

// submit queues a change. It returns false if the writer is closed.
func (w *writer) submit(c *Change) bool {
	now := time.Now()
	c.deadline = now.Add(w.busy)
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.closed {
		return false
	}
	first := len(w.queue) == 0
	if first {
		w.due = now.Add(lazyDelay)
	}
	w.queue = append(w.queue, c)
	mustCommit := !c.Lazy || len(w.queue) >= maxLazy
	if !w.urgent && mustCommit {
		w.urgent = true
		first = true
	}
	if first {
		w.wakeUp()
	}
	return true
}

// wakeUp wakes the goroutine up.
func (w *writer) wakeUp() {
	select {
	case w.wake <- struct{}{}:
	default: // it will look anyway
	}
}

// submitAndWait makes a change and waits until it is on the disk. A change that still waits when
// ctx ends is withdrawn.
func (w *writer) submitAndWait(ctx context.Context, do func(*Conn) error) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	done := make(chan error, 1)
	c := &Change{Do: do, Done: func(err error) { done <- err }}
	if !w.submit(c) {
		return ErrClosed
	}
	select {
	case err := <-done:
		return err
	case <-ctx.Done():
	}
	withdrawn, blocked := w.withdraw(c)
	if !withdrawn {
		return <-done
	}
	if blocked {
		return wording.Errorf("waiting for another process that writes to the file: %w", ctx.Err())
	}
	return ctx.Err()
}

// withdraw removes a change from the queue; ok is false if it is being made already.
func (w *writer) withdraw(c *Change) (ok, blocked bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	i := slices.Index(w.queue, c)
	if i < 0 {
		return false, false
	}
	w.queue = slices.Delete(slices.Clone(w.queue), i, i+1) // a batch may share its array
	return true, w.blocked
}

// isFull reports whether lazy changes should not be added before a commit.
func (w *writer) isFull() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return len(w.queue) >= maxLazy
}

// requestIdle asks for a call of idle.
func (w *writer) requestIdle() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.idleRequested = true
	w.wakeUp()
}

// close commits the queued changes, ends the goroutine and closes the connection.
func (w *writer) close() error {
	w.mu.Lock()
	w.closed = true
	w.wakeUp()
	w.mu.Unlock()
	<-w.ended
	return w.conn.close()
}

// task is the next step of run.
type task int

const (
	taskCommit task = iota
	taskIdle
	taskWait
	taskEnd
)

func (w *writer) commitLoop() {
	defer close(w.ended)
	timer := time.NewTimer(time.Hour)
	defer timer.Stop()
	for {
		next, wait := w.nextTask()
		switch next {
		case taskCommit:
			w.commitQueued()
		case taskIdle:
			// The next change with a waiting caller meets the error again.
			_ = w.idle(w.conn)
		case taskEnd:
			return
		case taskWait:
			timer.Reset(wait)
			select {
			case <-w.wake:
			case <-timer.C:
			}
		}
	}
}

// nextTask returns the next task, or how long to wait until there may be one.
func (w *writer) nextTask() (next task, wait time.Duration) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.idleRequested { // first, or many changes would put it off for ever
		w.idleRequested = false
		return taskIdle, 0
	}
	if len(w.queue) == 0 {
		if w.closed {
			return taskEnd, 0
		}
		return taskWait, time.Hour
	}
	wait = time.Until(w.due)
	if w.urgent || w.closed || wait <= 0 {
		return taskCommit, 0
	}
	return taskWait, wait
}

// commitQueued commits a batch of the queue in one transaction.
func (w *writer) commitQueued() {
	if w.beginTransaction() != nil {
		return // the waiting callers have their answer
	}
	batch := w.takeBatch()
	errs := make([]error, len(batch))
	err := w.commitBatch(batch, errs)
	for i, c := range batch {
		if errs[i] == nil {
			errs[i] = err
		}
		c.Done(errs[i])
	}
}

// beginTransaction starts a transaction as soon as no other process has one. Changes whose deadline
// passes meanwhile fail; an error means that no change is left to make. SQLite could wait
// by itself, but then nothing could be withdrawn.
func (w *writer) beginTransaction() error {
	for pause := time.Millisecond; ; pause = min(2*pause, maxPause) {
		err := w.conn.Exec("BEGIN IMMEDIATE")
		if err == nil {
			w.setBlocked(false)
			return nil
		}
		if CodeOf(err) != Busy {
			w.failAll(w.takeBatch(), err)
			return err
		}
		w.setBlocked(true)
		if w.failExpired(err) == 0 {
			w.setBlocked(false)
			return err
		}
		time.Sleep(pause)
	}
}

func (w *writer) setBlocked(blocked bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.blocked = blocked
}

// failExpired fails the changes whose deadline has passed, and returns the number of the others.
func (w *writer) failExpired(err error) (left int) {
	now := time.Now()
	var expired []*Change
	w.mu.Lock()
	w.queue = slices.DeleteFunc(slices.Clone(w.queue), func(c *Change) bool {
		late := now.After(c.deadline)
		if late {
			expired = append(expired, c)
		}
		return late
	})
	left = len(w.queue)
	w.urgent = w.urgent && left > 0
	w.mu.Unlock()
	w.failAll(expired, err)
	return left
}

func (w *writer) failAll(batch []*Change, err error) {
	for _, c := range batch {
		c.Done(err)
	}
}

// takeBatch removes the changes of the next commit from the queue.
func (w *writer) takeBatch() []*Change {
	w.mu.Lock()
	defer w.mu.Unlock()
	n := min(len(w.queue), maxBatch)
	batch := w.queue[:n:n]
	w.queue = w.queue[n:]
	w.urgent = len(w.queue) > 0
	return batch
}

// commitBatch makes the changes in the transaction that has begun. errs gets the errors of the
// changes; the returned error is of the whole transaction.
func (w *writer) commitBatch(batch []*Change, errs []error) (err error) {
	defer func() {
		if err != nil {
			w.notifyRolledBack()
			_ = w.conn.Exec("ROLLBACK") // a full disk may have ended the transaction already
		}
	}()
	for i, c := range batch {
		errs[i], err = w.applyChange(c, len(batch) == 1)
		if err != nil {
			return err
		}
	}
	if err := w.inPlace(); err != nil {
		return err
	}
	return w.conn.Exec("COMMIT")
}

// applyChange makes one change; failed is the error of the change, err one of the whole
// transaction. A change that is alone needs no savepoint.
func (w *writer) applyChange(c *Change, alone bool) (failed, err error) {
	if alone {
		failed = c.Do(w.conn)
		return failed, failed
	}
	if err := w.conn.Exec("SAVEPOINT change"); err != nil {
		return nil, err
	}
	failed = c.Do(w.conn)
	if failed != nil {
		w.notifyRolledBack()
		if err := w.conn.Exec("ROLLBACK TO change"); err != nil {
			return failed, failed // the transaction is gone, for the same reason
		}
	}
	return failed, w.conn.Exec("RELEASE change")
}

// Transact runs do in a transaction of the idle function, which has none of its own. It waits that long for
// another process that writes.
func (c *Conn) Transact(wait time.Duration, do func() error) error {
	deadline := time.Now().Add(wait)
	err := c.Exec("BEGIN IMMEDIATE")
	for pause := time.Millisecond; CodeOf(err) == Busy && time.Now().Before(deadline); pause = min(2*pause, maxPause) {
		time.Sleep(pause)
		err = c.Exec("BEGIN IMMEDIATE")
	}
	if err != nil {
		return err
	}
	err = do()
	if err == nil {
		err = c.Exec("COMMIT")
	}
	if err != nil {
		_ = c.Exec("ROLLBACK") // a full disk may have ended the transaction already
	}
	return err
}

func (w *writer) notifyRolledBack() {
	if w.rolledBack != nil {
		w.rolledBack()
	}
}
