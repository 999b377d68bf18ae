package scheduler

import (
	"context"
	"iter"
	"regexp"
	"strings"

	"github.com/callnode/scheduler/calls"
	"github.com/callnode/scheduler/llm"
	"github.com/callnode/scheduler/llm/value"
	"github.com/callnode/scheduler/scheduler/flow"
	"github.com/callnode/scheduler/scheduler/internal/order"
	"github.com/callnode/scheduler/scheduler/journal"
)

// A run that stops at a step runs only what comes before it, so that what is on record then does not
// depend on how fast steps side by side are. The step itself is set aside when it asks its model, as one is
// that waits for values: all items of a list, and all in sub-flows that the path means, come that far.

// ErrUntil is the cause of a run's end at [StepExecutor] Until.
var ErrUntil error = calls.Errorf(calls.Canceled, "the run stopped where it was told to").
	WithHint("leave until out to run to the end")

// errAtUntil is the error of the step at which the run stops.
var errAtUntil error = calls.Errorf(calls.Canceled, "the run stops here, before the model is asked")

// stopPoint is where one flow of a run stops.
type stopPoint struct {
	step int
	item int // -1: each
	// before tells which steps come before it.
	before map[int]bool
}

// findStopPoint finds the step of this flow at which the run stops, or in which it does; nil where the path leads
// elsewhere.
func (r *run) findStopPoint() (*stopPoint, error) {
	rest := r.exec.Until
	if rest == "" {
		return nil, nil
	}
	for around := strings.TrimSuffix(r.prefix, "/"); around != ""; {
		segment, more, _ := strings.Cut(around, "/")
		wanted, after, isInside := strings.Cut(rest, "/")
		if !isInside || !meansSegment(wanted, segment) {
			return nil, nil
		}
		around, rest = more, after
	}
	segment, _, _ := strings.Cut(rest, "/")
	id, index := journal.SplitPath(segment)
	step, ok := r.flow.Step(id)
	if !ok {
		ids := make([]string, len(r.flow.Steps))
		for i, s := range r.flow.Steps {
			ids[i] = s.ID
		}
		err := calls.Errorf(calls.Invalid, "the flow %s has no step %q to stop at", r.flow.Name, id).WithHint("%s", value.DidYouMeanOrList(id, ids))
		return nil, r.failureOf(err, flow.Position{File: r.flow.File, Line: 1, Col: 1})
	}
	p := &stopPoint{step: step.Index, item: -1, before: map[int]bool{}}
	if index != nil {
		p.item = *index
	}
	for _, i := range r.flow.Ancestors(step.Index) {
		p.before[i] = true
	}
	return p, nil
}

// meansSegment reports whether a segment of a path means a step or an item: without a number it means each.
func meansSegment(wanted, segment string) bool {
	if wanted == segment {
		return true
	}
	id, _, isItem := strings.Cut(segment, "[")
	return isItem && wanted == id
}

// dropOthers drops the jobs at the head of the queue that are not needed to get to the step.
func (p *stopPoint) dropOthers(m *order.Machine) {
	for m.HasNext() {
		next := m.Peek()
		isOther := next.Step != p.step && !p.before[next.Step]
		isOtherItem := next.Step == p.step && next.Item >= 0 && p.item >= 0 && next.Item != p.item
		if !isOther && !isOtherItem {
			return
		}
		m.Next()
		if isOtherItem {
			m.NextItem(next.Step)
		}
	}
}

// endAtUntil ends a run that got as far as it was to get. A sub-flow leaves the step around it set aside.
func (r *run) endAtUntil() {
	end := &r.result
	if r.until == nil || end.failure != nil || end.cancelled {
		return
	}
	if len(r.waits.inOrder()) > 0 { // it waits before it got there
		return
	}
	if r.outer != nil {
		end.suspended = true
		return
	}
	r.life.handOver(ErrUntil)
	end.cancelled = true
}

// substepNumber ends the names of what a call runs inside its step.
var substepNumber = regexp.MustCompile(`-\d+$`)

// modelProvider returns the provider that answers the step: none where the run stops at it.
func (t *task) modelProvider() llm.Provider {
	if t.run.exec.Until != "" && t.isUntil() {
		return untilProvider{t}
	}
	if steps, ok := t.run.env.LLM.(StepProvider); ok {
		return steps.ForStep(t.path())
	}
	return t.run.env.LLM
}

// isUntil reports whether the run stops at this step, or at what it runs inside.
func (t *task) isUntil() bool {
	wanted := strings.Split(t.run.exec.Until, "/")
	path := strings.Split(t.path(), "/")
	if len(path) < len(wanted) {
		return false
	}
	for i, segment := range wanted {
		if !meansSegment(segment, path[i]) {
			return false
		}
	}
	for _, segment := range path[len(wanted):] { // no step of a flow has a hyphen in its id
		if !substepNumber.MatchString(segment) {
			return false
		}
	}
	return true
}

// untilProvider sets the step aside that asks it.
type untilProvider struct{ task *task }

// Chat answers nothing.
func (p untilProvider) Chat(context.Context, *llm.Request) iter.Seq2[llm.Delta, error] {
	return func(yield func(llm.Delta, error) bool) {
		p.task.atUntil.Store(true)
		p.task.suspendAll()
		yield(llm.Delta{}, &llm.Error{Err: errAtUntil, Unsent: true})
	}
}

// untilEvent is the end of the step at which the run stops: it has the prompt.
func (t *task) untilEvent() *pendingEvent {
	n := newPendingEvent(journal.StepFailed)
	n.setError(&t.run.failureOf(errAtUntil, t.step.Pos).Info)
	t.addCosts(n)
	return n
}

// interceptExec returns what the interceptor puts in the place of the call's work; nil: nothing.
func (t *task) interceptExec(ctx context.Context, info *calls.Info, params, input value.Value) iter.Seq2[calls.Chunk, error] {
	i := t.run.exec.Interceptor
	if i == nil {
		return nil
	}
	return i.Exec(ctx, &CallUse{Path: t.path(), Item: t.item, Inside: t.around != nil, Info: info, Params: params, Input: input})
}
