package eventlog

import (
	"context"
	"sync"
	"time"

	"github.com/callnode/scheduler/scheduler/journal"
)

// writer is the part of a [Log] that hands events to its store, all new ones at once, and then to the reader, who
// sees nothing that a crash could undo. Actions that must wait until an event is safe are queued here. The log's
// lock guards it.
type writer struct {
	// unsaved has the events since the last write, and writing counts the events being written; backup is the last
	// batch, to be used again.
	unsaved, backup []*journal.Event
	writing         int
	// due means that unsaved events are to be written now; work signals it.
	due  bool
	work sync.Cond
	// saved is the Seq of the last event that was written; written signals each write.
	saved   int64
	written sync.Cond
	// callbacks are in the order of seq.
	callbacks []callback
	// err is the first error of Append, closeErr Close's.
	err, closeErr error
}

// callback is called once all events up to seq are saved.
type callback struct {
	seq  int64
	call func(error)
}

// lingering is how long events wait for company that no step waits for: a step that
// takes no longer costs one write. maxLingering is how many may.
const (
	lingering    = 30 * time.Millisecond
	maxLingering = 512
)

func (l *Log) unsavedCountLocked() int { return len(l.unsaved) + l.writing }

// scheduleWriteLocked has the event of a type that was added written, now or a little later.
func (l *Log) scheduleWriteLocked(added journal.EventType) {
	if l.async || !canLinger(added) || len(l.unsaved) == maxLingering {
		l.writeSoonLocked()
	} else if len(l.unsaved) == 1 {
		l.linger.Reset(lingering)
	}
}

// canLinger reports whether no step waits for an event of this type to be safe: lost with
// the process, it happens again.
func canLinger(t journal.EventType) bool {
	switch t { //nolint:exhaustive // the others are the end of something
	case journal.StepReady, journal.StepStarted, journal.StepInput, journal.StepDelta,
		journal.StepRetrying, journal.StepWarning, journal.StepChild, journal.StepSkipped:
		return true
	}
	return false
}

func (l *Log) writeSoon() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.writeSoonLocked()
}

// writeSoonLocked has unsaved events written now.
func (l *Log) writeSoonLocked() {
	if !l.due && len(l.unsaved) > 0 {
		l.due = true
		l.work.Signal()
	}
}

// AfterSaved calls call once all events so far are safe, or with the error of the
// store: in the order of these events, by the log's own goroutine, without its lock. It reports false, and forgets
// call, if they are safe already.
func (l *Log) AfterSaved(call func(error)) (later bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.unsavedCountLocked() == 0 {
		return false
	}
	l.callbacks = append(l.callbacks, callback{l.seq, call})
	return true
}

// WaitSaved waits until all events so far are safe. The error is the store's. It must not be called with a lock
// that a callback takes.
func (l *Log) WaitSaved() error {
	if l.store == nil {
		return nil
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	for seq := l.seq; l.saved < seq && l.err == nil; {
		l.written.Wait()
	}
	return l.err
}

// Err returns the first error of the store; nil if there is none.
func (l *Log) Err() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.err
}

// Wait waits until the store has all of a closed log. If all events are safe, the error is the one of closing the
// store.
func (l *Log) Wait() error {
	if l.done != nil {
		<-l.done
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.closeErr
}

// runWriter writes until the last event of the run.
func (l *Log) runWriter(ctx context.Context) {
	defer close(l.done)
	defer l.linger.Stop()
	for {
		batch, last := l.takeUnsaved()
		l.write(ctx, batch, last)
		l.finishBatch(batch, last)
		if last {
			return
		}
	}
}

// takeUnsaved waits for a batch to write; the last one may be empty.
func (l *Log) takeUnsaved() (batch []*journal.Event, last bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for !l.due && !l.closed {
		l.work.Wait()
	}
	batch = l.unsaved
	l.unsaved, l.writing, l.due = l.backup[:0], len(batch), false
	return batch, l.closed
}

// write hands a batch to the store, unless a write has failed before. With the last one the store releases the
// run: a reader that sees its end can continue it.
func (l *Log) write(ctx context.Context, batch []*journal.Event, last bool) {
	failed := l.Err()
	if failed == nil && len(batch) > 0 {
		failed = l.store.Append(ctx, batch...)
		l.keepError(failed)
	}
	if !last {
		return
	}
	err := l.store.Close()
	if err == nil || failed != nil {
		return
	}
	if l.async { // the end itself may not be safe
		l.keepError(err)
		return
	}
	l.mu.Lock()
	l.closeErr = err
	l.mu.Unlock()
}

// keepError keeps the first error of the store, and passes it on.
func (l *Log) keepError(err error) {
	if err == nil {
		return
	}
	l.mu.Lock()
	l.err = err
	l.written.Broadcast()
	l.mu.Unlock()
	if l.onError != nil {
		l.onError(err)
	}
}

// finishBatch runs the callbacks that waited for a batch, and delivers it.
func (l *Log) finishBatch(batch []*journal.Event, last bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if n := len(batch); n > 0 {
		l.saved = batch[n-1].Seq
		l.written.Broadcast()
	}
	l.runCallbacksLocked()
	if l.err == nil && !l.readerLeft { // after an error a resumed run may give their seq to other events
		l.queue = append(l.queue, batch...)
		l.wakeReaderLocked()
	}
	clear(batch)
	l.backup, l.writing = batch, 0
	l.announceRoomLocked()
	if last {
		l.endLocked()
	}
}

// runCallbacksLocked runs, without the lock, the callbacks that waited for the saved events. These count as
// unsaved until it is done, so that no later callback comes first: one that is added meanwhile may wait for no
// other event, and is called as well.
func (l *Log) runCallbacksLocked() {
	for {
		n := 0
		for n < len(l.callbacks) && l.callbacks[n].seq <= l.saved {
			n++
		}
		if n == 0 {
			return
		}
		ready, err := l.callbacks[:n:n], l.err
		l.callbacks = l.callbacks[n:]
		l.mu.Unlock()
		for _, one := range ready {
			one.call(err)
		}
		clear(ready) // the array is used on
		l.mu.Lock()
	}
}
