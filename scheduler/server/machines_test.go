package server_test

import (
	"context"
	"log/slog"
	"net/http"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/callnode/scheduler/calls"
	"github.com/callnode/scheduler/llm/value/wording"
	"github.com/callnode/scheduler/scheduler/fleet"
	"github.com/callnode/scheduler/scheduler/journal"
	"github.com/callnode/scheduler/scheduler/journal/sqljournal"
	"github.com/callnode/scheduler/scheduler/server"
	"github.com/callnode/scheduler/scheduler/server/store"
	"github.com/callnode/scheduler/scheduler/service"
)

// awayRemote are machines that cannot be reached until they are back, and that count the runs they were notified
// of.
type awayRemote struct {
	service.Remote
	isBack atomic.Bool
	told   atomic.Int32
}

func (r *awayRemote) Check(context.Context) error {
	if r.isBack.Load() {
		return nil
	}
	return calls.Errorf(calls.Provider, "connecting to zq9host:7233: connection refused").WithHint("is it running?")
}

func (r *awayRemote) Start(ctx context.Context, _ service.RemoteRun) error {
	if err := r.Check(ctx); err != nil {
		return err
	}
	r.told.Add(1)
	return nil
}

// TestMachinesAreAway: a server whose runs no machine accepts logs that, and is not ready. Once the machines are
// back, they are notified of the run that was recorded meanwhile.
func TestMachinesAreAway(t *testing.T) {
	dir := t.TempDir()
	remote, log := &awayRemote{}, &logBuffer{}
	parts := newParts(dir, nil)
	parts.Remote = func(context.Context, string) (service.Remote, error) { return remote, nil }
	s := service.New(parts)
	t.Cleanup(func() { _ = s.Close() })
	f := newFixture(t, dir, nil, func(o *server.Options) {
		o.Service, o.On, o.Log = s, "far", slog.New(slog.NewTextHandler(log, nil))
	})
	ready := f.do("", "GET", "/health/ready", "")
	if ready.status != http.StatusServiceUnavailable || !strings.Contains(ready.text, "runs cannot be given to the machines") || strings.Contains(ready.text, "zq9") {
		t.Errorf("ready while they are away: %d %s", ready.status, ready.text)
	}
	token := f.token("lin", store.RunsWrite, store.RunsRead)
	queued := f.do(token, "POST", "/api/v1/runs", `{"flow": "echo", "inputs": {"question": "q"}}`)
	if queued.status != http.StatusCreated || queued.at("/queued") != "true" {
		t.Errorf("a run while they are away: %d %s", queued.status, queued.text)
	}
	for path, body := range map[string]string{
		"/v1/chat/completions":                          `{"model": "echo", "messages": [{"role": "user", "content": "q"}]}`,
		"/api/v1/runs/" + queued.at("/run") + "/resume": `{}`,
	} {
		r := f.do(token, "POST", path, body)
		if r.status != http.StatusServiceUnavailable || !strings.Contains(r.text, "the machines that carry runs out cannot be reached") || strings.Contains(r.text, "zq9") {
			t.Errorf("%s while they are away: %d %s", path, r.status, r.text)
		}
	}
	if n := strings.Count(log.String(), "no runs can be given to other machines"); n != 1 || !strings.Contains(log.String(), "zq9host:7233") {
		t.Errorf("the log tells it %d times: %s", n, log)
	}
	remote.isBack.Store(true)
	f.eventually("the server to be ready", func() bool { return f.do("", "GET", "/health/ready", "").status == http.StatusOK })
	f.eventually("the run to be told of", func() bool { return remote.told.Load() == 1 })
	if !strings.Contains(log.String(), "runs can be given to other machines again") {
		t.Errorf("the log does not tell that they are back: %s", log)
	}
}

