package scheduler_test

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"testing"

	"pgregory.net/rapid"

	"github.com/callnode/scheduler/calls/slot"
	"github.com/callnode/scheduler/llm/value"
	"github.com/callnode/scheduler/scheduler"
	"github.com/callnode/scheduler/scheduler/flow"
	"github.com/callnode/scheduler/scheduler/journal"
	"github.com/callnode/scheduler/scheduler/schedulertest"
	"github.com/callnode/scheduler/test/slow"
)

// dying is a journal that accepts so many events and then fails, possibly in the middle of a batch: it then has
// the same events as after a killed process.
type dying struct {
	journal.Journal
	left int
}

var errDead = errors.New("the process is dead")

func (d *dying) Begin(ctx context.Context, h *journal.RunHeader) (journal.RunLog, error) {
	log, err := d.Journal.Begin(ctx, h)
	return &dyingLog{log, d}, err
}

func (d *dying) Reopen(ctx context.Context, id string) (journal.RunLog, error) {
	log, err := d.Journal.Reopen(ctx, id)
	return &dyingLog{log, d}, err
}

type dyingLog struct {
	journal.RunLog
	journal *dying
}

func (l *dyingLog) Append(ctx context.Context, events ...*journal.Event) error {
	n := min(len(events), l.journal.left)
	l.journal.left -= n
	if err := l.RunLog.Append(ctx, events[:n]...); err != nil {
		return err
	}
	if n < len(events) {
		return errDead
	}
	return nil
}

// TestInterruptedRuns kills runs of random flows again and again, and compares the result with the undisturbed
// run's.
func TestInterruptedRuns(t *testing.T) {
	slow.Checks(t, 30)
	rapid.Check(t, func(rt *rapid.T) {
		steps := drawDAG(rt)
		for i := range steps {
			steps[i].goesOn = true
		}
		text := dagYAML(steps)
		ran := map[string]int{}
		exec := &scheduler.StepExecutor{
			MaxParallel: rapid.IntRange(1, 4).Draw(rt, "parallel"),
			NewRunID:    func() string { return "run-1" },
		}
		f := schedulertest.Load(t, text)
		want, err := scheduler.Collect(exec.Run(t.Context(), f, value.Value{}))
		if err != nil {
			rt.Fatal(err)
		}

		store := newJournal(t, nil)
		defer store.Close() // of a database, its connections
		exec.Loader = schedulertest.Loader(t)
		events, got := exec.Run, (*scheduler.Result)(nil)
		for deaths := 0; ; deaths++ {
			mortal := &dying{store, rapid.IntRange(0, 30).Draw(rt, "events")}
			if deaths > 20 {
				mortal.left = 1 << 30
			}
			exec.Journal = mortal
			got, err = scheduler.Collect(events(t.Context(), f, value.Value{}))
			if err == nil {
				break
			}
			if !errors.Is(err, errDead) {
				rt.Fatalf("%v\n%s", err, text)
			}
			events = func(ctx context.Context, _ *flow.Flow, _ value.Value) iter.Seq2[*journal.Event, error] {
				return exec.Resume(ctx, "run-1", scheduler.Resumption{})
			}
		}
		if got.Outputs.JSON() != want.Outputs.JSON() {
			rt.Fatalf("outputs %s, want %s\n%s", got.Outputs, want.Outputs, text)
		}
		seq := int64(0)
		for ev, err := range store.Events(t.Context(), "run-1", 1) {
			if err != nil {
				rt.Fatal(err)
			}
			if seq++; ev.Seq != seq {
				rt.Fatalf("event %d has seq %d", seq, ev.Seq)
			}
			if id := schedulertest.Line(&journal.Event{Step: ev.Step, Index: ev.Index}); ev.Type == journal.StepFinished || ev.Type == journal.StepSkipped {
				if ran[id]++; ran[id] > 1 {
					rt.Fatalf("%s ends twice\n%s", id, text)
				}
			}
		}
	})
}

// TestWaitingRuns answers the steps of random flows in random order, some at a
// time, and some processes die in between.
func TestWaitingRuns(t *testing.T) {
	slow.Checks(t, 30)
	rapid.Check(t, func(rt *rapid.T) {
		n := rapid.IntRange(1, 5).Draw(rt, "steps")
		text, want := "steps:\n", value.NewMap(n)
		for i := range n {
			needs := "[]"
			if i > 0 && rapid.Bool().Draw(rt, "after") {
				needs = fmt.Sprintf("[s%d]", i-1)
			}
			text += fmt.Sprintf("  - {id: s%d, call: slot, needs: %s, with: {stages: [], current_schema: {type: object, required: [n], properties: {n: {type: integer}}}}}\n", i, needs)
			want.Set(fmt.Sprintf("s%d", i), value.OfInt(int64(i)))
		}
		text += "  - {id: end, call: echo, needs: ["
		for i := range n {
			text += fmt.Sprintf("s%d, ", i)
		}
		text += "], with: {"
		for i := range n {
			text += fmt.Sprintf("s%d: \"{{ s%d.slot_data.n }}\", ", i, i)
		}
		text += "}}\n"

		store := newJournal(t, nil)
		defer store.Close() // of a database, its connections
		loader := schedulertest.Loader(t, schedulertest.With(slot.Definition()))
		exec := &scheduler.StepExecutor{
			NewRunID: func() string { return "run-1" }, Loader: loader, Journal: store,
		}
		flow, problems := loader.Parse("flow.yaml", []byte(text))
		if flow == nil {
			rt.Fatalf("%v\n%s", problems, text)
		}
		got, err := scheduler.Collect(exec.Run(t.Context(), flow, value.Value{}))
		for range 100 {
			if err == nil {
				break
			}
			state, foldErr := journal.Fold(store.Events(t.Context(), "run-1", 1))
			if foldErr != nil {
				rt.Fatal(foldErr)
			}
			var w *scheduler.Waiting
			if !errors.As(err, &w) && !errors.Is(err, errDead) {
				rt.Fatalf("%v\n%s", err, text)
			}
			var with scheduler.Resumption
			for _, one := range state.Waiting {
				if rapid.Bool().Draw(rt, "answer") {
					a, err := scheduler.ParseAnswer(one.Step+":/n="+one.Step[1:], state.Waiting)
					if err != nil {
						rt.Fatal(err)
					}
					with.Answers = append(with.Answers, a)
				}
			}
			exec.Journal = store
			if rapid.IntRange(0, 2).Draw(rt, "dies") == 0 {
				exec.Journal = &dying{store, rapid.IntRange(0, 10).Draw(rt, "events")}
			}
			got, err = scheduler.Collect(exec.Resume(t.Context(), "run-1", with))
		}
		end, _ := got.Outputs.Get("end")
		if err != nil || !value.Equal(end, value.OfMap(want)) {
			rt.Fatalf("end is %s, want %s, %v\n%s", end, value.OfMap(want), err, text)
		}
	})
}
