package triggers_test

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/callnode/scheduler/calls"
	"github.com/callnode/scheduler/calls/database/pgdb/pgdbtest"
	"github.com/callnode/scheduler/scheduler/journal"
	"github.com/callnode/scheduler/scheduler/server/store"
	"github.com/callnode/scheduler/scheduler/service"
)

// TestUntold: a run of a fire that other machines could not be notified of is recorded, and begins once they can
// be reached.
func TestUntold(t *testing.T) {
	p := newProject(t, "cron: 0 * * * *", "2026-11-23T07:30:00Z")
	p.remote = &remote{deaf: 1}
	s := p.serve()
	s.tick()
	p.clock.set(p.at("2026-11-23T08:00:00Z"))
	s.tick()
	equal(t, "fires", s.fires(), "23T08:00 started")
	if len(p.remote.started) != 0 {
		t.Errorf("started before they can be reached: %v", p.remote.started)
	}
	ctx, stop := context.WithCancel(t.Context())
	p.remote.isTold = stop
	s.Dispatcher.WatchRemote(ctx)
	if len(p.remote.started) != 1 {
		t.Errorf("started are %v", p.remote.started)
	}
}

// TestCrash leaves fires as a process does that dies before the run, or between the run and its row: another one
// begins the run, once.
func TestCrash(t *testing.T) {
	p := newProject(t, "cron: 0 * * * *, overlap: parallel", "2026-11-23T07:30:00Z")
	s := p.serve()
	s.tick()
	add := func(run string) *store.Fire {
		t.Helper()
		f := &store.Fire{Schedule: "f:s", Key: run, At: p.at("2026-11-23T08:00:00Z"), Run: run, State: store.FireStarting}
		if added, err := s.Store.AddFire(t.Context(), f, true); err != nil || !added {
			t.Fatal(added, err)
		}
		return f
	}
	before := add(service.NewRunID())
	schedule, err := s.Schedule(service.Principal{}, "f:s")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.FireNow(t.Context(), schedule); err != nil {
		t.Fatal(err)
	}
	s.waitOver()
	list, err := s.Store.LastFires(t.Context(), "f:s", 10)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range list { // as if the row had not been written after the run of FireNow
		if !strings.HasPrefix(f.Key, "now ") {
			continue
		}
		if err := s.Store.SetFire(t.Context(), f, store.FireStarting, ""); err != nil {
			t.Fatal(err)
		}
	}
	s.tick()
	s.waitOver()
	if _, err := s.Service.Run(t.Context(), service.Principal{}, before.Run); err == nil {
		t.Error("the run begins while the process that recorded it may still be at it")
	}
	p.clock.set(p.at("2026-11-23T07:30:20Z"))
	other := p.serve()
	other.tick()
	other.waitOver()
	other.tick()
	other.waitOver()
	info, err := other.Service.Run(t.Context(), service.Principal{}, before.Run)
	if err != nil || info.State != journal.RunFinished {
		t.Errorf("the run that had not begun is %v, %v", info, err)
	}
	if got := other.times(); len(got) != 2 {
		t.Errorf("the runs are %v", got)
	}
	for _, text := range other.fires() {
		if !strings.HasSuffix(text, "started") && !strings.HasSuffix(text, "over") {
			t.Errorf("a fire is %s", text)
		}
	}
}

// A fire that cannot run is reported, and not repeated.
func TestFailure(t *testing.T) {
	p := newProject(t, "cron: 0 * * * *", "2026-11-23T07:30:00Z")
	s := p.serve()
	s.tick()
	file := filepath.Join(p.dir, "flows", "f.yaml")
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	broken := strings.ReplaceAll(string(text), "{type: string}", "{type: string, maxLength: 3}")
	if err := os.WriteFile(file, []byte(broken), 0o600); err != nil {
		t.Fatal(err)
	}
	for range 3 {
		p.clock.set(p.clock.Now().Add(30 * time.Minute))
		s.tick()
	}
	got := s.fires()
	if len(got) != 2 || !strings.HasPrefix(got[0], "23T08:00 failed: the inputs do not fit the flow") {
		t.Errorf("the fires are %v", got)
	}
	schedule, err := s.Schedule(service.Principal{}, "f:s")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.FireNow(t.Context(), schedule); calls.KindOf(err) != calls.Invalid {
		t.Errorf("a fire by hand: %v", err)
	}
}

