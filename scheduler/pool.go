package scheduler

import "github.com/callnode/scheduler/scheduler/internal/order"

// pool has what nearly every step needs, so that a step costs few allocations:
// BenchmarkRun takes a third longer without it. It is guarded by the lock of its run.
type pool struct {
	idle   []*task
	events []taskEvents // not used yet
}

// taskEvents are the events that nearly every task has. Each is used once, if at all.
type taskEvents struct{ started, input, finished pendingEvent }

// eventsPerChunk is how many tasks share an allocation of their events. A reader that keeps
// one event keeps them all.
const eventsPerChunk = 8

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
		p.events = make([]taskEvents, eventsPerChunk)
	}
	t.events = &p.events[0]
	p.events = p.events[1:]
	return t
}

// giveBack takes a task whose outcome was handled, unless something may still hold on to
// it: what it ran inside itself, or a call that was left behind.
func (p *pool) giveBack(t *task, status order.Status) {
	if status == order.Finished && !t.leftBehind && !t.isShared.Load() {
		*t = task{}
		p.idle = append(p.idle, t)
	}
}
