package triggers_test

import (
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/callnode/scheduler/calls/database/pgdb/pgdbtest"
)

// TestClockChanges passes the days on which the clocks change, second by second around the
// change, on two servers: each fire has one run.
func TestClockChanges(t *testing.T) {
	for name, c := range map[string]struct {
		schedule, start string
		hours           int
		want            []string
	}{
		"spring, a skipped time": {"cron: 30 2 * * *, timezone: America/New_York, overlap: parallel", "2026-03-08T05:00:00Z", 30, []string{
			"2026-03-08T03:30:00-04:00", "2026-03-09T02:30:00-04:00",
		}},
		"autumn, a repeated time": {"cron: 30 1 * * *, timezone: America/New_York, overlap: parallel", "2026-11-01T04:00:00Z", 27, []string{
			"2026-11-01T01:30:00-04:00", "2026-11-02T01:30:00-05:00",
		}},
		"autumn, every hour": {"cron: 30 * * * *, timezone: America/New_York, overlap: parallel", "2026-11-01T05:00:00Z", 3, []string{
			"2026-11-01T01:30:00-04:00", "2026-11-01T01:30:00-05:00", "2026-11-01T02:30:00-05:00",
		}},
	} {
		t.Run(name, func(t *testing.T) {
			p := newProject(t, c.schedule, c.start)
			a, b := p.serve(), p.serve()
			a.tick()
			for i := range c.hours * 60 {
				p.clock.set(p.at(c.start).Add(time.Duration(i) * time.Minute))
				if i%2 == 0 {
					a, b = b, a
				}
				a.tick()
				b.tick()
			}
			a.waitOver()
			b.waitOver()
			equal(t, "runs", a.times(), c.want...)
		})
	}
}

// Two servers check the same time at once, again and again: on one state directory, and on two machines with one
// database.
func TestTwoServersFireOnce(t *testing.T) {
	t.Run("directory", func(t *testing.T) {
		p := newProject(t, everyMinute, "2026-11-23T07:00:30Z")
		testFireOnce(t, p, p.serve(), p.serve())
	})
	t.Run("database", func(t *testing.T) {
		url := pgdbtest.NewURL(t)
		p := newProject(t, everyMinute, "2026-11-23T07:00:30Z")
		p.database = url
		testFireOnce(t, p, p.serve(), p.onOtherMachine().serve())
	})
}

const everyMinute = "cron: '* * * * *', overlap: parallel"

func testFireOnce(t *testing.T, p *project, servers ...*server) {
	t.Helper()
	servers[0].tick()
	const minutes = 20
	for i := range minutes {
		p.clock.set(p.at("2026-11-23T07:01:00Z").Add(time.Duration(i) * time.Minute))
		var both sync.WaitGroup
		for _, s := range servers {
			both.Go(func() {
				if err := s.Tick(t.Context()); err != nil {
					t.Error(err)
				}
			})
		}
		both.Wait()
	}
	for _, s := range servers {
		s.waitOver()
	}
	var want []string
	for i := range minutes {
		want = append(want, fmt.Sprintf("2026-11-23T07:%02d:00Z", i+1))
	}
	equal(t, "runs", servers[0].times(), want...)
}

// TestCatchUp makes up for fires that no server has seen, as the schedule's catch_up says.
func TestCatchUp(t *testing.T) {
	for name, c := range map[string]struct {
		catchUp string
		want    []string
		fires   []string
	}{
		"skip": {"skip", nil, []string{"23T10:00 skipped: no server was there (catch_up: skip, fires missed: 3)"}},
		"last": {"last", []string{"2026-11-23T10:00:00Z"}, []string{"23T10:00 started"}},
		"all":  {"all", []string{"2026-11-23T08:00:00Z", "2026-11-23T09:00:00Z", "2026-11-23T10:00:00Z"}, []string{"23T08:00 started", "23T09:00 started", "23T10:00 started"}},
	} {
		t.Run(name, func(t *testing.T) {
			p := newProject(t, "cron: 0 * * * *, overlap: parallel, catch_up: "+c.catchUp, "2026-11-23T07:30:00Z")
			p.serve().tick()
			p.clock.set(p.at("2026-11-23T10:30:00Z"))
			s := p.serve() // the next process
			s.tick()
			s.tick()
			s.waitOver()
			equal(t, "runs", s.times(), c.want...)
			for i, text := range s.fires() { // whether a run is known to be over depends on its pace
				if want := c.fires[i]; strings.ReplaceAll(text, " over", " started") != want {
					t.Errorf("fire %d is %s, want %s", i, text, want)
				}
			}
		})
	}
}

// A paused schedule makes up for nothing. A flow whose triggers do nothing for its errors is reported, once for
// each version of its text.
func TestErrorsOfFlow(t *testing.T) {
	p := newProject(t, "cron: '0 8 * * *'", "2026-01-05T07:00:00Z")
	s := p.serve()
	var log strings.Builder
	s.Log = slog.New(slog.NewTextHandler(&log, nil))
	tick := func(step string, want int) {
		t.Helper()
		p.write("cron: '0 8 * * *'", step)
		for range 2 {
			p.clock.set(p.clock.Now().Add(time.Minute)) // flows are read again
			s.tick()
		}
		if n := strings.Count(log.String(), "until its errors are mended\" flow=f errors=1"); n != want {
			t.Errorf("with the step %s the log tells %d times of errors, want %d:\n%s", step, n, want, log.String())
		}
	}
	tick("{id: a, call: template, with: {template: x}}", 0)
	tick("{id: a, call: tmplate}", 1)
	tick("{id: b, call: tmplate}", 2)
	tick("{id: a, call: template, with: {template: x}}", 2)
	tick("{id: b, call: tmplate}", 3)
}

func TestPause(t *testing.T) {
	p := newProject(t, "cron: 0 * * * *, catch_up: all, overlap: parallel", "2026-11-23T07:30:00Z")
	s := p.serve()
	s.tick()
	if err := s.Store.PauseSchedule(t.Context(), "f:s", true); err != nil {
		t.Fatal(err)
	}
	p.clock.set(p.at("2026-11-23T09:30:00Z"))
	s.tick()
	if err := s.Store.PauseSchedule(t.Context(), "f:s", false); err != nil {
		t.Fatal(err)
	}
	s.tick()
	p.clock.set(p.at("2026-11-23T10:00:00Z"))
	s.tick()
	s.waitOver()
	equal(t, "fires", s.fires(), "23T10:00 started")
}

// waiting is a step that waits for a value, so that its run is not over.
const waiting = "{id: a, call: slot, with: {current_schema: {type: object, required: [x], properties: {x: {type: string}}}, stages: []}}"
