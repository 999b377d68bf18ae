package dispatch

import (
	"bytes"
	"context"
	"errors"
	"iter"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/callnode/scheduler/calls"
	"github.com/callnode/scheduler/scheduler/flow"
	"github.com/callnode/scheduler/scheduler/journal"
	journalmemory "github.com/callnode/scheduler/scheduler/journal/memory"
	"github.com/callnode/scheduler/scheduler/service"
)

// countedJournal counts how often the events of each run are read. The last holder of abandoned runs died; that of
// unheeded ones had been asked to stop the run.
type countedJournal struct {
	journal.Journal
	reads     map[string]int
	abandoned map[string]bool
	unheeded  map[string]bool
}

func (c *countedJournal) Run(ctx context.Context, id string) (*journal.RunInfo, error) {
	info, err := c.Journal.Run(ctx, id)
	if err == nil {
		info.CancelRequested = info.CancelRequested || c.unheeded[id]
	}
	return info, err
}

func (c *countedJournal) Runs(ctx context.Context, filter journal.RunFilter) iter.Seq2[*journal.RunInfo, error] {
	return func(yield func(*journal.RunInfo, error) bool) {
		for info, err := range c.Journal.Runs(ctx, filter) {
			if err == nil {
				info.Abandoned = c.abandoned[info.ID]
			}
			if !yield(info, err) {
				return
			}
		}
	}
}

func (c *countedJournal) Events(ctx context.Context, id string, from int64) iter.Seq2[*journal.Event, error] {
	c.reads[id]++
	return c.Journal.Events(ctx, id, from)
}

