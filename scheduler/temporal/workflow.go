package temporal

import (
	"strings"
	"time"

	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"github.com/callnode/scheduler/calls"
)

const (
	// maxStretches and maxAnswers are after how many of them a workflow goes on in a new
	// execution: the server bounds the updates of one at 2,000.
	maxStretches = 200
	maxAnswers   = 1000
	// refusedDelay is how long a run that the last workers refused waits before it asks the next ones. It does not grow: a worker that
	// has all of it may come at any time.
	refusedDelay = 5 * time.Second
)

const stuckMessage = "the run has brought down several workers without a step that finished"

// execution is one execution of the workflow. All of its code runs in the one coroutine at a
// time that the SDK lets run.
type execution struct {
	in        Input
	stretches int
	answers   int
	// wakes has the signals of changes in the journal, each with the seq of its last event then.
	wakes workflow.ReceiveChannel
	// isWoken is set when something has changed that the run may go on with.
	isWoken bool
	// began is the seq of the last event that was known when the last stretch began.
	began int64
	// missing lists the things that the last worker lacked; "" while a worker has the run.
	missing string
	// details is the text on Temporal's pages.
	details string
}

// runWorkflow is the workflow of a run.
func runWorkflow(ctx workflow.Context, in Input) (Outcome, error) {
	if in.unreadable != nil {
		panic(in.unreadable) // as the SDK wants it: the decision is left to another worker
	}
	x := &execution{in: in}
	if err := x.setHandlers(ctx); err != nil {
		return Outcome{}, err
	}
	for {
		if ctx.Err() != nil {
			return x.cancelRun(ctx)
		}
		if x.isLong(ctx) {
			return x.continueAsNew(ctx)
		}
		out, err := x.runStretch(ctx)
		if err != nil && ctx.Err() != nil {
			return x.cancelRun(ctx)
		}
		if err != nil {
			return out, x.finish(ctx, out, err)
		}
		isOver, err := x.handleOutcome(ctx, out)
		if isOver {
			return out, x.finish(ctx, out, err)
		}
	}
}

// setHandlers lets the workflow take answers and be woken.
func (x *execution) setHandlers(ctx workflow.Context) error {
	x.wakes = workflow.GetSignalChannel(ctx, wakeSignal)
	if err := workflow.SetQueryHandler(ctx, missingQuery, func() (string, error) { return x.missing, nil }); err != nil {
		return err
	}
	return workflow.SetUpdateHandlerWithOptions(ctx, answerUpdate, x.takeAnswers, workflow.UpdateHandlerOptions{
		Description: "Give the run values that it waits for.",
	})
}

// hasWoken reads the signals that have come, and reports whether something has changed since
// the last stretch began.
func (x *execution) hasWoken() bool {
	for {
		var seq int64
		if !x.wakes.ReceiveAsync(&seq) {
			return x.isWoken
		}
		x.isWoken = true
		x.in.WokenAt = max(x.in.WokenAt, seq)
	}
}

// takeAnswers has answers checked and recorded, and returns them as they were understood.
func (x *execution) takeAnswers(ctx workflow.Context, request answerRequest) ([]answer, error) {
	x.answers++
	request.Run, request.Store = x.in.Run, x.in.Store
	var taken []answer
	if len(request.Answers) > 0 {
		if err := workflow.ExecuteActivity(withShortActivity(ctx, shortQueue(x.in.Queue, x.in.Store), maxAnswerAttempts), answerActivity, request).Get(ctx, &taken); err != nil {
			return nil, err
		}
	}
	if !request.More {
		x.isWoken = true
	}
	return taken, nil
}

// isLong reports whether the history has become so long that a new execution goes on.
func (x *execution) isLong(ctx workflow.Context) bool {
	isFull := x.stretches >= maxStretches || x.answers >= maxAnswers
	return isFull || workflow.GetInfo(ctx).GetContinueAsNewSuggested()
}

// continueAsNew goes on in a new execution, which begins with a stretch.
func (x *execution) continueAsNew(ctx workflow.Context) (Outcome, error) {
	if err := workflow.Await(ctx, func() bool { return workflow.AllHandlersFinished(ctx) }); err != nil {
		return x.cancelRun(ctx)
	}
	x.hasWoken() // the signals of this execution are not seen by the next one
	return Outcome{}, workflow.NewContinueAsNewError(ctx, Workflow, x.in)
}

// runStretch carries the run on until it ends or waits.
func (x *execution) runStretch(ctx workflow.Context) (out Outcome, err error) {
	x.stretches++
	x.hasWoken()
	x.isWoken, x.began = false, x.in.After
	x.in.Since = max(x.in.Since, x.in.WokenAt) // resuming a run that pauses gives it tries at once
	x.describe(ctx, "at work")
	ctx = workflow.WithActivityOptions(ctx, workflow.ActivityOptions{
		TaskQueue:           stretchQueue(x.in.Queue, x.in.Store, x.in.Child),
		StartToCloseTimeout: 7 * 24 * time.Hour,
		HeartbeatTimeout:    x.in.Heartbeat,
		WaitForCancellation: true,
		RetryPolicy:         &temporal.RetryPolicy{InitialInterval: 500 * time.Millisecond, BackoffCoefficient: 1.5, MaximumInterval: 10 * time.Second},
	})
	in := stretchInput{Run: x.in.Run, Store: x.in.Store, After: x.in.After, Since: x.in.Since}
	if !x.in.RefusedSince.IsZero() {
		in.UnavailableFor = workflow.Now(ctx).Sub(x.in.RefusedSince)
	}
	err = workflow.ExecuteActivity(ctx, Stretch, in).Get(ctx, &out)
	if err == nil {
		x.in.After = max(x.in.After, out.Seq)
	}
	return out, err
}

