package server_test

import (
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/callnode/scheduler/calls/http/guard"
	"github.com/callnode/scheduler/llm"
	"github.com/callnode/scheduler/llm/scripted"
	"github.com/callnode/scheduler/scheduler/journal"
	"github.com/callnode/scheduler/scheduler/journal/sqljournal"
	"github.com/callnode/scheduler/scheduler/server"
	"github.com/callnode/scheduler/scheduler/server/notify"
	"github.com/callnode/scheduler/scheduler/server/store"
)

// inbox is a server that is notified. It is safe for concurrent use.
type inbox struct {
	*httptest.Server
	mu    sync.Mutex
	types []string // with the subject of each: "run.failed model"
}

func newInbox(t *testing.T) *inbox {
	t.Helper()
	in := &inbox{}
	in.Server = httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		var message struct {
			Type string
			Data struct{ Flow, State string }
		}
		if err := json.Unmarshal(body, &message); err != nil {
			t.Errorf("%v: %s", err, body)
		}
		in.mu.Lock()
		defer in.mu.Unlock()
		in.types = append(in.types, message.Type+" "+message.Data.Flow)
	}))
	t.Cleanup(in.Close)
	return in
}

func (in *inbox) has(what string) bool {
	in.mu.Lock()
	defer in.mu.Unlock()
	return slices.Contains(in.types, what)
}

// TestStatesAreAnnounced walks the states that need a person. Each of them has a notification, a metric and, if
// the server has found it by itself, an entry in its log.
func TestStatesAreAnnounced(t *testing.T) {
	const broken = "name: late\ntriggers: {schedules: [{id: s, cron: '0 7 * * *', inputs: {x: '{{ schedule.time }}'}}]}\ninputs: {type: object, properties: {x: {type: string, maxLength: 1}}}\nsteps: [{id: a, call: template, with: {template: x}}]\n"
	var later atomic.Int64 // by how much the clock of the triggers is ahead
	for name, c := range map[string]struct {
		reach                func(f *fixture, token string)
		message, metric, log string
	}{
		"a run waits": {
			func(f *fixture, token string) { f.do(token, "POST", "/api/v1/runs", `{"flow": "sub~wait"}`) },
			"run.waiting wait", `scheduler_runs_total{flow="wait",origin="api",state="waiting"} 1`, "",
		},
		"a run failed": {
			func(f *fixture, token string) { f.do(token, "POST", "/api/v1/runs", `{"flow": "model"}`) },
			"run.failed model", `scheduler_runs_total{flow="model",origin="api",state="failed"} 1`, "",
		},
		"a run is stuck": {
			func(f *fixture, _ string) { leaveDying(f, "stuck", time.Minute) },
			"run.stuck f", `scheduler_stuck_runs 1`, "it pauses before the next try",
		},
		"a run is given up": {
			func(f *fixture, _ string) { leaveDying(f, "dead", 25*time.Hour) },
			"run.failed f", `scheduler_runs_total{flow="f",origin="api",state="failed"} 1`, "a run was given up",
		},
		"a schedule is paused": {
			func(f *fixture, token string) { f.do(token, "POST", "/api/v1/schedules/timed:daily/pause", "") },
			"trigger.paused timed", `scheduler_paused_schedules 1`, "a schedule is paused",
		},
		"a schedule cannot begin its run": {
			func(f *fixture, _ string) {
				writeFile(f.t, filepath.Join(f.dir, "flows", "late.yaml"), broken)
				later.Store(int64(25 * time.Hour))
			},
			"trigger.failed late", `scheduler_failed_fires 1`, "a schedule could not start its run",
		},
		"the triggers of a flow do nothing": {
			func(f *fixture, _ string) {}, // the flow was broken when the server began
			"trigger.failed gone", "", "the triggers of a flow do nothing",
		},
	} {
		t.Run(name, func(t *testing.T) {
			later.Store(0)
			in, log, dir := newInbox(t), &logBuffer{}, t.TempDir()
			client, err := guard.NewClient([]string{"127.0.0.1:*"})
			if err != nil {
				t.Fatal(err)
			}
			secret, _ := secretOf("HOOK_KEY")
			writeFile(t, filepath.Join(dir, "flows", "gone.yaml"), "name: gone\ntriggers: {schedules: [{id: s, cron: '0 7 * * *'}]}\nsteps: [{id: a, call: chta}]\n")
			fails := scripted.New(scripted.Answer{Error: &llm.Error{Message: "out of order", Status: 400}})
			f := newFixture(t, dir, fails, func(o *server.Options) {
				o.Log, o.Client = slog.New(slog.NewTextHandler(log, nil)), client
				o.Clock = func() time.Time { return time.Now().Add(time.Duration(later.Load())) }
				o.Notify = []notify.Target{{URL: in.URL, Secret: secret, On: []journal.RunStatus{journal.RunWaiting, journal.RunFailed, notify.OnStuck, notify.OnTrigger}}}
			})
			token := f.token("", store.Admin)
			c.reach(f, token)
			f.eventually("the notification "+c.message, func() bool { return in.has(c.message) })
			f.eventually("the metric "+c.metric, func() bool {
				return strings.Contains(f.do(f.token("", store.Metrics), "GET", "/metrics", "").text, c.metric)
			})
			f.eventually("the log", func() bool { return strings.Contains(log.String(), c.log) })
		})
	}
}

// leaveDying records a run that was taken over three times within a time from servers that died, the last time just now.
func leaveDying(f *fixture, id string, within time.Duration) {
	f.t.Helper()
	t, ok := f.t.(*testing.T)
	if !ok {
		f.t.Fatal("not a test")
	}
	j, err := sqljournal.OpenFile(t.Context(), f.dir, sqljournal.FileOptions{})
	if err != nil {
		t.Fatal(err)
	}
	log, err := j.Begin(t.Context(), &journal.RunHeader{ID: id, Flow: "f", Labels: map[string]string{journal.LabelOrigin: "api"}, StartedAt: time.Now()})
	if err != nil {
		t.Fatal(err)
	}
	now := time.Now()
	events := []*journal.Event{{Run: id, Seq: 1, Type: journal.FlowStarted, Time: now.Add(-within)}}
	for i, ago := range []time.Duration{within, within / 2, 0} {
		events = append(events, &journal.Event{Run: id, Seq: int64(i + 2), Type: journal.FlowResumed, Time: now.Add(-ago), Data: &journal.Data{Interrupted: true}})
	}
	if err := errors.Join(log.Append(t.Context(), events...), log.Close(), j.Close()); err != nil {
		t.Fatal(err)
	}
	abandonRun(t, f.dir, id)
}
