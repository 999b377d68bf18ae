package scheduler_test

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/callnode/scheduler/calls"
	"github.com/callnode/scheduler/calls/flow"
	"github.com/callnode/scheduler/calls/slot"
	"github.com/callnode/scheduler/llm"
	"github.com/callnode/scheduler/llm/value"
	"github.com/callnode/scheduler/scheduler"
	"github.com/callnode/scheduler/scheduler/journal"
	"github.com/callnode/scheduler/scheduler/schedulertest"
)

// TestAnswer: answers are kept one by one, each checked with the earlier ones, until the run is resumed. An answer
// with a secret has to be given again.
func TestAnswer(t *testing.T) {
	var exec *scheduler.StepExecutor
	r := schedulertest.Run(t, `
steps:
  - {id: key, call: echo, with: {key: "{{ secrets.KEY }}"}}
  - id: a
    call: slot
    with:
      stages: []
      current_schema:
        type: object
        required: [x, y, note]
        properties: {day: {type: string, format: date}, x: {type: integer}, y: {type: integer}, note: {type: string}, z: {type: integer}}
        dependencies: {z: {properties: {x: {minimum: 5}}}}
`, schedulertest.With(slot.Definition()), schedulertest.Secret("KEY", "s3cret"),
		schedulertest.Executor(func(e *scheduler.StepExecutor) { exec, e.Journal = e, newJournal(t, e.Env.Clock) }))
	waiting := r.State().Waiting
	answer := func(text string) error {
		a, err := scheduler.ParseAnswer(text, waiting)
		if err != nil {
			return err
		}
		taken, err := exec.Answer(t.Context(), "run-1", a)
		if err == nil && a.Pointer == "/day" && taken[0].Value.JSON() != `"2026-03-06"` {
			t.Errorf("%s is understood as %s", a.Value.JSON(), taken[0].Value.JSON())
		}
		return err
	}
	for _, c := range []struct {
		text string
		kind calls.Kind
	}{{"/x=1", ""}, {"/z=1", ""}, {"/y=two", calls.Invalid}, {"/x=2", calls.Invalid}, {"/x=7", ""}, {"/day=tomorrow", ""}, {"/note=it is s3cret", ""}} {
		if err := answer(c.text); err != nil && calls.KindOf(err) != c.kind || err == nil && c.kind != "" {
			t.Errorf("%s: %v", c.text, err)
		}
	}
	state, err := journal.Fold(exec.Journal.Events(t.Context(), "run-1", 1))
	if err != nil {
		t.Fatal(err)
	}
	if got := state.Step("a").Answers.JSON(); got != `{"/x":7,"/z":1,"/day":"2026-03-06"}` || state.State != journal.RunWaiting {
		t.Errorf("on record, %s, are %s", state.State, got)
	}

	held, err := exec.Journal.Reopen(t.Context(), "run-1")
	if err != nil {
		t.Fatal(err)
	}
	var other *journal.HeldError
	if err := answer("/y=2"); !errors.As(err, &other) {
		t.Errorf("another has the run: %v", err)
	}
	if err := held.Close(); err != nil {
		t.Fatal(err)
	}

	r = r.Resume(scheduler.Resumption{}, "/x=7", "/y=2") // the same x again changes nothing
	if last := r.State().Waiting; len(last) != 1 || strings.Join(last[0].Pointers(), " ") != "/note" {
		t.Errorf("waits for %v, %v\n%s", last, r.Err, r.Log())
	}
	if log := r.Log(); !strings.Contains(log, `step.answered a {"/y":2}`) {
		t.Errorf("tells\n%s", log)
	}
	r = r.Resume(scheduler.Resumption{}, "/note=s3cret")
	if got := r.State().Step("a").Output.JSON(); r.Err != nil || !strings.Contains(got, `"slot_data":{"x":7,"z":1,"day":"2026-03-06","y":2,"note":"***"}`) {
		t.Errorf("%v, %s", r.Err, got)
	}
	if err := answer("/y=3"); calls.KindOf(err) != calls.Canceled {
		t.Errorf("a run that is over: %v", err)
	}
}

// tarrying is a call that takes its time at the end.
type tarrying struct{ calls.CoreCall }

func (c tarrying) Exec(ctx context.Context, env *calls.Env, input value.Value) iter.Seq2[calls.Chunk, error] {
	return func(yield func(calls.Chunk, error) bool) {
		for chunk, err := range c.CoreCall.Exec(ctx, env, input) {
			time.Sleep(50 * time.Millisecond)
			if !yield(chunk, err) {
				return
			}
		}
	}
}

// TestNextItemAfterOneThatWaits: it begins, although the journal has all there was to
// write before the item came to its end.
func TestNextItemAfterOneThatWaits(t *testing.T) {
	def := flow.Definition()
	whole := def.New
	def.New = func(params value.Value) (calls.CoreCall, error) {
		c, err := whole(params)
		return tarrying{c}, err
	}
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	r := schedulertest.Run(t, `
steps: [{id: o, call: flow, for_each: [1, 2, 3], max_parallel: 1, with: {path: inner.yaml}}]
-- inner.yaml --
steps: [{id: a, call: slot, with: {stages: [], current_schema: {required: [x]}}}]
`, schedulertest.With(def, slot.Definition()), schedulertest.Context(ctx),
		schedulertest.Executor(func(e *scheduler.StepExecutor) { e.Journal = newJournal(t, e.Env.Clock) }))
	if waiting := r.State().Waiting; len(waiting) != 3 {
		t.Errorf("%v wait, %v\n%s", waiting, r.Err, r.Log())
	}
}

// silent answers with nothing.
type silent struct{}

func (silent) Chat(context.Context, *llm.Request) iter.Seq2[llm.Delta, error] {
	return func(yield func(llm.Delta, error) bool) { yield(llm.Delta{Text: "{}"}, nil) }
}

// TestWhyMissing: a value that an answering model did not find says so, even after an answer to another value; one
// that no model was asked for does not.
func TestWhyMissing(t *testing.T) {
	why := func(r *schedulertest.Result) string {
		t.Helper()
		var w *scheduler.Waiting
		if !errors.As(r.Err, &w) || len(w.For) != 1 {
			t.Fatalf("%v\n%s", r.Err, r.Log())
		}
		if diff := cmp.Diff(w.For[0].Why, r.State().Waiting[0].Why); diff != "" {
			t.Errorf("the fold has another reason:\n%s", diff)
		}
		return fmt.Sprint(w.For[0].Why)
	}
	const text = `steps: [{id: a, call: slot, with: {stages: [STAGE], current_schema: {required: [x, y], properties: {x: {type: string}, y: {type: string}}}}}]`
	r := schedulertest.Run(t, strings.Replace(text, "STAGE", "llm", 1), journaled(t), schedulertest.With(slot.Definition()), schedulertest.LLM(silent{}))
	const unfound = "it was not given, and the model did not find it 没有给出，模型也没有找到}"
	if got := why(r); got != "[{/x "+unfound+" {/y "+unfound+"]" {
		t.Error(got)
	}
	if got := why(r.Resume(scheduler.Resumption{}, "/y=1")); got != "[{/x "+unfound+"]" {
		t.Error(got)
	}
	r = schedulertest.Run(t, strings.Replace(text, "STAGE", "default", 1), journaled(t), schedulertest.With(slot.Definition()), schedulertest.LLM(silent{}))
	if got := why(r); got != "[{/x it was not given 没有给出} {/y it was not given 没有给出}]" {
		t.Error(got)
	}
}
