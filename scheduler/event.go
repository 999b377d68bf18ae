package scheduler

import (
	"time"

	"github.com/callnode/scheduler/llm"
	"github.com/callnode/scheduler/llm/value"
	"github.com/callnode/scheduler/scheduler/journal"
)

// placedEvent is an event with room for the value to which its Index points.
type placedEvent struct {
	event journal.Event
	index int
}

// pendingEvent is an event together with all that it points to: one allocation instead of
// many. Nothing in it changes once it was emitted.
type pendingEvent struct {
	placedEvent
	data          journal.Data
	params, input value.Value // output and outputs use params
	message       string      // of the user, unchanged
	usage         llm.Usage
	duration      float64
}

// newPendingEvent returns an event with data.
func newPendingEvent(t journal.EventType) *pendingEvent { return new(pendingEvent).ofType(t) }

// ofType makes the empty n an event of a type.
func (n *pendingEvent) ofType(t journal.EventType) *pendingEvent {
	n.event.Type, n.event.Data = t, &n.data
	return n
}

// setPlace sets the step that the event is of, and the item; -1: none.
func (n *placedEvent) setPlace(step string, item int) {
	n.event.Step = step
	if item >= 0 {
		n.index = item
		n.event.Index = &n.index
	}
}

// setDuration sets how long something took.
func (n *pendingEvent) setDuration(d time.Duration) {
	n.duration = float64(d) / float64(time.Millisecond)
	n.data.DurationMS = &n.duration
}

// setOutput sets the output of a step, masked, and the pointers of masked values.
func (n *pendingEvent) setOutput(output value.Value, masked []string) {
	n.params = output
	n.data.Output, n.data.Masked = &n.params, masked
}

// setUsage sets the usage if there was any.
func (n *pendingEvent) setUsage(used llm.Usage) {
	if used != (llm.Usage{}) {
		n.usage = used
		n.data.Usage = &n.usage
	}
}

// setError sets the error.
func (n *pendingEvent) setError(info *journal.ErrorInfo) { n.data.Error = info }

// eventPool has the events that nearly every step needs, so that a step costs few allocations:
// BenchmarkRun takes a third longer without it and [run] idle. It is guarded by the lock of its run.
type eventPool struct {
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

// chunkFor returns how many are allocated together if left are still expected; more may be needed, for example for
// the items of lists.
func chunkFor(left *int) int {
	n := eventsPerChunk
	if *left > 0 {
		n = min(n, *left)
	}
	*left -= n
	return n
}

// take returns the events of a task.
func (p *eventPool) take() *taskEvents {
	if len(p.events) == 0 {
		p.events = make([]taskEvents, chunkFor(&p.steps))
	}
	events := &p.events[0]
	p.events = p.events[1:]
	return events
}

// takeReady returns an empty event.
func (p *eventPool) takeReady() *journal.Event {
	if len(p.ready) == 0 {
		p.ready = make([]journal.Event, chunkFor(&p.readySteps))
	}
	ev := &p.ready[0]
	p.ready = p.ready[1:]
	return ev
}

// startedData returns the data of step.started.
func (p *eventPool) startedData(call string, toUser bool) *journal.Data {
	if d := p.started; d == nil || d.Call != call || d.ToUser != toUser {
		p.started = &journal.Data{Call: call, ToUser: toUser}
	}
	return p.started
}
