package server

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/callnode/scheduler/scheduler/journal"
	journalmemory "github.com/callnode/scheduler/scheduler/journal/memory"
	"github.com/callnode/scheduler/scheduler/service"
)

// A reader that comes back gets the changes that another process made while there was no reader.
func TestFeedWithoutReaders(t *testing.T) {
	j := journalmemory.New(time.Now)
	f := newFeed(service.New(service.Parts{Journal: func(context.Context, bool) (journal.Journal, error) { return j, nil }}))
	log, err := j.Begin(t.Context(), &journal.RunHeader{ID: "r", Flow: "f", StartedAt: time.Now()})
	if err != nil {
		t.Fatal(err)
	}
	if err := f.addReader(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := f.pollRuns(t.Context()); err != nil {
		t.Fatal(err)
	}
	at := f.newestNumber()
	f.removeReader()
	if err := log.Append(t.Context(), &journal.Event{Run: "r", Seq: 1, Type: journal.FlowFinished, Time: time.Now()}); err != nil {
		t.Fatal(err)
	}
	if err := f.addReader(t.Context()); err != nil {
		t.Fatal(err)
	}
	changes, known, _ := f.changesAfter(at)
	if !known || len(changes) != 1 || changes[0].State != journal.RunFinished {
		t.Errorf("got %v, known %v", changes, known)
	}
}

// A run that one client lists before it was published is news to the others; a state that a client has is corrected.
func TestFeedTellsOthersOfListedRuns(t *testing.T) {
	j := journalmemory.New(time.Now)
	f := newFeed(service.New(service.Parts{Journal: func(context.Context, bool) (journal.Journal, error) { return j, nil }}))
	if err := f.addReader(t.Context()); err != nil {
		t.Fatal(err)
	}
	if _, err := j.Begin(t.Context(), &journal.RunHeader{ID: "new", Flow: "f", StartedAt: time.Now()}); err != nil {
		t.Fatal(err)
	}
	info, err := j.Run(t.Context(), "new")
	if err != nil {
		t.Fatal(err)
	}
	other := *info
	other.State = journal.RunWaiting
	for i, shown := range []*journal.RunInfo{info, info, &other} {
		at := f.newestNumber()
		f.watch(shown)
		if err := f.pollRuns(t.Context()); err != nil {
			t.Fatal(err)
		}
		changes, _, _ := f.changesAfter(at)
		if isNews := i != 1; isNews != (len(changes) == 1) {
			t.Errorf("list %d: got %v, want a change: %v", i, changes, isNews)
		}
	}
}

// A change of another process is found in a run that a client was shown, however many are newer.
func TestFeedFindsOldRunsThatAreShown(t *testing.T) {
	j := journalmemory.New(time.Now)
	f := newFeed(service.New(service.Parts{Journal: func(context.Context, bool) (journal.Journal, error) { return j, nil }}))
	old, err := j.Begin(t.Context(), &journal.RunHeader{ID: "old", Flow: "f", StartedAt: time.Now()})
	if err != nil {
		t.Fatal(err)
	}
	for i := range feedRuns {
		log, err := j.Begin(t.Context(), &journal.RunHeader{ID: fmt.Sprint(i), Flow: "f", StartedAt: time.Now()})
		if err != nil {
			t.Fatal(err)
		}
		if err := log.Close(); err != nil {
			t.Fatal(err)
		}
	}
	info, err := j.Run(t.Context(), "old")
	if err != nil {
		t.Fatal(err)
	}
	if err := f.addReader(t.Context()); err != nil {
		t.Fatal(err)
	}
	at := f.newestNumber()
	for i, state := range []journal.EventType{journal.FlowWaiting, journal.FlowFinished} {
		f.watch(info)
		if err := old.Append(t.Context(), &journal.Event{Run: "old", Seq: int64(i) + 1, Type: state, Time: time.Now()}); err != nil {
			t.Fatal(err)
		}
		if err := f.pollRuns(t.Context()); err != nil {
			t.Fatal(err)
		}
		changes, known, _ := f.changesAfter(at)
		if !known || len(changes) != 1 || changes[0].ID != "old" || changes[0].State != journal.RunRunning.After(state) {
			t.Fatalf("after %s: got %v, known %v", state, changes, known)
		}
		at = f.newestNumber()
	}
	if len(f.shown) != 0 {
		t.Errorf("%v are looked at for ever", f.shown)
	}
	f.watch(info, info)
	if err := old.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := j.Prune(t.Context(), journal.Prune{Runs: []string{"old"}}); err != nil {
		t.Fatal(err)
	}
	if err := f.pollRuns(t.Context()); err != nil || len(f.shown) != 0 {
		t.Errorf("%v are looked at though they are gone (%v)", f.shown, err)
	}
}
