package scheduler_test

import (
	"context"
	"errors"
	"iter"
	"strings"
	"testing"

	"github.com/callnode/scheduler/calls"
	"github.com/callnode/scheduler/calls/agent"
	flowcall "github.com/callnode/scheduler/calls/flow"
	"github.com/callnode/scheduler/llm"
	"github.com/callnode/scheduler/llm/value"
	"github.com/callnode/scheduler/scheduler"
	"github.com/callnode/scheduler/scheduler/journal"
	"github.com/callnode/scheduler/scheduler/schedulertest"
)

// bounded sets the bounds of a run.
func bounded(steps int, bytes int64) schedulertest.Option {
	return schedulertest.Executor(func(e *scheduler.StepExecutor) { e.MaxSteps, e.MaxOutputBytes = steps, bytes })
}

// large is a call that outputs 16 KiB.
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

// TestMaxOutputBytes: the outputs that a run holds are limited; a sub-flow's outputs count until it ends, and
// on_error: continue does not apply to an error of this kind.
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

// TestMaxOutputBytesWithinStep: a step's memory is limited before it ends: text that it streams, an answer as it
// arrives, and the parts that it runs inside itself. An error of that kind ends the run even if the call ignores
// it.
func TestMaxOutputBytesWithinStep(t *testing.T) {
	endless := schedulertest.Call("endless", func(_ context.Context, _ *calls.Env, _ value.Value) iter.Seq2[calls.Chunk, error] {
		return func(yield func(calls.Chunk, error) bool) {
			for yield(calls.Chunk{Text: strings.Repeat("x", 1<<10)}, nil) {
			}
		}
	})
	ignores := schedulertest.Do("ignores", func(ctx context.Context, env *calls.Env, _ value.Value) (any, error) {
		for range 30 {
			_, _ = env.Calls.RunCall(ctx, "large", value.OfMap(nil))
		}
		return map[string]string{"text": "done"}, nil
	})
	frees := schedulertest.Do("frees", func(ctx context.Context, env *calls.Env, _ value.Value) (any, error) {
		for range 30 {
			_, err := calls.Once(ctx, env, "piece", nil, func(ctx context.Context, env *calls.Env) (int, error) {
				_, err := env.Calls.RunCall(ctx, "large", value.OfMap(nil))
				return 1, err
			})
			if err != nil {
				return nil, err
			}
		}
		return map[string]string{"text": "done"}, nil
	})
	const bytes = 256 << 10
	for step, exceeded := range map[string]bool{
		"call: endless": true, "call: ignores": true, "call: ask": true, "call: frees": false,
		"call: frees, retry: {max_attempts: 2}":                                            true, // a second attempt would use the parts of the first
		"call: agent, with: {prompt: x, max_rounds: 3, tools: {calls: [{call: endless}]}}": true,
		"call: agent, with: {prompt: x, max_rounds: 3, tools: {calls: [{call: large}]}}":   false,
	} {
		var model llm.Provider = thinker{}
		if strings.Contains(step, "agent") {
			model = &talker{plan: func(string, int) (tool, arguments string) {
				return step[strings.LastIndex(step, " ")+1 : len(step)-4], "{}"
			}}
		}
		r := schedulertest.Run(t, "steps: [{id: s, on_error: continue, "+step+"}, {id: z, call: say}]",
			schedulertest.With(large, endless, ignores, frees, agent.Definition()), schedulertest.LLM(model), bounded(0, bytes))
		if !exceeded {
			if r.Err != nil {
				t.Errorf("%s: %v", step, r.Err)
			}
			continue
		}
		checkBound(t, r.Err, "s", "run.max_output_bytes")
	}
}

// thinker is a model that thinks without an end.
type thinker struct{}

func (thinker) Chat(context.Context, *llm.Request) iter.Seq2[llm.Delta, error] {
	return func(yield func(llm.Delta, error) bool) {
		for yield(llm.Delta{Reasoning: strings.Repeat("x", 1<<10)}, nil) {
		}
	}
}

// TestMaxSteps: a flow that runs itself ends before it has grown.
func TestMaxSteps(t *testing.T) {
	const most = 300
	const flow = `
inputs: {type: object, properties: {path: {type: string, default: sub/again.yaml}}}
steps: [{id: s, call: flow, for_each: [1, 2, 3, 4, 5, 6, 7, 8, 9, 10], on_error: continue, with: {path: "{{ inputs.path }}"}}]
`
	r := schedulertest.Run(t, flow+"-- sub/again.yaml --\nname: again"+strings.ReplaceAll(flow, "sub/", ""),
		schedulertest.With(flowcall.Definition()), bounded(most, 0))
	checkBound(t, r.Err, "s[", "run.max_steps")
	// A tool's error of this kind ends the agent.
	model := &talker{plan: func(string, int) (tool, arguments string) { return "again", "{}" }}
	inside := schedulertest.Run(t, "steps: [{id: s, call: agent, with: {prompt: x, max_rounds: 5, tools: {flows: [{path: sub/again.yaml}]}}}]\n"+
		"-- sub/again.yaml --\nname: again"+strings.ReplaceAll(flow, "sub/", ""),
		schedulertest.With(flowcall.Definition(), agent.Definition()), bounded(most, 0),
		schedulertest.LLM(model))
	checkBound(t, inside.Err, "s", "run.max_steps")
	if model.asked["x 1"] != 1 || model.asked["x 2"] != 0 {
		t.Errorf("the model was asked %v", model.asked)
	}
	started := 0
	for _, ev := range r.Events {
		if ev.Type == journal.StepStarted && ev.Index != nil {
			started++
		}
	}
	if started > 5*most {
		t.Errorf("%d items began", started)
	}
}

// TestBoundsOfResumed: the work of earlier processes counts.
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
		r := schedulertest.Run(t, flow, journaled(t), captured(&e), schedulertest.With(large, last))
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
