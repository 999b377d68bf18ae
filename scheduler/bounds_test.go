package scheduler_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/callnode/scheduler/calls"
	flowcall "github.com/callnode/scheduler/calls/flow"
	"github.com/callnode/scheduler/llm/value"
	"github.com/callnode/scheduler/scheduler"
	"github.com/callnode/scheduler/scheduler/journal"
	"github.com/callnode/scheduler/scheduler/schedulertest"
)

// bounded sets the bounds of a run.
func bounded(steps int, bytes int64) schedulertest.Option {
	return schedulertest.Executor(func(e *scheduler.StepExecutor) { e.MaxSteps, e.MaxOutputBytes = steps, bytes })
}

// large is a call that puts out 16 KiB.
var large = schedulertest.Do("large", func(context.Context, *calls.Env, value.Value) (any, error) {
	return map[string]string{"text": strings.Repeat("x", 16<<10)}, nil
})

// checkBound checks that a run ended with the error of a bound, which names a step and the
// setting to raise.
func checkBound(t *testing.T, err error, step, setting string) {
	t.Helper()
	var failure *scheduler.Failure
	if !errors.As(err, &failure) || failure.Info.Kind != calls.Budget {
		t.Fatalf("the run ends with %v", err)
	}
	if !strings.HasPrefix(failure.Info.Step, step) || !strings.Contains(failure.Info.Hint, setting) {
		t.Errorf("the error is %+v", failure.Info)
	}
}

// TestMaxOutputBytes: the outputs that a run holds are bounded; those of a sub-flow count
// until it ends, and an error of this kind is not one to continue after.
func TestMaxOutputBytes(t *testing.T) {
	const bytes = 256 << 10
	items := "[" + strings.TrimSuffix(strings.Repeat("1,", 300), ",") + "]"
	const inner = `
-- sub/inner.yaml --
name: inner
steps:
  - {id: a, call: large}
  - {id: b, call: large}
outputs: {n: 1}
`
	for name, flow := range map[string]string{
		"steps": "steps:\n" + strings.Repeat("  - {id: sID, call: large}\n", 30),
		"items": "steps: [{id: s, call: large, for_each: " + items + ", on_error: continue, max_parallel: 4}]",
	} {
		for n := 0; strings.Contains(flow, "ID"); n++ {
			flow = strings.Replace(flow, "ID", string(rune('a'+n%26))+strings.Repeat("x", n/26), 1)
		}
		r := schedulertest.Run(t, flow, schedulertest.With(large), bounded(0, bytes))
		checkBound(t, r.Err, "s", "run.max_output_bytes")
		if n := len(lines(r, "step.finished")); n > 16 {
			t.Errorf("%s: %d steps of 16 KiB finished", name, n)
		}
	}
	freed := schedulertest.Run(t, "steps: [{id: s, call: flow, for_each: "+items+", max_parallel: 4, with: {path: sub/inner.yaml}}]\n"+inner,
		schedulertest.With(large, flowcall.Definition()), bounded(0, bytes))
	if freed.Err != nil {
		t.Error(freed.Err)
	}
}

// TestMaxSteps: a flow that runs itself ends before it has grown.
func TestMaxSteps(t *testing.T) {
	const flow = `
inputs: {type: object, properties: {path: {type: string, default: sub/again.yaml}}}
steps: [{id: s, call: flow, for_each: [1, 2, 3, 4, 5, 6, 7, 8, 9, 10], on_error: continue, with: {path: "{{ inputs.path }}"}}]
`
	r := schedulertest.Run(t, flow+"-- sub/again.yaml --\nname: again"+strings.ReplaceAll(flow, "sub/", ""),
		schedulertest.With(flowcall.Definition()), bounded(2000, 0))
	checkBound(t, r.Err, "s[", "run.max_steps")
	started := 0
	for _, ev := range r.Events {
		if ev.Type == journal.StepStarted && ev.Index != nil {
			started++
		}
	}
	if started > 10_000 {
		t.Errorf("%d items began", started)
	}
}

// TestBoundsOfResumed: what earlier processes did counts.
func TestBoundsOfResumed(t *testing.T) {
	fails := true
	last := schedulertest.Do("last", func(_ context.Context, _ *calls.Env, params value.Value) (any, error) {
		if fails {
			return nil, errors.New("no")
		}
		return params, nil
	})
	const flow = `
steps:
  - {id: a, call: large, for_each: [1, 2, 3]}
  - {id: b, call: large}
  - {id: c, call: last}
`
	for _, test := range []struct {
		steps   int
		bytes   int64
		setting string
	}{{5, 1 << 20, ""}, {4, 1 << 20, "run.max_steps"}, {100, 64 << 10, "run.max_output_bytes"}, {100, 66 << 10, ""}} {
		var e *scheduler.StepExecutor
		fails = true
		r := schedulertest.Run(t, flow, journaled, captured(&e), schedulertest.With(large, last))
		if r.Err == nil {
			t.Fatal("the last step did not fail")
		}
		fails = false
		e.MaxSteps, e.MaxOutputBytes = test.steps, test.bytes
		_, err := scheduler.Collect(e.Resume(t.Context(), "run-1", scheduler.Resumption{}))
		if test.setting == "" {
			if err != nil {
				t.Errorf("%+v: %v", test, err)
			}
			continue
		}
		checkBound(t, err, "c", test.setting)
	}
}
