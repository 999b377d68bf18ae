package scheduler_test

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/callnode/scheduler/calls"
	flowcall "github.com/callnode/scheduler/calls/flow"
	"github.com/callnode/scheduler/calls/slot"
	"github.com/callnode/scheduler/llm"
	"github.com/callnode/scheduler/llm/scripted"
	"github.com/callnode/scheduler/llm/value"
	"github.com/callnode/scheduler/scheduler"
	"github.com/callnode/scheduler/scheduler/journal"
	"github.com/callnode/scheduler/scheduler/journal/sqljournal"
	"github.com/callnode/scheduler/scheduler/schedulertest"
)

// failOnce is a call that fails the first time that each step asks it.
func failOnce() calls.Definition {
	var mu sync.Mutex
	failed := map[string]bool{}
	return schedulertest.Do("once", func(_ context.Context, env *calls.Env, params value.Value) (any, error) {
		mu.Lock()
		defer mu.Unlock()
		if !failed[env.Path] {
			failed[env.Path] = true
			return nil, errors.New("the first time fails")
		}
		return params, nil
	})
}

func lines(r *schedulertest.Result, prefix string) (found []string) {
	for line := range strings.Lines(r.Log()) {
		if strings.HasPrefix(line, prefix) {
			found = append(found, strings.TrimSpace(line))
		}
	}
	return found
}

func TestResumeRefuses(t *testing.T) {
	e := &scheduler.StepExecutor{}
	_, err := scheduler.Collect(e.Resume(t.Context(), "x", scheduler.Resumption{}))
	if calls.KindOf(err) != calls.Invalid {
		t.Errorf("without a journal: %v", err)
	}
	store := newJournal(t, nil)
	e.Journal = store
	_, err = scheduler.Collect(e.Resume(t.Context(), "x", scheduler.Resumption{}))
	if calls.KindOf(err) != calls.NotFound {
		t.Errorf("an unknown run: %v", err)
	}
	r := schedulertest.Run(t, `steps: [{id: a, call: echo}]`, journaled(t))
	if r.Err != nil {
		t.Fatal(r.Err)
	}
	r = r.Resume(scheduler.Resumption{})
	if calls.KindOf(r.Err) != calls.Invalid || !strings.Contains(r.Err.Error(), "finished") {
		t.Errorf("a finished run: %v", r.Err)
	}
	log, err := store.Begin(t.Context(), &journal.RunHeader{ID: "held", Text: journal.FlowText{Source: []byte("steps: no")}})
	if err != nil {
		t.Fatal(err)
	}
	var held *journal.HeldError
	_, err = scheduler.Collect(e.Resume(t.Context(), "held", scheduler.Resumption{}))
	if !errors.As(err, &held) {
		t.Errorf("a run that is held: %v", err)
	}
	if err := log.Close(); err != nil {
		t.Fatal(err)
	}
	_, err = scheduler.Collect(e.Resume(t.Context(), "held", scheduler.Resumption{}))
	if calls.KindOf(err) != calls.Internal {
		t.Errorf("without a loader: %v", err)
	}
	e.Loader = schedulertest.Loader(t)
	_, err = scheduler.Collect(e.Resume(t.Context(), "held", scheduler.Resumption{}))
	if calls.KindOf(err) != calls.Invalid {
		t.Errorf("a flow that does not load: %v", err)
	}
	_, err = store.Reopen(t.Context(), "held")
	if err != nil {
		t.Errorf("a run that could not be resumed is held: %v", err)
	}
}