// newIdleDispatcher returns one that has no slot for a run, and its journal.
func newIdleDispatcher(t *testing.T) (*Dispatcher, *countedJournal) {
	t.Helper()
	j := &countedJournal{Journal: journalmemory.New(time.Now), reads: map[string]int{}, abandoned: map[string]bool{}}
	s := service.New(service.Parts{Journal: func(context.Context, bool) (journal.Journal, error) { return j, nil }})
	d := New(s, Options{Limits: Limits{Queued: 1}, Recover: "own", GiveUpAfter: 24 * time.Hour, Log: slog.New(slog.DiscardHandler)})
	d.slots.taken = 9 // of runs that the tests launch without a slot
	t.Cleanup(func() {
		d.Close(context.Background())
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return d, j
}

// leaveRun records a run that no process holds, with events of these types.
func leaveRun(t *testing.T, j journal.Journal, id string, types ...journal.EventType) {
	t.Helper()
	log, err := j.Begin(t.Context(), &journal.RunHeader{ID: id, Flow: "f", Labels: map[string]string{journal.LabelOrigin: service.StartedByAPI}, StartedAt: time.Now()})
	if err != nil {
		t.Fatal(err)
	}
	for i, kind := range types {
		data := &journal.Data{Interrupted: kind == journal.FlowResumed}
		if err := log.Append(t.Context(), &journal.Event{Run: id, Seq: int64(i + 1), Type: kind, Time: time.Now(), Data: data}); err != nil {
			t.Fatal(err)
		}
	}
	if err := log.Close(); err != nil {
		t.Fatal(err)
	}
}

// Recovery reads the events of a run once, not again while it is queued or stuck.
func TestRecoverReadsOnce(t *testing.T) {
	d, j := newIdleDispatcher(t)
	leaveRun(t, j, "left", journal.FlowStarted)
	leaveRun(t, j, "stuck", journal.FlowStarted, journal.FlowResumed, journal.FlowResumed, journal.FlowResumed)
	j.abandoned = map[string]bool{"left": true, "stuck": true}
	for range 3 {
		if err := d.recoverOnce(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	if want := map[string]int{"left": 1, "stuck": 1}; !maps.Equal(j.reads, want) {
		t.Errorf("the events were read %v times, want %v", j.reads, want)
	}
	if _, queued := d.Load(); queued != 1 {
		t.Errorf("%d runs are queued, want 1", queued)
	}
}

// TestTriesPause: the first tries come at once, later ones after pauses that grow to an hour, and a run is given up after a day of
// tries, never because time has passed without one.
func TestTriesPause(t *testing.T) {
	start := time.Date(2026, 3, 5, 0, 0, 0, 0, time.UTC)
	var run tries
	at, last := start, time.Duration(0)
	for !run.areSpent(24 * time.Hour) {
		if run.n > 100 {
			t.Fatal("the run is never given up")
		}
		pause := time.Duration(0)
		if next := run.next(); !next.IsZero() {
			pause = next.Sub(run.last)
		}
		if pause < last || pause > time.Hour || pause == 0 && run.n >= maxTakeOvers {
			t.Fatalf("after %d tries the pause is %s, before it was %s", run.n, pause, last)
		}
		last = pause
		at = at.Add(pause)
		run.add(at)
	}
	if took := run.last.Sub(start); took < 24*time.Hour || took > 26*time.Hour || run.n < 20 {
		t.Errorf("it is given up after %s and %d tries", took, run.n)
	}
	old := tries{n: 5, first: start, last: start.Add(time.Minute)}
	if old.areSpent(24*time.Hour) || !old.next().Before(start.Add(7*24*time.Hour)) {
		t.Error("a run is given up, or not tried again, after a week without a server")
	}
}

// logLines keeps the messages of a log.
type logLines struct {
	slog.Handler
	lines *[]string
}

func (logLines) Enabled(context.Context, slog.Level) bool { return true }

func (l logLines) Handle(_ context.Context, r slog.Record) error {
	*l.lines = append(*l.lines, r.Level.String()+" "+r.Message)
	return nil
}

// TestRecoverGivesUp: a run that ends one process after the other is tried less and less often; when it is given
// up it has failed, and its journal, the log, the metrics and the readers of changes show it. A user may resume
// it, which begins the count again.
func TestRecoverGivesUp(t *testing.T) {
	d, j := newIdleDispatcher(t)
	now := time.Now()
	d.options.Clock = func() time.Time { return now }
	var lines, changed []string
	var observed []journal.EventType
	d.options.Log = slog.New(logLines{slog.DiscardHandler, &lines})
	d.options.Changed = func(run string) { changed = append(changed, run) }
	d.options.Observe = func(s *service.Session, e *journal.Event) {
		if s.Flow.Name == "f" && s.StartedBy == service.StartedByAPI && s.State != nil {
			observed = append(observed, e.Type)
		}
	}
	d.slots.taken = 0
	j.abandoned = map[string]bool{"dies": true}
	die := func(at time.Time) {
		log, err := j.Reopen(t.Context(), "dies")
		if err != nil {
			t.Fatal(err)
		}
		e := &journal.Event{Run: "dies", Seq: log.Info().LastSeq + 1, Type: journal.FlowResumed, Time: at, Data: &journal.Data{Interrupted: true}}
		if err := errors.Join(log.Append(t.Context(), e), log.Close()); err != nil {
			t.Fatal(err)
		}
	}
	recoverAt := func(at time.Time) *journal.RunInfo {
		now = at
		if err := d.recoverOnce(t.Context()); err != nil {
			t.Fatal(err)
		}
		info, err := j.Run(t.Context(), "dies")
		if err != nil {
			t.Fatal(err)
		}
		return info
	}
	leaveRun(t, j, "dies", journal.FlowStarted)
	start := now
	for range maxTakeOvers {
		die(start)
	}
	d.slots.taken = 9 // queued runs stay queued
	if recoverAt(start.Add(29 * time.Second)); d.isKnown("dies") || d.CountStuck() != 1 {
		t.Error("the run is taken up again without a pause, or nothing counts it")
	}
	if recoverAt(start.Add(31 * time.Second)); !d.isKnown("dies") {
		t.Error("the run is not taken up after its pause")
	}
	d.forgetRun("dies")
	if info := recoverAt(start.Add(7 * 24 * time.Hour)); info.State != journal.RunRunning {
		t.Errorf("without a further try the run is %s", info.State)
	}
	d.forgetRun("dies")
	die(start.Add(25 * time.Hour))
	changed = nil
	info := recoverAt(start.Add(25 * time.Hour))
	if info.State != journal.RunFailed || d.isKnown("dies") {
		t.Fatalf("after a day of tries the run is %s", info.State)
	}
	var last *journal.Event
	for e, err := range j.Events(t.Context(), "dies", info.LastSeq) {
		if err != nil {
			t.Fatal(err)
		}
		last = e
	}
	if last.Type != journal.FlowFailed || last.Data.Error.Kind != calls.Internal || last.Data.Error.Hint == "" {
		t.Errorf("its last event is %+v", last)
	}
	if !slices.Contains(changed, "dies") || !slices.Equal(observed, []journal.EventType{journal.FlowFailed}) {
		t.Errorf("told are %v, and counted %v", changed, observed)
	}
	isGivenUp := func(line string) bool { return strings.HasPrefix(line, "ERROR a run was given up") }
	isPaused := func(line string) bool {
		return strings.HasPrefix(line, "WARN a run was taken over from processes that died")
	}
	if !slices.ContainsFunc(lines, isGivenUp) || !slices.ContainsFunc(lines, isPaused) {
		t.Errorf("the log has %q", lines)
	}
	die(start.Add(26 * time.Hour)) // a user has resumed it
	if info := recoverAt(start.Add(26 * time.Hour)); info.State != journal.RunRunning || !d.isKnown("dies") {
		t.Errorf("after a user has resumed it, it is %s, and taken up: %v", info.State, d.isKnown("dies"))
	}
}

// Only deaths count: not that a process handed the run over, nor the last of many hand-overs.
func TestStuckCountsDeaths(t *testing.T) {
	d, j := newIdleDispatcher(t)
	tests := []struct {
		name        string
		interrupted []bool // of each flow.resumed
		isAbandoned bool
		want        bool
	}{
		{"died", []bool{true, true, true}, true, true},
		{"handed_over", []bool{false, false, false, false}, true, false},
		{"mixed", []bool{true, false, true, false}, true, false},
		{"handed_over_last", []bool{true, true, true}, false, false},
	}
	for _, test := range tests {
		log, err := j.Begin(t.Context(), &journal.RunHeader{ID: test.name, Flow: "f", StartedAt: time.Now()})
		if err != nil {
			t.Fatal(err)
		}
		for i, interrupted := range test.interrupted {
			e := &journal.Event{Run: test.name, Seq: int64(i + 1), Type: journal.FlowResumed, Time: time.Now(), Data: &journal.Data{Interrupted: interrupted}}
			if err := log.Append(t.Context(), e); err != nil {
				t.Fatal(err)
			}
		}
		if err := log.Close(); err != nil {
			t.Fatal(err)
		}
		info, err := j.Run(t.Context(), test.name)
		if err != nil {
			t.Fatal(err)
		}
		info.Abandoned = test.isAbandoned
		if got, err := d.IsStuck(t.Context(), info); got != test.want || err != nil {
			t.Errorf("%s: stuck is %v, %v", test.name, got, err)
		}
	}
}

// The records of a run are dropped once it is over or has continued.
func TestRecoverForgets(t *testing.T) {
	d, j := newIdleDispatcher(t)
	leaveRun(t, j, "left", journal.FlowStarted)
	for _, id := range []string{"left", "over"} {
		d.failures[id], d.deaths[id] = tries{n: 1}, tries{seq: 9}
	}
	if err := d.recoverOnce(t.Context()); err != nil {
		t.Fatal(err)
	}
	if d.failures["left"].n != 1 || len(d.failures) != 1 || len(d.deaths) != 1 {
		t.Errorf("remembered are the failures %v and the deaths %v", d.failures, d.deaths)
	}
	events := func(yield func(*journal.Event, error) bool) {
		yield(&journal.Event{Run: "left", Seq: 2, Type: journal.FlowResumed}, nil)
	}
	if err := d.launchRun("left", "", d.service.ToldSession(&journal.RunInfo{}), func(error) {}, events); err != nil {
		t.Fatal(err)
	}
	d.runs.Wait()
	if len(d.failures) != 0 {
		t.Errorf("the run has gone on, and its failures are still %v", d.failures)
	}
}

// A run whose process died before it could heed a request to cancel it does not continue.
func TestRecoverCancelled(t *testing.T) {
	d, j := newIdleDispatcher(t)
	leaveRun(t, j, "left", journal.FlowStarted)
	j.unheeded = map[string]bool{"left": true}
	if err := d.registerRun("left"); err != nil {
		t.Fatal(err)
	}
	d.recoverRun("left", "")
	info, err := j.Run(t.Context(), "left")
	if err != nil || info.State != journal.RunCancelled || d.isKnown("left") {
		t.Errorf("the run is %+v, %v", info, err)
	}
}

// A run that is cancelled when the engine has decided that it waits is cancelled.
func TestCancelAtTheEnd(t *testing.T) {
	d, j := newIdleDispatcher(t)
	log, err := j.Begin(t.Context(), &journal.RunHeader{ID: "r", Flow: "f", StartedAt: time.Now()})
	if err != nil {
		t.Fatal(err)
	}
	events := func(yield func(*journal.Event, error) bool) {
		if err := d.Cancel(t.Context(), service.Principal{}, "r"); err != nil {
			t.Error(err)
		}
		e := &journal.Event{Run: "r", Seq: 1, Type: journal.FlowWaiting, Time: time.Now()}
		err := log.Append(t.Context(), e)
		yield(e, errors.Join(err, log.Close()))
	}
	if err := d.launchRun("r", "", d.service.ToldSession(&journal.RunInfo{}), func(error) {}, events); err != nil {
		t.Fatal(err)
	}
	d.runs.Wait()
	if info, err := j.Run(t.Context(), "r"); err != nil || info.State != journal.RunCancelled {
		t.Errorf("the run is %+v, %v", info, err)
	}
}

// A run whose last event is in the journal can be resumed before this process has released it; one that is running
// cannot.
func TestResumeAtTheEnd(t *testing.T) {
	d, _ := newIdleDispatcher(t)
	if err := d.registerRun("r"); err != nil {
		t.Fatal(err)
	}
	if err := d.registerEnded(t.Context(), &journal.RunInfo{ID: "r", State: journal.RunRunning}); !errors.Is(err, ErrAtWork) {
		t.Errorf("a run that is at work: %v", err)
	}
	ended := make(chan error)
	go func() { ended <- d.registerEnded(t.Context(), &journal.RunInfo{ID: "r", State: journal.RunWaiting}) }()
	d.forgetRun("r")
	if err := <-ended; err != nil {
		t.Error(err)
	}
	if !d.isKnown("r") {
		t.Error("the run is not registered")
	}
}

// No other session can begin before the last event of a run is shown: its frames would come between.
func TestForgottenAfterLastEvent(t *testing.T) {
	d, _ := newIdleDispatcher(t)
	if err := d.registerRun("r"); err != nil {
		t.Fatal(err)
	}
	live, goOn := d.hub.acquireRun("r"), make(chan struct{})
	defer d.hub.releaseRun("r", live)
	events := func(yield func(*journal.Event, error) bool) {
		if yield(&journal.Event{Run: "r", Seq: 1, Type: journal.FlowStarted, Time: time.Now()}, nil) {
			<-goOn
			yield(&journal.Event{Run: "r", Seq: 2, Type: journal.FlowWaiting, Time: time.Now()}, nil)
		}
	}
	if err := d.launchRun("r", "", d.service.ToldSession(&journal.RunInfo{}), func(error) {}, events); err != nil {
		t.Fatal(err)
	}
	live.mu.Lock() // so that it cannot be shown
	close(goOn)
	for deadline := time.Now().Add(50 * time.Millisecond); time.Now().Before(deadline); time.Sleep(time.Millisecond) {
		if !d.isKnown("r") {
			t.Error("the run is forgotten before its last event is shown")
			break
		}
	}
	live.mu.Unlock()
	d.runs.Wait()
	batch, _, _ := live.framesAfter(0)
	if len(batch) != 2 || d.isKnown("r") {
		t.Errorf("got %d frames", len(batch))
	}
}

// A refusal before the first event of a run is an error for the caller, not a failed run in the log.
func TestRefusedLaunch(t *testing.T) {
	d, _ := newIdleDispatcher(t)
	var log bytes.Buffer
	d.options.Log = slog.New(slog.NewTextHandler(&log, nil))
	refused := calls.Errorf(calls.Invalid, "no step waits for a value")
	events := func(yield func(*journal.Event, error) bool) { yield(nil, refused) }
	err := d.launchRun("r", "", d.service.ToldSession(&journal.RunInfo{}), func(error) {}, events)
	d.runs.Wait()
	if !errors.Is(err, refused) || log.Len() > 0 {
		t.Errorf("got %v and the log %s", err, log.String())
	}
}

// Answers are not accepted before the last of them is safe.
func TestLaunchWithLostAnswer(t *testing.T) {
	d, _ := newIdleDispatcher(t)
	full := errors.New("the disk is full")
	events := func(yield func(*journal.Event, error) bool) {
		if yield(&journal.Event{Run: "r", Seq: 1, Type: journal.StepAnswered, Step: "a", Time: time.Now()}, nil) {
			yield(nil, full)
		}
	}
	if err := d.launchRun("r", "", d.service.ToldSession(&journal.RunInfo{}), func(error) {}, events); !errors.Is(err, full) {
		t.Errorf("got %v", err)
	}
}

// A session without an event and without an error does not keep its caller waiting.
func TestLaunchWithoutEvents(t *testing.T) {
	d, _ := newIdleDispatcher(t)
	events := func(func(*journal.Event, error) bool) {}
	err := d.launchRun("r", "", d.service.ToldSession(&journal.RunInfo{}), func(error) {}, events)
	if calls.KindOf(err) != calls.Internal {
		t.Errorf("got %v", err)
	}
}

// The kept frames have no gap at an event that only the journal shows.
func TestFramesWithoutGap(t *testing.T) {
	r := &liveRun{isLocal: true}
	r.publishFrame(&Frame{Seq: 1})
	r.publishFrame(&Frame{Seq: 2})
	r.skipEvent()
	if _, behind, _ := r.framesAfter(2); !behind {
		t.Error("a reader is not sent to the journal for the event that was left out")
	}
	r.publishFrame(&Frame{Seq: 4})
	if batch, behind, _ := r.framesAfter(2); len(batch) > 0 || !behind {
		t.Errorf("a reader at event 2 gets %v", batch)
	}
	batch, _, _ := r.framesAfter(3)
	if seqs := slices.Collect(func(yield func(int64) bool) {
		for _, f := range batch {
			yield(f.Seq)
		}
	}); !slices.Equal(seqs, []int64{4}) {
		t.Errorf("a reader at event 3 gets %v", seqs)
	}
}

// unreadableJournal cannot read the events of one run.
type unreadableJournal struct {
	journal.Journal
	run string
}

func (u unreadableJournal) Events(ctx context.Context, id string, from int64) iter.Seq2[*journal.Event, error] {
	if id != u.run {
		return u.Journal.Events(ctx, id, from)
	}
	return func(yield func(*journal.Event, error) bool) { yield(nil, errors.New("damaged")) }
}

// A run whose events cannot be read keeps no other from being recovered.
func TestRecoverPassesUnreadableRuns(t *testing.T) {
	d, j := newIdleDispatcher(t)
	leaveRun(t, j, "damaged", journal.FlowStarted)
	leaveRun(t, j, "good", journal.FlowStarted)
	j.abandoned["damaged"] = true
	j.Journal = unreadableJournal{j.Journal, "damaged"}
	if err := d.recoverOnce(t.Context()); err != nil {
		t.Fatal(err)
	}
	if d.isKnown("damaged") || !d.isKnown("good") {
		t.Errorf("damaged is queued: %v, good: %v", d.isKnown("damaged"), d.isKnown("good"))
	}
}

// A waiting run has not continued if only answers were recorded, even while their recorder holds it.
func TestAnswersAreNotGoingOn(t *testing.T) {
	d, j := newIdleDispatcher(t)
	leaveRun(t, j, "waits", journal.FlowStarted, journal.FlowWaiting)
	before, err := d.service.Run(t.Context(), service.Principal{}, "waits")
	if err != nil {
		t.Fatal(err)
	}
	log, err := j.Reopen(t.Context(), "waits")
	if err != nil {
		t.Fatal(err)
	}
	defer log.Close()
	seq := before.LastSeq
	for _, test := range []struct {
		kind journal.EventType
		want bool
	}{{"", false}, {journal.StepAnswered, false}, {journal.FlowResumed, true}} {
		if test.kind != "" {
			seq++
			if err := log.Append(t.Context(), &journal.Event{Run: "waits", Seq: seq, Type: test.kind, Time: time.Now(), Data: &journal.Data{}}); err != nil {
				t.Fatal(err)
			}
		}
		if got, err := d.hasGoneOn(t.Context(), before); got != test.want || err != nil {
			t.Errorf("after %q: %v, %v", test.kind, got, err)
		}
	}
}

// TestRecoverLeavesToOthers: a server that lacks something for a run checks it again at each recovery, without
// pauses that grow, and logs that once. After a day without a server that has all of it the run has failed, and
// says why.
func TestRecoverLeavesToOthers(t *testing.T) {
	d, j := newIdleDispatcher(t)
	loads := 0
	d.service = service.New(service.Parts{
		Journal: func(context.Context, bool) (journal.Journal, error) { return j, nil },
		Loader: func(service.Surroundings) (*flow.Loader, []service.Note, error) {
			loads++
			return nil, nil, calls.Errorf(calls.Plugin, "the plugin demo is not there")
		},
	})
	now := time.Now()
	d.options.Clock = func() time.Time { return now }
	var lines, changed []string
	d.options.Log = slog.New(logLines{slog.DiscardHandler, &lines})
	d.options.Changed = func(run string) { changed = append(changed, run) }
	leaveRun(t, j, "left", journal.FlowStarted)
	recoverAt := func(at time.Time) *journal.RunInfo {
		now = at
		d.slots.taken = 9 // queued runs stay queued
		if err := d.recoverOnce(t.Context()); err != nil {
			t.Fatal(err)
		}
		if d.isKnown("left") && d.queued["left"]() { // its turn has come
			d.recoverRun("left", "")
		}
		info, err := j.Run(t.Context(), "left")
		if err != nil {
			t.Fatal(err)
		}
		return info
	}
	const rounds = 50
	start := now
	for i := range rounds {
		recoverAt(start.Add(time.Duration(i) * recoverInterval))
	}
	if loads != rounds || len(lines) != 1 || !strings.HasPrefix(lines[0], "WARN a run is left to other servers") {
		t.Errorf("it was looked at %d times of %d, and the log has %q", loads, rounds, lines)
	}
	if d.CountStuck() != 1 || !slices.Contains(changed, "left") {
		t.Errorf("%d runs are stuck, told are %v", d.CountStuck(), changed)
	}
	recoverAt(start.Add(25 * time.Hour))
	if info := recoverAt(start.Add(25*time.Hour + recoverInterval)); info.State != journal.RunFailed {
		t.Fatalf("after a day it is %s", info.State)
	}
	state, err := journal.Fold(j.Events(t.Context(), "left", 1))
	if err != nil || !strings.Contains(state.Error.Message, "the plugin demo is not there") || state.Error.Hint == "" {
		t.Errorf("its error is %+v, %v", state.Error, err)
	}
}

// TestRecoverWatchesPinned: a run of other machines at which workers died is stuck for the metrics and notifications of a server,
// which does not take it up.
func TestRecoverWatchesPinned(t *testing.T) {
	d, j := newIdleDispatcher(t)
	d.slots.taken = 0
	log, err := j.Begin(t.Context(), &journal.RunHeader{ID: "dies", Flow: "f", Labels: map[string]string{journal.LabelOrigin: service.StartedByAPI, journal.LabelRunsOn: "temporal"}, StartedAt: time.Now()})
	if err != nil {
		t.Fatal(err)
	}
	for i := range maxTakeOvers {
		e := &journal.Event{Run: "dies", Seq: int64(i + 1), Type: journal.FlowResumed, Time: time.Now(), Data: &journal.Data{Interrupted: true}}
		if err := log.Append(t.Context(), e); err != nil {
			t.Fatal(err)
		}
	}
	if err := log.Close(); err != nil {
		t.Fatal(err)
	}
	j.abandoned = map[string]bool{"dies": true}
	if err := d.recoverOnce(t.Context()); err != nil {
		t.Fatal(err)
	}
	if d.CountStuck() != 1 || d.isKnown("dies") {
		t.Errorf("%d runs are stuck, and it is taken up: %v", d.CountStuck(), d.isKnown("dies"))
	}
}
