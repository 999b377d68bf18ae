package scheduler_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/callnode/scheduler/calls"
	"github.com/callnode/scheduler/llm/value"
	"github.com/callnode/scheduler/scheduler"
	"github.com/callnode/scheduler/scheduler/journal"
	"github.com/callnode/scheduler/scheduler/schedulertest"
)

// warnings returns the warnings of a run's events, one a line.
func warnings(r *schedulertest.Result) (lines string) {
	for _, e := range r.Events {
		if e.Type == journal.StepWarning {
			lines += fmt.Sprintf("%s %s %s %s\n", journal.StepPath(e.Step, e.Index), e.Data.Code, e.Data.Text, e.Data.Source)
		}
	}
	return lines
}

// A warning of a call is an event at once, with its place in the flow or the source that the call names; secrets
// in it are masked.
func TestWarnings(t *testing.T) {
	warn := schedulertest.Do("warn", func(ctx context.Context, env *calls.Env, params value.Value) (any, error) {
		secret, _ := params.Get("key")
		key, _ := secret.Str()
		env.Warn("odd", "the key %s is odd", key)
		env.WarnOf(calls.Warning{Code: "cut", Text: "cut", Pointer: "/key"})
		env.WarnOf(calls.Warning{Code: "left-out", Text: "left out", Source: "notes.txt"})
		return calls.Once(ctx, env, "piece", value.OfMap(nil), func(_ context.Context, env *calls.Env) (value.Value, error) {
			env.WarnOf(calls.Warning{Code: "inside", Text: "inside", Pointer: "/key"})
			return value.OfMap(nil), nil
		})
	})
	r := schedulertest.Run(t, `steps:
  - id: a
    call: warn
    with:
      key: "{{ secrets.KEY }}"
  - {id: b, call: warn, for_each: "{{ [1, 2] }}", with: {key: x}}
`, schedulertest.With(warn), schedulertest.Secret("KEY", "hunter22"))
	if r.Err != nil {
		t.Fatal(r.Err)
	}
	want := `a odd the key *** is odd flow.yaml:2:5
a cut cut flow.yaml:5:12
a left-out left out notes.txt
a/piece-1 inside inside flow.yaml:2:5
`
	if got := warnings(r); len(got) < len(want) || got[:len(want)] != want {
		t.Errorf("got %s", got)
	}
	if n := len(r.State().Warnings); n != 12 {
		t.Errorf("the state has %d warnings, want 12: %+v", n, r.State().Warnings)
	}
}

// A failed attempt's warnings are not counted twice, and their number is limited.
func TestWarningsOfAttempts(t *testing.T) {
	attempts := 0
	warn := schedulertest.Do("warn", func(_ context.Context, env *calls.Env, _ value.Value) (any, error) {
		attempts++
		for range 150 {
			env.Warn("odd", "attempt %d", attempts)
		}
		if attempts == 1 {
			return nil, calls.Errorf(calls.Provider, "try again")
		}
		return value.OfMap(nil), nil
	})
	r := schedulertest.Run(t, `steps: [{id: a, call: warn, retry: {max_attempts: 2}}]`, schedulertest.With(warn))
	if r.Err != nil {
		t.Fatal(r.Err)
	}
	state := r.State().Warnings
	if len(state) != 100 || state[0].Text != "attempt 2" || state[99].Code != "more" {
		t.Errorf("%d warnings, from %+v to %+v", len(state), state[0], state[len(state)-1])
	}
}

// A strict run fails at its end if a step has given a warning, though not for an attempt that failed.
func TestStrict(t *testing.T) {
	attempts := 0
	warn := schedulertest.Do("warn", func(_ context.Context, env *calls.Env, params value.Value) (any, error) {
		attempts++
		always, _ := params.Get("always")
		if attempts == 1 || !always.IsNull() {
			env.Warn("odd", "attempt %d", attempts)
		}
		if attempts == 1 {
			return nil, calls.Errorf(calls.Provider, "try again")
		}
		return value.OfMap(nil), nil
	})
	strict := schedulertest.Executor(func(e *scheduler.StepExecutor) { e.Strict = true })
	const text = `steps: [{id: a, call: warn, retry: {max_attempts: 2}, with: {%s}}]`
	if r := schedulertest.Run(t, fmt.Sprintf(text, ""), schedulertest.With(warn), strict); r.Err != nil {
		t.Errorf("the attempt that finished gave no warning: %v", r.Err)
	}
	attempts = 0
	r := schedulertest.Run(t, fmt.Sprintf(text, "always: true"), schedulertest.With(warn), strict)
	if calls.KindOf(r.Err) != calls.Invalid || r.State().State != journal.RunFailed {
		t.Errorf("got %v, state %s; want a failed run", r.Err, r.State().State)
	}
}