func TestEditedFlow(t *testing.T) {
	const before = `
steps:
  - {id: a, call: echo, with: {x: 1, y: "{{ inputs.q | default('q') }}", z: [1, "{{ 2 }}"]}}
  - {id: b, call: once, with: {a: "{{ a.x }} it is"}}
  - {id: c, call: echo, with: {b: "{{ b }}"}}
`
	for name, test := range map[string]struct{ old, new, refused string }{
		"the failed step":          {"it is", "it was", ""},
		"a step to come":           {`b: "{{ b }}"`, "b: 2", ""},
		"what decides nothing":     {"id: a,", "id: a, name: A, timeout: 3s,", ""},
		"a literal":                {"x: 1", "x: 2", "a"},
		"a template":               {"'q'", "'p'", "a"},
		"a list":                   {"{{ 2 }}", "{{ 3 }}", "a"},
		"its call":                 {"id: a, call: echo", "id: a, call: once", "a"},
		"its condition":            {"id: a,", "id: a, when: '{{ true }}',", "a"},
		"its name":                 {"id: a,", "id: d,", ""},
		"a step before":            {"  - {id: a,", "  - {id: z, call: echo}\n  - {id: a,", "a"},
		"a step after it":          {"  - {id: b,", "  - {id: z, call: echo}\n  - {id: b,", ""},
		"nothing but the comments": {"steps:", "# edited\nsteps:", ""},
	} {
		t.Run(name, func(t *testing.T) {
			r := schedulertest.Run(t, before, journaled(t), schedulertest.With(failOnce()))
			if r.Err == nil {
				t.Fatal("the step did not fail")
			}
			text := strings.Replace(before, test.old, test.new, 1)
			if name == "its name" {
				text = strings.ReplaceAll(text, "a.x", "d.x")
			}
			edited := schedulertest.Load(t, text, schedulertest.With(failOnce()))
			r = r.Resume(scheduler.Resumption{Flow: edited})
			if name == "its name" {
				test.refused = "a"
			}
			if test.refused != "" {
				if r.Err == nil || !strings.Contains(r.Err.Error(), "the step "+test.refused+" has finished") || len(r.Events) > 0 {
					t.Errorf("err %v", r.Err)
				}
				return
			}
			if started := lines(r, "step.started a"); len(started) > 0 {
				t.Error("a ran again")
			}
		})
	}
}

// TestEditedSubflow edits a flow inside a flow.
func TestEditedSubflow(t *testing.T) {
	const text = `
steps: [{id: outer, call: flow, with: {path: inner.yaml}}]
-- inner.yaml --
steps:
  - {id: one, call: echo, with: {n: 1}}
  - {id: two, call: once, with: {n: 2}}
`
	options := []schedulertest.Option{journaled(t), schedulertest.With(failOnce(), flowcall.Definition())}
	r := schedulertest.Run(t, text, options...)
	loader := schedulertest.Loader(t, options...)
	inner := "steps:\n  - {id: one, call: echo, with: {n: 5}}\n  - {id: two, call: once, with: {n: 2}}\n"
	loader.ReadFile = func(string) ([]byte, error) { return []byte(inner), nil }
	edited, problems := loader.Parse("flow.yaml", r.Flow.Source)
	if edited == nil {
		t.Fatal(problems)
	}
	if refused := r.Resume(scheduler.Resumption{Flow: edited}); refused.Err == nil || !strings.Contains(refused.Err.Error(), "the step outer/one has finished") {
		t.Errorf("err %v", refused.Err)
	}
	inner = "steps:\n  - {id: one, call: echo, with: {n: 1}}\n  - {id: two, call: once, with: {n: 3}}\n"
	edited, problems = loader.Parse("flow.yaml", r.Flow.Source)
	if edited == nil {
		t.Fatal(problems)
	}
	r = r.Resume(scheduler.Resumption{Flow: edited})
	if r.Err != nil || r.Outputs.JSON() != `{"outer":{"two":{"n":3}}}` || len(lines(r, "step.started outer/one")) > 0 {
		t.Errorf("%v\n%s", r.Err, r.Log())
	}
}

// TestBudgetGoesOn: an earlier process's spending counts.
func TestBudgetGoesOn(t *testing.T) {
	usage := &llm.Usage{InputTokens: 30, OutputTokens: 5}
	model := scripted.New(scripted.Answer{Text: "a", Usage: usage}, scripted.Answer{Text: "b", Usage: usage}, scripted.Answer{Text: "c", Usage: usage})
	r := schedulertest.Run(t, `
budget: {max_tokens: 100}
steps:
  - {id: a, call: ask, for_each: [1, 2], max_parallel: 1, with: {prompt: x}}
  - {id: b, call: once}
  - {id: c, call: ask, with: {prompt: "`+strings.Repeat("long ", 200)+`"}}
`, journaled(t), schedulertest.With(failOnce()), schedulertest.LLM(model))
	r = r.Resume(scheduler.Resumption{})
	if calls.KindOf(r.Err) != calls.Budget {
		t.Errorf("the run ends with %v", r.Err)
	}
	if r.Usage.Total() != 70 {
		t.Errorf("the run has used %+v", r.Usage)
	}
}

