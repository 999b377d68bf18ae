package temporal

import (
	"bytes"
	"encoding/json"
	"log/slog"
	"strings"
	"testing"

	"github.com/callnode/scheduler/scheduler"
	"github.com/callnode/scheduler/scheduler/journal"
	"github.com/callnode/scheduler/scheduler/service"
)

// The log of a worker has a line for each run that it takes, refuses, hands over and is done with, and
// metrics hear of the events.
func TestWatcher(t *testing.T) {
	for _, tt := range []struct {
		name, flow string
		prepare    func(*machine)
		// during is done while the call work of the flow is at work.
		during func(*machine)
		want   []string // the beginnings of the lines, without times
		events string   // the last one that metrics heard of
		tries  int      // how often the run is offered; 0 is once
		ended  int      // how often they heard that the worker lets go of a run
	}{
		{
			name: "finished", flow: workFlow, events: "flow.finished", ended: 1,
			want: []string{`INFO run taken queue=gpu after=0`, `INFO run ended queue=gpu state=finished`},
		},
		{
			name: "failed", flow: "steps: [{id: bad, call: template, with: {template: \"{{ 1 / 0 }}\"}}]\n", events: "flow.failed", ended: 1,
			want: []string{`INFO run taken queue=gpu after=0`, `INFO run ended queue=gpu state=failed step=bad`},
		},
		{
			name: "waiting", flow: askFlow, events: "flow.waiting", ended: 1,
			want: []string{`INFO run taken queue=gpu after=0`, `INFO run ended queue=gpu state=waiting`},
		},
		{
			name: "refused", tries: 3, flow: "steps: [{id: a, call: work, with: {x: \"{{ secrets.KEY }}\"}}]\n",
			want: []string{`INFO run refused queue=gpu reason=`},
		},
		{
			name: "handed over", flow: workFlow, events: "step.input", ended: 1,
			prepare: func(m *machine) { m.block = true },
			during:  func(m *machine) { m.stop(scheduler.ErrHandOver) },
			want:    []string{`INFO run taken queue=gpu after=0`, `INFO run handed over queue=gpu after=`},
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			m := newMachine(t)
			if tt.prepare != nil {
				tt.prepare(m)
			}
			var log bytes.Buffer
			var last journal.EventType
			ended := 0
			m.queue = "gpu"
			m.watch = newWatcher(&WorkerOptions{
				Log:     slog.New(slog.NewJSONHandler(&log, nil)),
				Observe: func(_ *service.Session, e *journal.Event) { last = e.Type },
				Ended:   func(string) { ended++ },
			})
			run := m.enqueue(tt.flow)
			if tt.during != nil {
				go func() {
					<-m.began
					tt.during(m)
				}()
			}
			m.quickTries = 1
			for range max(tt.tries, 1) {
				if _, err := m.doStretch(m.input(run, 0)); err != nil {
					t.Fatal(err)
				}
			}
			var lines []string
			for line := range strings.Lines(log.String()) {
				lines = append(lines, shortLine(t, run, line))
			}
			if len(lines) != len(tt.want) {
				t.Fatalf("got %q, want %q", lines, tt.want)
			}
			for i, want := range tt.want {
				if !strings.HasPrefix(lines[i], want) {
					t.Errorf("line %d: %s, want %s", i, lines[i], want)
				}
			}
			if string(last) != tt.events || ended != tt.ended {
				t.Errorf("metrics heard of %s last and of %d ends, want %s and %d", last, ended, tt.events, tt.ended)
			}
		})
	}
}

// shortLine returns a line of the log of a worker without the run, which it must name, and without times.
func shortLine(t *testing.T, run, line string) string {
	t.Helper()
	var told struct {
		Level, Msg, Run, Flow, Queue, State, Step, Reason string
		After                                             *int
		Took                                              *int `json:"duration_ms"`
	}
	if err := json.Unmarshal([]byte(line), &told); err != nil || told.Run != run || told.Flow != "flow" {
		t.Errorf("%v: %s", err, line)
	}
	isEnd := told.Msg != "run taken" && told.Msg != "run refused"
	if isEnd != (told.Took != nil) {
		t.Errorf("how long it took is on the end alone: %s", line)
	}
	short := told.Level + " " + told.Msg + " queue=" + told.Queue
	if told.After != nil {
		short += " after="
		if *told.After == 0 {
			short += "0"
		}
	}
	for _, pair := range [][2]string{{"state", told.State}, {"step", told.Step}, {"reason", told.Reason}} {
		if pair[1] != "" {
			short += " " + pair[0] + "=" + pair[1]
		}
	}
	return short
}
