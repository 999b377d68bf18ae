package scheduler

import (
	"context"
	"strconv"

	"github.com/callnode/scheduler/calls"
	"github.com/callnode/scheduler/llm/value"
	"github.com/callnode/scheduler/scheduler/flow"
	"github.com/callnode/scheduler/scheduler/internal/order"
	"github.com/callnode/scheduler/scheduler/journal"
)

// fanOut evaluates the list of items.
func (t *task) fanOut(ctx context.Context) outcome {
	s := t.scope(ctx)
	traced, known := t.recordedItems()
	var err error
	if !known {
		traced, err = t.run.secrets.renderTraced(ctx, t.step.ForEach, s)
	}
	list := traced.value
	if err == nil && list.Kind() != value.List {
		err = &flow.LocatedError{Pos: t.step.ForEach.Pos, Err: calls.Errorf(calls.Invalid, "for_each wants a list, got %s", list.Kind())}
	}
	if err == nil && len(t.step.Resolve) > 0 {
		err = s.resolveVariables(ctx)
	}
	if err != nil {
		return t.failedOutcome(err)
	}
	items := list.List()
	if len(items) == 0 {
		t.input = value.OfList()
		return t.finishedOutcome(value.OfList())
	}
	n := newPendingEvent(journal.StepInput)
	n.input, n.data.Masked = t.run.secrets.maskWithPointers(list)
	n.data.Input, n.data.Spans = &n.input, t.run.secrets.recordSpans(traced, list, s)
	t.emit(n)
	e := &fanOut{
		items: items, resolved: t.vars.Resolved, began: t.began,
		inputs: make([]value.Value, len(items)), outputs: make([]value.Value, len(items)),
	}
	e.meter.SetOuter(&t.run.meter)
	return outcome{fan: e}
}

// recordedItems returns the list that an earlier process had begun with.
func (t *task) recordedItems() (list tracedValue, ok bool) {
	was := t.recordedState()
	if was == nil || len(was.MaskedParams) > 0 {
		return tracedValue{}, false
	}
	return recordedSpans(was.Input, was.Spans), was.Input.Kind() == value.List
}

// restoreItems restores the items that earlier processes finished, and returns which these are; nil: none.
func (e *fanOut) restoreItems(r *run, t *task) []bool {
	if t.recordedState() == nil {
		return nil
	}
	kept := make([]bool, len(e.items))
	for i := range e.items {
		was := r.earlier.state.Step(journal.StepPath(t.id, &i))
		if was == nil || was.State != journal.StepStatusFinished {
			continue
		}
		kept[i] = true
		e.inputs[i], e.outputs[i] = was.Input, was.Output
		_ = r.holdOutput(was.Output)
		e.masked = append(e.masked, was.MaskedBelow("/"+strconv.Itoa(i))...)
	}
	return kept
}

// beginItemsLocked queues the first items. Items that an earlier process finished stay unchanged.
func (e *fanOut) beginItemsLocked(r *run, t *task) {
	if !r.order.FanOut(t.step.Index, len(e.items), t.step.MaxParallel, e.restoreItems(r, t)) {
		e.finishItemsLocked(r, t)
	}
}

// followItemLocked queues the item after one that is over. If max_parallel limits how many are at work, the end of
// that one is saved first, so that no more than these run again after a crash.
func (r *run) followItemLocked(t *task) {
	step := t.step.Index
	waits := t.step.MaxParallel > 0 && r.order.HasMoreItems(step)
	if !waits || !r.afterSavedLocked(func() { r.order.NextItem(step) }) {
		r.order.NextItem(step)
	}
}

// handleItemLocked records the end of an item, and of the step with its last item.
func (e *fanOut) handleItemLocked(r *run, t *task, o outcome) {
	e.inputs[t.item], e.outputs[t.item] = o.input, o.output
	r.followItemLocked(t)
	if r.order.ItemOver(t.step.Index) {
		e.finishItemsLocked(r, t)
	}
}

// finishItemsLocked ends the step.
func (e *fanOut) finishItemsLocked(r *run, t *task) {
	n := newPendingEvent(journal.StepFinished)
	output := value.OfList(e.outputs...)
	masked, hidden := r.secrets.maskWithPointers(output)
	n.setOutput(masked, append(hidden, e.masked...))
	r.keepMaskedLocked(t.step.Index, e.masked)
	n.setUsage(e.meter.Usage())
	n.setDuration(r.exec.elapsed().Sub(e.began))
	n.setPlace(t.id, -1)
	r.emitLocked(&n.event)
	r.states[t.step.Index].each = nil
	r.completeStepLocked(t.step.Index, outcome{
		status: order.Finished, input: value.OfList(e.inputs...), output: output,
	})
}
