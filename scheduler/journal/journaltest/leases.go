package journaltest

import (
	"context"
	"testing"
	"time"

	"github.com/callnode/scheduler/scheduler/journal"
)

// beginAbandoned starts a run in a journal that does not renew its leases.
func (b *bench) beginAbandoned(t *testing.T, id string) *script {
	t.Helper()
	s := b.beginIn(t, b.openWith(t, Options{Clock: b.currentTime, Dead: true}), id)
	s.add(journal.FlowStarted)
	return s
}

func testDeadHolder(t *testing.T, b *bench) {
	first := b.beginAbandoned(t, "r1")
	watched, stop := first.Watch(b.ctx)
	defer stop()
	for range 3 {
		_, err := b.Reopen(b.ctx, "r1")
		wantHeldError(t, "taking the run from a process that may be alive", err, true)
		b.passTime(time.Second)
	}
	b.passTime(2 * time.Second) // 5 s are promised
	if info := b.runInfo(t, "r1"); !info.Interrupted() || !info.Abandoned {
		t.Errorf("the run is %+v", info)
	}
	log, err := b.Reopen(b.ctx, "r1")
	if err != nil {
		t.Fatal(err)
	}
	if info := log.Info(); !info.Abandoned {
		t.Errorf("the run that was taken over was %+v", info)
	}
	second := &script{RunLog: log, t: t, b: b, id: "r1", seq: log.Info().LastSeq}
	wantHeldError(t, "writing without the lease", first.Append(b.ctx, first.newEvent(journal.StepReady, "one", nil)), true)
	wantHeldError(t, "revising without the lease", first.Revise(b.ctx, journal.FlowText{}), true)
	wantHeldError(t, "what the first is told", context.Cause(watched), true)
	first.close()
	second.add(journal.FlowResumed)
}

// A process that was only slow may continue as long as no other has taken the run.
func testLateHolder(t *testing.T, b *bench) {
	s := b.beginAbandoned(t, "r1")
	b.passTime(time.Hour)
	s.add(journal.StepReady)
}

func testCancelLate(t *testing.T, b *bench) {
	s := b.beginAbandoned(t, "r1")
	b.passTime(time.Hour)
	if err := b.Cancel(b.ctx, "r1"); err != nil {
		t.Fatal(err)
	}
	wantHeldError(t, "going on after the run was cancelled", s.Append(b.ctx, s.newEvent(journal.StepReady, "one", nil)), false)
	if info := b.runInfo(t, "r1"); info.State != journal.RunCancelled {
		t.Errorf("the run is %+v", info)
	}
}

// A holder that dies before it heeds a request to cancel its run does not lose that request: the next holder finds
// the run cancelled.
func testCancelUnheeded(t *testing.T, b *bench) {
	for _, last := range []journal.EventType{journal.FlowWaiting, journal.StepStarted} {
		id := string(last)
		s := b.beginAbandoned(t, id)
		s.add(last)
		if err := b.Cancel(b.ctx, id); err != nil {
			t.Fatal(err)
		}
		b.passTime(time.Hour)
		if info := b.runInfo(t, id); !info.CancelRequested || info.Holder != nil {
			t.Errorf("after %s the run is %+v", last, info)
		}
		log, err := b.Reopen(b.ctx, id)
		if err != nil {
			t.Fatal(err)
		}
		if info := log.Info(); info.State != journal.RunCancelled || info.LastSeq != s.seq+1 {
			t.Errorf("after %s the run that was taken is %+v", last, info)
		}
		next := &script{RunLog: log, t: t, b: b, id: id, seq: log.Info().LastSeq}
		next.add(journal.FlowResumed)
		next.close()
		if info := b.runInfo(t, id); info.State != journal.RunRunning || info.CancelRequested {
			t.Errorf("once it was resumed the run is %+v", info)
		}
	}
}
