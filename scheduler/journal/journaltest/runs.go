package journaltest

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/callnode/scheduler/calls"
	"github.com/callnode/scheduler/llm/value"
	"github.com/callnode/scheduler/scheduler/journal"
)

func testRuns(t *testing.T, b *bench) {
	if got := b.listRuns(t, journal.RunFilter{}); len(got) != 0 {
		t.Errorf("an empty journal lists %v", got)
	}
	for i, end := range []journal.EventType{journal.FlowFinished, journal.FlowWaiting, journal.FlowFailed, ""} {
		id := fmt.Sprintf("r%d", i+1)
		h := b.newHeader(id)
		h.StartedAt = h.StartedAt.Add(time.Duration(1-i) * time.Second) // clocks may be set
		log, err := b.Begin(b.ctx, h)
		if err != nil {
			t.Fatal(err)
		}
		s := &script{RunLog: log, t: t, b: b, id: id}
		s.add(journal.FlowStarted)
		if end != "" {
			s.add(end)
			s.close()
		}
	}
	for _, test := range []struct {
		filter journal.RunFilter
		want   []string
	}{
		{journal.RunFilter{}, []string{"r4", "r3", "r2", "r1"}},
		{journal.RunFilter{Limit: 2}, []string{"r4", "r3"}},
		{journal.RunFilter{States: []journal.RunStatus{journal.RunFinished, journal.RunRunning}}, []string{"r4", "r1"}},
		{journal.RunFilter{States: []journal.RunStatus{journal.RunFailed, journal.RunWaiting}, Limit: 1}, []string{"r3"}},
		{journal.RunFilter{States: []journal.RunStatus{journal.RunCancelled}}, []string{}},
	} {
		if diff := cmp.Diff(test.want, b.listRuns(t, test.filter)); diff != "" {
			t.Errorf("%+v (-want +got):\n%s", test.filter, diff)
		}
	}
	for info, err := range b.Runs(b.ctx, journal.RunFilter{}) {
		if err != nil || info.ID != "r4" || info.Holder == nil || info.Holder.PID != os.Getpid() || info.Interrupted() {
			t.Errorf("the first run is %+v, %v", info, err)
		}
		break
	}
	wantSame(t, "a line of the list", value.Must(map[string]any{
		"run": "r1", "flow": "weather", "state": "finished", "started_at": "2026-03-05T09:07:01Z", "updated_at": "2026-03-05T09:07:00Z",
	}), value.Must(value.Must(b.runInfo(t, "r1")).Any()))
}