// An operator of the server sees which machines carried out a run, what they lack, and which are alive; a user
// only sees that the run waits.
func TestMachinesAreForOperators(t *testing.T) {
	dir := t.TempDir()
	j, err := sqljournal.OpenFile(t.Context(), dir, sqljournal.FileOptions{})
	if err != nil {
		t.Fatal(err)
	}
	labels := map[string]string{journal.LabelOrigin: "api", journal.LabelOwner: "bo", journal.LabelRunsOn: "temporal"}
	for run, ends := range map[string][]journal.EventType{"waits": nil, "over": {journal.FlowFinished}} {
		log, err := j.Begin(t.Context(), &journal.RunHeader{
			ID: run, Flow: "echo", File: filepath.Join(dir, "flows", "echo.yaml"), Text: journal.FlowText{Source: []byte(flows["echo.yaml"])}, Labels: labels, StartedAt: time.Now(),
		})
		if err != nil {
			t.Fatal(err)
		}
		events := []*journal.Event{{Type: journal.FlowStarted, Data: &journal.Data{Flow: "echo", Worker: &journal.Process{Host: "zq9host", PID: 7, Version: "v1"}}}}
		for _, end := range ends {
			events = append(events, &journal.Event{Type: end})
		}
		for i, e := range events {
			e.Run, e.Seq, e.Time = run, int64(i+1), time.Now()
		}
		if err := log.Append(t.Context(), events...); err != nil {
			t.Fatal(err)
		}
		if err := log.Close(); err != nil {
			t.Fatal(err)
		}
	}
	if err := j.Close(); err != nil {
		t.Fatal(err)
	}
	f := newFixture(t, dir, nil, func(o *server.Options) { o.Queue = "usual" })
	err = f.store.PutWorker(t.Context(), &fleet.Worker{
		ID: "w", Kind: fleet.RunWorker, Host: "zq9host", PID: 7, State: fleet.Working, Queues: []fleet.Queue{{Name: "usual", Slots: 1}},
		Left: []fleet.Left{{Run: "waits", Reason: wording.Same("it lacks zq9plugin"), At: time.Now()}},
	})
	if err != nil {
		t.Fatal(err)
	}
	operator, bo := f.token("", store.Admin), f.token("bo", store.Admin)
	for _, tt := range []struct {
		path    string
		isWords bool // about why it waits
		header  []string
	}{
		{path: "/api/v1/runs/waits", isWords: true},
		{path: "/api/v1/runs/over"},
		{path: "/api/v1/runs/over/events"},
		{path: "/api/v1/runs/over/events?view=brief"},
		{path: "/api/v1/runs/over/events", header: []string{"Accept", "text/event-stream"}},
		{path: "/api/v1/runs?state=running"},
	} {
		ours, theirs := f.do(operator, "GET", tt.path, "", tt.header...), f.do(bo, "GET", tt.path, "", tt.header...)
		if ours.status != http.StatusOK || !strings.Contains(ours.text, "zq9host") {
			t.Errorf("%s: the operator gets %d %s", tt.path, ours.status, ours.text)
		}
		if theirs.status != http.StatusOK || strings.Contains(theirs.text, "zq9") {
			t.Errorf("%s: the user gets %d %s", tt.path, theirs.status, theirs.text)
		}
		if !tt.isWords {
			continue
		}
		if got := ours.at("/waits_because/code") + ": " + ours.at("/waits_because/text"); got != "missing: process 7 on zq9host cannot carry it out: it lacks zq9plugin" {
			t.Errorf("the operator reads %s", got)
		}
		if got := theirs.at("/waits_because/text"); got != "no machine is there that can carry it out" {
			t.Errorf("the user reads %s", got)
		}
	}
	if r := f.do(operator, "GET", "/api/v1/workers", ""); r.status != http.StatusOK || !strings.Contains(r.text, `"kind":"server"`) || !strings.Contains(r.text, "zq9host") {
		t.Errorf("the workers: %d %s", r.status, r.text)
	}
	metrics := f.do(operator, "GET", "/metrics", "").text
	for _, want := range []string{
		`scheduler_queued_runs{queue="usual"} 1`, `scheduler_running_runs{queue="usual"} 0`, `scheduler_queued_runs{queue="local"} 0`,
		`scheduler_slots{queue="local"} 8`, `scheduler_slots_used{queue="local"} 0`, `scheduler_queue_oldest_seconds{queue="usual"} `,
	} {
		if !strings.Contains(metrics, want) {
			t.Errorf("the metrics lack %s", want)
		}
	}
}
