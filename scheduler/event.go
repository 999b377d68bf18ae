package scheduler

import (
	"time"

	"github.com/callnode/scheduler/llm"
	"github.com/callnode/scheduler/llm/value"
	"github.com/callnode/scheduler/scheduler/journal"
)

// placedEvent is an event with room for what its Index points to.
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

// setOutput sets the output of a step, masked, and what was masked.
func (n *pendingEvent) setOutput(output value.Value, masked []string) {
	n.params = output
	n.data.Output, n.data.Masked = &n.params, masked
}

// setUsage sets the usage where there was any.
func (n *pendingEvent) setUsage(used llm.Usage) {
	if used != (llm.Usage{}) {
		n.usage = used
		n.data.Usage = &n.usage
	}
}

// setError sets the error.
func (n *pendingEvent) setError(info *journal.ErrorInfo) { n.data.Error = info }
