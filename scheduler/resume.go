package scheduler

import (
	"context"
	"iter"

	"github.com/callnode/scheduler/calls"
)

// Resumption is what a run goes on with. Its zero value only tries again.
type Resumption struct {
	// Answers are for the steps that wait; they are checked before anything runs.
	Answers []Answer
	// Flow is an edited flow; nil is that of the journal. Steps that finished must
	// be as they were.
	Flow *Flow
}

// Resume goes on with a run of the Journal: one that waits, failed, was cancelled,
// or whose process died. What finished or was skipped stays as it is; steps that
// failed, were stopped or were at work run again. Events go on with the next seq;
// all else is as with Run. An error before the first event says that nothing has
// changed: a *[HeldError] while another process has the run, a *[Waiting] while
// there are no answers, one of kind Invalid for answers or an edited flow that
// cannot be taken.
func (e *StepExecutor) Resume(ctx context.Context, run string, with Resumption) iter.Seq2[*Event, error] {
	return func(yield func(*Event, error) bool) {
		yield(nil, calls.Errorf(calls.Internal, "resuming is not built yet"))
	}
}
