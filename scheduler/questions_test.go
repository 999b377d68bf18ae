package scheduler_test

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/callnode/scheduler/calls"
	"github.com/callnode/scheduler/calls/slot"
	"github.com/callnode/scheduler/llm/value"
	"github.com/callnode/scheduler/scheduler"
	"github.com/callnode/scheduler/scheduler/schedulertest"
)

// asker is a call that asks two things, one after the other, with work between them.
func asker(worked *int) calls.Definition {
	wanted := func(field string) value.Value {
		return value.Must(map[string]any{
			"type": "object", "required": []string{field}, "properties": map[string]any{field: map[string]any{"type": "string", "default": "a default is not an answer"}},
		})
	}
	def := schedulertest.Do("asker", func(ctx context.Context, env *calls.Env, _ value.Value) (any, error) {
		branch, err := env.Asker.Ask(ctx, "Which branch?", wanted("branch"))
		if err != nil {
			return nil, err
		}
		n, err := calls.Once(ctx, env, "work", branch, func(context.Context, *calls.Env) (int, error) {
			*worked++
			return *worked, nil
		})
		if err != nil {
			return nil, err
		}
		who, err := env.Asker.Ask(ctx, fmt.Sprintf("Who did %d?", n), wanted("who"))
		return map[string]any{"branch": branch, "who": who}, err
	})
	def.Info.MayAsk = true
	return def
}

// TestQuestions: a call asks people, the run waits for each answer, and earlier questions and work are not
// repeated.
func TestQuestions(t *testing.T) {
	var worked int
	r := schedulertest.Run(t, `
steps:
  - {id: a, call: asker, for_each: [1, 2], max_parallel: 1}
  - {id: b, call: echo, with: {x: "{{ a[1].who.who }}"}}
`, journaled(t), schedulertest.With(asker(&worked), slot.Definition()))
	waits := func(want ...string) {
		t.Helper()
		var w *scheduler.Waiting
		if !errors.As(r.Err, &w) {
			t.Fatalf("%v\n%s", r.Err, r.Log())
		}
		var got []string
		for _, one := range w.For {
			got = append(got, fmt.Sprint(one, one.Reasons))
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Fatal(diff)
		}
		if state := r.State(); len(state.Waiting) != len(want) || state.Waiting[0].Whole.IsNull() {
			t.Errorf("the fold has %+v", state.Waiting)
		}
	}
	waits("a[0]/question-1 for /branch [Which branch?]", "a[1]/question-1 for /branch [Which branch?]")
	r = r.Resume(scheduler.Resumption{}, "a[1]/question-1:/branch=main")
	waits("a[0]/question-1 for /branch [Which branch?]", "a[1]/question-2 for /who [Who did 1?]")
	r = r.Resume(scheduler.Resumption{}, "a[0]/question-1:/branch=dev", "a[1]/question-2:/who=Lin")
	waits("a[0]/question-2 for /who [Who did 2?]")
	r = r.Resume(scheduler.Resumption{}, "/who=Mei")
	if r.Err != nil || !sameJSON(t, r.Outputs, `{"b":{"x":"Lin"}}`) || worked != 2 {
		t.Errorf("%v %s, worked %d times\n%s", r.Err, r.Outputs, worked, r.Log())
	}
	if began := lines(r, "step.started a[1]"); len(began) > 0 {
		t.Errorf("what had finished ran again: %q", began)
	}
}
