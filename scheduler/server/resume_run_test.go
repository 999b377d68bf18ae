package server_test

import (
	"context"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/callnode/scheduler/scheduler/journal"
	"github.com/callnode/scheduler/scheduler/journal/sqljournal"
	"github.com/callnode/scheduler/scheduler/server"
	"github.com/callnode/scheduler/scheduler/server/store"
	"github.com/callnode/scheduler/scheduler/service"
)

// hookedReopen is a journal whose first Reopen does something before.
type hookedReopen struct {
	journal.Journal
	once sync.Once
	do   func()
}

func (j *hookedReopen) Reopen(ctx context.Context, id string) (journal.RunLog, error) {
	j.once.Do(j.do)
	return j.Journal.Reopen(ctx, id)
}

// TestEndedMeanwhile answers and resumes a run that another server finishes at the same time: it is over, and the request
// is not wrong in itself.
func TestEndedMeanwhile(t *testing.T) {
	for path, body := range map[string]string{"/answers": `{"values": {"city": "Hangzhou", "days": 2}}`, "/resume": `{}`, "chat": ""} {
		t.Run(path, func(t *testing.T) {
			dir := t.TempDir()
			hooked := &hookedReopen{}
			parts := newParts(dir, nil)
			open := parts.Journal
			parts.Journal = func(ctx context.Context, create bool) (journal.Journal, error) {
				var err error
				hooked.Journal, err = open(ctx, create)
				return hooked, err
			}
			s := service.New(parts)
			t.Cleanup(func() { _ = s.Close() })
			one, other := newFixture(t, dir, nil, func(o *server.Options) { o.Service = s }), newFixture(t, dir, nil, nil)
			token := other.token("lin", store.RunsRead, store.RunsWrite)
			first := other.chat(token, "sub~wait", messages("Rain"), "", "X-Session-Id", "s")
			run := first.at("/scheduler/run")
			hooked.do = func() {
				if r := other.do(token, "POST", "/api/v1/runs/"+run+"/answers", `{"values": {"city": "Bergen", "days": 1}}`); r.status != http.StatusAccepted {
					t.Errorf("the other server answers %d %s", r.status, r.text)
				}
				if r := other.do(token, "GET", "/api/v1/runs/"+run+"/events", "", "Accept", eventStream); !strings.Contains(r.text, "flow.finished") {
					t.Errorf("the run has not finished: %s", r.text)
				}
			}
			if path == "chat" { // it does not repeat questions that the run has answers to
				r := one.chat(token, "sub~wait", messages("Rain", first.at(said), "Hangzhou"), "", "X-Session-Id", "s")
				if r.status != http.StatusConflict || r.at("/error/code") != "held" || r.header.Get("X-Should-Retry") != "false" {
					t.Errorf("got %d %v %s", r.status, r.header, r.text)
				}
				return
			}
			if r := one.do(token, "POST", "/api/v1/runs/"+run+path, body); r.status != http.StatusConflict || r.at("/kind") != "over" {
				t.Errorf("got %d %s", r.status, r.text)
			}
		})
	}
}

// TestHandOver stops a server in the middle of a run: the next one continues it, and the queued ones, without
// repeating finished steps.
func TestHandOver(t *testing.T) {
	dir := t.TempDir()
	closed := &gate{open: make(chan struct{})}
	one := func(o *server.Options) { o.Limits.Runs = 1 }
	f := newFixture(t, dir, closed, one)
	token := f.token("lin", store.RunsRead, store.RunsWrite)
	running := f.do(token, "POST", "/api/v1/runs", `{"flow": "model"}`)
	queued := f.do(token, "POST", "/api/v1/runs", `{"flow": "echo", "inputs": {"question": "q"}}`)
	if running.at("/queued") != "false" || queued.at("/queued") != "true" || queued.status != http.StatusCreated {
		t.Fatalf("got %s and %s", running.text, queued.text)
	}
	lines, stop := f.follow(token, "/api/v1/runs/"+running.at("/run")+"/events")
	defer stop()
	until(t, lines, "flow.started")
	f.stop()
	until(t, lines, "event: bye")

	open := &gate{open: make(chan struct{})}
	close(open.open)
	f = newFixture(t, dir, open, one)
	for _, run := range []string{running.at("/run"), queued.at("/run")} {
		lines, stop := f.follow(token, "/api/v1/runs/"+run+"/events")
		until(t, lines, "event: flow.finished")
		stop()
		events := f.do(token, "GET", "/api/v1/runs/"+run+"/events?types=step.finished,flow.cancelled", "")
		if n := strings.Count(events.text, `"step.finished"`); n != 1 || strings.Contains(events.text, "flow.cancelled") {
			t.Errorf("the run has %s", events.text)
		}
	}
}