// TestForeignFire leaves a fire of a schedule that this server does not have to another one, which has it; one
// that no server carries out is given up after a day.
func TestForeignFire(t *testing.T) {
	url := pgdbtest.NewURL(t)
	p := newProject(t, "cron: 0 * * * *, overlap: parallel", "2026-11-23T07:30:00Z")
	p.database = url
	other := p.onOtherMachine()
	if err := os.Remove(filepath.Join(other.dir, "flows", "f.yaml")); err != nil {
		t.Fatal(err)
	}
	has, lacks := p.serve(), other.serve()
	has.tick()
	add := func(schedule string) *store.Fire {
		t.Helper()
		f := &store.Fire{Schedule: schedule, Key: "k", At: p.clock.Now(), Run: service.NewRunID(), State: store.FireStarting}
		if added, err := has.Store.AddFire(t.Context(), f, true); err != nil || !added {
			t.Fatal(added, err)
		}
		return f
	}
	known := add("f:s")
	add("gone:s")
	p.clock.set(p.clock.Now().Add(time.Minute))
	for _, s := range []*server{lacks, has} {
		s.tick()
		s.waitOver()
	}
	if info, err := lacks.Service.Run(t.Context(), service.Principal{}, known.Run); err != nil || info.State != journal.RunFinished {
		t.Errorf("the run of the fire is %v, %v", info, err)
	}
	states := func() (states []store.FireState) {
		t.Helper()
		fires, err := lacks.Store.LastFires(t.Context(), "gone:s", 10)
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range fires {
			states = append(states, f.State)
		}
		return states
	}
	if got := states(); !slices.Equal(got, []store.FireState{store.FireStarting}) {
		t.Errorf("the fire without a schedule is %v", got)
	}
	p.clock.set(p.clock.Now().Add(25 * time.Hour))
	lacks.tick()
	if got := states(); !slices.Equal(got, []store.FireState{store.FireFailed}) {
		t.Errorf("a day later the fire without a schedule is %v", got)
	}
}

// TestUnreadableRun: a fire is not settled while it cannot be known whether its run has begun.
func TestUnreadableRun(t *testing.T) {
	p := newProject(t, "cron: 0 * * * *, overlap: parallel", "2026-11-23T07:30:00Z")
	s := p.serve()
	s.tick()
	schedule, err := s.Schedule(service.Principal{}, "f:s")
	if err != nil {
		t.Fatal(err)
	}
	run, err := s.FireNow(t.Context(), schedule)
	if err != nil {
		t.Fatal(err)
	}
	s.waitOver()
	for _, id := range []string{"f:s", "gone:s"} { // as a process leaves it that dies once the run has begun
		f := &store.Fire{Schedule: id, Key: "left", At: p.clock.Now(), Run: run, State: store.FireStarting}
		if added, err := s.Store.AddFire(t.Context(), f, false); err != nil || !added {
			t.Fatal(added, err)
		}
	}
	states := func() (states []store.FireState) {
		t.Helper()
		for _, id := range []string{"f:s", "gone:s"} {
			fires, err := s.Store.LastFires(t.Context(), id, 100)
			if err != nil {
				t.Fatal(err)
			}
			for _, f := range fires {
				if f.Key == "left" {
					states = append(states, f.State)
				}
			}
		}
		return states
	}
	if err := s.Store.PauseSchedule(t.Context(), "f:s", true); err != nil {
		t.Fatal(err)
	}
	p.clock.set(p.clock.Now().Add(25 * time.Hour))
	p.isDown.Store(true)
	if err := s.Tick(t.Context()); err == nil {
		t.Error("nothing tells that the runs cannot be looked up")
	}
	if got := states(); !slices.Equal(got, []store.FireState{store.FireStarting, store.FireStarting}) {
		t.Errorf("while the runs cannot be looked up the fires are %v", got)
	}
	p.isDown.Store(false)
	p.clock.set(p.clock.Now().Add(time.Minute))
	s.tick()
	if got := states(); !slices.Equal(got, []store.FireState{store.FireStarted, store.FireStarted}) {
		t.Errorf("later the fires are %v", got)
	}
}
