package server

import (
	"context"
	"testing"
	"time"

	"github.com/callnode/scheduler/scheduler/journal"
	journalmemory "github.com/callnode/scheduler/scheduler/journal/memory"
	"github.com/callnode/scheduler/scheduler/service"
)

// A reader that comes back gets what another process has changed while there was no reader.
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
