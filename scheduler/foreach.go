package scheduler

import (
	"context"
	"time"

	"github.com/callnode/scheduler/calls"
	"github.com/callnode/scheduler/llm/value"
)

// each is a step that runs once per item of a list. Its items are jobs like any
// other. The stream's lock guards it.
type each struct {
	items    []value.Value
	inputs   []value.Value
	outputs  []value.Value
	resolved map[string]value.Value
	next     int // the first item that is not queued yet
	left     int // items that are not over
	meter    meter
	started  time.Time
}

// fanOut evaluates the list of items.
func (t *task) fanOut(ctx context.Context) outcome {
	s := t.scope(ctx)
	list, err := t.step.ForEach.Render(ctx, s)
	if err == nil && list.Kind() != value.List {
		err = &placedError{t.step.ForEach.Pos, calls.Errorf(calls.Invalid, "for_each wants a list, got %s", list.Kind())}
	}
	if err == nil && len(t.step.Resolve) > 0 {
		err = s.resolve(ctx)
	}
	if err != nil {
		return t.failed(err)
	}
	items := list.List()
	if len(items) == 0 {
		t.input = value.OfList()
		return t.finished(value.OfList())
	}
	e := &each{
		items: items, left: len(items), resolved: t.vars.Resolved, started: t.vars.Now,
		inputs: make([]value.Value, len(items)), outputs: make([]value.Value, len(items)),
	}
	e.meter.outer = &t.run.meter
	return outcome{fan: e}
}

// begin queues the first items.
func (e *each) begin(r *run, t *task) {
	limit := t.step.MaxParallel
	if limit <= 0 {
		limit = len(e.items)
	}
	for range min(limit, len(e.items)) {
		e.queue(r, t.step.Index)
	}
}

func (e *each) queue(r *run, step int) {
	r.ready.push(job{step, e.next})
	e.next++
}

// settle records the end of an item, and of the step with its last item.
func (e *each) settle(r *run, t *task, o outcome, now time.Time) {
	e.inputs[t.item], e.outputs[t.item] = o.input, o.output
	if e.next < len(e.items) {
		e.queue(r, t.step.Index)
	}
	if e.left--; e.left > 0 {
		return
	}
	output := value.OfList(e.outputs...)
	n := newNote(StepFinished)
	n.gave(r.secrets.mask(output))
	n.cost(&e.meter)
	n.took(now.Sub(e.started))
	r.tell(n, t.id, -1, now)
	r.states[t.step.Index].each = nil
	r.complete(t.step.Index, outcome{
		status: statusFinished, input: value.OfList(e.inputs...), output: output,
	}, now)
}