func testFilter(t *testing.T, b *bench) {
	for i, labels := range []map[string]string{
		nil, {journal.LabelOwner: "lin"}, {journal.LabelOwner: "lin", "ticket": "42"}, {journal.LabelOwner: "bo", "ticket": "42"},
	} {
		h := b.newHeader(fmt.Sprintf("r%d", i))
		h.Labels, h.StartedAt = labels, h.StartedAt.Add(time.Duration(i)*time.Hour).In(time.FixedZone("", i*3600))
		if i == 3 {
			h.Flow = "other"
		}
		log, err := b.Begin(b.ctx, h)
		if err != nil {
			t.Fatal(err)
		}
		s := &script{RunLog: log, t: t, b: b, id: h.ID}
		s.add(journal.FlowStarted, journal.FlowFinished)
		s.close()
	}
	wantSame(t, "the labels", map[string]string{journal.LabelOwner: "lin", "ticket": "42"}, b.runInfo(t, "r2").Labels)
	if labels := b.runInfo(t, "r0").Labels; labels != nil {
		t.Errorf("a run without labels has %v", labels)
	}
	hour := func(n int) time.Time { return b.currentTime().Add(time.Duration(n) * time.Hour) }
	for _, test := range []struct {
		filter journal.RunFilter
		want   []string
	}{
		{journal.RunFilter{Labels: map[string]string{journal.LabelOwner: "lin"}}, []string{"r2", "r1"}},
		{journal.RunFilter{Labels: map[string]string{journal.LabelOwner: "lin", "ticket": "42"}}, []string{"r2"}},
		{journal.RunFilter{Labels: map[string]string{"ticket": ""}}, []string{}},
		{journal.RunFilter{Flow: "other"}, []string{"r3"}},
		{journal.RunFilter{Since: hour(1), Before: hour(3)}, []string{"r2", "r1"}},
		{journal.RunFilter{Since: hour(1), Limit: 1}, []string{"r3"}},
		{journal.RunFilter{Before: hour(3), Limit: 2}, []string{"r2", "r1"}},
		{journal.RunFilter{After: b.runInfo(t, "r2").Cursor}, []string{"r1", "r0"}},
		{journal.RunFilter{After: b.runInfo(t, "r3").Cursor, Limit: 1, Labels: map[string]string{journal.LabelOwner: "lin"}}, []string{"r2"}},
		{journal.RunFilter{After: b.runInfo(t, "r0").Cursor}, []string{}},
		{journal.RunFilter{DownTo: b.runInfo(t, "r1").Cursor}, []string{"r3", "r2"}},
		{journal.RunFilter{After: b.runInfo(t, "r3").Cursor, DownTo: b.runInfo(t, "r0").Cursor, Limit: 1}, []string{"r2"}},
	} {
		if diff := cmp.Diff(test.want, b.listRuns(t, test.filter)); diff != "" {
			t.Errorf("%+v (-want +got):\n%s", test.filter, diff)
		}
	}
	cursor := b.runInfo(t, "r2").Cursor
	done, err := b.Prune(b.ctx, journal.Prune{Labels: map[string]string{"ticket": "42"}})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"r3", "r2"}, done.Runs); diff != "" {
		t.Errorf("deleted (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"r1", "r0"}, b.listRuns(t, journal.RunFilter{After: cursor})); diff != "" {
		t.Errorf("after a run that is gone (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{}, b.listRuns(t, journal.RunFilter{DownTo: cursor})); diff != "" {
		t.Errorf("down to a run that is gone (-want +got):\n%s", diff)
	}
	for _, filter := range []journal.RunFilter{{After: "x"}, {DownTo: "x"}} {
		for _, err := range b.Runs(b.ctx, filter) {
			wantKind(t, "a cursor of another journal", err, calls.Invalid)
		}
	}
	h := b.newHeader("wrong")
	for _, labels := range []map[string]string{{"": "x"}, {"x": strings.Repeat("x", 300)}, {strings.Repeat("x", 65): "x"}, {"x": "\xff"}} {
		h.Labels = labels
		_, err := b.Begin(b.ctx, h)
		wantKind(t, fmt.Sprintf("the labels %q", labels), err, calls.Invalid)
	}
}

func testFollow(t *testing.T, b *bench) {
	s := b.beginRun(t, "r1")
	s.add(journal.FlowStarted, journal.StepReady)
	ctx, cancel := context.WithTimeout(b.ctx, time.Minute)
	defer cancel()
	var seen []int64
	for ev, err := range b.openAnother(t).Follow(ctx, "r1", 1) {
		if err != nil {
			t.Fatal(err)
		}
		seen = append(seen, ev.Seq)
		switch ev.Seq {
		case 2:
			s.add(journal.StepStarted, journal.StepFinished)
		case 4:
			s.add(journal.FlowFinished)
			s.close()
		}
	}
	if diff := cmp.Diff([]int64{2, 3, 4, 5}, seen); diff != "" {
		t.Errorf("the events (-want +got):\n%s", diff)
	}
	for ev, err := range b.Follow(ctx, "r1", 5) {
		t.Errorf("nothing is left, got %v, %v", ev, err)
	}
	for _, err := range b.Follow(ctx, "r2", 0) {
		wantKind(t, "an unknown run", err, calls.NotFound)
	}
	b.beginRun(t, "r3").add(journal.FlowStarted)
	for ev, err := range b.Follow(ctx, "r3", 0) {
		if err == nil && ev.Seq == 1 {
			cancel()
		} else if !errors.Is(err, context.Canceled) {
			t.Errorf("when the context ends: %v, %v", ev, err)
		}
	}
}

func testSubscribe(t *testing.T, b *bench) {
	s := b.beginRun(t, "r1")
	noticed, stop := b.openAnother(t).Subscribe("r1")
	defer stop()
	if noticed == nil {
		return // the store has no notices
	}
	s.add(journal.FlowStarted)
	select {
	case <-noticed:
	case <-time.After(time.Minute):
		t.Error("no notice came")
	}
}

func testID(t *testing.T, b *bench) {
	id, err := b.ID(b.ctx)
	if err != nil || id == "" {
		t.Errorf("the id is %q, %v", id, err)
	}
	if again, err := b.openAnother(t).ID(b.ctx); err != nil || again != id {
		t.Errorf("another process calls %q what is %q: %v", again, id, err)
	}
	if err := b.CheckWritable(b.ctx); err != nil {
		t.Errorf("no run can be recorded: %v", err)
	}
	if now, err := b.ID(b.ctx); err != nil || now != id {
		t.Errorf("looking whether runs can be recorded has made %q of %q: %v", now, id, err)
	}
}

func testUnknown(t *testing.T, b *bench) {
	_, err := b.Run(b.ctx, "r1")
	wantKind(t, "Run", err, calls.NotFound)
	_, err = b.Header(b.ctx, "r1")
	wantKind(t, "Header", err, calls.NotFound)
	_, err = b.Reopen(b.ctx, "r1")
	wantKind(t, "Reopen", err, calls.NotFound)
	wantKind(t, "Cancel", b.Cancel(b.ctx, "r1"), calls.NotFound)
	err = nil
	for _, err = range b.Events(b.ctx, "r1", 1) {
	}
	wantKind(t, "Events", err, calls.NotFound)
	b.beginRun(t, "r1")
	_, err = b.Begin(b.ctx, b.newHeader("r1"))
	wantKind(t, "a second run of that id", err, calls.Invalid)
	_, err = b.Begin(b.ctx, b.newHeader(""))
	wantKind(t, "a run without an id", err, calls.Internal)
	h := b.newHeader("r2")
	h.Mode = "fast"
	_, err = b.Begin(b.ctx, h)
	wantKind(t, "an unknown durability", err, calls.Invalid)
}

func testHeld(t *testing.T, b *bench) {
	s := b.beginRun(t, "r1")
	s.add(journal.FlowStarted)
	for _, j := range []journal.Journal{b, b.openAnother(t)} {
		_, err := j.Reopen(b.ctx, "r1")
		var held *journal.HeldError
		if !errors.As(err, &held) || held.Holder == nil || held.Holder.PID != os.Getpid() || held.Run != "r1" {
			t.Fatalf("reopening a run that is held: %v", err)
		}
		if pid := fmt.Sprint(os.Getpid()); !strings.Contains(err.Error(), pid) || !strings.Contains(err.Error(), held.Holder.Host) {
			t.Errorf("the error does not say who holds it: %v", err)
		}
	}
	if info := b.runInfo(t, "r1"); info.Holder == nil || info.Interrupted() {
		t.Errorf("the run is %+v", info)
	}
	s.close()
	if info := b.runInfo(t, "r1"); info.Holder != nil || !info.Interrupted() || info.Abandoned {
		t.Errorf("the run is %+v", info)
	}
	log, err := b.openAnother(t).Reopen(b.ctx, "r1")
	if err != nil {
		t.Fatal(err)
	}
	wantKind(t, "the log before", s.Append(b.ctx, s.newEvent(journal.StepReady, "one", nil)), calls.Internal)
	s.close() // does not take the run from the other
	if info := b.runInfo(t, "r1"); info.Holder == nil {
		t.Errorf("the run is %+v", info)
	}
	if err := log.Close(); err != nil {
		t.Error(err)
	}
}

// testReleaseAlive holds a run by this process.
func testReleaseAlive(t *testing.T, b *bench) {
	s := b.beginRun(t, "r1")
	s.add(journal.FlowStarted)
	err := b.openAnother(t).Release(b.ctx, "r1")
	wantKind(t, "a holder that is alive", err, calls.Invalid)
	if held := b.runInfo(t, "r1").Holder; held == nil || err == nil || !strings.Contains(err.Error(), strconv.Itoa(held.PID)+" on "+held.Host+" since ") {
		t.Errorf("the run is held by %v, and the error is %v", held, err)
	}
	s.add(journal.StepReady)
	s.close()
	if err := b.Release(b.ctx, "r1"); err != nil {
		t.Errorf("a run without a holder: %v", err)
	}
	wantKind(t, "an unknown run", b.Release(b.ctx, "nothing"), calls.NotFound)
}

func testRelease(t *testing.T, b *bench) {
	s := b.beginIn(t, b.openWith(t, Options{Clock: b.currentTime, Elsewhere: true}), "r1")
	s.add(journal.FlowStarted)
	if err := b.openAnother(t).Release(b.ctx, "r1"); err != nil {
		t.Fatal(err)
	}
	if info := b.runInfo(t, "r1"); info.Holder != nil {
		t.Errorf("the run is %+v", info)
	}
	wantHeldError(t, "writing without the lease", s.Append(b.ctx, s.newEvent(journal.StepReady, "one", nil)), false)
	log, err := b.Reopen(b.ctx, "r1")
	if err != nil {
		t.Fatal(err)
	}
	s.close() // does not take the run from the other
	if err := log.Close(); err != nil {
		t.Error(err)
	}
}

func testReopen(t *testing.T, b *bench) {
	s := b.beginRun(t, "r1")
	s.add(journal.FlowStarted, journal.StepStarted, journal.StepWaiting, journal.FlowWaiting)
	s.close()
	j := b.openAnother(t)
	log, err := j.Reopen(b.ctx, "r1")
	if err != nil {
		t.Fatal(err)
	}
	s = &script{RunLog: log, t: t, b: b, id: "r1", seq: log.Info().LastSeq}
	if s.seq != 4 || log.Info().State != journal.RunWaiting || log.Info().Abandoned {
		t.Errorf("the run was %+v", log.Info())
	}
	answers := value.OfMap(value.Pairs("/city", "杭州"))
	s.append(s.newEvent(journal.StepAnswered, "one", &journal.Data{Answers: &answers}))
	s.add(journal.FlowResumed, journal.StepStarted, journal.StepFinished, journal.FlowFinished)
	state, err := journal.Fold(b.Events(b.ctx, "r1", 1))
	if err != nil {
		t.Fatal(err)
	}
	wantSame(t, "the answers", answers, state.Step("one").Answers)
	if state.State != journal.RunFinished || len(state.Waiting) != 0 || state.Step("one").Attempts != 2 {
		t.Errorf("the run is %+v", state)
	}
}

func testRevise(t *testing.T, b *bench) {
	s := b.beginRun(t, "r1")
	text := journal.FlowText{Source: []byte("name: other\n"), Files: map[string][]byte{"b.json": []byte("{}"), "empty": {}}}
	if err := s.Revise(b.ctx, text); err != nil {
		t.Fatal(err)
	}
	got, err := b.Header(b.ctx, "r1")
	if err != nil {
		t.Fatal(err)
	}
	wantSame(t, "the text", text, got.Text)
	edited := journal.FlowText{Source: []byte("name: third\n"), Files: map[string][]byte{}, File: "third.yaml", Since: 7, Before: &text}
	text.File, text.Since, text.Before = "other.yaml", 3, &journal.FlowText{Source: []byte("name: first\n")}
	if err := s.Revise(b.ctx, edited); err != nil {
		t.Fatal(err)
	}
	got, err = b.Header(b.ctx, "r1")
	if err != nil {
		t.Fatal(err)
	}
	wantSame(t, "the text and those before", edited, got.Text)
}

func testCancelHeld(t *testing.T, b *bench) {
	s := b.beginRun(t, "r1")
	s.add(journal.FlowStarted)
	ctx, stop := s.Watch(b.ctx)
	defer stop()
	if err := b.openAnother(t).Cancel(b.ctx, "r1"); err != nil {
		t.Fatal(err)
	}
	if info := b.runInfo(t, "r1"); !info.CancelRequested || info.State != journal.RunRunning {
		t.Errorf("the run is %+v", info)
	}
	<-ctx.Done()
	if cause := context.Cause(ctx); !errors.Is(cause, journal.ErrCancelRequested) {
		t.Errorf("the cause is %v", cause)
	}
	late, stopLate := s.Watch(b.ctx)
	defer stopLate()
	if !errors.Is(context.Cause(late), journal.ErrCancelRequested) {
		t.Error("whoever watches later is not told")
	}
	s.add(journal.FlowCancelled) // the run may still say how it ends
	s.close()
	log, err := b.Reopen(b.ctx, "r1")
	if err != nil {
		t.Fatal(err)
	}
	defer log.Close()
	again, stopAgain := log.Watch(b.ctx)
	defer stopAgain()
	if info := b.runInfo(t, "r1"); info.CancelRequested || again.Err() != nil {
		t.Errorf("the request was not forgotten: %+v", info)
	}
}

// A request may come when the holder has decided already how its part of the run ends.
func testCancelLetGo(t *testing.T, b *bench) {
	for end, want := range map[journal.EventType]journal.RunStatus{
		journal.FlowWaiting: journal.RunCancelled, journal.StepFinished: journal.RunCancelled,
		journal.FlowFinished: journal.RunFinished, journal.FlowFailed: journal.RunFailed,
	} {
		id := string(end)
		s := b.beginRun(t, id)
		s.add(journal.FlowStarted)
		if err := b.Cancel(b.ctx, id); err != nil {
			t.Fatal(err)
		}
		s.add(end)
		s.close()
		info := b.runInfo(t, id)
		if info.State != want || info.Holder != nil {
			t.Errorf("after %s the run is %+v, want it %s", end, info, want)
		}
		wantKind(t, "cancelling it again", b.Cancel(b.ctx, id), calls.Invalid)
		all := b.readEvents(t, id, 1)
		if last := all[len(all)-1]; last.Seq != info.LastSeq || journal.RunRunning.After(last.Type) != want {
			t.Errorf("after %s the last event is %+v", end, last)
		}
	}
}

func testCancelFree(t *testing.T, b *bench) {
	for id, end := range map[string]journal.EventType{"waiting": journal.FlowWaiting, "dead": journal.StepStarted} {
		s := b.beginRun(t, id)
		s.add(journal.FlowStarted, end)
		s.close()
		b.passTime(time.Minute)
		if err := b.Cancel(b.ctx, id); err != nil {
			t.Fatal(err)
		}
		all := b.readEvents(t, id, 1)
		if last := all[len(all)-1]; last.Seq != 3 || last.Type != journal.FlowCancelled || last.Run != id || !last.Time.Equal(b.currentTime()) {
			t.Errorf("the last event is %+v", last)
		}
		if info := b.runInfo(t, id); info.State != journal.RunCancelled || info.LastSeq != 3 {
			t.Errorf("the run is %+v", info)
		}
		wantKind(t, "cancelling it again", b.Cancel(b.ctx, id), calls.Invalid)
	}
}

func testPrune(t *testing.T, b *bench) {
	big := value.OfString(strings.Repeat("a payload that runs share ", 10_000))
	for i, end := range []journal.EventType{
		journal.FlowFinished, journal.FlowFailed, journal.FlowCancelled, journal.FlowFinished, journal.FlowWaiting, journal.StepReady,
	} {
		b.passTime(time.Hour)
		s := b.beginRun(t, fmt.Sprintf("r%d", i))
		own := value.OfString(fmt.Sprintf("%d %s", i, strings.Repeat("own", 10_000)))
		s.append(s.newEvent(journal.FlowStarted, "", &journal.Data{Inputs: &big, Outputs: &own}))
		s.add(end)
		s.close()
	}
	prune := func(p journal.Prune, want ...string) {
		t.Helper()
		done, err := b.Prune(b.ctx, p)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(append([]string{}, want...), done.Runs); diff != "" {
			t.Errorf("%+v (-want +got):\n%s", p, diff)
		}
		if len(want) > 0 && done.Bytes < 25_000 {
			t.Errorf("%+v gave only %d bytes back", p, done.Bytes)
		}
		for _, id := range want {
			_, err := b.Run(b.ctx, id)
			wantKind(t, "a run that was deleted", err, calls.NotFound)
		}
	}
	prune(journal.Prune{Before: b.currentTime().Add(-24 * time.Hour)})
	// The clock of a run does not make it older.
	old := b.beginRun(t, "old")
	for _, ev := range []*journal.Event{
		old.newEvent(journal.FlowStarted, "", &journal.Data{Text: strings.Repeat("old", 10_000)}), old.newEvent(journal.FlowFinished, "", nil),
	} {
		ev.Time = time.Unix(0, 0)
		old.append(ev)
	}
	old.close()
	if info := b.runInfo(t, "old"); !info.UpdatedAt.Equal(time.Unix(0, 0)) || b.currentTime().Sub(info.TouchedAt).Abs() > time.Minute {
		t.Errorf("the run was updated at %s and touched at %s", info.UpdatedAt, info.TouchedAt)
	}
	prune(journal.Prune{Before: b.currentTime().Add(-24 * time.Hour)})
	prune(journal.Prune{Runs: []string{"old"}}, "old")
	prune(journal.Prune{Keep: 4})
	prune(journal.Prune{Runs: []string{"r4", "r5", "r9"}})
	prune(journal.Prune{States: []journal.RunStatus{journal.RunWaiting}})
	prune(journal.Prune{Before: b.currentTime().Add(-4 * time.Hour), States: []journal.RunStatus{journal.RunFinished}}, "r0")
	prune(journal.Prune{Runs: []string{"r1"}}, "r1")
	if all := b.readEvents(t, "r2", 1); len(all) != 2 || !value.Equal(*all[0].Data.Inputs, big) {
		t.Error("a payload that is still needed was deleted")
	}
	prune(journal.Prune{Keep: 1}, "r2")
	if diff := cmp.Diff([]string{"r5", "r4", "r3"}, b.listRuns(t, journal.RunFilter{})); diff != "" {
		t.Errorf("what is left (-want +got):\n%s", diff)
	}
	b.beginRun(t, "r0").close() // the id is free again
	if n := len(b.readEvents(t, "r0", 1)); n != 0 {
		t.Errorf("%d events of the deleted run are left", n)
	}
}

func testPruneChildren(t *testing.T, b *bench) {
	parents := map[string]journal.EventType{"waits": journal.FlowWaiting, "failed": journal.FlowFailed, "finished": journal.FlowFinished}
	for parent, end := range parents {
		s := b.beginRun(t, parent)
		s.add(journal.FlowStarted, end)
		s.close()
		header := b.newHeader("child of " + parent)
		header.Labels = map[string]string{journal.LabelChildOf: parent}
		log, err := b.Begin(b.ctx, header)
		if err != nil {
			t.Fatal(err)
		}
		child := &script{RunLog: log, t: t, b: b, id: header.ID}
		child.add(journal.FlowStarted, journal.FlowFinished)
		child.close()
	}
	prune := func(p journal.Prune, want ...string) {
		t.Helper()
		done, err := b.Prune(b.ctx, p)
		if err != nil {
			t.Fatal(err)
		}
		slices.Sort(done.Runs)
		if diff := cmp.Diff(want, done.Runs); diff != "" {
			t.Errorf("%+v (-want +got):\n%s", p, diff)
		}
	}
	prune(journal.Prune{States: []journal.RunStatus{journal.RunFinished}}, "child of finished", "finished")
	prune(journal.Prune{}, "child of failed", "failed") // both at once
	prune(journal.Prune{Runs: []string{"child of waits"}, Force: true}, "child of waits")
}

func testPruneForce(t *testing.T, b *bench) {
	s := b.beginRun(t, "held")
	s.add(journal.FlowStarted, journal.FlowFailed)
	w := b.beginRun(t, "waiting")
	w.add(journal.FlowStarted, journal.FlowWaiting)
	w.close()
	done, err := b.Prune(b.ctx, journal.Prune{Force: true})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"waiting"}, done.Runs); diff != "" {
		t.Errorf("deleted (-want +got):\n%s", diff)
	}
	s.add(journal.FlowResumed)
}
