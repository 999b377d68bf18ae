// Package eventlog carries the events of a run from the goroutines of its steps to the one that reads them,
// through a journal if there is one. For example, in mode sync a reader sees an event only after the journal has
// stored it. The package knows events, but neither steps nor flows.
package eventlog

import (
	"context"
	"sync"
	"time"

	"github.com/callnode/scheduler/scheduler/journal"
)

// Store is the part that a log needs of a [journal.RunLog]. One goroutine at a time uses it.
type Store interface {
	// Append adds events, in order, and returns once they are safe; in mode
	// [journal.Async] before.
	Append(ctx context.Context, events ...*journal.Event) error
	// Close commits the added events and releases the run.
	Close() error
}

// Options are a log's dependencies and settings.
type Options struct {
	// LastSeq is the Seq of the last event that earlier processes have recorded.
	LastSeq int64
	// Store gets the events before the reader does, and is closed after the last one; nil:
	// they are not kept.
	Store Store
	// Mode is the Store's mode.
	Mode journal.Durability
	// OnError is called with the first error of Store, by the log's own goroutine and
	// without its lock. No callback of [Log.AfterSaved] runs before it.
	OnError func(error)
}

// maxBacklog limits the events that wait for a slow reader, or for the store, before steps wait as well.
const maxBacklog = 4096

// Log takes the events of one run. The engine makes one for each whole run, and its
// sub-flows share it; it lives until it is closed and all its events are delivered. It is
// safe for concurrent use. It calls nothing of its users while it holds its lock, so they may call it while
// they hold theirs.
type Log struct {
	store   Store
	async   bool
	onError func(error)
	// linger wakes the writer if nothing else does.
	linger *time.Timer
	done   chan struct{} // closed when the writer has ended

	mu sync.Mutex

	// The following fields are guarded by mu.

	// seq and at are the number and the time of the last appended event.
	seq int64
	at  time.Time
	// queue has the events that the reader has not taken yet; spare is its last batch, to be used again.
	queue, spare []*journal.Event
	// arrived wakes the reader, room the steps that wait for it.
	arrived, room           sync.Cond
	readerWaits, roomWanted bool
	// closed: no more events are taken. delivered: nor will any more get into the queue.
	closed, delivered, readerLeft bool

	writer
}

// New returns a log. With a Store it has a goroutine, which ends after Close; its writes
// are not given up when ctx ends.
func New(ctx context.Context, o Options) *Log {
	l := &Log{store: o.Store, async: o.Mode == journal.Async, onError: o.OnError, seq: o.LastSeq}
	l.arrived.L, l.room.L, l.work.L, l.written.L = &l.mu, &l.mu, &l.mu, &l.mu
	if l.store != nil {
		l.done = make(chan struct{})
		l.saved = o.LastSeq
		l.linger = time.AfterFunc(lingering, l.writeSoon)
		l.linger.Stop()
		go l.runWriter(context.WithoutCancel(ctx))
	}
	return l
}

// HasStore reports whether events are kept.
func (l *Log) HasStore() bool { return l.store != nil }

// WaitForRoom waits while too many events wait for the reader or the store. It is called
// before a lock is taken under which events are appended; a few goroutines that were let
// in at once may pass the bound.
func (l *Log) WaitForRoom() {
	l.mu.Lock()
	defer l.mu.Unlock()
	for l.isFullLocked() && !l.readerLeft && !l.closed {
		l.roomWanted = true
		l.room.Wait()
	}
}

func (l *Log) isFullLocked() bool {
	return len(l.queue) >= maxBacklog || l.unsavedCountLocked() >= maxBacklog
}

// Append sets the Seq of the event and adds it. Its Time is raised to the previous event's if it is earlier,
// because goroutines read the clock before they get here. Append never waits. After Close, and if neither a reader
// nor a store is left, the event is dropped.
func (l *Log) Append(ev *journal.Event) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.appendLocked(ev)
}

func (l *Log) appendLocked(ev *journal.Event) {
	isUnread := l.readerLeft && l.store == nil
	if l.closed || isUnread {
		return
	}
	if ev.Time.Before(l.at) {
		ev.Time = l.at
	}
	l.seq++
	l.at = ev.Time
	ev.Seq = l.seq
	if l.store == nil {
		l.queue = append(l.queue, ev)
		l.wakeReaderLocked()
		return
	}
	l.unsaved = append(l.unsaved, ev)
	l.scheduleWriteLocked(ev.Type)
}

// Close adds the last event, nil for none, and drops all that come after it.
func (l *Log) Close(last *journal.Event) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if last != nil {
		l.appendLocked(last)
	}
	l.closed = true
	l.room.Broadcast()
	if l.store == nil {
		l.endLocked()
	} else {
		l.work.Signal()
	}
}

// wakeReaderLocked wakes the reader if it waits for events.
func (l *Log) wakeReaderLocked() {
	if l.readerWaits {
		l.readerWaits = false
		l.arrived.Signal()
	}
}

// endLocked ends the reader's events.
func (l *Log) endLocked() {
	l.delivered = true
	l.arrived.Signal()
}

// announceRoomLocked wakes the steps that wait for room once there is some.
func (l *Log) announceRoomLocked() {
	if l.roomWanted && !l.isFullLocked() {
		l.roomWanted = false
		l.room.Broadcast()
	}
}

// Read yields all events, in order, and for a log with a store only after they are safe; it reports whether the
// reader has taken all. Only one goroutine may read.
func (l *Log) Read(yield func(*journal.Event, error) bool) (all bool) {
	for {
		batch := l.nextQueued()
		if len(batch) == 0 {
			return true
		}
		for i, ev := range batch {
			batch[i] = nil // the reader may keep events; the queue must not
			if !yield(ev, nil) {
				return false
			}
		}
	}
}

// nextQueued takes the events that have arrived; none at the end of the run.
func (l *Log) nextQueued() []*journal.Event {
	l.mu.Lock()
	defer l.mu.Unlock()
	for len(l.queue) == 0 && !l.delivered {
		l.readerWaits = true
		l.arrived.Wait()
	}
	batch := l.queue
	l.queue, l.spare = l.spare[:0], batch
	l.announceRoomLocked()
	return batch
}

// Detach lets the reader leave: it gets no further event, the store still does.
func (l *Log) Detach() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.readerLeft = true
	l.queue = nil
	l.room.Broadcast()
}
