package flowtest

import (
	"context"
	"time"

	"github.com/callnode/scheduler/calls"
	"github.com/callnode/scheduler/llm/replay"
	"github.com/callnode/scheduler/llm/value"
)

// caseTape plays for a repeat the answers of the flow's recorded run, and the takes that tests have recorded.
// Other requests are recorded if tests are to, else denied unless the case allows them; the memory and requests
// inside the program are always answered. It is safe for concurrent use.
type caseTape struct {
	run *replay.Run // of the flow; nil: none is recorded with the inputs of the case
	// player plays and records the takes of tests, or is nil.
	player *replay.Player
	guard  *guard
	// hasMemory is set if the case gives the memory its records.
	hasMemory bool
}

// Exchange plays the recorded answer to the request, or asks for one.
func (t *caseTape) Exchange(ctx context.Context, kind, name string, request value.Value, ask func(context.Context) (value.Value, error)) (value.Value, error) {
	isMemory := kind == calls.TapedMemory || kind == calls.TapedRecall
	if t.run != nil && !(isMemory && t.hasMemory) {
		if answer, ok := t.run.Lookup(ctx, kind, name, request); ok {
			return answer, nil
		}
	}
	if isMemory { // the memory of the case
		return ask(ctx)
	}
	askAllowed := func(ctx context.Context) (value.Value, error) {
		if err := t.deny(ctx, kind, name, request); err != nil {
			return value.Value{}, err
		}
		return ask(ctx)
	}
	if t.player == nil {
		return askAllowed(ctx)
	}
	return t.player.Exchange(ctx, kind, name, request, askAllowed)
}

// deny returns an error if a request is neither recorded nor allowed in a test, else nil.
func (t *caseTape) deny(ctx context.Context, kind, name string, request value.Value) error {
	var allowed string
	switch kind {
	case calls.TapedHTTP:
		allowed = allowRequests
	case calls.TapedMCP, calls.TapedCall:
		allowed = name
	}
	isHTTPOfNothing := kind == calls.TapedHTTP && t.player == nil // the request itself is denied
	if allowed == "" || isHTTPOfNothing || t.guard.records || t.guard.isAllowed(allowed) {
		return nil
	}
	var err error = calls.Errorf(calls.Invalid, "the recorded run has no such use of %s, and a test does not let it work", name).
		WithHint("add mocks: {call:%s: {...}} to the case, record the run again with scheduler run --record, or add allow: [%s]", name, name)
	if t.player != nil {
		err = calls.Errorf(calls.Invalid, "%w", t.player.MissOf(ctx, kind, name, request)).
			WithHint("run scheduler test --record to record it, mock it in the case, or add allow: [%s]", allowed)
	}
	t.guard.refuse(err)
	return err
}

// Begin gives the recorded run the id of this run.
func (t *caseTape) Begin(id string, part int, now time.Time) {
	if t.run != nil {
		t.run.Begin(id, part, now)
	}
	if t.player != nil {
		t.player.Begin(id)
	}
}

// End does nothing: recordings are written when all cases of the file have run.
func (t *caseTape) End(bool) error { return nil }
