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
	"github.com/callnode/scheduler/calls/slot"
	"github.com/callnode/scheduler/llm"
	"github.com/callnode/scheduler/llm/value"
	"github.com/callnode/scheduler/scheduler"
	"github.com/callnode/scheduler/scheduler/journal"
	"github.com/callnode/scheduler/scheduler/schedulertest"
)

// pieced is a call that does pieces of work, and notes the pieces really done. fails is called between them.
func pieced(done *[]string, fails func(after string) error) calls.Definition {
	return schedulertest.Do("pieced", func(ctx context.Context, env *calls.Env, params value.Value) (any, error) {
		all := value.NewMap(3)
		for _, name := range []string{"one", "two", "one"} {
			output, err := calls.Once(ctx, env, name, params, func(ctx context.Context, env *calls.Env) (value.Value, error) {
				*done = append(*done, env.Path)
				if _, err := llm.Collect(env.LLM.Chat(ctx, &llm.Request{})); err != nil {
					return value.Value{}, err
				}
				inner, err := calls.Once(ctx, env, "deep", nil, func(_ context.Context, env *calls.Env) (string, error) {
					*done = append(*done, env.Path)
					return env.IdempotencyKey(), nil
				})
				return value.OfMap(value.Pairs("at", env.Path, "deep", inner, "params", params)), err
			})
			if err == nil {
				err = fails(name)
			}
			if err != nil {
				return nil, err
			}
			all.Set(fmt.Sprint(all.Len()), output)
		}
		return all, nil
	})
}

// counted is a model that counts its requests, each of 10 tokens; err, if given, decides which of them fail.
type counted struct {
	n   int
	err func(n int) error
}

func (c *counted) Chat(context.Context, *llm.Request) iter.Seq2[llm.Delta, error] {
	return func(yield func(llm.Delta, error) bool) {
		c.n++
		if c.err != nil {
			if err := c.err(c.n); err != nil {
				yield(llm.Delta{}, err)
				return
			}
		}
		yield(llm.Delta{Text: "yes", Usage: &llm.Usage{InputTokens: 7, OutputTokens: 3}}, nil)
	}
}

var allPieces = []string{"a/one-1", "a/one-1/deep-1", "a/two-1", "a/two-1/deep-1", "a/one-2", "a/one-2/deep-1"}

// TestPieces: parts of a call's work that an attempt or a process has finished are neither done nor paid again.
func TestPieces(t *testing.T) {
	busy := &llm.Error{Message: "busy", Temporary: true}
	once := func(err error) func(string) error {
		return func(after string) error {
			if after != "two" {
				return nil
			}
			was := err
			err = nil
			return was
		}
	}
	for _, test := range []struct {
		name, step string
		fails      func(string) error
		model      func(n int) error
		resumes    int
		done       []string
		requests   int
	}{
		{"at once", "{id: a, call: pieced}", once(nil), nil, 0, allPieces, 3},
		{"tried again", "{id: a, call: pieced, retry: {max_attempts: 2}}", once(busy), nil, 0, allPieces, 3},
		{"resumed", "{id: a, call: pieced}", once(errors.New("no")), nil, 1, allPieces, 3},
		{
			"a piece that fails", "{id: a, call: pieced, retry: {max_attempts: 2}}", once(nil), func(n int) error {
				if n == 2 {
					return busy
				}
				return nil
			}, 0, []string{"a/one-1", "a/one-1/deep-1", "a/two-1", "a/two-1", "a/two-1/deep-1", "a/one-2", "a/one-2/deep-1"}, 4,
		},
		{
			"other parameters", "{id: a, call: pieced, with: {n: '{{ vars.n }}'}}", once(errors.New("no")), nil, 1,
			[]string{"a/one-1", "a/one-1/deep-1", "a/two-1", "a/two-1/deep-1", "a/one-1", "a/two-1", "a/one-2", "a/one-2/deep-1"}, 5,
		},
		{
			"a secret", "{id: a, call: pieced, with: {n: '{{ secrets.KEY }}'}}", once(errors.New("no")), nil, 1,
			[]string{"a/one-1", "a/one-1/deep-1", "a/two-1", "a/two-1/deep-1", "a/one-1", "a/two-1", "a/one-2", "a/one-2/deep-1"}, 5,
		},
		{"a secret, tried again", "{id: a, call: pieced, with: {n: '{{ secrets.KEY }}'}, retry: {max_attempts: 2}}", once(busy), nil, 0, allPieces, 3},
	} {
		t.Run(test.name, func(t *testing.T) {
			var done []string
			n := 0
			model := &counted{err: test.model}
			r := schedulertest.Run(t, "steps: ["+test.step+"]", journaled(t), schedulertest.With(pieced(&done, test.fails)),
				schedulertest.LLM(model), schedulertest.Resolver(counting{&n}, "n"), schedulertest.Secret("KEY", "s3cret"))
			for range test.resumes {
				r = r.Resume(scheduler.Resumption{})
			}
			if r.Err != nil {
				t.Fatal(r.Err)
			}
			if diff := cmp.Diff(test.done, done); diff != "" {
				t.Error(diff)
			}
			if model.n != test.requests {
				t.Errorf("%d requests, want %d", model.n, test.requests)
			}
			if got, _ := r.Outputs.At("/a/2/deep"); got.JSON() != `"run-1/a/one-2/deep-1"` {
				t.Errorf("outputs %s", r.Outputs)
			}
		})
	}
}

