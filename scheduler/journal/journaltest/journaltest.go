// Package journaltest is the conformance suite of journals.
package journaltest

import (
	"context"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/callnode/scheduler/calls"
	"github.com/callnode/scheduler/llm"
	"github.com/callnode/scheduler/llm/value"
	"github.com/callnode/scheduler/scheduler/journal"
)

// Open returns a journal over the same store at every call, as one more process
// would open it. The suite closes it.
type Open func(Options) (journal.Journal, error)

// Options are what the suite wants of a journal.
type Options struct {
	// Clock is how it tells the time.
	Clock func() time.Time
	// Dead journals do not renew their leases, as if their process had died. Only
	// [RunShared] asks for them.
	Dead bool
	// Elsewhere journals hold runs as a process of another machine does, of which nobody here
	// knows whether it is alive. Only [RunShared] asks for them.
	Elsewhere bool
}

// Run checks what every journal must do. newStore returns the Open of an empty
// store.
func Run(t *testing.T, newStore func(t *testing.T) Open) {
	for _, test := range []struct {
		name string
		run  func(*testing.T, *bench)
	}{
		{"a run is kept as it was", testRoundTrip},
		{"the state follows from the events", testStates},
		{"events have no gaps", testSeq},
		{"a failed write closes the log", testFailedWrite},
		{"big payloads come back", testBigPayloads},
		{"what looks like a reference is none", testLookalikes},
		{"images are not shown", testImages},
		{"deep values", testDeep},
		{"events from a seq on", testEventsFrom},
		{"runs are listed", testRuns},
		{"runs are found by labels, flow and time", testFilter},
		{"a run is followed", testFollow},
		{"subscribing", testSubscribe},
		{"a journal has a name", testID},
		{"unknown runs", testUnknown},
		{"only one holds a run", testHeld},
		{"a run is not taken from a process that is alive", testReleaseAlive},
		{"going on with a run", testReopen},
		{"another text of the flow", testRevise},
		{"cancelling a run that is held", testCancelHeld},
		{"cancelling a run whose holder goes", testCancelLetGo},
		{"cancelling a run that no process holds", testCancelFree},
		{"pruning", testPrune},
		{"pruning leaves what runs", testPruneForce},
		{"pruning leaves what others wait for", testPruneChildren},
		{"many runs at once", testConcurrent},
		{"contexts", testContexts},
	} {
		t.Run(test.name, func(t *testing.T) { test.run(t, newBench(t, newStore(t))) })
	}
}

// RunShared checks what a journal must do, besides, that several processes share.
func RunShared(t *testing.T, newStore func(t *testing.T) Open) {
	for _, test := range []struct {
		name string
		run  func(*testing.T, *bench)
	}{
		{"the lease of a dead process runs out", testDeadHolder},
		{"a run is taken from its holder", testRelease},
		{"a late holder may go on", testLateHolder},
		{"cancelling stops a late holder", testCancelLate},
		{"a request to cancel outlives the holder", testCancelUnheeded},
	} {
		t.Run(test.name, func(t *testing.T) { test.run(t, newBench(t, newStore(t))) })
	}
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

// wantSame compares values by their JSON, which is what is kept.
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

func testRoundTrip(t *testing.T, b *bench) {
	zone := time.FixedZone("", 8*3600)
	h := b.newHeader("r1")
	h.StartedAt = time.Date(2026, 3, 5, 9, 7, 8, 123456789, zone)
	h.Options = value.OfMap(value.Pairs("llm", "main", "seed", 7))
	h.Mode = journal.Async
	h.Labels, h.Program = map[string]string{journal.LabelOwner: "lin", "工单": "\"42\""}, "v1.2.3"
	h.Inputs = value.OfMap(value.Pairs("z", value.Must([]any{1.0, nil, true, "<&>"}), "a", value.OfMap(nil)))
	log, err := b.Begin(b.ctx, h)
	if err != nil {
		t.Fatal(err)
	}
	index, took := 3, 1.5
	number, err := value.OfNumber("1.500")
	if err != nil {
		t.Fatal(err)
	}
	output := value.OfMap(value.Pairs("b", number, "a", "晴"))
	events := []*journal.Event{
		{Seq: 1, Time: h.StartedAt, Run: "r1", Type: journal.FlowStarted, Data: &journal.Data{Flow: "weather", Inputs: &h.Inputs}},
		{Seq: 2, Time: h.StartedAt, Run: "r1", Type: journal.StepStarted, Step: "outer/inner", Index: &index, Data: &journal.Data{Call: "chat", ToUser: true}},
		{Seq: 3, Time: h.StartedAt, Run: "r1", Type: journal.StepRetrying, Step: "outer/inner", Index: &index, Data: &journal.Data{
			Attempt: 1, DelayMS: 500, Error: &journal.ErrorInfo{Kind: calls.Provider, Message: "no", Hint: "wait", Position: "f.yaml:1:2"},
		}},
		{Seq: 4, Time: h.StartedAt, Run: "r1", Type: journal.StepFinished, Step: "outer/inner", Index: &index, Data: &journal.Data{
			Output: &output, Usage: &llm.Usage{InputTokens: 3, OutputTokens: 4}, DurationMS: &took,
		}},
	}
	if err := log.Append(b.ctx, events...); err != nil {
		t.Fatal(err)
	}
	if err := log.Close(); err != nil {
		t.Fatal(err)
	}

	again := b.openAnother(t)
	got, err := again.Header(b.ctx, "r1")
	if err != nil {
		t.Fatal(err)
	}
	wantSame(t, "the header", h, got)
	if got.Text.Hash() != h.Text.Hash() || string(got.Text.Files["a.json"]) != "[1]" {
		t.Errorf("the text came back as %q with %q", got.Text.Source, got.Text.Files)
	}
	wantSame(t, "the events", events, b.readEvents(t, "r1", 1))
	reopened, err := again.Reopen(b.ctx, "r1")
	if err != nil {
		t.Fatal(err)
	}
	defer reopened.Close()
	got, err = reopened.Header(b.ctx)
	if err != nil {
		t.Fatal(err)
	}
	wantSame(t, "the header to go on with", h, got)
	state, err := journal.Fold(reopened.Events(b.ctx, 1))
	if err != nil {
		t.Fatal(err)
	}
	item := state.Step("outer/inner[3]")
	if item == nil || item.State != journal.StepStatusFinished || item.Attempts != 2 || item.Usage.Total() != 7 {
		t.Errorf("the item is %+v", item)
	}
}