// TestHandOverOfRunsWithAClient stops a server while clients wait for runs: they are answered, and the next server
// continues the runs, chats' runs too, because the clients have not left.
func TestHandOverOfRunsWithAClient(t *testing.T) {
	dir := t.TempDir()
	f := newFixture(t, dir, &gate{open: make(chan struct{})}, nil)
	token := f.token("lin", store.RunsRead, store.RunsWrite)
	ask := func(path, body string) <-chan *reply {
		answer := make(chan *reply, 1)
		go func() { answer <- f.do(token, "POST", path, body) }()
		return answer
	}
	chat := `{"model": "model", "messages": [{"role": "user", "content": "hi"}]`
	whole, streamed := ask("/v1/chat/completions", chat+"}"), ask("/v1/chat/completions", chat+`, "stream": true}`)
	waits := ask("/api/v1/runs?wait=5m", `{"flow": "model"}`)
	f.eventually("three runs to begin", func() bool { return len(f.runsOf(token, "running")) == 3 })
	f.stop()
	for _, r := range []*reply{<-whole, <-streamed} {
		if r.status != http.StatusServiceUnavailable || r.at("/error/code") != "busy" || r.header.Get("Retry-After") == "" || r.header.Get("X-Should-Retry") != "" {
			t.Errorf("a chat is answered with %d %v %s", r.status, r.header, r.text)
		}
	}
	if r := <-waits; r.status != http.StatusCreated || r.at("/state") != "running" {
		t.Errorf("who waits for the end of a run gets %d %s", r.status, r.text)
	}

	open := &gate{open: make(chan struct{})}
	close(open.open)
	f = newFixture(t, dir, open, nil)
	f.eventually("the runs to end", func() bool { return len(f.runsOf(token, "running")) == 0 })
	if finished := f.runsOf(token, "finished"); len(finished) != 3 {
		t.Errorf("%d of 3 runs have finished", len(finished))
	}
}

// abandonRun leaves a run that no server holds like a process that dies.
func abandonRun(t *testing.T, dir, id string) {
	t.Helper()
	j, err := sqljournal.OpenFile(t.Context(), dir, sqljournal.FileOptions{Heartbeat: -time.Nanosecond})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := j.Reopen(t.Context(), id); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := j.Close(); err != nil {
			t.Error(err)
		}
	})
}

// TestStuck: a run that was taken over three times from servers that died, without a step that finished, pauses
// before the next try, and says so; its user may still resume it. Servers that hand it over do not count.
func TestStuck(t *testing.T) {
	dir := t.TempDir()
	closed := &gate{open: make(chan struct{})}
	f := newFixture(t, dir, closed, nil)
	token := f.token("lin", store.RunsRead, store.RunsWrite)
	run := f.do(token, "POST", "/api/v1/runs", `{"flow": "model"}`).at("/run")
	path := "/api/v1/runs/" + run
	f.stop()
	for n := 1; n <= 7; n++ {
		f = newFixture(t, dir, closed, nil)
		lines, stop := f.follow(token, path+"/events?types=flow.resumed")
		for range n {
			until(t, lines, "event: flow.resumed")
		}
		stop()
		f.stop()
		if n >= 4 {
			abandonRun(t, dir, run)
		}
	}
	open := &gate{open: make(chan struct{})}
	close(open.open)
	f = newFixture(t, dir, open, nil)
	if r := f.do(token, "GET", path, ""); r.at("/state") != "running" || r.at("/stuck") != "true" {
		t.Errorf("got %s", r.text)
	}
	if r := f.do(token, "POST", path+"/resume", ""); r.status != http.StatusAccepted {
		t.Errorf("got %d %s", r.status, r.text)
	}
	lines, stop := f.follow(token, path+"/events")
	defer stop()
	until(t, lines, "event: flow.finished")
}

