package server_test

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/callnode/scheduler/scheduler/server"
	"github.com/callnode/scheduler/scheduler/server/store"
)

// The answer to a start reports an input that the flow does not name.
func TestUnknownInput(t *testing.T) {
	f := newFixture(t, t.TempDir(), nil, nil)
	r := f.do(f.token("lin", store.RunsWrite, store.RunsRead), "POST", "/api/v1/runs", `{"flow": "echo", "inputs": {"question": "hi", "qeustion": "hi"}}`)
	if r.status != http.StatusCreated || !strings.Contains(r.text, `the flow does not name the input \"qeustion\" (did you mean \"question\"?)`) {
		t.Errorf("got %d %s", r.status, r.text)
	}
}

// TestETag: a run that has not changed costs nothing.
func TestETag(t *testing.T) {
	f := newFixture(t, t.TempDir(), nil, nil)
	token := f.token("lin", store.RunsRead, store.RunsWrite)
	path := "/api/v1/runs/" + f.start(token, "echo", `{"question": "q"}`)
	first := f.do(token, "GET", path, "")
	if tag := first.header.Get("ETag"); tag != `"`+first.at("/last_seq")+`"` {
		t.Errorf("the ETag is %s of %s", tag, first.text)
	}
	tag := first.header.Get("ETag")
	for _, known := range []string{tag, "W/" + tag, `"0", W/` + tag, "*"} {
		if again := f.do(token, "GET", path, "", "If-None-Match", known); again.status != http.StatusNotModified || again.text != "" {
			t.Errorf("%s: got %d %s", known, again.status, again.text)
		}
	}
	if again := f.do(token, "GET", path, "", "If-None-Match", `"0"`, "If-None-Match", tag); again.status != http.StatusNotModified {
		t.Errorf("in the second of two lines: got %d %s", again.status, again.text)
	}
	for _, other := range []string{`"0"`, tag[1:], "W/" + tag[:2]} {
		if again := f.do(token, "GET", path, "", "If-None-Match", other); again.status != http.StatusOK {
			t.Errorf("%s: got %d %s", other, again.status, again.text)
		}
	}
}

// key is how requests of a token are stored.
func (f *fixture) key(token, user string) string {
	return strings.Split(token, "_")[1] + "/" + user
}

// TestQueueIsFull: a run that cannot be queued is refused, and the answer says when to retry.
func TestQueueIsFull(t *testing.T) {
	closed := &gate{open: make(chan struct{})}
	f := newFixture(t, t.TempDir(), closed, func(o *server.Options) { o.Limits.Runs, o.Limits.Queued = 1, 1 })
	token := f.token("lin", store.RunsRead, store.RunsWrite)
	var last *reply
	for range 3 {
		last = f.do(token, "POST", "/api/v1/runs", `{"flow": "model"}`)
	}
	if last.status != http.StatusTooManyRequests || last.header.Get("Retry-After") == "" {
		t.Errorf("got %d %s", last.status, last.text)
	}
	list := f.do(token, "GET", "/api/v1/runs?state=running", "")
	if n := strings.Count(list.text, `"queued":true`); n != 1 {
		t.Errorf("%d runs are queued: %s", n, list.text)
	}
	close(closed.open)
}

// TestCancel stops a run that is at work here.
func TestCancel(t *testing.T) {
	f := newFixture(t, t.TempDir(), &gate{open: make(chan struct{})}, nil)
	token := f.token("lin", store.RunsRead, store.RunsWrite)
	run := f.do(token, "POST", "/api/v1/runs", `{"flow": "model"}`).at("/run")
	lines, stop := f.follow(token, "/api/v1/runs/"+run+"/events")
	defer stop()
	if r := f.do(token, "POST", "/api/v1/runs/"+run+"/cancel", ""); r.status != http.StatusAccepted {
		t.Errorf("got %d %s", r.status, r.text)
	}
	until(t, lines, "event: flow.cancelled")
}

// TestWaitForWaiting: a client that waits for the end of a run learns that the run waits for values.
func TestWaitForWaiting(t *testing.T) {
	f := newFixture(t, t.TempDir(), nil, nil)
	token := f.token("lin", store.RunsRead, store.RunsWrite)
	for range 10 { // the state was once wrongly the one at the start
		if r := f.do(token, "POST", "/api/v1/runs?wait=20s", `{"flow": "sub/wait"}`); r.status != http.StatusCreated || r.at("/state") != "waiting" {
			t.Fatalf("got %d %s", r.status, r.text)
		}
	}
}

