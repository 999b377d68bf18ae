package scheduler

import (
	"github.com/callnode/scheduler/scheduler/internal/order"
	"github.com/callnode/scheduler/scheduler/journal"
)

// pool has what nearly every step needs, so that a step costs few allocations:
// BenchmarkRun takes a third longer without it. It is guarded by the lock of its run.
type pool struct {
	idle []*task
	// events and ready are not used yet.
	events []taskEvents
	ready  []journal.Event
	// steps is how many steps the flow has that got no events yet, readySteps how many no
	// event of being ready: a small flow gets no more than it needs.
	steps, readySteps int
	// started is the data of the last step.started. Steps of the same call in a row share
	// it.
	started *journal.Data
}

// taskEvents are the events that nearly every task has. Each is used once, if at all.
type taskEvents struct {
	started         placedEvent
	input, finished pendingEvent
}

// eventsPerChunk is how many tasks share an allocation of their events at most: as many as nearly
// fill a size class of Go's allocator, 9,472 bytes. A reader that keeps one event keeps
// them all.
const eventsPerChunk = 9

// chunkFor returns how many are allocated together where left are still wanted; more may be
// wanted all the same, for the items of lists.
func chunkFor(left *int) int {
	n := eventsPerChunk
	if *left > 0 {
		n = min(n, *left)
	}
	*left -= n
	return n
}

// take returns an empty task with events.
func (p *pool) take() *task {
	var t *task
	if last := len(p.idle) - 1; last < 0 {
		t = &task{}
	} else {
		t = p.idle[last]
		p.idle = p.idle[:last]
	}
	if len(p.events) == 0 {
		p.events = make([]taskEvents, chunkFor(&p.steps))
	}
	t.events = &p.events[0]
	p.events = p.events[1:]
	return t
}

// takeReady returns an empty event.
func (p *pool) takeReady() *journal.Event {
	if len(p.ready) == 0 {
		p.ready = make([]journal.Event, chunkFor(&p.readySteps))
	}
	ev := &p.ready[0]
	p.ready = p.ready[1:]
	return ev
}

// startedData returns the data of step.started.
func (p *pool) startedData(call string, toUser bool) *journal.Data {
	if d := p.started; d == nil || d.Call != call || d.ToUser != toUser {
		p.started = &journal.Data{Call: call, ToUser: toUser}
	}
	return p.started
}

// giveBack takes a task whose outcome was handled, unless something may still hold on to
// it: what it ran inside itself, or a call that was left behind.
func (p *pool) giveBack(t *task, status order.Status) {
	if status == order.Finished && !t.leftBehind && !t.isShared.Load() {
		*t = task{}
		p.idle = append(p.idle, t)
	}
}
