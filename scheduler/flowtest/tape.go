package flowtest

import (
	"context"
	"time"

	"github.com/callnode/scheduler/calls"
	"github.com/callnode/scheduler/llm/replay"
	"github.com/callnode/scheduler/llm/value"
)

// caseTape plays for a repeat what the recorded run of its flow was answered. What is not recorded is denied, unless the case
// allows it; the memory and what runs inside the program is asked. It is safe for concurrent use.
type caseTape struct {
	run   *replay.Run
	guard *guard
	// hasMemory is set if the case gives the memory its records.
	hasMemory bool
}

// Exchange plays what is recorded for the request.
func (t *caseTape) Exchange(ctx context.Context, kind, name string, request value.Value, ask func(context.Context) (value.Value, error)) (value.Value, error) {
	isOwn := (kind == calls.TapedMemory || kind == calls.TapedRecall) && t.hasMemory
	if !isOwn {
		if answer, ok := t.run.Lookup(ctx, kind, name, request); ok {
			return answer, nil
		}
	}
	switch kind {
	case calls.TapedHTTP: // the request itself is denied if it is not allowed
	case calls.TapedMCP, calls.TapedCall:
		if !t.guard.isAllowed(name) {
			err := calls.Errorf(calls.Invalid, "the recorded run has no such use of %s, and a test does not let it work", name).
				WithHint("add mocks: {call:%s: {...}} to the case, record the run again with scheduler run --record, or add allow: [%s]", name, name)
			t.guard.refuse(err)
			return value.Value{}, err
		}
	}
	return ask(ctx)
}

// Begin tells the id of the run.
func (t *caseTape) Begin(id string, part int, now time.Time) { t.run.Begin(id, part, now) }

// End does nothing: nothing is recorded.
func (t *caseTape) End(bool) error { return nil }
