package scheduler_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"iter"
	"log/slog"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/callnode/scheduler/calls"
	"github.com/callnode/scheduler/llm"
	"github.com/callnode/scheduler/llm/scripted"
	"github.com/callnode/scheduler/llm/value"
	"github.com/callnode/scheduler/plugins"
	"github.com/callnode/scheduler/scheduler"
	"github.com/callnode/scheduler/scheduler/journal"
	"github.com/callnode/scheduler/scheduler/schedulertest"
)

// meet is a call that waits until n of it run at once.
func meet(n int) calls.Definition {
	var mu sync.Mutex
	there, all := 0, make(chan struct{})
	return schedulertest.Do("meet", func(ctx context.Context, _ *calls.Env, _ value.Value) (any, error) {
		mu.Lock()
		if there++; there == n {
			close(all)
		}
		mu.Unlock()
		select {
		case <-all:
			return map[string]any{}, nil
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	})
}

// deaf is a call that ignores the request to stop, until the test ends.
func deaf(t *testing.T) calls.Definition {
	t.Helper()
	end, gone := make(chan struct{}), make(chan struct{}, 100)
	var running atomic.Int64
	t.Cleanup(func() {
		close(end)
		for range running.Load() {
			<-gone
		}
	})
	return schedulertest.Call("deaf", func(context.Context, *calls.Env, value.Value) iter.Seq2[calls.Chunk, error] {
		return func(yield func(calls.Chunk, error) bool) {
			running.Add(1)
			defer func() { gone <- struct{}{} }()
			<-end
			yield(calls.TextChunk("too late"), nil)
		}
	})
}

func states(r *schedulertest.Result) map[string]journal.EventType {
	last := map[string]journal.EventType{}
	for _, ev := range r.Events {
		key := ev.Step
		if ev.Index != nil {
			key += fmt.Sprintf("[%d]", *ev.Index)
		}
		last[key] = ev.Type
	}
	return last
}

func kindOf(t *testing.T, err error) calls.Kind {
	t.Helper()
	var f *scheduler.Failure
	if !errors.As(err, &f) {
		t.Fatalf("the run ended with %v, want a Failure", err)
	}
	return f.Info.Kind
}

func impatient(e *scheduler.StepExecutor) { e.CancelGrace = 20 * time.Millisecond }

func TestIndependentStepsRunAtOnce(t *testing.T) {
	r := schedulertest.Run(t, `
name: parallel
steps:
  - {id: a, call: meet, needs: []}
  - {id: b, call: meet, needs: []}
  - {id: c, call: meet, for_each: [1, 2, 3], needs: []}
  - {id: d, call: echo, needs: [a, b, c]}
`, schedulertest.With(meet(5)))
	if r.Err != nil {
		t.Fatal(r.Err)
	}
	for i, ev := range r.Events {
		if ev.Seq != int64(i+1) {
			t.Fatalf("event %d has seq %d", i+1, ev.Seq)
		}
	}
}

func TestParallelIsBounded(t *testing.T) {
	var now, most atomic.Int64
	count := schedulertest.Do("count", func(context.Context, *calls.Env, value.Value) (any, error) {
		most.Store(max(most.Load(), now.Add(1)))
		time.Sleep(time.Millisecond)
		now.Add(-1)
		return map[string]any{}, nil
	})
	for name, tc := range map[string]struct {
		flow string
		want int64
	}{
		"items": {`{name: x, steps: [{id: a, call: count, for_each: [1,2,3,4,5,6,7,8], max_parallel: 2}]}`, 2},
		"steps": {`{name: x, steps: [{id: a, call: count, for_each: [1,2,3,4,5,6,7,8]}, {id: b, call: count, needs: []}]}`, 3},
	} {
		most.Store(0)
		r := schedulertest.Run(t, tc.flow, schedulertest.With(count), schedulertest.Executor(func(e *scheduler.StepExecutor) { e.MaxParallel = 3 }))
		if r.Err != nil || most.Load() > tc.want {
			t.Errorf("%s: %d ran at once, want at most %d; %v", name, most.Load(), tc.want, r.Err)
		}
	}
}

func TestFailureCancelsSiblings(t *testing.T) {
	r := schedulertest.Run(t, `
name: siblings
steps:
  - {id: a, call: block, needs: []}
  - {id: b, call: block, needs: [], for_each: [1, 2]}
  - {id: c, call: fail, needs: [], with: {kind: plugin}}
  - {id: d, call: echo, needs: [a]}
`)
	if kindOf(t, r.Err) != calls.Plugin {
		t.Errorf("the run failed with %v", r.Err)
	}
	got := states(r)
	delete(got, "b[0]")
	delete(got, "b[1]")
	want := map[string]journal.EventType{
		"": journal.FlowFailed, "a": journal.StepFailed, "b": journal.StepFailed, "c": journal.StepFailed,
	}
	switch got["b"] { //nolint:exhaustive // what an item that has not started in time leaves
	case journal.StepReady, journal.StepStarted, journal.StepInput:
		want["b"] = got["b"]
	}
	if got["a"] == journal.StepReady {
		want["a"] = got["a"]
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	for _, ev := range r.Events {
		if ev.Type != journal.StepFailed || ev.Step == "c" {
			continue
		}
		if e := ev.Data.Error; e.Kind != calls.Canceled || e.Message != "stopped, because the step c failed" {
			t.Errorf("the sibling %s fails with %v", ev.Step, e)
		}
	}
}

func TestDeafSiblingIsLeftBehind(t *testing.T) {
	var log bytes.Buffer
	r := schedulertest.Run(t, `
name: deaf
steps:
  - {id: a, call: deaf, needs: []}
  - {id: b, call: deaf, needs: [], for_each: [1]}
  - {id: c, call: meet, needs: []}
  - {id: d, call: fail, needs: [c]}
`, schedulertest.With(deaf(t), meet(1)), schedulertest.Executor(impatient), schedulertest.Executor(func(e *scheduler.StepExecutor) {
		e.Env.Log = slog.New(slog.NewTextHandler(&log, nil))
	}))
	if kindOf(t, r.Err) != calls.Internal {
		t.Error(r.Err)
	}
	if got := states(r); got["a"] == journal.StepFinished || got[""] != journal.FlowFailed {
		t.Error(got)
	}
	if !strings.Contains(log.String(), "left behind") {
		t.Errorf("the log says nothing:\n%s", &log)
	}
}

// TestLeftBehindKeepsItsEnv: the steps that come after a call that did not stop do not get the Env that it still
// holds.
func TestLeftBehindKeepsItsEnv(t *testing.T) {
	end, gone, envs := make(chan struct{}), make(chan struct{}), make(chan *calls.Env, 1)
	stays := schedulertest.Call("stays", func(_ context.Context, env *calls.Env, _ value.Value) iter.Seq2[calls.Chunk, error] {
		return func(func(calls.Chunk, error) bool) {
			defer close(gone)
			envs <- env
			<-end
		}
	})
	r := schedulertest.Run(t, `
name: left
steps:
  - {id: a, call: stays, timeout: 20ms, on_error: continue}
  - {id: b, call: echo}
  - {id: c, call: echo}
`, schedulertest.With(stays), schedulertest.Executor(impatient))
	close(end)
	<-gone
	if r.Err != nil {
		t.Error(r.Err)
	}
	if env := <-envs; env.Path != "a" || env.Vars.Step.ID != "a" {
		t.Errorf("the call in a is now in %s, step %s", env.Path, env.Vars.Step.ID)
	}
}

func TestCancel(t *testing.T) {
	for name, call := range map[string]calls.Definition{"hears": schedulertest.Fakes()[4], "deaf": deaf(t)} {
		ctx, cancel := context.WithCancel(t.Context())
		flow := schedulertest.Load(t, fmt.Sprintf(`{name: x, steps: [{id: a, call: %s}, {id: b, call: echo}]}`, call.Info.Name), schedulertest.With(call))
		exec := &scheduler.StepExecutor{CancelGrace: 20 * time.Millisecond}
		var types []journal.EventType
		var failure error
		for ev, err := range exec.Run(ctx, flow, value.Value{}) {
			if err != nil {
				failure = err
				continue
			}
			types = append(types, ev.Type)
			if ev.Type == journal.StepInput {
				cancel()
			}
		}
		cancel()
		want := []journal.EventType{
			journal.FlowStarted, journal.StepReady, journal.StepStarted, journal.StepInput, journal.StepFailed, journal.FlowCancelled,
		}
		if diff := cmp.Diff(want, types); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
		if kindOf(t, failure) != calls.Canceled {
			t.Errorf("%s: %v", name, failure)
		}
	}
}

func TestCancelledBefore(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	r := schedulertest.Run(t, `{name: x, steps: [{id: a, call: echo}]}`, schedulertest.Context(ctx))
	if got := r.Events[len(r.Events)-1].Type; got != journal.FlowCancelled || kindOf(t, r.Err) != calls.Canceled {
		t.Errorf("%s, %v", got, r.Err)
	}
}

func TestBreakCancels(t *testing.T) {
	flow := schedulertest.Load(t, `{name: x, steps: [{id: a, call: block}]}`)
	for ev, err := range (&scheduler.StepExecutor{}).Run(t.Context(), flow, value.Value{}) {
		if err != nil {
			t.Fatal(err)
		}
		if ev.Type == journal.StepInput {
			break // returns only because the step is cancelled
		}
	}
}

func TestPanicOfTheReaderCancels(t *testing.T) {
	flow := schedulertest.Load(t, `{name: x, steps: [{id: a, call: block}]}`)
	defer func() {
		if recover() != "reader" {
			t.Error("the panic is lost")
		}
	}()
	for range (&scheduler.StepExecutor{}).Run(t.Context(), flow, value.Value{}) {
		panic("reader")
	}
}

func TestTimeout(t *testing.T) {
	r := schedulertest.Run(t, `
name: timeout
steps:
  - {id: a, call: block, timeout: 5ms, retry: {max_attempts: 2, initial_interval: 1s}, on_error: continue}
  - {id: b, call: deaf, timeout: 5ms, retry: {max_attempts: 2, initial_interval: 1s}, on_error: continue}
  - {id: c, call: echo, timeout: 1h}
`, schedulertest.With(deaf(t)), schedulertest.Executor(impatient))
	if r.Err != nil {
		t.Fatal(r.Err)
	}
	if diff := cmp.Diff([]time.Duration{time.Second}, r.Slept); diff != "" {
		t.Errorf("only the one that stops is tried again: %s", diff)
	}
	kinds := map[string]calls.Kind{}
	for _, ev := range r.Events {
		if ev.Type == journal.StepFinished && ev.Data.Error != nil {
			kinds[ev.Step] = ev.Data.Error.Kind
		}
	}
	if diff := cmp.Diff(map[string]calls.Kind{"a": calls.Timeout, "b": calls.Timeout}, kinds); diff != "" {
		t.Error(diff)
	}
}

func TestTimeoutOfASubFlow(t *testing.T) {
	r := schedulertest.Run(t, `
name: x
steps: [{id: a, call: flow, timeout: 200ms, with: {path: inner.yaml}}]
-- inner.yaml --
name: inner
steps: [{id: b, call: block}]
`, schedulertest.With(testCalls()...))
	if kindOf(t, r.Err) != calls.Timeout || states(r)["a/b"] != journal.StepFailed {
		t.Errorf("%v\n%s", r.Err, r.Log())
	}
}

func TestCancelledWhileOutputsAreMade(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	r := schedulertest.Run(t, `{name: x, steps: [{id: a, call: echo}], outputs: {x: "{{ vars.x }}"}}`, schedulertest.Context(ctx),
		schedulertest.Resolver(plugins.ResolverFunc(func(ctx context.Context, _ plugins.State, _ string) (any, error) {
			cancel()
			<-ctx.Done()
			return nil, ctx.Err()
		}), "x"))
	if kindOf(t, r.Err) != calls.Canceled || states(r)[""] != journal.FlowCancelled {
		t.Errorf("%v\n%s", r.Err, r.Log())
	}
}

func TestSlowReaderHoldsStepsBack(t *testing.T) {
	const pieces = 20_000
	var said atomic.Int64
	flow := schedulertest.Load(t, `{name: x, steps: [{id: a, call: talk}]}`, schedulertest.With(
		schedulertest.Call("talk", func(context.Context, *calls.Env, value.Value) iter.Seq2[calls.Chunk, error] {
			return func(yield func(calls.Chunk, error) bool) {
				for range pieces {
					if said.Add(1); !yield(calls.TextChunk("x"), nil) {
						return
					}
				}
			}
		})))
	heard := int64(0)
	for ev, err := range (&scheduler.StepExecutor{}).Run(t.Context(), flow, value.Value{}) {
		if err != nil {
			t.Fatal(err)
		}
		if ev.Type == journal.StepDelta {
			heard++
			if ahead := said.Load() - heard; ahead > 9000 {
				t.Fatalf("%d pieces wait to be read", ahead)
			}
		}
	}
	if heard != pieces {
		t.Errorf("%d pieces of %d came", heard, pieces)
	}
}

func TestRetryHonoursTheProvider(t *testing.T) {
	const flow = `{name: x, steps: [{id: a, call: ask, with: {prompt: hi}, retry: {max_attempts: 3, initial_interval: 1s}}]}`
	for name, tc := range map[string]struct {
		err  llm.Error
		want []time.Duration
	}{
		"temporary":   {llm.Error{Status: 503, Temporary: true}, []time.Duration{time.Second}},
		"retry after": {llm.Error{Status: 429, Temporary: true, RetryAfter: 7 * time.Second}, []time.Duration{7 * time.Second}},
		"too long":    {llm.Error{Status: 429, Temporary: true, RetryAfter: 24 * time.Hour}, nil},
		"for good":    {llm.Error{Status: 401}, nil},
	} {
		r := schedulertest.Run(t, flow, schedulertest.LLM(scripted.New(scripted.Answer{Error: &tc.err}, scripted.Answer{Text: "well"})))
		if (r.Err != nil) != (tc.want == nil) {
			t.Errorf("%s: %v", name, r.Err)
		}
		if diff := cmp.Diff(tc.want, r.Slept); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
}

func TestOneLayerRetries(t *testing.T) {
	for retry, want := range map[string]bool{"": false, ", retry: {max_attempts: 2}": true} {
		var once bool
		schedulertest.Run(t, `{name: x, steps: [{id: a, call: ask, with: {prompt: hi}`+retry+`}]}`, schedulertest.LLM(scripted.New(scripted.Answer{
			Before: func(ctx context.Context, _ *llm.Request) error { once = llm.IsSentOnce(ctx); return nil },
		})))
		if once != want {
			t.Errorf("with %q the provider is told to send once: %t, want %t", retry, once, want)
		}
	}
}

func TestBudgetCutsAnAnswer(t *testing.T) {
	long := strings.Repeat("word ", 4000)
	r := schedulertest.Run(t, `
name: x
budget: {max_tokens: 1000}
steps: [{id: a, call: ask, with: {prompt: hi}}]
`, schedulertest.LLM(scripted.New(scripted.Answer{Deltas: []llm.Delta{{Text: long[:2000]}, {Text: long}, {Text: long}}})))
	if kindOf(t, r.Err) != calls.Budget {
		t.Error(r.Err)
	}
	if total := r.Usage.Total(); total < 1000 || total > 7000 {
		t.Errorf("the cut answer counts %d tokens", total)
	}
}

func TestUsageOfSubFlowCounts(t *testing.T) {
	r := schedulertest.Run(t, `
name: outer
budget: {max_tokens: 60}
steps:
  - {id: a, call: flow, with: {path: inner.yaml}}
  - {id: b, call: flow, with: {path: inner.yaml}}
-- inner.yaml --
name: inner
steps: [{id: x, call: ask, with: {prompt: hi}}]
`, schedulertest.With(testCalls()...), schedulertest.LLM(scripted.New(
		scripted.Answer{Text: "one", Usage: &llm.Usage{InputTokens: 40, OutputTokens: 20}},
	)))
	if kindOf(t, r.Err) != calls.Budget || r.Usage.Total() != 60 {
		t.Errorf("%v, %v", r.Err, r.Usage)
	}
	var f *scheduler.Failure
	if errors.As(r.Err, &f); f.Info.Step != "b/x" {
		t.Errorf("the failed step is %q", f.Info.Step)
	}
}

func TestSameRunSameEvents(t *testing.T) {
	random := schedulertest.Do("random", func(_ context.Context, env *calls.Env, _ value.Value) (any, error) {
		return map[string]any{"n": env.Rand.IntN(1 << 30)}, nil
	})
	const flow = `
name: x
steps:
  - {id: a, call: random}
  - {id: b, call: random}
  - {id: c, call: random, for_each: [1, 2, 3], max_parallel: 1}
`
	run := func(seed uint64) string {
		return schedulertest.Run(t, flow, schedulertest.With(random), schedulertest.Executor(func(e *scheduler.StepExecutor) { e.Seed = seed })).Log()
	}
	if diff := cmp.Diff(run(1), run(1)); diff != "" {
		t.Error(diff)
	}
	if run(1) == run(2) {
		t.Error("another seed gives the same numbers")
	}
}

func TestSubFlowDepth(t *testing.T) {
	again := schedulertest.Do("again", func(ctx context.Context, env *calls.Env, _ value.Value) (any, error) {
		return env.Flows.RunFlow(ctx, "flow.yaml", value.Value{})
	})
	loader := schedulertest.Loader(t, schedulertest.With(again))
	loader.ReadFile = func(string) ([]byte, error) { return []byte(`{name: x, steps: [{id: a, call: again}]}`), nil }
	f, _ := loader.Load("flow.yaml")
	exec := &scheduler.StepExecutor{Loader: loader}
	r, err := scheduler.Collect(exec.Run(t.Context(), f, value.Value{}))
	if kindOf(t, err) != calls.Invalid || !strings.Contains(err.Error(), "16 deep") || len(r.Events) == 0 {
		t.Error(err)
	}
	exec.Loader = nil
	_, err = scheduler.Collect(exec.Run(t.Context(), f, value.Value{}))
	if kindOf(t, err) != calls.Invalid {
		t.Error(err)
	}
}

func TestZeroExecutor(t *testing.T) {
	flow := schedulertest.Load(t, `{name: x, steps: [{id: a, call: echo, with: {n: 1}}]}`)
	r, err := scheduler.Collect((&scheduler.StepExecutor{}).Run(t.Context(), flow, value.Value{}))
	if err != nil || r.Outputs.JSON() != `{"a":{"n":1}}` || len(r.Run) != 36 {
		t.Errorf("%v, %v", r, err)
	}
}
