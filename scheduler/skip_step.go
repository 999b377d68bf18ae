package scheduler

import (
	"context"
	"slices"
	"sync"

	"github.com/callnode/scheduler/llm/prompt"
	"github.com/callnode/scheduler/llm/value/wording"
	"github.com/callnode/scheduler/scheduler/flow"
	"github.com/callnode/scheduler/scheduler/internal/order"
	"github.com/callnode/scheduler/scheduler/journal"
)

// Why a step is skipped. The first is found here, when it is the step's turn; the second by [order.Machine], when
// its needs are over.
const (
	reasonCondition = "its condition (when) is false"
	reasonNeeds     = "every step that it needs was skipped"
)

// skipUnlessTrue returns the outcome of a task whose condition is false, or cannot be
// rendered. One that an earlier process has started is not asked again.
func (t *task) skipUnlessTrue(ctx context.Context) (o outcome, skipped bool) {
	was := t.recordedState()
	hasStarted := was != nil && was.Attempts > 0
	if t.step.When == nil || hasStarted {
		return outcome{}, false
	}
	v, err := t.step.When.Render(ctx, t.scope(ctx))
	if err != nil {
		return t.failedOutcome(err), true
	}
	if prompt.Truthy(v) {
		return outcome{}, false
	}
	return outcome{status: order.Skipped, event: t.run.newSkippedEvent(reasonCondition), reason: reasonCondition}, true
}

// newSkippedEvent returns the event of a step that is skipped.
func (r *run) newSkippedEvent(reason string) *pendingEvent {
	n := newPendingEvent(journal.StepSkipped)
	n.data.Reason = wording.Of(reason).In(r.vars.Language)
	return n
}

// sureSteps returns which steps of a flow are sure to run, and to fail the run if they fail, unless an earlier one
// fails: no condition skips them, and no list without items. A step is skipped if all steps that it needs are
// skipped. For example, a step with when is not sure, nor is a step that only needs that one.
func sureSteps(f *flow.Flow) []bool {
	skips := make([]func() bool, len(f.Steps)) // whether the step may be skipped
	sure := make([]bool, len(f.Steps))
	for i, step := range f.Steps {
		skips[i] = sync.OnceValue(func() bool {
			isRun := func(need int) bool { return !skips[need]() }
			return step.When != nil || len(step.Needs) > 0 && !slices.ContainsFunc(step.Needs, isRun)
		})
	}
	for i, step := range f.Steps {
		sure[i] = !skips[i]() && step.ForEach == nil && !step.Continue
	}
	return sure
}
