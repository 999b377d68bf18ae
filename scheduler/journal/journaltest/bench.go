package journaltest

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/callnode/scheduler/calls"
	"github.com/callnode/scheduler/llm/value"
	"github.com/callnode/scheduler/scheduler/journal"
)

// Open returns a journal over the same store at every call, as one more process
// would open it. The suite closes it.
type Open func(Options) (journal.Journal, error)

// Options are the suite's requirements for a journal.
type Options struct {
	// Clock is the journal's clock.
	Clock func() time.Time
	// Dead journals do not renew their leases, as if their process had died. Only
	// [RunShared] asks for them.
	Dead bool
	// Elsewhere journals hold runs as a process of another machine does, and this machine cannot know whether that is
	// alive. Only [RunShared] asks for them.
	Elsewhere bool
}

// bench is a store that is tested, with a clock.
type bench struct {
	journal.Journal
	ctx  context.Context
	open Open

	mu  sync.Mutex
	now time.Time
}

func newBench(t *testing.T, open Open) *bench {
	b := &bench{ctx: t.Context(), open: open, now: time.Date(2026, 3, 5, 9, 7, 0, 0, time.UTC)}
	b.Journal = b.openAnother(t)
	return b
}

// openAnother opens the store once more.
func (b *bench) openAnother(t *testing.T) journal.Journal {
	t.Helper()
	return b.openWith(t, Options{Clock: b.currentTime})
}

func (b *bench) openWith(t *testing.T, o Options) journal.Journal {
	t.Helper()
	j, err := b.open(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := j.Close(); err != nil {
			t.Error(err)
		}
	})
	return j
}

func (b *bench) currentTime() time.Time {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.now
}

func (b *bench) passTime(d time.Duration) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.now = b.now.Add(d)
}

// beginRun starts a run with that id.
func (b *bench) beginRun(t *testing.T, id string) *script {
	t.Helper()
	return b.beginIn(t, b.Journal, id)
}

func (b *bench) beginIn(t *testing.T, j journal.Journal, id string) *script {
	t.Helper()
	log, err := j.Begin(b.ctx, b.newHeader(id))
	if err != nil {
		t.Fatal(err)
	}
	return &script{RunLog: log, t: t, b: b, id: id}
}

func (b *bench) newHeader(id string) *journal.RunHeader {
	return &journal.RunHeader{
		ID: id, Flow: "weather", File: "/flows/weather.yaml", StartedAt: b.currentTime(),
		Text:   journal.FlowText{Source: []byte("name: weather\n"), Files: map[string][]byte{"a.json": []byte("[1]")}},
		Inputs: value.OfMap(value.Pairs("question", "How is the weather?", "days", 3)),
	}
}

// script writes the events of one run.
type script struct {
	journal.RunLog
	t   *testing.T
	b   *bench
	id  string
	seq int64
}

// newEvent makes the next event of the run.
func (s *script) newEvent(t journal.EventType, step string, data *journal.Data) *journal.Event {
	s.seq++
	return &journal.Event{Seq: s.seq, Time: s.b.currentTime(), Run: s.id, Type: t, Step: step, Data: data}
}

// add appends events of these types.
func (s *script) add(types ...journal.EventType) {
	s.t.Helper()
	var events []*journal.Event
	for _, t := range types {
		step := ""
		if strings.HasPrefix(string(t), "step.") {
			step = "one"
		}
		events = append(events, s.newEvent(t, step, nil))
	}
	s.append(events...)
}

func (s *script) append(events ...*journal.Event) {
	s.t.Helper()
	if err := s.Append(s.b.ctx, events...); err != nil {
		s.t.Fatal(err)
	}
}

func (s *script) close() {
	s.t.Helper()
	if err := s.Close(); err != nil {
		s.t.Fatal(err)
	}
}

func (b *bench) runInfo(t *testing.T, id string) *journal.RunInfo {
	t.Helper()
	info, err := b.Run(b.ctx, id)
	if err != nil {
		t.Fatal(err)
	}
	return info
}

func (b *bench) readEvents(t *testing.T, id string, from int64) (all []*journal.Event) {
	t.Helper()
	for ev, err := range b.Events(b.ctx, id, from) {
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, ev)
	}
	return all
}

func (b *bench) listRuns(t *testing.T, filter journal.RunFilter) (ids []string) {
	t.Helper()
	ids = []string{}
	for info, err := range b.Runs(b.ctx, filter) {
		if err != nil {
			t.Fatal(err)
		}
		ids = append(ids, info.ID)
	}
	return ids
}

// wantSame compares values by their JSON, the form that is stored.
func wantSame(t *testing.T, what string, want, got any) {
	t.Helper()
	if diff := cmp.Diff(value.Must(want).JSON(), value.Must(got).JSON()); diff != "" {
		t.Errorf("%s (-want +got):\n%s", what, diff)
	}
}

func wantKind(t *testing.T, what string, err error, kind calls.Kind) {
	t.Helper()
	if err == nil || calls.KindOf(err) != kind {
		t.Errorf("%s: want an error of kind %s, got %v", what, kind, err)
	}
}

// wantHeldError fails the test unless err is a HeldError that names a holder exactly if held.
func wantHeldError(t *testing.T, what string, err error, held bool) {
	t.Helper()
	var e *journal.HeldError
	if !errors.As(err, &e) || (e.Holder != nil) != held {
		t.Errorf("%s: %v", what, err)
	}
}