// handleOutcome acts on the outcome of a stretch. isOver is true if the workflow ends, with the error.
func (x *execution) handleOutcome(ctx workflow.Context, out Outcome) (isOver bool, err error) {
	if x.in.Attributes {
		if err := upsertAttributes(ctx, out); err != nil {
			return true, err
		}
	}
	x.missing = out.Missing
	if x.isResumed(out) {
		return false, nil
	}
	if isRefused := out.State == Unavailable && out.Pause == 0; !isRefused {
		x.in.RefusedSince = time.Time{}
	}
	switch out.State {
	case HandedOver:
	case Waiting:
		x.describe(ctx, "waits for "+strings.Join(out.Waiting, ", "))
		_ = workflow.Await(ctx, x.hasWoken) // its error is ctx's
	case Unavailable:
		return x.waitForWorker(ctx, out)
	case Finished, Cancelled:
		x.describe(ctx, string(out.State))
		return true, nil
	case Failed:
		x.describe(ctx, "failed: "+out.Step+" ("+out.Kind+")")
		return true, temporal.NewNonRetryableApplicationError(out.Step, out.Kind, nil, out)
	case Stuck:
		x.describe(ctx, "stuck: "+stuckMessage)
		return true, temporal.NewNonRetryableApplicationError(stuckMessage, typeStuck, nil, out)
	default:
		return true, temporal.NewNonRetryableApplicationError("unknown state "+string(out.State), string(calls.Internal), nil)
	}
	return false, nil
}

// isResumed reports whether a run that has ended was resumed before this workflow learnt of its end: the process
// that resumed it had seen its last event. An end that was known when the last stretch began does not count: that
// stretch has refused to go on.
func (x *execution) isResumed(out Outcome) bool {
	if out.State != Failed && out.State != Cancelled {
		return false
	}
	x.hasWoken()
	return out.Seq > x.began && x.in.WokenAt >= out.Seq
}

// waitForWorker waits before it offers the run to workers again, because the last ones lacked something or died
// while running it.
func (x *execution) waitForWorker(ctx workflow.Context, out Outcome) (isOver bool, err error) {
	x.describe(ctx, "no worker can carry it out: "+out.Missing)
	if out.Pause > 0 {
		_, _ = workflow.AwaitWithTimeout(ctx, out.Pause, x.hasWoken)
		return false, nil
	}
	if x.hasWoken() { // the run was resumed meanwhile
		x.in.RefusedSince = time.Time{}
	}
	if x.in.RefusedSince.IsZero() {
		x.in.RefusedSince = workflow.Now(ctx)
	}
	_, _ = workflow.AwaitWithTimeout(ctx, refusedDelay, x.hasWoken)
	return false, nil
}

// cancelRun cancels a run after its workflow was cancelled, for example on Temporal's pages, while no stretch is
// under way.
func (x *execution) cancelRun(ctx workflow.Context) (Outcome, error) {
	free, stop := workflow.NewDisconnectedContext(ctx)
	defer stop()
	var out Outcome
	if err := workflow.ExecuteActivity(withShortActivity(free, shortQueue(x.in.Queue, x.in.Store), 0), cancelActivity, cancelRequest{Run: x.in.Run, Store: x.in.Store}).Get(free, &out); err != nil {
		return out, err
	}
	if x.in.Attributes {
		if err := upsertAttributes(free, out); err != nil {
			return out, err
		}
	}
	x.describe(free, string(out.State))
	return out, x.finish(ctx, out, nil)
}

// finish waits for the answers that are being recorded and returns the error of the workflow. A run that
// is resumed meanwhile goes on in a new execution.
func (x *execution) finish(ctx workflow.Context, out Outcome, err error) error {
	free, stop := workflow.NewDisconnectedContext(ctx)
	defer stop()
	if waitErr := workflow.Await(free, func() bool { return workflow.AllHandlersFinished(free) }); waitErr != nil {
		return waitErr
	}
	if x.isResumed(out) {
		x.in.After = max(x.in.After, out.Seq)
		return workflow.NewContinueAsNewError(free, Workflow, x.in)
	}
	if err == nil && out.State != Finished {
		return ctx.Err() // nil if the run was cancelled in another way
	}
	return err
}

// describe sets the text about the run on Temporal's pages.
func (x *execution) describe(ctx workflow.Context, details string) {
	if details == x.details {
		return
	}
	x.details = details
	workflow.SetCurrentDetails(ctx, details)
}

// maxAnswerAttempts is how often answers are offered to a run that a process is at, or to
// workers that cannot read its flow.
const maxAnswerAttempts = 8

// withShortActivity returns ctx for the activities that only touch the journal; with 0 attempts
// they are repeated until they succeed.
func withShortActivity(ctx workflow.Context, queue string, attempts int32) workflow.Context {
	return workflow.WithActivityOptions(ctx, workflow.ActivityOptions{
		TaskQueue:           queue,
		StartToCloseTimeout: time.Minute,
		RetryPolicy: &temporal.RetryPolicy{
			InitialInterval: 100 * time.Millisecond, BackoffCoefficient: 1.5, MaximumInterval: 5 * time.Second, MaximumAttempts: attempts,
		},
	})
}