// TestSameAgain: a step that runs again has the same parameters, random numbers, start of the run and idempotency
// key; its clock advances.
func TestSameAgain(t *testing.T) {
	type seen struct {
		key, path, params string
		random            uint64
		started, now      time.Time
	}
	var all []seen
	look := schedulertest.Do("look", func(ctx context.Context, env *calls.Env, params value.Value) (any, error) {
		all = append(all, seen{env.IdempotencyKey(), env.Path, params.JSON(), env.Rand.Uint64(), env.Vars.Run.StartedAt, env.Vars.Now})
		if len(all) == 1 {
			return nil, context.Canceled
		}
		return emptyValue, nil
	})
	n := 0
	now := schedulertest.Now
	r := schedulertest.Run(t, `steps: [{id: a, call: look, for_each: [7], with: {x: "{{ vars.x }}", item: "{{ item }}"}}]`,
		journaled(t), schedulertest.With(look), schedulertest.Resolver(counting{&n}, "x"),
		schedulertest.Executor(func(e *scheduler.StepExecutor) {
			e.Env.Clock = func() time.Time { return now }
		}))
	now = now.Add(time.Hour)
	r = r.Resume(scheduler.Resumption{})
	if r.Err != nil || len(all) != 2 {
		t.Fatal(r.Err, all)
	}
	want := all[0]
	want.now = now
	if diff := cmp.Diff(want, all[1], cmp.AllowUnexported(seen{})); diff != "" {
		t.Error(diff)
	}
	if want.key != "run-1/a[0]" {
		t.Error(want.key)
	}
}

// helper is a call that runs others inside itself, as an agent does.
func helper(fails *atomic.Bool) calls.Definition {
	return schedulertest.Do("helper", func(ctx context.Context, env *calls.Env, _ value.Value) (any, error) {
		one, err := env.Calls.RunCall(ctx, "ask", value.OfMap(value.Pairs("prompt", "hello")))
		if err != nil {
			return nil, err
		}
		two, err := env.Flows.RunFlow(ctx, "inner.yaml", value.OfMap(value.Pairs("x", 1)))
		if err != nil {
			return nil, fmt.Errorf("the flow: %w", err)
		}
		if fails.Load() {
			return nil, errors.New("not now")
		}
		if _, err := env.Calls.RunCall(ctx, "nothing", emptyValue); calls.KindOf(err) != calls.NotFound {
			return nil, fmt.Errorf("an unknown call: %w", err)
		}
		_, err = env.Calls.RunCall(ctx, "fail", value.OfMap(value.Pairs("message", "so what")))
		return map[string]any{"one": one, "two": two, "err": err.Error()}, nil
	})
}

var emptyValue = value.OfMap(nil)

// TestInside: parts that a call runs inside itself are visible, and finished ones are not paid again; flows inside
// may wait.
func TestInside(t *testing.T) {
	var fails atomic.Bool
	fails.Store(true)
	r := schedulertest.Run(t, `
steps: [{id: a, call: helper}]
-- inner.yaml --
steps:
  - {id: one, call: echo, with: {x: "{{ inputs.x }}"}}
  - {id: two, call: slot, with: {stages: [], current_schema: {type: object, required: [n], properties: {n: {type: integer}}}}}
outputs: {x: "{{ one.x }}", n: "{{ two.slot_data.n }}"}
`, journaled(t), schedulertest.With(helper(&fails), flowcall.Definition(), slot.Definition()),
		schedulertest.LLM(scripted.New(scripted.Answer{Text: "hi", Usage: &llm.Usage{InputTokens: 4, OutputTokens: 1}})))
	var w *scheduler.Waiting
	if !errors.As(r.Err, &w) || len(w.For) != 1 || w.For[0].Step != "a/flow-1/two" {
		t.Fatalf("%v\n%s", r.Err, r.Log())
	}
	r = r.Resume(scheduler.Resumption{}, "/n=3")
	if r.Err == nil || len(lines(r, "step.started a/ask-1")) > 0 || len(lines(r, "step.started a/flow-1/one")) > 0 {
		t.Fatalf("%v\n%s", r.Err, r.Log())
	}
	fails.Store(false)
	if err := os.Remove("inner.yaml"); err != nil { // its text is in the journal
		t.Fatal(err)
	}
	r = r.Resume(scheduler.Resumption{})
	want := `{"a":{"err":"so what","one":{"text":"hi"},"two":{"x":1,"n":3}}}`
	if r.Err != nil || !sameJSON(t, r.Outputs, want) {
		t.Fatalf("%v %s\n%s", r.Err, r.Outputs, r.Log())
	}
	got := lines(r, "step.started a/")
	if diff := cmp.Diff([]string{"step.started a/fail-1"}, got); diff != "" {
		t.Error(diff)
	}
}

