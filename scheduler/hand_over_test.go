package scheduler_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/callnode/scheduler/calls"
	"github.com/callnode/scheduler/llm/value"
	"github.com/callnode/scheduler/scheduler"
	"github.com/callnode/scheduler/scheduler/journal"
	"github.com/callnode/scheduler/scheduler/schedulertest"
)

// captured sets e to the executor of a run.
func captured(e **scheduler.StepExecutor) schedulertest.Option {
	return schedulertest.Executor(func(exec *scheduler.StepExecutor) { *e = exec })
}

// TestHandOver hands a run over while a step, an item and a step of a sub-flow are at work: there is no event of
// it, and the next process repeats these.
func TestHandOver(t *testing.T) {
	ctx, handOver := context.WithCancelCause(t.Context())
	defer handOver(nil)
	blocks, started := true, make(chan bool, 2)
	work := schedulertest.Do("work", func(ctx context.Context, _ *calls.Env, params value.Value) (any, error) {
		if !blocks {
			return params, nil
		}
		started <- true
		<-ctx.Done()
		return nil, ctx.Err()
	})
	nested := schedulertest.Do("nested", func(ctx context.Context, env *calls.Env, params value.Value) (any, error) {
		return env.Calls.RunCall(ctx, "work", params)
	})
	var e *scheduler.StepExecutor
	go func() {
		for range 2 {
			<-started
		}
		handOver(scheduler.ErrHandOver)
	}()
	r := schedulertest.Run(t, `
on_error: "never said"
steps:
  - {id: a, call: echo, with: {x: 1}}
  - {id: items, call: work, needs: [a], for_each: [1], with: {x: "{{ item }}"}, on_error: continue}
  - {id: nested, call: nested, needs: [a], retry: {max_attempts: 2}}
  - {id: b, call: echo, needs: [items, nested], with: {x: "{{ items[0].x }}"}}
outputs: {x: "{{ b.x }}"}
`, journaled(t), captured(&e), schedulertest.Context(ctx), schedulertest.With(work, nested))
	var failure *scheduler.Failure
	if !errors.Is(r.Err, scheduler.ErrHandOver) || !errors.As(r.Err, &failure) || failure.Info.Kind != calls.Canceled {
		t.Fatalf("the events end with %v\n%s", r.Err, r.Log())
	}
	last := r.Events[len(r.Events)-1]
	if found := slices.Concat(lines(r, "step.failed"), lines(r, "flow.cancelled"), lines(r, "flow.failed"), lines(r, "step.retrying")); len(found) > 0 {
		t.Errorf("the journal tells of it: %v", found)
	}
	info, err := e.Journal.Run(t.Context(), "run-1")
	if err != nil || !info.Interrupted() || info.LastSeq != last.Seq {
		t.Errorf("the run is %+v, %v", info, err)
	}
	blocks = false
	again, err := scheduler.Collect(e.Resume(t.Context(), "run-1", scheduler.Resumption{}))
	if err != nil {
		t.Fatal(err)
	}
	if got := again.Outputs.JSON(); got != `{"x":1}` {
		t.Errorf("the outputs are %s", got)
	}
	for _, ev := range again.Events {
		if ev.Type == journal.StepStarted && ev.Step == "a" {
			t.Error("a is done again")
		}
	}
}

// TestDrain hands a run over between two steps: the running step ends, items that have not begun and the steps
// after it are done by the next process, and a run that is at its end anyway ends.
func TestDrain(t *testing.T) {
	drain, isClosed := make(chan struct{}), false
	work := schedulertest.Do("work", func(_ context.Context, _ *calls.Env, params value.Value) (any, error) {
		if !isClosed {
			isClosed = true
			close(drain)
		}
		return params, nil
	})
	var e *scheduler.StepExecutor
	drained := schedulertest.Executor(func(exec *scheduler.StepExecutor) { exec.Drain = drain })
	r := schedulertest.Run(t, `
steps:
  - {id: a, call: work, for_each: [1, 2, 3], max_parallel: 1, with: {x: "{{ item }}"}}
  - {id: b, call: echo, with: {x: "{{ a[2].x }}"}}
outputs: {x: "{{ b.x }}"}
`, journaled(t), captured(&e), drained, schedulertest.With(work))
	if !errors.Is(r.Err, scheduler.ErrHandOver) {
		t.Fatalf("the events end with %v\n%s", r.Err, r.Log())
	}
	if n := len(lines(r, "step.finished")); n != 1 {
		t.Errorf("%d steps and items finished\n%s", n, r.Log())
	}
	if told := slices.Concat(lines(r, "step.failed"), lines(r, "flow.cancelled")); len(told) > 0 {
		t.Errorf("the journal tells of it: %v", told)
	}
	e.Drain = nil
	again, err := scheduler.Collect(e.Resume(t.Context(), "run-1", scheduler.Resumption{}))
	if err != nil || again.Outputs.JSON() != `{"x":3}` {
		t.Errorf("%s, %v", again.Outputs.JSON(), err)
	}
	last := schedulertest.Run(t, "steps: [{id: a, call: echo, with: {x: 1}}]", journaled(t), drained)
	if !errors.Is(last.Err, scheduler.ErrHandOver) {
		t.Errorf("a run that begins while the process drains: %v", last.Err)
	}
	drain, isClosed = make(chan struct{}), false
	whole := schedulertest.Run(t, "steps: [{id: a, call: work, with: {x: 1}}]", journaled(t), schedulertest.With(work),
		schedulertest.Executor(func(exec *scheduler.StepExecutor) { exec.Drain = drain }))
	if whole.Err != nil {
		t.Errorf("a run whose last step was at work: %v", whole.Err)
	}
}

