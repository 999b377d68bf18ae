package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"sync"
	"time"
)

// write is one change to the file. Writes that wait at the same time share a
// commit, and with it the time that the disk takes.
type write struct {
	// do makes the change. It runs in a savepoint: an error undoes this write alone.
	do func(*tx) error
	// lazy says that the commit may wait a little for company.
	lazy bool
	// settled is told how it ended, after the commit.
	settled func(error)
}

// commitDelay is how long a lazy write waits at most; 50 ms are promised, which
// leaves time for the commit.
const commitDelay = 30 * time.Millisecond

// maxLazy is how many writes may wait for company.
const maxLazy = 512

// tx is the transaction that a write is a part of.
type tx struct {
	conn  *sql.Conn
	stmts map[string]*sql.Stmt
}

// exec runs a statement, which stays prepared, and says how many rows it changed.
func (t *tx) exec(query string, args ...any) (int64, error) {
	stmt, err := t.prepare(query) //nolint:sqlclosecheck // it stays prepared until the writer ends
	if err != nil {
		return 0, err
	}
	// The driver starts a goroutine per statement for a context that can end.
	result, err := stmt.ExecContext(context.Background(), args...)
	if err != nil {
		return 0, err
	}
	return result.RowsAffected()
}

// row reads one row.
func (t *tx) row(query string, args ...any) rowScanner {
	stmt, err := t.prepare(query) //nolint:sqlclosecheck // it stays prepared until the writer ends
	if err != nil {
		return badRow{err}
	}
	return stmt.QueryRowContext(context.Background(), args...)
}

func (t *tx) prepare(query string) (*sql.Stmt, error) {
	if stmt := t.stmts[query]; stmt != nil {
		return stmt, nil
	}
	stmt, err := t.conn.PrepareContext(context.Background(), query)
	if err == nil {
		t.stmts[query] = stmt
	}
	return stmt, err
}

type rowScanner interface{ Scan(dest ...any) error }

type badRow struct{ err error }

func (r badRow) Scan(...any) error { return r.err }

// writer is the one goroutine of this process that writes to the file.
type writer struct {
	tx      *tx
	explain func(doing string, err error) error

	mu     sync.Mutex
	queue  []*write
	urgent bool      // somebody waits
	due    time.Time // when the first lazy write must go
	closed bool
	wake   chan struct{}
	over   chan struct{}
}

func newWriter(conn *sql.Conn, explain func(string, error) error) *writer {
	w := &writer{
		tx: &tx{conn, map[string]*sql.Stmt{}}, explain: explain,
		wake: make(chan struct{}, 1), over: make(chan struct{}),
	}
	go w.run()
	return w
}

// submit queues a write and says whether it was taken.
func (w *writer) submit(op *write) bool {
	w.mu.Lock()
	if w.closed {
		w.mu.Unlock()
		return false
	}
	first := len(w.queue) == 0
	if first {
		w.due = time.Now().Add(commitDelay)
	}
	w.queue = append(w.queue, op)
	hurry := !w.urgent && (!op.lazy || len(w.queue) >= maxLazy)
	w.urgent = w.urgent || hurry
	w.mu.Unlock()
	if first || hurry {
		w.signal()
	}
	return true
}

func (w *writer) signal() {
	select {
	case w.wake <- struct{}{}:
	default: // it will look anyway
	}
}

// full says that lazy writers had better wait.
func (w *writer) full() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return len(w.queue) >= maxLazy
}

// await makes a change and waits until it is committed.
func (w *writer) await(do func(*tx) error) error {
	done := make(chan error, 1)
	if !w.submit(&write{do: do, settled: func(err error) { done <- err }}) {
		return errJournalClosed
	}
	return <-done
}

// close commits what is queued, ends the goroutine and gives its connection back.
func (w *writer) close() error {
	w.mu.Lock()
	w.closed = true
	w.mu.Unlock()
	w.signal()
	<-w.over
	var errs []error
	for _, stmt := range w.tx.stmts {
		errs = append(errs, stmt.Close())
	}
	return errors.Join(append(errs, w.tx.conn.Close())...)
}

func (w *writer) run() {
	defer close(w.over)
	timer := time.NewTimer(time.Hour)
	defer timer.Stop()
	for {
		w.mu.Lock()
		batch, wait, last := w.take()
		w.mu.Unlock()
		if len(batch) > 0 {
			w.commit(batch)
			continue
		}
		if last {
			return
		}
		timer.Reset(wait)
		select {
		case <-w.wake:
		case <-timer.C:
		}
	}
}

// take gives the writes that must be committed now, or for how long none must.
func (w *writer) take() (batch []*write, wait time.Duration, last bool) {
	if len(w.queue) == 0 {
		return nil, time.Hour, w.closed
	}
	if wait = time.Until(w.due); wait > 0 && !w.urgent && !w.closed {
		return nil, wait, false
	}
	batch = w.queue
	w.queue, w.urgent = nil, false
	return batch, 0, false
}

// commit makes the changes of a batch in one transaction and tells everybody how
// it ended.
func (w *writer) commit(batch []*write) {
	errs := make([]error, len(batch))
	err := w.transact(batch, errs)
	for i, op := range batch {
		if errs[i] == nil {
			errs[i] = err
		}
		op.settled(w.explain("writing to", errs[i]))
	}
}

func (w *writer) transact(batch []*write, errs []error) (err error) {
	if _, err := w.tx.exec("BEGIN IMMEDIATE"); err != nil {
		return err
	}
	defer func() {
		if err != nil {
			// A full disk may have ended the transaction already.
			_, _ = w.tx.exec("ROLLBACK")
		}
	}()
	for i, op := range batch {
		if errs[i], err = w.apply(op); err != nil {
			return err
		}
	}
	_, err = w.tx.exec("COMMIT")
	return err
}

// apply makes one change; failed is the error of the change, err one of the whole
// transaction.
func (w *writer) apply(op *write) (failed, err error) {
	if _, err := w.tx.exec("SAVEPOINT change"); err != nil {
		return nil, err
	}
	if failed = op.do(w.tx); failed != nil {
		if _, err := w.tx.exec("ROLLBACK TO change"); err != nil {
			return failed, failed // the transaction is gone, for the same reason
		}
	}
	_, err = w.tx.exec("RELEASE change")
	return failed, err
}
