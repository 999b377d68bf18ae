package scheduler

import (
	"sync"
	"time"

	"github.com/callnode/scheduler/llm"
	"github.com/callnode/scheduler/llm/value"
	"github.com/callnode/scheduler/scheduler/journal"
)

// head is an event with room for what its Index points to.
type head struct {
	event journal.Event
	index int
}

// pendingEvent is an event together with all that it points to: one allocation instead of
// many. Nothing in it changes once it was pushed.
type pendingEvent struct {
	head
	data          journal.Data
	params, input value.Value // output and outputs use params
	usage         llm.Usage
	duration      float64
}

// newPendingEvent returns an event with data.
func newPendingEvent(t journal.EventType) *pendingEvent { return new(pendingEvent).ofType(t) }

// ofType makes the note an event of a type.
func (n *pendingEvent) ofType(t journal.EventType) *pendingEvent {
	n.event.Type, n.event.Data = t, &n.data
	return n
}

// slab hands out values one by one that it makes in chunks, which is much cheaper
// than one by one. A chunk lives as long as any value of it: use it for what
// lives about equally long.
type slab[T any] struct {
	free []T
	size int // of the last chunk
}

const maxChunk = 16

func (s *slab[T]) get() *T {
	if len(s.free) == 0 {
		s.size = min(max(2*s.size, 2), maxChunk)
		s.free = make([]T, s.size)
	}
	x := &s.free[0]
	s.free = s.free[1:]
	return x
}

// setDuration sets the duration of what began then.
func (n *pendingEvent) setDuration(s *stream, began time.Time) {
	n.duration = float64(s.watch().Sub(began)) / float64(time.Millisecond)
	n.data.DurationMS = &n.duration
}

// setOutput sets the output of a step, masked, and what was masked.
func (n *pendingEvent) setOutput(output value.Value, masked []string) {
	n.params = output
	n.data.Output, n.data.Masked = &n.params, masked
}

// setUsage sets the usage where there was any.
func (n *pendingEvent) setUsage(m *meter) {
	n.usage = m.usage()
	if n.usage != (llm.Usage{}) {
		n.data.Usage = &n.usage
	}
}

// setError sets the error.
func (n *pendingEvent) setError(info *journal.ErrorInfo) { n.data.Error = info }

// maxBacklog bounds how many events wait for a slow reader before steps wait for
// it too.
const maxBacklog = 4096

// stream carries the events of a run, and of its sub-flows, from the goroutines
// of steps to the one that reads, through the journal where there is one. Its lock
// guards the state of the runs as well: an event and the change that it tells of
// happen at once.
type stream struct {
	sync.Mutex
	// clock dates the events, watch measures how long something takes.
	clock, watch func() time.Time
	seq          int64
	queue        []*journal.Event
	spare        []*journal.Event
	// record takes the events before the reader does; nil without a journal.
	record *recorder
	// waits are the steps that wait for values.
	waits []journal.WaitingFor
	// arrived wakes the reader, room the steps that wait for it.
	arrived, room sync.Cond
	// closed: there will be no more events. over: nor will any more get into the
	// queue. deaf: nobody reads.
	closed, over, readerLeft bool
	waiting, full            bool
}

func newStream(clock, watch func() time.Time) *stream {
	s := &stream{clock: clock, watch: watch}
	s.arrived.L, s.room.L = s, s
	return s
}

// lockWithRoom locks the stream once it has room.
func (s *stream) lockWithRoom() {
	s.Lock()
	for s.isCrowdedLocked() && !s.readerLeft && !s.closed {
		s.full = true
		s.room.Wait()
	}
}

func (s *stream) isCrowdedLocked() bool {
	return len(s.queue) >= maxBacklog || s.record != nil && s.record.unsavedCount() >= maxBacklog
}

// pushLocked adds an event. The stream is locked.
func (s *stream) pushLocked(ev *journal.Event, now time.Time) {
	if s.closed || s.readerLeft && s.record == nil {
		return
	}
	s.seq++
	ev.Seq, ev.Time = s.seq, now
	if s.record != nil {
		s.record.addLocked(ev)
		return
	}
	s.deliverLocked(ev)
}

// deliverLocked hands events to the reader. The stream is locked.
func (s *stream) deliverLocked(events ...*journal.Event) {
	if s.readerLeft {
		return
	}
	s.queue = append(s.queue, events...)
	if s.waiting {
		s.waiting = false
		s.arrived.Signal()
	}
}

// closeLocked tells that the last event was pushed. The stream is locked.
func (s *stream) closeLocked() {
	s.closed = true
	s.room.Broadcast()
	if s.record != nil {
		s.record.arrived.Signal()
		return
	}
	s.endLocked()
}

// endLocked tells that the reader has all there is. The stream is locked.
func (s *stream) endLocked() {
	s.over = true
	s.arrived.Signal()
}

// wakeStepsLocked wakes the steps that waited for room. The stream is locked.
func (s *stream) wakeStepsLocked() {
	if s.full && !s.isCrowdedLocked() {
		s.full = false
		s.room.Broadcast()
	}
}

// nextBatch takes the events that have arrived; none at the end of the run.
func (s *stream) nextBatch() []*journal.Event {
	s.Lock()
	defer s.Unlock()
	for len(s.queue) == 0 && !s.over {
		s.waiting = true
		s.arrived.Wait()
	}
	batch := s.queue
	s.queue, s.spare = s.spare[:0], batch
	s.wakeStepsLocked()
	return batch
}

// drain yields all events; false says that the reader has had enough.
func (s *stream) drain(yield func(*journal.Event, error) bool) bool {
	for {
		batch := s.nextBatch()
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

// detachReaderLocked drops all further events; the journal still gets them. The stream is
// locked.
func (s *stream) detachReaderLocked() {
	s.readerLeft = true
	s.queue = nil
	s.room.Broadcast()
}
