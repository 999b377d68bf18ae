package memory_test

import (
	"context"
	"errors"
	"iter"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/callnode/scheduler/calls"
	"github.com/callnode/scheduler/calls/memory"
	"github.com/callnode/scheduler/calls/memory/memorytest"
	"github.com/callnode/scheduler/llm"
)

func TestLazy(t *testing.T) {
	opened, fails := 0, errors.New("the disk is gone")
	lazy := memory.NewLazy(func(context.Context) (*memory.SnapshotProcessor, error) {
		opened++
		if fails != nil {
			return nil, fails
		}
		return &memory.SnapshotProcessor{Store: memorytest.NewStore(t, nil)}, nil
	})
	env := calls.NewEnv()
	env.Memory = lazy

	// Without a user and a session, the memory is not asked.
	turns, err := lazy.Recent(t.Context(), calls.Scope{}, 9)
	found, err2 := lazy.Retrieve(t.Context(), calls.Scope{}, "figs", 9)
	if turns != nil || found != nil || err != nil || err2 != nil || opened != 0 || lazy.Opened() != nil {
		t.Errorf("%v, %v, %v, %v, opened %d times", turns, found, err, err2, opened)
	}

	ann := calls.Scope{User: "ann", Session: "s"}
	if _, err := lazy.Recent(t.Context(), ann, 9); !errors.Is(err, fails) {
		t.Errorf("got %v", err)
	}
	if _, err := lazy.Retrieve(t.Context(), ann, "figs", 9); !errors.Is(err, fails) {
		t.Errorf("got %v", err)
	}
	fails = nil
	p, err := memory.FromEnv(t.Context(), env)
	if err != nil {
		t.Fatal(err)
	}
	m := memory.BaseMemory{Content: "Figs are ripe.", Context: memory.Context{UserID: "ann", SessionID: "s"}}
	m.SetRole("user")
	if _, err := p.ProcessMemory(t.Context(), m); err != nil {
		t.Fatal(err)
	}
	turns, err = lazy.Recent(t.Context(), ann, 9)
	if err != nil || len(turns) != 1 || turns[0].Role != "user" {
		t.Errorf("%v, %v", turns, err)
	}
	found, err = lazy.Retrieve(t.Context(), ann, "figs", 9)
	if err != nil || len(found) != 1 {
		t.Errorf("%v, %v", found, err)
	}
	if opened != 3 || lazy.Opened() != p {
		t.Errorf("opened %d times", opened)
	}

	env.Memory = calls.NewEnv().Memory
	if _, err := memory.FromEnv(t.Context(), env); calls.KindOf(err) != calls.Invalid || calls.HintOf(err) == "" {
		t.Errorf("got %v", err)
	}
}

func TestExtractedKeywordsAreWords(t *testing.T) {
	m := memory.ExtractMeta("", "x", []memory.MemorySnapshot{{KeyPoints: []string{"Dancing in Porto", "Dancing again"}}}, time.Time{})
	if diff := cmp.Diff([]string{"Dancing", "Porto"}, m.Keywords); diff != "" {
		t.Error(diff)
	}
}

// waiting is a model that takes longer than every timeout.
type waiting struct{}

func (waiting) Chat(ctx context.Context, _ *llm.Request) iter.Seq2[llm.Delta, error] {
	return func(yield func(llm.Delta, error) bool) {
		<-ctx.Done()
		yield(llm.Delta{}, ctx.Err())
	}
}

func TestSlowModelIsTriedLater(t *testing.T) {
	now := time.Date(2026, 3, 5, 9, 7, 0, 0, time.UTC)
	clock := func() time.Time { return now }
	p := &memory.SnapshotProcessor{Store: memorytest.NewStore(t, clock), Clock: clock, Generator: &memory.SnapshotGenerator{LLM: waiting{}, Clock: clock}}
	for range memory.DefaultMemories {
		if _, err := p.ProcessMemory(t.Context(), memory.BaseMemory{Content: now.String(), Context: memory.Context{UserID: "ann", SessionID: "s"}}); err != nil {
			t.Fatal(err)
		}
		now = now.Add(time.Second)
	}
	run := func(ctx context.Context) memory.Report {
		report, _ := p.Run(ctx, memory.AllUsers(), false)
		return report
	}
	stopped, stop := context.WithCancel(t.Context())
	time.AfterFunc(10*time.Millisecond, stop)
	if r := run(stopped); r.Postponed != 0 {
		t.Errorf("the model is blamed for Ctrl-C: %+v", r)
	}
	late, cancel := context.WithDeadline(t.Context(), time.Now().Add(10*time.Millisecond))
	defer cancel()
	if r := run(late); r.Postponed != 1 {
		t.Errorf("%+v", r)
	}
	p.Generator = nil
	if r := run(t.Context()); len(r.Snapshots) != 0 {
		t.Errorf("it did not wait: %+v", r)
	}
	now = now.Add(time.Hour)
	if r := run(t.Context()); len(r.Snapshots) != 1 {
		t.Errorf("%+v", r)
	}
}