// TestEnqueue: a run that was queued begins when it is resumed.
func TestEnqueue(t *testing.T) {
	const text = `
inputs: {type: object, required: [q], properties: {q: {type: string}, n: {type: integer, default: 2}}}
steps: [{id: a, call: echo, with: {q: "{{ inputs.q }}", n: "{{ inputs.n }}", key: "{{ secrets.KEY }}"}}]
outputs: {q: "{{ a.q }}", n: "{{ a.n }}"}
`
	var e *scheduler.StepExecutor
	secret := schedulertest.Secret("KEY", "s3cret-key")
	r := schedulertest.Run(t, text, journaled(t), captured(&e), schedulertest.Inputs(`{"q": "x"}`), secret)
	if r.Err != nil {
		t.Fatal(r.Err)
	}
	e.NewRunID = func() string { return "queued" }
	inputs := func(q string) value.Value { return value.OfMap(value.Pairs("q", q)) }
	if _, err := e.Enqueue(t.Context(), r.Flow, value.OfMap(nil)); calls.KindOf(err) != calls.Invalid {
		t.Errorf("inputs that do not fit: %v", err)
	}
	if _, err := e.Enqueue(t.Context(), r.Flow, inputs("my s3cret-key")); calls.KindOf(err) != calls.Invalid || !strings.Contains(err.Error(), "/q") {
		t.Errorf("a secret among the inputs: %v", err)
	}
	e.Labels = map[string]string{journal.LabelOrigin: "test"}
	id, err := e.Enqueue(t.Context(), r.Flow, inputs("hello"))
	if err != nil || id != "queued" {
		t.Fatal(id, err)
	}
	if _, err := e.Enqueue(t.Context(), r.Flow, inputs("hello")); calls.KindOf(err) != calls.Invalid {
		t.Errorf("an id that is taken: %v", err)
	}
	info, err := e.Journal.Run(t.Context(), id)
	if err != nil || !info.Queued() || info.Interrupted() || info.Labels[journal.LabelOrigin] != "test" {
		t.Errorf("the run is %+v, %v", info, err)
	}
	got, err := scheduler.Collect(e.Resume(t.Context(), id, scheduler.Resumption{}))
	if err != nil || got.Events[0].Type != journal.FlowStarted || got.Outputs.JSON() != `{"q":"hello","n":2}` {
		t.Errorf("%v, %v", got, err)
	}
	info, err = e.Journal.Run(t.Context(), id)
	if err != nil || info.Queued() {
		t.Errorf("the run is %+v, %v", info, err)
	}
	e.Journal = nil
	if _, err := e.Enqueue(t.Context(), r.Flow, inputs("x")); calls.KindOf(err) != calls.Invalid {
		t.Errorf("without a journal: %v", err)
	}
}

// Each process that continues a run is named in the event of that, and in the state of the run, in their order.
func TestWorkerIsNamed(t *testing.T) {
	var e *scheduler.StepExecutor
	first, second := &journal.Process{Host: "a", PID: 1, Version: "v1"}, &journal.Process{Host: "b", PID: 2}
	schedulertest.Run(t, "steps: [{id: a, call: fail}]\n", journaled(t), captured(&e), schedulertest.Executor(func(exec *scheduler.StepExecutor) { exec.Worker = first }))
	e.Worker = second
	if _, err := scheduler.Collect(e.Resume(t.Context(), "run-1", scheduler.Resumption{})); err == nil {
		t.Fatal("the call fail does not fail")
	}
	types := map[int64]journal.EventType{}
	for ev, err := range e.Journal.Events(t.Context(), "run-1", 1) {
		if err != nil {
			t.Fatal(err)
		}
		if ev.Data != nil && ev.Data.Worker != nil {
			types[ev.Seq] = ev.Type
		}
	}
	state, err := journal.Fold(e.Journal.Events(t.Context(), "run-1", 1))
	if err != nil || len(state.Stretches) != 2 || len(types) != 2 {
		t.Fatalf("got %+v and the events %v, %v", state.Stretches, types, err)
	}
	for i, want := range []journal.Stretch{{Process: *first}, {Process: *second}} {
		got := state.Stretches[i]
		if got.Process != want.Process || got.Since.IsZero() || types[got.Seq] != []journal.EventType{journal.FlowStarted, journal.FlowResumed}[i] {
			t.Errorf("stretch %d: %+v with %s", i, got, types[got.Seq])
		}
	}
}