// TestPiecesByHand: names, panics and results that are not JSON.
func TestPiecesByHand(t *testing.T) {
	work := func(_ context.Context, env *calls.Env) (string, error) { return "at " + env.Path, nil }
	bad := schedulertest.Do("bad", func(ctx context.Context, env *calls.Env, params value.Value) (any, error) {
		if _, err := calls.Once(ctx, env, "A/b", nil, work); calls.KindOf(err) != calls.Internal {
			t.Errorf("a bad name: %v", err)
		}
		if _, err := calls.Once(ctx, env, "chan", make(chan int), work); calls.KindOf(err) != calls.Internal {
			t.Errorf("bad parameters: %v", err)
		}
		if _, err := calls.Once(ctx, env, "out", nil, func(context.Context, *calls.Env) (func(), error) { return func() {}, nil }); calls.KindOf(err) != calls.Internal {
			t.Errorf("a bad output: %v", err)
		}
		if _, err := calls.Once(ctx, env, "panic", nil, func(context.Context, *calls.Env) (int, error) { panic("oh") }); calls.KindOf(err) != calls.Internal {
			t.Errorf("a panic: %v", err)
		}
		env.Recorder = nil
		return params, nil
	})
	r := schedulertest.Run(t, `steps: [{id: a, call: bad}]`, schedulertest.With(bad))
	if r.Err != nil || len(lines(r, "step.failed a/panic-1 internal: panic: oh")) != 1 {
		t.Errorf("%v\n%s", r.Err, r.Log())
	}
	if got, err := calls.Once(t.Context(), calls.NewEnv(), "x", nil, work); got != "at " || err != nil {
		t.Errorf("without a run: %q, %v", got, err)
	}
}

// TestNoSubsteps: a call that says it runs nothing inside its step cannot.
func TestNoSubsteps(t *testing.T) {
	asked := ""
	alone := schedulertest.Do("alone", func(ctx context.Context, env *calls.Env, params value.Value) (any, error) {
		_, flowErr := env.Flows.RunFlow(ctx, "flow.yaml", value.Value{})
		_, callErr := env.Calls.RunCall(ctx, "alone", params)
		if flowErr == nil || callErr == nil || env.Asker != nil {
			t.Errorf("a flow: %v; a call: %v; questions: %v", flowErr, callErr, env.Asker)
		}
		return calls.Once(ctx, env, "piece", nil, func(_ context.Context, env *calls.Env) (value.Value, error) {
			asked = env.Path
			return params, nil
		})
	})
	alone.Info.NoSubsteps = true
	r := schedulertest.Run(t, `steps: [{id: a, call: alone}]`, schedulertest.With(alone))
	if r.Err != nil || asked != "a" || len(lines(r, "step.started")) != 1 {
		t.Errorf("%v: the work was done at %q\n%s", r.Err, asked, r.Log())
	}
}

