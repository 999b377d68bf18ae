package journaltest

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/callnode/scheduler/calls"
	"github.com/callnode/scheduler/llm"
	"github.com/callnode/scheduler/llm/value"
	"github.com/callnode/scheduler/scheduler/journal"
)

func testStates(t *testing.T, b *bench) {
	s := b.beginRun(t, "r1")
	for _, step := range []struct {
		event journal.EventType
		want  journal.RunStatus
	}{
		{journal.FlowStarted, journal.RunRunning},
		{journal.StepStarted, journal.RunRunning},
		{journal.StepWaiting, journal.RunRunning},
		{journal.FlowWaiting, journal.RunWaiting},
		{journal.StepAnswered, journal.RunWaiting},
		{journal.FlowResumed, journal.RunRunning},
		{journal.StepFailed, journal.RunRunning},
		{journal.FlowFailed, journal.RunFailed},
		{journal.FlowResumed, journal.RunRunning},
		{journal.FlowCancelled, journal.RunCancelled},
		{journal.StepStarted, journal.RunRunning},
		{journal.FlowFinished, journal.RunFinished},
	} {
		b.passTime(time.Second)
		s.add(step.event)
		info := b.runInfo(t, "r1")
		if info.State != step.want || info.LastSeq != s.seq || !info.UpdatedAt.Equal(b.currentTime()) {
			t.Errorf("after %s the run is %s at event %d of %s, want %s", step.event, info.State, info.LastSeq, info.UpdatedAt, step.want)
		}
	}
	wantKind(t, "an event after the end", s.Append(b.ctx, s.newEvent(journal.StepStarted, "one", nil)), calls.Internal)
}

// testSummary checks that a list has the question, the reply and the usage of a run, also after another log
// continued it.
func testSummary(t *testing.T, b *bench) {
	inputs := value.OfMap(value.Pairs("question", "Where is  my\norder?"))
	outputs := value.OfMap(value.Pairs("reply", "On its way."))
	used := &llm.Usage{InputTokens: 10, OutputTokens: 5, Cost: 0.25}
	wantSummary := func(want journal.Summary) {
		t.Helper()
		if got := b.runInfo(t, "r1").Summary; got != want {
			t.Errorf("the summary is %+v, want %+v", got, want)
		}
	}
	s := b.beginRun(t, "r1")
	wantSummary(journal.Summary{})
	s.append(s.newEvent(journal.FlowStarted, "", &journal.Data{Inputs: &inputs}), s.newEvent(journal.StepStarted, "one", nil))
	s.append(s.newEvent(journal.StepFinished, "one", &journal.Data{Usage: used}))
	s.add(journal.FlowWaiting)
	want := journal.Summary{Question: "Where is my order?", Usage: *used}
	wantSummary(want)
	s.close()
	log, err := b.Reopen(b.ctx, "r1")
	if err != nil {
		t.Fatal(err)
	}
	s.RunLog = log
	s.add(journal.FlowResumed)
	s.append(s.newEvent(journal.FlowFinished, "", &journal.Data{Outputs: &outputs}))
	want.Reply = "On its way."
	wantSummary(want)
	s.close()
	wantSummary(want)
}

func testSeq(t *testing.T, b *bench) {
	for name, seqs := range map[string][]int64{
		"a gap":             {1, 2, 4},
		"a duplicate":       {1, 2, 2},
		"the wrong order":   {2, 1},
		"a start at 0":      {0, 1},
		"a gap at the head": {2},
	} {
		id := strings.ReplaceAll(name, " ", "-")
		s := b.beginRun(t, id)
		var events []*journal.Event
		for _, seq := range seqs {
			ev := s.newEvent(journal.StepReady, "one", nil)
			ev.Seq = seq
			events = append(events, ev)
		}
		wantKind(t, name, s.Append(b.ctx, events...), calls.Internal)
		if n := len(b.readEvents(t, id, 1)); n != 0 {
			t.Errorf("%s: %d events of the batch were stored", name, n)
		}
	}
	s := b.beginRun(t, "r1")
	s.add(journal.FlowStarted, journal.StepReady)
	if err := s.Append(b.ctx); err != nil {
		t.Errorf("no events: %v", err)
	}
	ev := s.newEvent(journal.StepStarted, "one", nil)
	ev.Run = "r2"
	wantKind(t, "an event of another run", s.Append(b.ctx, ev), calls.Internal)
}

