package triggers_test

import (
	"strings"
	"testing"

	"github.com/callnode/scheduler/scheduler/journal"
	"github.com/callnode/scheduler/scheduler/server/store"
	"github.com/callnode/scheduler/scheduler/service"
)

// TestOverlap fires while the run before waits.
func TestOverlap(t *testing.T) {
	for overlap, want := range map[string][]string{
		"skip":     {"23T08:00 started", "23T09:00 skipped: the run FIRST is not over (overlap: skip)"},
		"queue":    {"23T08:00 started", "23T09:00 queued"},
		"parallel": {"23T08:00 started", "23T09:00 started"},
		"cancel":   {"23T08:00 started", "23T09:00 started"},
	} {
		t.Run(overlap, func(t *testing.T) {
			p := newProject(t, "cron: 0 * * * *", "2026-11-23T07:30:00Z")
			p.write("cron: 0 * * * *, overlap: "+overlap, waiting)
			s := p.serve()
			s.tick()
			for _, at := range []string{"2026-11-23T08:00:00Z", "2026-11-23T09:00:00Z"} {
				p.clock.set(p.at(at))
				s.tick()
				s.waitOver()
			}
			list, err := s.Store.LastFires(t.Context(), "f:s", 2)
			if err != nil {
				t.Fatal(err)
			}
			first, second := list[1], list[0]
			for i := range want {
				want[i] = strings.ReplaceAll(want[i], "FIRST", first.Run)
			}
			equal(t, "fires", s.fires(), want...)
			info, err := s.Service.Run(t.Context(), service.Principal{}, first.Run)
			if wantState := map[bool]journal.RunStatus{true: journal.RunCancelled, false: journal.RunWaiting}[overlap == "cancel"]; err != nil || info.State != wantState {
				t.Errorf("the first run is %v, %v, want %s", info, err, wantState)
			}
			if overlap != "queue" {
				return
			}
			if err := s.Dispatcher.Cancel(t.Context(), service.Principal{}, first.Run); err != nil {
				t.Fatal(err)
			}
			s.tick()
			s.waitOver()
			info, err = s.Service.Run(t.Context(), service.Principal{}, second.Run)
			if err != nil || info.State != journal.RunWaiting {
				t.Errorf("after the first run the queued one is %v, %v", info, err)
			}
			equal(t, "fires", s.fires(), "23T08:00 over", "23T09:00 started")
		})
	}
}

// TestCancelLateFire: with overlap cancel, a fire whose run has not begun yet, as the queue was full, gives way to
// the next one too.
func TestCancelLateFire(t *testing.T) {
	p := newProject(t, "cron: 0 * * * *", "2026-11-23T08:30:00Z")
	p.write("cron: 0 * * * *, overlap: cancel", waiting)
	s := p.serve()
	s.tick()
	late := &store.Fire{Schedule: "f:s", Key: "late", At: p.at("2026-11-23T08:00:00Z"), Run: service.NewRunID(), State: store.FireStarting}
	if added, err := s.Store.AddFire(t.Context(), late, true); err != nil || !added {
		t.Fatal(added, err)
	}
	p.clock.set(p.at("2026-11-23T09:00:00Z"))
	s.tick()
	s.waitOver()
	equal(t, "fires", s.fires(), "23T08:00 skipped: a later fire has come (overlap: cancel)", "23T09:00 started")
	equal(t, "runs", s.times(), "2026-11-23T09:00:00Z")
}

// TestCancelAfterCrash: with overlap cancel, a process that takes over a fire also cancels the run before.
func TestCancelAfterCrash(t *testing.T) {
	p := newProject(t, "cron: 0 * * * *", "2026-11-23T07:30:00Z")
	p.write("cron: 0 * * * *, overlap: cancel", waiting)
	s := p.serve()
	s.tick()
	p.clock.set(p.at("2026-11-23T08:00:00Z"))
	s.tick()
	s.waitOver()
	schedule, err := s.Schedule(service.Principal{}, "f:s")
	if err != nil {
		t.Fatal(err)
	}
	p.clock.set(p.at("2026-11-23T09:00:05Z")) // the fire of 9 o'clock is late
	if _, err := s.FireNow(t.Context(), schedule); err != nil {
		t.Fatal(err)
	}
	s.waitOver()
	left := &store.Fire{Schedule: "f:s", Key: "left", At: p.at("2026-11-23T09:00:00Z"), Run: service.NewRunID(), State: store.FireStarting}
	if added, err := s.Store.AddFire(t.Context(), left, true); err != nil || !added {
		t.Fatal(added, err)
	}
	p.clock.set(p.at("2026-11-23T09:00:15Z"))
	s.tick()
	s.waitOver()
	list, err := s.Store.LastFires(t.Context(), "f:s", 9)
	if err != nil || len(list) != 3 {
		t.Fatal(list, err)
	}
	for _, f := range list {
		want := map[bool]journal.RunStatus{true: journal.RunWaiting, false: journal.RunCancelled}[f.Key == left.Key]
		if info, err := s.Service.Run(t.Context(), service.Principal{}, f.Run); err != nil || info.State != want {
			t.Errorf("the run of %s is %+v, %v", f.At, info, err)
		}
	}
}