// TestForkRun forks a run over HTTP: anyone who may begin runs may choose a step and inputs, and only who may write flows
// what steps are given or put out.
func TestForkRun(t *testing.T) {
	f := newFixture(t, t.TempDir(), nil, nil)
	token, author := f.token("lin", store.RunsRead, store.RunsWrite), f.token("lin", store.RunsRead, store.RunsWrite, store.FlowsWrite)
	first := f.do(token, "POST", "/api/v1/runs?wait=30s", `{"flow": "echo", "inputs": {"question": "Rain?"}}`)
	run := first.at("/run")
	for _, c := range []struct {
		name, token, body string
		status            int
		says              string
	}{
		{name: "nothing is changed", token: token, body: `{}`, status: http.StatusUnprocessableEntity, says: "nothing is changed"},
		{name: "an unknown step", token: token, body: `{"at": "nope"}`, status: http.StatusUnprocessableEntity, says: "nope"},
		{name: "an output without the scope", token: token, body: `{"outputs": {"answer": {"text": "x"}}}`, status: http.StatusForbidden, says: "flows:write"},
		{name: "a parameter without the scope", token: token, body: `{"params": [{"step": "answer", "pointer": "/messages", "value": []}]}`, status: http.StatusForbidden, says: "flows:write"},
		{name: "inputs that are no object", token: token, body: `{"inputs": 7}`, status: http.StatusUnprocessableEntity, says: "object"},
		{name: "only the plan", token: token, body: `{"inputs": {"question": "Sun?"}, "plan": true}`, status: http.StatusOK, says: `"again"`},
		{name: "another question", token: token, body: `{"inputs": {"question": "Sun?"}}`, status: http.StatusCreated, says: `"again"`},
	} {
		r := f.do(c.token, "POST", "/api/v1/runs/"+run+"/fork", c.body)
		if r.status != c.status || !strings.Contains(r.text, c.says) {
			t.Errorf("%s: %d %s, want %d with %q", c.name, r.status, r.text, c.status, c.says)
		}
		if forked := r.at("/run"); c.status == http.StatusCreated {
			if e := f.do(token, "GET", "/api/v1/runs/"+forked+"/events", "", "Accept", eventStream); !strings.Contains(e.text, "flow.finished") {
				t.Errorf("%s: the fork has not finished: %s", c.name, e.text)
			}
			if one := f.do(token, "GET", "/api/v1/runs/"+forked, ""); one.at("/labels/forked_from") != run || one.at("/owner") != "lin" {
				t.Errorf("%s: the fork is %s", c.name, one.text)
			}
		}
	}
	for range 2 {
		r := f.do(token, "POST", "/api/v1/runs/"+run+"/fork", `{"inputs": {"question": "Snow?"}}`, "Idempotency-Key", "once")
		if r.status != http.StatusCreated {
			t.Errorf("a fork with a key: %d %s", r.status, r.text)
		}
	}
	if n := strings.Count(f.do(token, "GET", "/api/v1/runs", "").text, `"forked_from"`); n != 2 {
		t.Errorf("there are %d forks, want one for each of the two questions", n)
	}
	if r := f.do(author, "POST", "/api/v1/runs/"+run+"/fork", `{"outputs": {"nope": {}}}`); r.status != http.StatusUnprocessableEntity {
		t.Errorf("a given output of an unknown step: %d %s", r.status, r.text)
	}
}

// TestForkOfAFlowOfBefore forks a run whose flow asks for an approval now: a user starts it anew, and so is asked.
func TestForkOfAFlowOfBefore(t *testing.T) {
	dir := t.TempDir()
	f := newFixture(t, dir, nil, nil)
	token, author := f.token("lin", store.RunsRead, store.RunsWrite), f.token("lin", store.RunsRead, store.RunsWrite, store.FlowsWrite)
	path := filepath.Join(dir, "flows", "pay.yaml")
	write := func(approve string) {
		text := "name: pay\nsteps: [{id: pay, call: chat, with: {user: hi}" + approve + "}]\n"
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("")
	run := f.do(token, "POST", "/api/v1/runs?wait=30s", `{"flow": "pay"}`).at("/run")
	write(", approve: true")
	if r := f.do(token, "POST", "/api/v1/runs/"+run+"/fork", `{"at": "pay"}`); r.status != http.StatusForbidden {
		t.Errorf("a fork of the flow of before: %d %s", r.status, r.text)
	}
	waits := f.do(token, "POST", "/api/v1/runs?wait=30s", `{"flow": "pay"}`)
	if waits.at("/state") != "waiting" {
		t.Fatalf("the run does not wait for an approval: %s", waits.text)
	}
	for path, body := range map[string]string{
		"/resume": `{"flow": {"text": "name: pay\nsteps: [{id: pay, call: chat, with: {user: hi}}]"}}`,
		"/fork":   `{"outputs": {"pay": {"text": "paid"}}}`,
	} {
		if r := f.do(author, "POST", "/api/v1/runs/"+waits.at("/run")+path, body); r.status != http.StatusForbidden {
			t.Errorf("%s without the approval: %d %s", path, r.status, r.text)
		}
	}
}
