package scheduler

import (
	"context"
	"errors"
	"runtime"
	"strings"
	"time"

	"github.com/cenkalti/backoff/v5"

	"github.com/callnode/scheduler/calls"
	"github.com/callnode/scheduler/llm"
	"github.com/callnode/scheduler/llm/value"
	"github.com/callnode/scheduler/llm/value/wording"
	"github.com/callnode/scheduler/scheduler/flow"
	"github.com/callnode/scheduler/scheduler/journal"
)

// maxProviderDelay is how long a step waits at most before the next attempt because a server asks
// for it. A run that waits longer is better resumed.
const maxProviderDelay = 10 * time.Minute

// runWithRetries tries the step until it succeeds, fails for good, or has used its attempts up. If it may try more
// than once, providers do not retry ([llm.SentOnce]).
func (t *task) runWithRetries(ctx context.Context) (value.Value, error) {
	r := t.step.Retry
	intervals := newBackOff(r)
	for n := 1; ; n++ {
		output, err := t.attemptInTime(ctx)
		isLast := n >= r.MaxAttempts || ctx.Err() != nil
		if err == nil || isLast || !canRetry(err) {
			return output, err
		}
		asked := delayOfProvider(err)
		if asked > maxProviderDelay {
			return output, calls.Errorf(calls.KindOf(err), "%w: it asks to wait %s before the next attempt", err, asked).
				WithHint("resume the run when that time is over")
		}
		delay := max(intervals.NextBackOff(), asked)
		again := newPendingEvent(journal.StepRetrying)
		again.data.Attempt, again.data.DelayMS = n, delay.Milliseconds()
		again.setError(&t.run.failureOf(err, t.step.Pos).Info)
		t.emit(again)
		if err := t.run.exec.sleep(ctx, delay); err != nil {
			return value.Value{}, err
		}
	}
}

// newBackOff returns the intervals between the attempts of a step. They have no jitter: a run
// can be replayed.
func newBackOff(r flow.Retry) *backoff.ExponentialBackOff {
	return &backoff.ExponentialBackOff{InitialInterval: r.InitialInterval, Multiplier: r.Multiplier, MaxInterval: r.MaxInterval}
}

// canRetry reports whether the same step may succeed later. For example, a timeout may pass; a wrong parameter
// does not.
func canRetry(err error) bool {
	var left *leftBehind
	if errors.As(err, &left) {
		return false // it may still be at work
	}
	switch calls.KindOf(err) { //nolint:exhaustive // the others do not pass by themselves
	case calls.Timeout: // for any provider error of a request that was cut off
		return true
	case calls.Provider, calls.Plugin:
		var p *llm.Error
		return !errors.As(err, &p) || p.Temporary
	}
	return false
}

// delayOfProvider returns how long the provider asked to wait.
func delayOfProvider(err error) time.Duration {
	var p *llm.Error
	if errors.As(err, &p) {
		return p.RetryAfter
	}
	return 0
}

// leftBehind is a call that did not stop when its time was over.
type leftBehind struct{ err error }

func (l *leftBehind) Error() string { return l.err.Error() }
func (l *leftBehind) Unwrap() error { return l.err }

// attemptInTime runs one attempt within the step's timeout. It needs a goroutine of
// its own, so that a call that does not stop can be left behind.
func (t *task) attemptInTime(ctx context.Context) (value.Value, error) {
	if t.step.Timeout <= 0 {
		return t.runAttempt(ctx)
	}
	limited, cancel := context.WithTimeout(ctx, t.step.Timeout)
	defer cancel()
	type result struct {
		output value.Value
		err    error
	}
	done := make(chan result, 1)
	go func() {
		res := result{err: calls.Errorf(calls.Internal, "the call %s ended its goroutine", t.step.Call)}
		defer func() { done <- res }()
		defer t.run.recoverPanic(&res.err, t.id)
		res.output, res.err = t.runAttempt(limited)
	}()
	var res result
	select {
	case res = <-done:
	case <-limited.Done():
		runtime.Gosched() // a call that does stop does it now
		grace := time.NewTimer(t.run.life.gracePeriod)
		defer grace.Stop()
		select {
		case res = <-done:
		case <-grace.C:
			return value.Value{}, t.leaveBehind(ctx)
		}
	}
	if res.err != nil && ctx.Err() == nil && limited.Err() != nil {
		return value.Value{}, timeoutError(t.step.Timeout, res.err)
	}
	return res.output, res.err
}

// timeoutError returns the error of a step whose time was over, with its current work. It does not repeat that a
// deadline was exceeded, because it names the limit.
func timeoutError(timeout time.Duration, err error) error {
	over, message := wording.OfError(context.DeadlineExceeded), wording.OfError(err)
	what, isOver := strings.CutSuffix(message.En, over.En)
	var e *calls.Error
	switch {
	case isOver && what == "":
		e = calls.Errorf(calls.Timeout, "the step took longer than %s", timeout)
	case isOver:
		whatZh := strings.TrimSuffix(message.Zh, over.Zh)
		e = calls.Errorf(calls.Timeout, "the step took longer than %s: %s", timeout,
			wording.Text{En: strings.TrimRight(what, ": "), Zh: strings.TrimRight(whatZh, "：: ")})
	default:
		e = calls.Errorf(calls.Timeout, "the step took longer than %s: %w", timeout, err)
	}
	return e.WithHint("raise its timeout, or let it be tried again with retry")
}

// leaveBehind abandons the attempt: its further output is dropped.
func (t *task) leaveBehind(ctx context.Context) error {
	t.run.mu.Lock()
	t.leftBehind = true
	t.run.mu.Unlock()
	t.run.env.Log.Warn("a call did not stop when its time was over and is left behind",
		"run", t.run.vars.Run.ID, "step", t.path(), "call", t.step.Call, "timeout", t.step.Timeout)
	kind := calls.Timeout
	if ctx.Err() != nil {
		kind = calls.Canceled
	}
	return &leftBehind{calls.Errorf(kind, "the call %s did not stop within %s after its timeout of %s and was left behind", t.step.Call, t.run.life.gracePeriod, t.step.Timeout)}
}