// TestForeignMemory: a flow that works in the memory of another user is refused before it
// begins, at its place.
func TestForeignMemory(t *testing.T) {
	f := newFixture(t, t.TempDir(), nil, nil)
	r := f.do(f.token("lin", store.RunsWrite), "POST", "/api/v1/runs", `{"flow": "mine"}`)
	if r.status != http.StatusUnprocessableEntity || r.at("/kind") != "invalid" || r.at("/errors/0/line") != "2" {
		t.Errorf("got %d %s", r.status, r.text)
	}
	if r := f.do(f.token("bo", store.RunsWrite), "POST", "/api/v1/runs?wait=20s", `{"flow": "mine"}`); r.status != http.StatusOK {
		t.Errorf("its own user gets %d %s", r.status, r.text)
	}
	if r := f.do(f.token("bo", store.RunsWrite), "POST", "/api/v1/runs", `{"flow": "broken"}`); r.status != http.StatusUnprocessableEntity || r.at("/errors/0/line") != "2" || r.at("/errors/0/hint") != `did you mean "chat"?` {
		t.Errorf("a broken flow gets %d %s", r.status, r.text)
	}
}

// A server deletes the runs that its settings do not keep.
func TestPruneRuns(t *testing.T) {
	dir := t.TempDir()
	f := newFixture(t, dir, nil, nil)
	token := f.token("lin", store.RunsRead, store.RunsWrite)
	last := ""
	for _, text := range []string{"one", "two", "three"} {
		last = f.start(token, "echo", `{"question": "`+text+`"}`)
	}
	waiting := f.start(token, "sub~wait", `{}`)
	f.stop()
	f = newFixture(t, dir, nil, func(o *server.Options) { o.Prune = server.Prune{OlderThan: time.Nanosecond, Keep: 1} })
	f.eventually("runs to be deleted", func() bool { return len(f.runsOf(token, "")) == 2 })
	if got := f.runsOf(token, ""); got[0] != waiting || got[1] != last {
		t.Errorf("%v are left, want %s and %s", got, waiting, last)
	}
}

// TestProgress checks the progress of runs in lists: one that is over, and one that waits.
func TestProgress(t *testing.T) {
	f := newFixture(t, t.TempDir(), nil, nil)
	token := f.token("lin", store.RunsRead, store.RunsWrite)
	f.start(token, "echo", `{"question": "one two three"}`)
	f.start(token, "sub~wait", `{}`)
	for range 2 { // the second time it is known
		text := f.do(token, "GET", "/api/v1/runs?view=progress", "").text
		if !strings.Contains(text, `"progress":{"done":1,"total":1,"tokens":`) {
			t.Errorf("the run that is over: %s", text)
		}
		if !strings.Contains(text, `"progress":{"done":0,"total":2,"tokens":0,"needs":["place/city","place/days"],"asks":"What is the town?"}`) {
			t.Errorf("the run that waits: %s", text)
		}
	}
	if text := f.do(token, "GET", "/api/v1/runs", "").text; strings.Contains(text, "progress") {
		t.Errorf("progress was not asked for: %s", text)
	}
}

// A list has the question, the reply and the usage of each run, a bound user sees only their own runs; the same
// holds for the counts by hour.
func TestRunSummaries(t *testing.T) {
	answers := &gate{open: make(chan struct{})}
	close(answers.open)
	f := newFixture(t, t.TempDir(), answers, nil)
	lin, bo := f.token("lin", store.RunsRead, store.RunsWrite), f.token("bo", store.RunsRead, store.RunsWrite)
	f.start(lin, "model", `{"question": "Where is my parcel?"}`)
	f.start(bo, "echo", `{"question": "Bo's own"}`)
	list := f.do(lin, "GET", "/api/v1/runs?view=live", "")
	if got := list.at("/items/0/summary/question"); got != "Where is my parcel?" {
		t.Errorf("the question is %q in %s", got, list.text)
	}
	if list.at("/items/0/summary/reply") == "" || list.at("/items/0/summary/usage/input_tokens") == "0" {
		t.Errorf("the reply or the usage is missing: %s", list.text)
	}
	if strings.Contains(list.text, "Bo's own") || strings.Contains(list.text, `"progress"`) {
		t.Errorf("the list has a run of bo's, or the progress of a run that is over: %s", list.text)
	}
	for query, want := range map[string]int{"q=PARCEL": 1, "q=own": 0, "flow=echo": 0, "state=failed": 0} {
		found := f.do(lin, "GET", "/api/v1/runs?"+query, "")
		if n := strings.Count(found.text, `"summary"`); n != want {
			t.Errorf("%s: found %d runs, want %d: %s", query, n, want, found.text)
		}
		counted := f.do(lin, "GET", "/api/v1/run-hours?"+query, "")
		if n := strings.Count(counted.text, `"runs":1,`); n != want {
			t.Errorf("%s: counted %d runs, want %d: %s", query, n, want, counted.text)
		}
	}
	for since, want := range map[string]int{"": 24, "since=1h": 2, "since=720h": 168} {
		counted := f.do(lin, "GET", "/api/v1/run-hours?"+since, "")
		if n := strings.Count(counted.text, `"start"`); n != want {
			t.Errorf("%s: %d hours, want %d", since, n, want)
		}
	}
}