func sameJSON(t *testing.T, v value.Value, text string) bool {
	t.Helper()
	want, err := value.ParseJSON([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return value.Equal(v, want)
}

// TestReaderLeaves: a reader that has had enough cancels the run, and the journal
// has its end.
func TestReaderLeaves(t *testing.T) {
	store := newJournal(t, nil)
	f := schedulertest.Load(t, `steps: [{id: a, call: echo}, {id: b, call: block}]`)
	e := &scheduler.StepExecutor{Journal: store, NewRunID: func() string { return "run-1" }}
	for ev, err := range e.Run(t.Context(), f, value.Value{}) {
		if err != nil {
			t.Fatal(err)
		}
		if ev.Type == journal.StepStarted && ev.Step == "b" {
			break
		}
	}
	info, err := store.Run(t.Context(), "run-1")
	if err != nil || info.State != journal.RunCancelled || info.Holder != nil {
		t.Errorf("the run stands at %+v, %v", info, err)
	}
}

// TestManyEvents: more events than the stream holds, with a slow journal.
func TestManyEvents(t *testing.T) {
	chatty := schedulertest.Call("chatty", func(context.Context, *calls.Env, value.Value) iter.Seq2[calls.Chunk, error] {
		return func(yield func(calls.Chunk, error) bool) {
			for range 5000 {
				if !yield(calls.TextChunk("x"), nil) {
					return
				}
			}
		}
	})
	r := schedulertest.Run(t, `steps: [{id: a, call: chatty, needs: []}, {id: b, call: chatty, needs: []}, {id: c, call: echo, needs: [a, b]}]`,
		schedulertest.With(chatty), schedulertest.Executor(func(e *scheduler.StepExecutor) {
			e.Journal = &slowJournal{newJournal(t, nil), &slowLog{}}
		}))
	if r.Err != nil || len(r.Events) < 10000 {
		t.Error(r.Err, len(r.Events))
	}
}

// TestSQLite runs, waits and resumes with the journal on disk, from one executor
// to the next.
func TestSQLite(t *testing.T) {
	dir := t.TempDir()
	options := func(j journal.Journal) []schedulertest.Option {
		return []schedulertest.Option{
			schedulertest.With(slot.Definition()),
			schedulertest.Executor(func(e *scheduler.StepExecutor) { e.Journal, e.Durability = j, journal.Async }),
		}
	}
	open := func() *sqljournal.Journal {
		j, err := sqljournal.OpenFile(t.Context(), dir, sqljournal.FileOptions{})
		if err != nil {
			t.Fatal(err)
		}
		return j
	}
	shut := func(j *sqljournal.Journal) {
		if err := errors.Join(j.Check(t.Context()), j.Close()); err != nil {
			t.Error(err)
		}
	}
	j := open()
	r := schedulertest.Run(t, `
inputs: {type: object}
steps:
  - {id: a, call: echo, with: {picture: "{{ inputs.picture }}"}}
  - {id: b, call: slot, with: {stages: [], current_schema: {type: object, required: [n], properties: {n: {type: integer}}}}}
outputs: {picture: "{{ a.picture }}", n: "{{ b.slot_data.n }}"}
`, append(options(j), schedulertest.Inputs(`{"picture": "data:image/png;base64,`+strings.Repeat("AAAA", 2000)+`"}`))...)
	shut(j)
	var w *scheduler.Waiting
	if !errors.As(r.Err, &w) {
		t.Fatal(r.Err)
	}
	j = open()
	defer shut(j)
	loader := schedulertest.Loader(t, options(j)...)
	e := &scheduler.StepExecutor{Journal: j, Loader: loader}
	answers, err := scheduler.AnswersOf(value.OfMap(value.Pairs("n", 5)), w.For)
	if err != nil {
		t.Fatal(err)
	}
	got, err := scheduler.Collect(e.Resume(t.Context(), "run-1", scheduler.Resumption{Answers: answers}))
	if err != nil {
		t.Fatal(err)
	}
	if n, _ := got.Outputs.Get("n"); n.JSON() != "5" {
		t.Error(got.Outputs)
	}
	if picture, _ := got.Outputs.Get("picture"); !strings.HasSuffix(picture.JSON(), `AAAA"`) {
		t.Error("the picture did not come back")
	}
}