func testFailedWrite(t *testing.T, b *bench) {
	s := b.beginRun(t, "r1")
	s.add(journal.FlowStarted)
	bad := s.newEvent(journal.StepReady, "one", nil)
	bad.Seq = 7
	first := s.Append(b.ctx, bad)
	bad.Seq = 2
	if second := s.Append(b.ctx, bad); first == nil || !errors.Is(second, first) {
		t.Errorf("after the error %v comes %v", first, second)
	}
	s.close()
	log, err := b.Reopen(b.ctx, "r1")
	if err != nil {
		t.Fatal(err)
	}
	if err := log.Append(b.ctx, bad); err != nil {
		t.Errorf("the run cannot go on: %v", err)
	}
	if err := log.Close(); err != nil {
		t.Error(err)
	}
	wantKind(t, "a closed log", log.Append(b.ctx, bad), calls.Internal)
	wantKind(t, "a closed log", log.Revise(b.ctx, journal.FlowText{}), calls.Internal)
	if err := log.Close(); err != nil {
		t.Errorf("closing twice: %v", err)
	}
}

func testEventsFrom(t *testing.T, b *bench) {
	s := b.beginRun(t, "r1")
	const n = 1200
	for range n / 100 {
		events := make([]*journal.Event, 100)
		for i := range events {
			events[i] = s.newEvent(journal.StepDelta, "one", &journal.Data{Text: fmt.Sprint(s.seq)})
		}
		s.append(events...)
	}
	for from, want := range map[int64]int64{-3: 1, 0: 1, 1: 1, 2: 2, 700: 700, n: n, n + 1: 0} {
		all := b.readEvents(t, "r1", from)
		if want == 0 {
			if len(all) != 0 {
				t.Errorf("from %d: %d events", from, len(all))
			}
			continue
		}
		if int64(len(all)) != n-want+1 || all[0].Seq != want || all[len(all)-1].Seq != n {
			t.Errorf("from %d: %d events", from, len(all))
		}
	}
	for ev, err := range b.Events(b.ctx, "r1", 1) {
		if err != nil || ev.Seq != 1 {
			t.Errorf("the first event is %v, %v", ev, err)
		}
		break
	}
}

func testContexts(t *testing.T, b *bench) {
	s := b.beginRun(t, "r1")
	s.add(journal.FlowStarted)
	ended, cancel := context.WithCancel(b.ctx)
	cancel()
	wantCanceled := func(what string, err error) {
		t.Helper()
		if !errors.Is(err, context.Canceled) {
			t.Errorf("%s after the end of the context: %v", what, err)
		}
	}
	_, err := b.Begin(ended, b.newHeader("r2"))
	wantCanceled("Begin", err)
	_, err = b.Reopen(ended, "r1")
	wantCanceled("Reopen", err)
	_, err = b.Run(ended, "r1")
	wantCanceled("Run", err)
	_, err = b.Header(ended, "r1")
	wantCanceled("Header", err)
	_, err = b.Prune(ended, journal.Prune{})
	wantCanceled("Prune", err)
	wantCanceled("Cancel", b.Cancel(ended, "r1"))
	wantCanceled("Revise", s.Revise(ended, journal.FlowText{}))
	for _, err := range b.Events(ended, "r1", 1) {
		wantCanceled("Events", err)
	}
	for _, err := range b.Runs(ended, journal.RunFilter{}) {
		wantCanceled("Runs", err)
	}
	ev := s.newEvent(journal.StepReady, "one", nil)
	wantCanceled("Append", s.Append(ended, ev))
	s.append(ev) // an append that did not begin is not a failed write
	if n := len(b.readEvents(t, "r1", 1)); n != 2 {
		t.Errorf("%d events", n)
	}
}

func testConcurrent(t *testing.T, b *bench) {
	const runs, batches = 8, 25
	var wg sync.WaitGroup
	for i := range runs {
		s := b.beginRun(t, fmt.Sprintf("r%d", i))
		wg.Go(func() {
			for k := range batches {
				payload := value.OfMap(value.Pairs("text", strings.Repeat("shared ", 1000), "k", k))
				if err := s.Append(b.ctx, s.newEvent(journal.StepDelta, "one", nil)); err != nil {
					t.Error(err)
				}
				if err := s.Append(b.ctx, s.newEvent(journal.StepFinished, "one", &journal.Data{Output: &payload})); err != nil {
					t.Error(err)
				}
			}
			if err := s.Close(); err != nil {
				t.Error(err)
			}
		})
		wg.Go(func() { // a concurrent reader
			last := int64(0)
			for last < 2*batches && b.ctx.Err() == nil {
				for ev, err := range b.Events(b.ctx, fmt.Sprintf("r%d", i), last+1) {
					if err != nil || ev.Seq != last+1 {
						t.Errorf("after event %d comes %v, %v", last, ev, err)
						return
					}
					last = ev.Seq
				}
			}
		})
	}
	wg.Wait()
	for i := range runs {
		if all := b.readEvents(t, fmt.Sprintf("r%d", i), 1); len(all) != 2*batches {
			t.Errorf("run %d has %d events", i, len(all))
		}
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
