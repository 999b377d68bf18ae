package service

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"strings"
	"testing"
	"time"

	"github.com/callnode/scheduler/calls"
	"github.com/callnode/scheduler/calls/memory"
	"github.com/callnode/scheduler/calls/memory/memorytest"
	"github.com/callnode/scheduler/llm"
	"github.com/callnode/scheduler/llm/scripted"
)

// due returns a memory in which a snapshot is due.
func due(t *testing.T) *memory.SnapshotProcessor {
	t.Helper()
	store := memorytest.NewStore(t, nil)
	for i := range memory.DefaultMemories {
		m := memory.BaseMemory{Content: fmt.Sprintf("Thing %d.", i), Context: memory.Context{UserID: "ann", SessionID: "s"}}
		if _, err := store.SaveMemories(t.Context(), []memory.BaseMemory{m}); err != nil {
			t.Fatal(err)
		}
	}
	return &memory.SnapshotProcessor{Store: store}
}

// slow is a model that never answers.
type slow struct{ asked chan struct{} }

func (m slow) Chat(ctx context.Context, _ *llm.Request) iter.Seq2[llm.Delta, error] {
	return func(yield func(llm.Delta, error) bool) {
		close(m.asked)
		<-ctx.Done()
		yield(llm.Delta{}, ctx.Err())
	}
}

// snapshotService returns a service whose snapshots a model writes; nil for none.
func snapshotService(model llm.Provider) *Service {
	return New(Parts{Snapshots: func() (*memory.SnapshotGenerator, error) {
		if model == nil {
			return nil, nil
		}
		return &memory.SnapshotGenerator{LLM: model}, nil
	}})
}

func TestDrain(t *testing.T) {
	s := snapshotService(nil)
	limit := Drain(time.Minute)
	if notes := s.drainSnapshots(t.Context(), &memory.SnapshotProcessor{Store: memorytest.NewStore(t, nil)}, limit); len(notes) > 0 {
		t.Errorf("nothing is due, but: %v", notes)
	}
	p := due(t)
	if notes := s.drainSnapshots(t.Context(), p, 0); len(notes) > 0 {
		t.Errorf("nothing shall be made, but: %v", notes)
	}
	if notes := s.drainSnapshots(t.Context(), p, limit); len(notes) != 1 || notes[0].In("en") != "made 1 snapshot" {
		t.Errorf("got %v", notes)
	}

	// Faults of the model's answers are reported once.
	model := scripted.New(scripted.Answer{Text: `{"key_points": ["things"], "category": "all", "importance": 0.5, "mood": "good"}`})
	told := snapshotService(model).drainSnapshots(t.Context(), due(t), limit)
	if len(told) != 2 || !strings.HasSuffix(told[1].In("en"), "ignored: mood (user ann, session s)") {
		t.Errorf("got %v", told)
	}

	// A model that takes too long is left; the job is not lost.
	p = due(t)
	asked := make(chan struct{})
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		<-asked
		cancel()
	}()
	notes := snapshotService(slow{asked}).drainSnapshots(ctx, p, limit)
	if len(notes) != 1 || !strings.Contains(notes[0].Text.En, "still to be made") {
		t.Errorf("got %v", notes)
	}
	if report, err := s.MakeSnapshots(t.Context(), p, memory.AllUsers(), false); err != nil || len(report.Snapshots) != 1 {
		t.Errorf("%+v, %v", report, err)
	}
}

// A store that cannot be opened fails the step that needs it, and no other.
func TestMemoryThatCannotBeOpened(t *testing.T) {
	s := New(Parts{Memory: func(context.Context, MemoryOptions) (*memory.SnapshotProcessor, error) {
		return nil, errors.New("the disk is gone")
	}})
	if turns, err := s.memories.Recent(t.Context(), calls.Scope{}, 1); turns != nil || err != nil {
		t.Errorf("%v, %v", turns, err)
	}
	if _, err := s.memories.Retrieve(t.Context(), calls.Scope{User: "ann"}, "x", 1); err == nil {
		t.Error("the error is lost")
	}
	var unavailable *UnavailableError
	if _, err := s.Memory(t.Context()); !errors.As(err, &unavailable) {
		t.Errorf("got %v", err)
	}
}