// TestPiecesAreSafe: the work after a piece does not begin before the journal has the piece, nor if the journal
// fails.
func TestPiecesAreSafe(t *testing.T) {
	slow := &slowJournal{newJournal(t, nil), &slowLog{}}
	var before, after int64
	safe := schedulertest.Do("safe", func(ctx context.Context, env *calls.Env, params value.Value) (any, error) {
		before = slow.log.safe.Load()
		_, err := calls.Once(ctx, env, "piece", nil, func(context.Context, *calls.Env) (int, error) { return 1, nil })
		after = slow.log.safe.Load()
		return params, err
	})
	r := schedulertest.Run(t, `steps: [{id: a, call: safe}]`, schedulertest.With(safe),
		schedulertest.Executor(func(e *scheduler.StepExecutor) { e.Journal = slow }))
	var end int64
	for _, ev := range r.Events {
		if ev.Type == journal.StepFinished && ev.Step == "a/piece-1" {
			end = ev.Seq
		}
	}
	if r.Err != nil || end == 0 || before >= end || after < end {
		t.Errorf("%v: the piece ends with event %d; the journal had %d before and %d after it", r.Err, end, before, after)
	}

	went := false
	broken := schedulertest.Do("safe", func(ctx context.Context, env *calls.Env, params value.Value) (any, error) {
		_, err := calls.Once(ctx, env, "piece", nil, func(context.Context, *calls.Env) (int, error) { return 1, nil })
		went = err == nil
		return params, err
	})
	r = schedulertest.Run(t, `steps: [{id: a, call: safe}]`, schedulertest.With(broken), schedulertest.Executor(func(e *scheduler.StepExecutor) {
		e.Journal = &brokenJournal{newJournal(t, nil), journal.StepFinished}
	}))
	if went || r.Err == nil || !strings.Contains(r.Err.Error(), "the disk is full") {
		t.Errorf("went on: %v; %v", went, r.Err)
	}
}

// TestFillingTriedAgain: the filling of a step is its first piece, in every attempt.
func TestFillingTriedAgain(t *testing.T) {
	busy := &llm.Error{Message: "busy", Temporary: true}
	fills := 0
	fake := schedulertest.Do("slot", func(_ context.Context, _ *calls.Env, params value.Value) (any, error) {
		if fills++; fills == 1 {
			return nil, busy
		}
		data, _ := params.Get("data")
		return value.OfMap(value.Pairs("slot_data", data, "remaining_schema", emptyValue)), nil
	})
	asks := 0
	twice := schedulertest.Do("twice", func(ctx context.Context, env *calls.Env, params value.Value) (any, error) {
		output, err := env.Calls.RunCall(ctx, "slot", params)
		if asks++; asks < 3 && err == nil {
			err = busy
			if asks == 2 {
				err = errors.New("no")
			}
		}
		return output, err
	})
	r := schedulertest.Run(t, `steps: [{id: a, call: twice, enable_filling: true, retry: {max_attempts: 3}}]`,
		journaled(t), schedulertest.With(fake, twice))
	got := append(lines(r, "step.started a/"), lines(r, "step.failed a/")...)
	r = r.Resume(scheduler.Resumption{})
	if r.Err != nil {
		t.Fatal(r.Err)
	}
	want := []string{"step.started a/slot-1", "step.started a/slot-1", "step.started a/slot-2", "step.failed a/slot-1 provider: provider: busy"}
	if diff := cmp.Diff(want, append(got, lines(r, "step.started a/")...)); diff != "" {
		t.Errorf("%s\n%s", diff, r.Log())
	}
}

// guide knows the city in words and the day by a schema.
type guide struct{ asked []string }

func (g *guide) Chat(_ context.Context, req *llm.Request) iter.Seq2[llm.Delta, error] {
	stage, text := "llm", `{"/city": "Lyon"}`
	if len(req.Tools) > 0 {
		stage, text = "function", `{"/day": "Monday"}`
	}
	g.asked = append(g.asked, stage)
	return func(yield func(llm.Delta, error) bool) { yield(llm.Delta{Text: text}, nil) }
}

// TestSlotKilled kills a run after each of its events: no more is asked again than the
// answer that was in flight.
func TestSlotKilled(t *testing.T) {
	const text = `
steps: [{id: a, call: slot, with: {current_schema: {type: object, required: [city, day], properties: {city: {type: string}, day: {type: string}}}}}]
outputs: {city: "{{ a.slot_data.city }}", day: "{{ a.slot_data.day }}"}
`
	for left, over := 1, false; !over; left++ {
		model, store, now := &guide{}, newJournal(t, nil), time.Date(2026, 3, 5, 9, 7, 0, 0, time.UTC)
		mortal := &dying{store, left}
		r := schedulertest.Run(t, text, schedulertest.With(slot.Definition()), schedulertest.LLM(model), schedulertest.Executor(func(e *scheduler.StepExecutor) {
			e.Journal = mortal
			e.Env.Clock = func() time.Time { return now }
		}))
		over = r.Err == nil
		if !over {
			mortal.left, now = 1<<30, now.Add(time.Hour)
			r = r.Resume(scheduler.Resumption{})
			if r.Err != nil {
				t.Fatal(r.Err)
			}
		}
		if len(model.asked) > 3 { // one may have been in flight
			t.Errorf("killed after %d events: asked %v", left, model.asked)
		}
		if got := r.Outputs.JSON(); got != `{"city":"Lyon","day":"Monday"}` {
			t.Errorf("killed after %d events: %s", left, got)
		}
	}
}
