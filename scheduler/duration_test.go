package scheduler_test

import (
	"sync/atomic"
	"testing"
	"time"

	"github.com/callnode/scheduler/scheduler"
	"github.com/callnode/scheduler/scheduler/journal"
	"github.com/callnode/scheduler/scheduler/schedulertest"
)

// Durations come from the stopwatch: the clock of a run may be stopped, and a resumed run's clock may be years
// behind.
func TestDurations(t *testing.T) {
	const flow = `
steps:
  - {id: a, call: echo}
  - {id: each, call: echo, for_each: [1, 2], with: {n: "{{ item }}"}}
  - {id: outer, call: pieced}
  - {id: b, call: fail, when: "{{ true }}"}
`
	var exec *scheduler.StepExecutor
	var ticks atomic.Int64
	pieces := pieced(new([]string), func(string) error { return nil })
	r := schedulertest.Run(t, flow, schedulertest.With(pieces), schedulertest.LLM(&counted{}), schedulertest.Executor(func(e *scheduler.StepExecutor) {
		exec, e.Journal = e, newJournal(t, nil)
		e.Stopwatch = func() time.Time { return time.Unix(0, ticks.Add(1)*int64(time.Millisecond)) }
	}))
	check := func(events []*journal.Event, want map[journal.EventType]int) {
		t.Helper()
		now := exec.Env.Clock()
		for _, ev := range events {
			if !ev.Time.Equal(now) {
				t.Errorf("%s %s at %s, want %s", ev.Type, ev.Step, ev.Time, now)
			}
			if ev.Data == nil || ev.Data.DurationMS == nil {
				continue
			}
			want[ev.Type]--
			if d := *ev.Data.DurationMS; d <= 0 || d > float64(ticks.Load()) {
				t.Errorf("%s %s took %v ms", ev.Type, ev.Step, d)
			}
		}
		for event, n := range want {
			if n != 0 {
				t.Errorf("%s: %d more should have a duration", event, n)
			}
		}
	}
	check(r.Events, map[journal.EventType]int{journal.StepFinished: 11, journal.StepFailed: 1, journal.FlowFailed: 1})

	exec.Env.Clock = func() time.Time { return schedulertest.Now.AddDate(-5, 0, 0) }
	ticks.Store(0)
	r = r.Resume(scheduler.Resumption{})
	check(r.Events, map[journal.EventType]int{journal.StepFailed: 1, journal.FlowFailed: 1})
}
