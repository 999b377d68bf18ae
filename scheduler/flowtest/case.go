package flowtest

import (
	"context"
	"errors"
	"time"

	"github.com/callnode/scheduler/calls"
	"github.com/callnode/scheduler/llm/value/wording"
	"github.com/callnode/scheduler/scheduler/flowtest/result"
	"github.com/callnode/scheduler/scheduler/flowtest/stat"
)

// planned returns how often the case is to run.
func (c *caseRun) planned() int {
	if n := c.suite.runner.options.Repeat; n > 0 {
		return n
	}
	return max(c.Repeat, 1)
}

// hasRun reports whether every repeat that counts has run. Only then are parts that no repeat asked for unused.
func (c *caseRun) hasRun() bool {
	if c.found == nil || c.found.Outcome == result.Skip {
		return false
	}
	return len(c.found.Repeats) == c.found.Planned
}

// skipReason returns why the case does not run, or "" if it does.
func (c *caseRun) skipReason() string {
	if c.Skip != "" {
		return c.Skip
	}
	if c.suite.HasOnly && !c.Only {
		return wording.Say("another case of the file says only").In(c.suite.runner.options.Language)
	}
	return ""
}

// run runs the case until its verdict is settled; nil: ctx ended before anything was found.
func (c *caseRun) run(ctx context.Context) *result.Case {
	c.began = time.Now()
	found := c.Result()
	found.Planned = c.planned()
	if reason := c.skipReason(); reason != "" {
		found.Outcome, found.Skipped, found.Planned, found.At = result.Skip, reason, 0, time.Now()
		return found
	}
	need := stat.Need{Rate: c.Rate, Sure: c.Sure}
	if !need.IsMetBy(found.Planned, found.Planned) { // the reader of the file did not know how often it runs
		err := calls.Errorf(calls.Invalid, "pass cannot be met with %d repeats, even where all of them pass", found.Planned)
		found.Outcome, found.Problem, found.At = result.Error, c.suite.runner.problemOf(err.WithHint("repeat the case more often, lower the rate, or take sure out")), time.Now()
		return found
	}
	c.used, c.hasEnded = newUsedParts(), true
	verdict := stat.Open
	for number := 1; number <= found.Planned && verdict == stat.Open; number++ {
		one, problem := c.repeatWithin(ctx, number)
		if problem != nil {
			found.Problem = problem
			break
		}
		found.Repeats = append(found.Repeats, *one)
		passed, decided := found.Passed()
		verdict = stat.Decide(passed, decided-passed, found.Planned, need)
	}
	if len(found.Repeats) == 0 && c.suite.limitProblem() == nil {
		return nil
	}
	found.Outcome, found.Scripted = outcomeOf(verdict), c.HasScript || !c.hasAsked
	if c.Sure && found.Scripted && found.Outcome == result.Pass && !need.IsMetBy(1, 1) {
		err := calls.Errorf(calls.Invalid, "nothing can be sure: every repeat had the same answers, and all of them are one observation")
		found.Outcome, found.Problem = result.Error, c.suite.runner.problemOf(err.WithHint("take sure out, or have a model answer"))
	}
	found.Elapsed, found.At = time.Since(c.began), time.Now()
	return found
}

// repeatWithin runs the case once if the limits allow it. The problem says why it was not run, or not to its end.
func (c *caseRun) repeatWithin(ctx context.Context, number int) (*result.Repeat, *result.Problem) {
	defer c.suite.spent.admit(ctx)()
	defer c.suite.runner.spent.admit(ctx)()
	if p := c.suite.limitProblem(); p != nil {
		return nil, p
	}
	one, ok := c.repeat(ctx, number)
	if !ok {
		return nil, c.interruption(ctx)
	}
	return one, nil
}

// interruption returns why a case was stopped: by a limit, or from outside.
func (c *caseRun) interruption(ctx context.Context) *result.Problem {
	if p := c.suite.limitProblem(); p != nil {
		return p
	}
	err := calls.Errorf(calls.Canceled, "the tests were interrupted: %w", context.Cause(ctx))
	return c.suite.runner.problemOf(err.WithHint("go on with --rerun errors"))
}

// outcomeOf returns the outcome of a case whose repeats have ended: a verdict that is still open means errors.
func outcomeOf(v stat.Verdict) result.Outcome {
	switch v {
	case stat.Passed:
		return result.Pass
	case stat.Failed:
		return result.Fail
	default:
		return result.Error
	}
}

// repeat runs the case once and evaluates its checks; ok is false if ctx ended before.
func (c *caseRun) repeat(ctx context.Context, number int) (r *result.Repeat, ok bool) {
	a := c.attempt(ctx, number)
	if ctx.Err() != nil {
		return nil, false
	}
	r = a.repeat(ctx)
	if ctx.Err() != nil {
		return nil, false
	}
	c.used.add(a.used.at, a.used.scripted)
	c.hasEnded = c.hasEnded && a.hasEnded()
	c.hasAsked = c.hasAsked || a.sessions != nil && a.sessions.hasAsked()
	c.suite.holdLimits(r, a)
	return r, true
}

// attempt runs the flow for a repeat. A run that other cases look at happens once, on the first request for it.
func (c *caseRun) attempt(ctx context.Context, number int) *attempt {
	if number > 1 || !c.isNeeded {
		return c.newAttempt(ctx, number)
	}
	c.once.Do(func() { c.kept = c.newAttempt(ctx, 1) })
	return c.kept
}

// newAttempt runs the flow, within the timeout of the case.
func (c *caseRun) newAttempt(ctx context.Context, number int) *attempt {
	within, cancel := ctx, context.CancelFunc(func() {})
	if c.Timeout > 0 {
		within, cancel = context.WithTimeoutCause(ctx, c.Timeout, errTimeout)
	}
	defer cancel()
	a := &attempt{of: c, number: number}
	a.run(within)
	if a.err != nil && errors.Is(context.Cause(within), errTimeout) {
		a.problem = calls.Errorf(calls.Timeout, "the case took longer than %s", c.Timeout).WithHint("raise its timeout")
	}
	return a
}

// errTimeout is the cause of the end of a case that takes too long.
var errTimeout = calls.Errorf(calls.Timeout, "the time of the case is over")

// holdLimits makes a repeat an error if a limit stopped its run, or if the cost is limited and its cost is not
// known.
func (s *suiteRun) holdLimits(r *result.Repeat, a *attempt) {
	isStopped := a.problem != nil && errors.Is(a.problem, a.meter.problem())
	isUnknown := a.meter.hasUnknownCost() && max(s.spent.limits.Cost, s.runner.spent.limits.Cost) > 0
	if isStopped || isUnknown && r.Problem == nil {
		r.Problem = s.limitProblem()
	}
	if isStopped || isUnknown {
		r.Outcome = result.Worse(r.Outcome, result.Error)
	}
}
