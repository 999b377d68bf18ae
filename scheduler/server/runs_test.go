package server_test

import (
	"bufio"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/callnode/scheduler/calls"
	"github.com/callnode/scheduler/llm/value"
	"github.com/callnode/scheduler/scheduler/journal"
	journalsqlite "github.com/callnode/scheduler/scheduler/journal/sqlite"
	"github.com/callnode/scheduler/scheduler/server"
	"github.com/callnode/scheduler/scheduler/server/store"
	"github.com/callnode/scheduler/scheduler/service"
)

const eventStream = "text/event-stream"

// TestStreamResumes cuts the stream of a run after every event: what follows is the same,
// byte for byte, and after the last event there is nothing, for good.
func TestStreamResumes(t *testing.T) {
	f := newFixture(t, t.TempDir(), nil, nil)
	token := f.token("lin", store.RunsRead, store.RunsWrite)
	path := "/api/v1/runs/" + f.start(token, "echo", `{"question": "one two three"}`) + "/events"
	whole := f.do(token, "GET", path, "", "Accept", eventStream).text
	blocks := strings.SplitAfter(strings.TrimPrefix(whole, "retry: 2000\n"), "\n\n")
	blocks = blocks[:len(blocks)-1]
	if len(blocks) < 8 || !strings.Contains(blocks[len(blocks)-1], "flow.finished") {
		t.Fatalf("got %d events: %s", len(blocks), whole)
	}
	for seq := 1; seq < len(blocks); seq++ {
		got := f.do(token, "GET", path, "", "Accept", eventStream, "Last-Event-ID", fmt.Sprint(seq))
		if want := "retry: 2000\n" + strings.Join(blocks[seq:], ""); got.status != http.StatusOK || got.text != want {
			t.Errorf("after %d: got %d\n%s\nwant\n%s", seq, got.status, got.text, want)
		}
	}
	if got := f.do(token, "GET", path, "", "Accept", eventStream, "Last-Event-ID", fmt.Sprint(len(blocks))); got.status != http.StatusNoContent {
		t.Errorf("after the end: %d %s", got.status, got.text)
	}
	if got := f.do(token, "GET", path+"?view=brief", "", "Accept", eventStream).text; strings.Contains(got, `"params"`) || len(got) >= len(whole) {
		t.Errorf("brief is %s", got)
	}
	for _, wrong := range []string{"x", "-1"} {
		if got := f.do(token, "GET", path, "", "Accept", eventStream, "Last-Event-ID", wrong); got.status != http.StatusUnprocessableEntity {
			t.Errorf("Last-Event-ID %s: %d %s", wrong, got.status, got.text)
		}
	}
	if got := f.do(token, "GET", "/api/v1/runs/nope/events", "", "Accept", eventStream); got.status != http.StatusNotFound || got.header.Get("Content-Type") != "application/problem+json" {
		t.Errorf("an unknown run: %d %s", got.status, got.text)
	}
}

// TestPagesOfEvents reads the events of a run page by page.
func TestPagesOfEvents(t *testing.T) {
	f := newFixture(t, t.TempDir(), nil, nil)
	token := f.token("lin", store.RunsRead, store.RunsWrite)
	path := "/api/v1/runs/" + f.start(token, "echo", `{"question": "one two"}`) + "/events"
	all := f.do(token, "GET", path, "")
	items, _ := all.doc.Get("items")
	var got []string
	for cursor := ""; ; {
		r := f.do(token, "GET", path+"?limit=3&cursor="+cursor, "")
		page, _ := r.doc.Get("items")
		for _, e := range page.List() {
			got = append(got, e.JSON())
		}
		if cursor = r.at("/next"); cursor == "null" {
			break
		}
	}
	if len(got) != len(items.List()) || len(got) < 7 {
		t.Fatalf("got %d events in pages, %d at once", len(got), len(items.List()))
	}
	for i, e := range items.List() {
		if e.JSON() != got[i] {
			t.Errorf("event %d: got %s, want %s", i, got[i], e.JSON())
		}
	}
	if r := f.do(token, "GET", path+"?types=flow.started,flow.finished", ""); strings.Count(r.text, `"seq"`) != 2 {
		t.Errorf("of two types: %s", r.text)
	}
}

// follow reads a stream in the background, line by line.
func (f *fixture) follow(token, path string) (lines <-chan string, stop func()) {
	f.t.Helper()
	ctx, cancel := context.WithCancel(f.t.Context())
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, f.base+path, nil)
	if err != nil {
		f.t.Fatal(err)
	}
	r.Header.Set("Accept", eventStream)
	r.Header.Set("Authorization", "Bearer "+token)
	answer, err := http.DefaultClient.Do(r)
	if err != nil || answer.StatusCode != http.StatusOK {
		f.t.Fatal(err, answer)
	}
	out := make(chan string, 1000)
	go func() {
		defer close(out)
		defer answer.Body.Close()
		for s := bufio.NewScanner(answer.Body); s.Scan(); {
			out <- s.Text()
		}
	}()
	return out, cancel
}

// until reads lines until one has the text.
func until(t *testing.T, lines <-chan string, text string) {
	t.Helper()
	for deadline := time.After(20 * time.Second); ; {
		select {
		case line, ok := <-lines:
			if !ok {
				t.Fatalf("the stream ended before %q", text)
			}
			if strings.Contains(line, text) {
				return
			}
		case <-deadline:
			t.Fatalf("no %q came", text)
		}
	}
}

// TestStreamStaysOpen follows a run that waits: the stream goes on once it is answered, and
// with until=waiting it ends there.
func TestStreamStaysOpen(t *testing.T) {
	f := newFixture(t, t.TempDir(), nil, nil)
	token := f.token("lin", store.RunsRead, store.RunsWrite)
	run := f.start(token, "sub~wait", `{}`)
	path := "/api/v1/runs/" + run
	if got := f.do(token, "GET", path+"/events?until=waiting", "", "Accept", eventStream); !strings.Contains(got.text, "flow.waiting") {
		t.Errorf("until it waits: %s", got.text)
	}
	lines, stop := f.follow(token, path+"/events")
	defer stop()
	until(t, lines, "event: flow.waiting")
	if r := f.do(token, "POST", path+"/answers", `{"answers": [{"pointer": "/city", "value": "Hangzhou"}, {"pointer": "/days", "value": "many"}]}`); r.status != http.StatusUnprocessableEntity || !strings.Contains(r.text, `"pointer":"/answers/1"`) {
		t.Errorf("one of two answers is wrong: %d %s", r.status, r.text)
	}
	if r := f.do(token, "GET", path, ""); r.at("/state") != "waiting" || !strings.Contains(r.at("/waiting"), "/city") {
		t.Errorf("a wrong answer changes the run: %s", r.text)
	}
	if r := f.do(token, "POST", path+"/answers", `{"answers": [{"step": "place", "pointer": "/city", "value": "Hangzhou"}, {"pointer": "/days", "value": 2}]}`); r.status != http.StatusAccepted {
		t.Fatalf("answered: %d %s", r.status, r.text)
	}
	until(t, lines, "Rain in Hangzhou for 2")
	until(t, lines, "event: flow.finished")
	for range lines { // it ends
	}
	if r := f.do(token, "POST", path+"/answers", `{"values": {"city": "x"}}`); r.status != http.StatusConflict || r.at("/kind") != "over" {
		t.Errorf("answering a run that is over: %d %s", r.status, r.text)
	}
	if r := f.do(token, "POST", path+"/cancel", ""); r.status != http.StatusConflict {
		t.Errorf("cancelling a run that is over: %d %s", r.status, r.text)
	}
}

// The answer to a start tells of an input that the flow does not name.
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

// TestIdempotency: however often a request is repeated, at once or later, it begins one run.
func TestIdempotency(t *testing.T) {
	dir := t.TempDir()
	f := newFixture(t, dir, nil, nil)
	token := f.token("lin", store.RunsRead, store.RunsWrite)
	const body = `{"flow": "echo", "inputs": {"question": "q"}}`
	start := func(key, body string) *reply {
		return f.do(token, "POST", "/api/v1/runs", body, "Idempotency-Key", key)
	}
	var all sync.WaitGroup
	replies := make([]*reply, 8)
	for i := range replies {
		all.Go(func() { replies[i] = start("k1", body) })
	}
	all.Wait()
	runs := map[string]bool{}
	for _, r := range replies {
		switch r.status {
		case http.StatusCreated:
			runs[r.at("/run")] = true
		case http.StatusConflict: // while the first was under way
		default:
			t.Errorf("got %d %s", r.status, r.text)
		}
	}
	later := start("k1", body)
	if !runs[later.at("/run")] || len(runs) != 1 || later.header.Get("Idempotency-Replayed") != "true" {
		t.Errorf("got %v, and later %s", runs, later.text)
	}
	if r := start("k1", `{"flow": "echo", "inputs": {"question": "other"}}`); r.status != http.StatusUnprocessableEntity {
		t.Errorf("another body: %d %s", r.status, r.text)
	}
	if r := start("k2", `{"flow": "echo", "inputs": {}}`); r.status != http.StatusUnprocessableEntity || r.at("/errors/0/pointer") != "/inputs/question" {
		t.Errorf("a wrong body: %d %s", r.status, r.text)
	}
	if r := start("k2", body); r.status != http.StatusCreated || r.header.Get("Idempotency-Replayed") != "" {
		t.Errorf("the corrected body: %d %s", r.status, r.text)
	}
	other := f.token("bo", store.RunsWrite)
	if r := f.do(other, "POST", "/api/v1/runs", body, "Idempotency-Key", "k1"); r.status != http.StatusCreated || runs[r.at("/run")] {
		t.Errorf("another caller's key: %d %s", r.status, r.text)
	}
}

// TestIdempotencyOnTwoServers sends the same requests to two servers of a store at once: each
// begins one run, and no answer is an error but that the request is under way.
func TestIdempotencyOnTwoServers(t *testing.T) {
	dir := t.TempDir()
	servers := []*fixture{newFixture(t, dir, nil, nil), newFixture(t, dir, nil, nil)}
	token := servers[0].token("lin", store.RunsRead, store.RunsWrite)
	for i := range 20 {
		key := fmt.Sprint("k", i)
		start := func(f *fixture) *reply {
			return f.do(token, "POST", "/api/v1/runs", `{"flow": "echo", "inputs": {"question": "q"}}`, "Idempotency-Key", key)
		}
		var all sync.WaitGroup
		replies := make([]*reply, 4)
		for i := range replies {
			all.Go(func() { replies[i] = start(servers[i%2]) })
		}
		all.Wait()
		want := start(servers[1])
		for _, r := range replies {
			isSame := r.status == http.StatusCreated && r.at("/run") == want.at("/run")
			if !isSame && r.status != http.StatusConflict {
				t.Errorf("%s: got %d %s, want %s", key, r.status, r.text, want.text)
			}
		}
	}
	runs := servers[0].do(token, "GET", "/api/v1/runs", "")
	if items, _ := runs.doc.Get("items"); len(items.List()) != 20 {
		t.Errorf("there are %d runs", len(items.List()))
	}
}

// heldBegin is a journal whose first Begin waits, and returns an error unless that is nil.
type heldBegin struct {
	journal.Journal
	first sync.Once
	// reached is closed when Begin was called; what go receives is the error.
	reached chan struct{}
	goOn    chan error
}

func (j *heldBegin) Begin(ctx context.Context, h *journal.RunHeader) (journal.RunLog, error) {
	var err error
	j.first.Do(func() {
		close(j.reached)
		err = <-j.goOn
	})
	if err != nil {
		return nil, err
	}
	return j.Journal.Begin(ctx, h)
}

// TestIdempotencyWhereTheFirstFails: a repeat at another server is about to begin the run when the
// first request fails without one. A third request gets the run of the second.
func TestIdempotencyWhereTheFirstFails(t *testing.T) {
	dir := t.TempDir()
	var servers [2]*fixture
	var held [2]*heldBegin
	for i := range servers {
		held[i] = &heldBegin{reached: make(chan struct{}), goOn: make(chan error, 1)}
		parts := newParts(dir, nil)
		open := parts.Journal
		parts.Journal = func(ctx context.Context, create bool) (journal.Journal, error) {
			var err error
			held[i].Journal, err = open(ctx, create)
			return held[i], err
		}
		s := service.New(parts)
		t.Cleanup(func() { _ = s.Close() })
		servers[i] = newFixture(t, dir, nil, func(o *server.Options) { o.Service = s })
	}
	token := servers[0].token("lin", store.RunsRead, store.RunsWrite)
	start := func(i int, question string) *reply {
		return servers[i].do(token, "POST", "/api/v1/runs", `{"flow": "echo", "inputs": {"question": "`+question+`"}}`, "Idempotency-Key", "k")
	}
	startHeld := func(i int) chan *reply {
		done := make(chan *reply, 1)
		go func() { done <- start(i, "q") }()
		<-held[i].reached
		return done
	}
	first := startHeld(0)
	second := startHeld(1)
	held[0].goOn <- calls.Errorf(calls.Internal, "the disk is full")
	if r := <-first; r.status != http.StatusInternalServerError {
		t.Errorf("the first request: %d %s", r.status, r.text)
	}
	if r := start(0, "other"); r.status != http.StatusUnprocessableEntity {
		t.Errorf("another body: %d %s", r.status, r.text)
	}
	third := start(0, "q")
	held[1].goOn <- nil
	if r := <-second; r.status != http.StatusCreated || third.status != http.StatusCreated || r.at("/run") != third.at("/run") {
		t.Errorf("the repeats: %d %s and %d %s", r.status, r.text, third.status, third.text)
	}
	runs := servers[0].do(token, "GET", "/api/v1/runs", "")
	if items, _ := runs.doc.Get("items"); len(items.List()) != 1 {
		t.Errorf("there are %d runs", len(items.List()))
	}
}

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
	for path, body := range map[string]string{"/answers": `{"values": {"city": "Hangzhou", "days": 2}}`, "/resume": `{}`} {
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
			run := other.start(token, "sub~wait", `{}`)
			hooked.do = func() {
				if r := other.do(token, "POST", "/api/v1/runs/"+run+"/answers", `{"values": {"city": "Bergen", "days": 1}}`); r.status != http.StatusAccepted {
					t.Errorf("the other server answers %d %s", r.status, r.text)
				}
				if r := other.do(token, "GET", "/api/v1/runs/"+run+"/events", "", "Accept", eventStream); !strings.Contains(r.text, "flow.finished") {
					t.Errorf("the run has not finished: %s", r.text)
				}
			}
			if r := one.do(token, "POST", "/api/v1/runs/"+run+path, body); r.status != http.StatusConflict || r.at("/kind") != "over" {
				t.Errorf("got %d %s", r.status, r.text)
			}
		})
	}
}

// TestIdempotencyAfterCrash: the key was stored, the run may have begun or not.
func TestIdempotencyAfterCrash(t *testing.T) {
	f := newFixture(t, t.TempDir(), nil, nil)
	token := f.token("lin", store.RunsRead, store.RunsWrite)
	const body = `{"flow": "sub~wait"}` // its name is another one than its id
	begun := f.do(token, "POST", "/api/v1/runs", body).at("/run")
	sum := sha256.Sum256(value.OfList(value.OfString("sub~wait"), value.Must(server.StartOptions{})).AppendJSON(nil))
	for _, one := range []struct{ key, run, replayed string }{{"begun", begun, "true"}, {"not begun", service.NewRunID(), ""}} {
		r := &store.Request{Principal: f.key(token, "lin"), Key: one.key, Body: sum[:], Run: one.run, Claim: "died"}
		if earlier, err := f.store.BeginRequest(t.Context(), r); earlier != nil || err != nil {
			t.Fatal(earlier, err)
		}
		got := f.do(token, "POST", "/api/v1/runs", body, "Idempotency-Key", one.key)
		if got.status != http.StatusCreated || got.at("/run") != one.run || got.at("/flow") != "sub~wait" || got.header.Get("Idempotency-Replayed") != one.replayed {
			t.Errorf("%s: %d %s, want the run %s", one.key, got.status, got.text, one.run)
		}
	}
}

// slowLookUp is a journal whose first look-up of a run takes until the caller has left, or a while.
type slowLookUp struct {
	journal.Journal
	begun sync.Once
	// asked is closed when the first look-up has come.
	asked chan struct{}
}

func (j *slowLookUp) Run(ctx context.Context, id string) (*journal.RunInfo, error) {
	j.begun.Do(func() {
		close(j.asked)
		select {
		case <-ctx.Done():
		case <-time.After(500 * time.Millisecond):
		}
	})
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	return j.Journal.Run(ctx, id)
}

// TestIdempotencyWhereTheClientLeaves: the run has begun when the connection of its client is
// lost; the repeat finds it.
func TestIdempotencyWhereTheClientLeaves(t *testing.T) {
	dir := t.TempDir()
	slow := &slowLookUp{asked: make(chan struct{})}
	parts := newParts(dir, nil)
	open := parts.Journal
	parts.Journal = func(ctx context.Context, create bool) (journal.Journal, error) {
		var err error
		slow.Journal, err = open(ctx, create)
		return slow, err
	}
	s := service.New(parts)
	t.Cleanup(func() { _ = s.Close() })
	f := newFixture(t, dir, nil, func(o *server.Options) { o.Service = s })
	token := f.token("lin", store.RunsRead, store.RunsWrite)
	const body = `{"flow": "echo", "inputs": {"question": "q"}}`
	ctx, leave := context.WithCancel(t.Context())
	go func() {
		<-slow.asked
		leave()
	}()
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, f.base+"/api/v1/runs", strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	r.Header = http.Header{"Authorization": {"Bearer " + token}, "Content-Type": {"application/json"}, "Idempotency-Key": {"k"}}
	answer, err := http.DefaultClient.Do(r)
	if err == nil {
		_ = answer.Body.Close()
		t.Fatal("the client got an answer")
	}
	again := f.do(token, "POST", "/api/v1/runs", body, "Idempotency-Key", "k")
	for again.status == http.StatusConflict { // the first request is under way
		time.Sleep(20 * time.Millisecond)
		again = f.do(token, "POST", "/api/v1/runs", body, "Idempotency-Key", "k")
	}
	if again.status != http.StatusCreated || again.header.Get("Idempotency-Replayed") != "true" {
		t.Errorf("the repeat: %d %s", again.status, again.text)
	}
	runs := f.do(token, "GET", "/api/v1/runs", "")
	if items, _ := runs.doc.Get("items"); len(items.List()) != 1 {
		t.Errorf("there are %d runs", len(items.List()))
	}
}

// deafRemote are machines that cannot be told of the first run, and that let the others wait.
type deafRemote struct {
	service.Remote
	told atomic.Int32
}

func (r *deafRemote) Start(context.Context, service.RemoteRun) error {
	if r.told.Add(1) == 1 {
		return errors.New("connection refused")
	}
	return nil
}

// TestIdempotencyOnOtherMachines: the run is on record, and the other machines were not told of it.
// The repeat does that.
func TestIdempotencyOnOtherMachines(t *testing.T) {
	dir := t.TempDir()
	remote := &deafRemote{}
	parts := newParts(dir, nil)
	parts.Remote = func(context.Context, string) (service.Remote, error) { return remote, nil }
	s := service.New(parts)
	t.Cleanup(func() { _ = s.Close() })
	f := newFixture(t, dir, nil, func(o *server.Options) { o.Service, o.On = s, "far" })
	token := f.token("lin", store.RunsRead, store.RunsWrite)
	start := func() *reply {
		return f.do(token, "POST", "/api/v1/runs", `{"flow": "echo", "inputs": {"question": "q"}}`, "Idempotency-Key", "k")
	}
	if first := start(); first.status < http.StatusBadRequest {
		t.Fatalf("the first request: %d %s", first.status, first.text)
	}
	for range 2 {
		again := start()
		if again.status != http.StatusCreated || again.header.Get("Idempotency-Replayed") != "true" || again.at("/queued") != "true" {
			t.Errorf("the repeat: %d %s", again.status, again.text)
		}
	}
	if n := remote.told.Load(); n != 2 {
		t.Errorf("the other machines were told %d times", n)
	}
}

// key is how requests of a token are stored.
func (f *fixture) key(token, user string) string {
	return strings.Split(token, "_")[1] + "/" + user
}

// TestHandOver stops a server in the middle of a run: the next one goes on with it, and with
// those that were queued, without doing again what had finished.
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

// TestQueueIsFull: what cannot be queued is refused, and says when to come again.
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

// TestWaitForWaiting: who waits for the end of a run that then waits for values learns that.
func TestWaitForWaiting(t *testing.T) {
	f := newFixture(t, t.TempDir(), nil, nil)
	token := f.token("lin", store.RunsRead, store.RunsWrite)
	for range 10 { // the state was once that of the start
		if r := f.do(token, "POST", "/api/v1/runs?wait=20s", `{"flow": "sub/wait"}`); r.status != http.StatusCreated || r.at("/state") != "waiting" {
			t.Fatalf("got %d %s", r.status, r.text)
		}
	}
}

// TestFeed tells of the runs of the caller, and of no others.
func TestFeed(t *testing.T) {
	f := newFixture(t, t.TempDir(), nil, nil)
	lin, bo := f.token("lin", store.RunsRead, store.RunsWrite), f.token("bo", store.RunsWrite)
	lines, stop := f.follow(lin, "/api/v1/events")
	defer stop()
	until(t, lines, "retry: 2000")
	f.start(bo, "echo", `{"question": "q"}`)
	run := f.start(lin, "echo", `{"question": "q"}`)
	for deadline := time.After(20 * time.Second); ; {
		select {
		case line := <-lines:
			if strings.Contains(line, `"bo"`) {
				t.Fatalf("a run of another user: %s", line)
			}
			if strings.Contains(line, run) && strings.Contains(line, "finished") {
				return
			}
		case <-deadline:
			t.Fatal("no change came")
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

// TestFiles: the flow as the run kept it, whatever has become of it, and the files that its
// prompts name as they are now; no others.
func TestFiles(t *testing.T) {
	dir := t.TempDir()
	f := newFixture(t, dir, nil, nil)
	token := f.token("lin", store.RunsRead, store.RunsWrite)
	path := "/api/v1/runs/" + f.start(token, "space", `{}`) + "/files"
	for name, text := range map[string]string{"space.yaml": "steps: []\n", "ws/AGENTS.md": "Be very brief.\n", "ws/SECRET.md": "secret"} {
		if err := os.WriteFile(filepath.Join(dir, "flows", name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	list := f.do(token, "GET", path, "")
	flow, agents := list.at("/items/0/path"), list.at("/items/1/path")
	if flow != filepath.Join(dir, "flows", "space.yaml") || agents != "ws/AGENTS.md" || strings.Contains(list.text, "SECRET") {
		t.Fatalf("got %s", list.text)
	}
	if r := f.do(token, "GET", path+"?path="+flow, ""); r.at("/items/0/content") != flows["space.yaml"] || r.at("/items/0/current") != "false" {
		t.Errorf("the flow is %s", r.text)
	}
	if r := f.do(token, "GET", path+"?path="+agents, ""); r.at("/items/0/content") != "Be very brief.\n" || r.at("/items/0/current") != "true" || r.at("/items/0/changed") != "true" {
		t.Errorf("AGENTS.md is %s", r.text)
	}
	for _, other := range []string{"ws/SECRET.md", "/etc/passwd", "../serve.db", filepath.Join(dir, "serve.db")} {
		if r := f.do(token, "GET", path+"?path="+other, ""); r.status != http.StatusNotFound {
			t.Errorf("%s: %d %s", other, r.status, r.text)
		}
	}
}

// TestChangedFiles: a file that the run has not kept is told to have changed where it was written after the run read it, or where
// the text of a prompt is not at its place, be the file as old as ever.
func TestChangedFiles(t *testing.T) {
	dir := t.TempDir()
	f := newFixture(t, dir, nil, nil)
	token := f.token("lin", store.RunsRead, store.RunsWrite)
	agents := filepath.Join(dir, "flows", "ws", "AGENTS.md")
	long := time.Now().Add(-time.Hour)
	write := func(text string, at time.Time) {
		t.Helper()
		if err := errors.Join(os.WriteFile(agents, []byte(text), 0o600), os.Chtimes(agents, at, at)); err != nil {
			t.Fatal(err)
		}
	}
	for name, text := range map[string]string{"lines": "Be brief.\n", "Windows": "\ufeffBe brief.\r\nBe kind.\r\n", "spaces": "\n\n  Be brief. \n\n# Last\n\n"} {
		write(text, long)
		path := "/api/v1/runs/" + f.start(token, "space", `{}`) + "/files?path=ws/AGENTS.md"
		for _, test := range []struct {
			text    string
			at      time.Time
			changed string
		}{
			{text, long, "null"},
			{text, time.Now().Add(time.Minute), "true"},
			{strings.Replace(text, "brief", "quick", 1), long, "true"},
			{"", long, "true"},
		} {
			write(test.text, test.at)
			if r := f.do(token, "GET", path, ""); r.at("/items/0/changed") != test.changed || r.at("/items/0/current") != "true" {
				t.Errorf("%s, as %q of %v: %s", name, test.text, test.at, r.text)
			}
		}
	}
}

// TestEditedFiles: of a flow that was edited while its run waited, each step names places in the text that it ran with, and the
// files of the run have that text by the seq of the source.
func TestEditedFiles(t *testing.T) {
	f := newFixture(t, t.TempDir(), nil, nil)
	token := f.token("lin", store.RunsRead, store.RunsWrite, store.FlowsWrite)
	const flow = `name: long
steps:
  - {id: first, call: context, with: {identity: "The first words", current_message: hi}}
  - {id: place, call: slot, with: {stages: [], current_schema: {type: object, required: [city], properties: {city: {type: string}}}}}
  - {id: last, call: context, needs: [place], with: {identity: "{{ first.messages[0].content }}", current_message: hello}}
`
	edited := "# One more line.\n" + strings.Replace(flow, "hello", "good morning", 1)
	if err := os.WriteFile(filepath.Join(f.dir, "flows", "long.yaml"), []byte(flow), 0o600); err != nil {
		t.Fatal(err)
	}
	run := f.start(token, "long", `{}`)
	body := value.OfMap(value.Pairs("flow", value.OfMap(value.Pairs("text", edited)))).JSON()
	if r := f.do(token, "POST", "/api/v1/runs/"+run+"/resume", body); r.status != http.StatusAccepted {
		t.Fatalf("%d %s", r.status, r.text)
	}
	f.eventually("the edited run waits again, and takes an answer", func() bool {
		r := f.do(token, "POST", "/api/v1/runs/"+run+"/answers", `{"answers": [{"step": "place", "pointer": "/city", "value": "Lyon"}]}`)
		return r.status == http.StatusAccepted
	})
	f.waitForState(token, run, journal.RunFinished)
	prompts := f.do(token, "GET", "/api/v1/runs/"+run+"/prompts?step=last", "")
	files := "/api/v1/runs/" + run + "/files?path="
	for _, test := range []struct{ pointer, line, text string }{
		{"/prompts/0/messages/0/pieces/0/sources/0", "3", flow},
		{"/prompts/0/messages/1/pieces/0/sources/0", "6", edited},
	} {
		file, seq := prompts.at(test.pointer+"/file"), prompts.at(test.pointer+"/seq")
		if seq == "null" {
			seq = "0"
		}
		r := f.do(token, "GET", files+file+"&seq="+seq, "")
		if prompts.at(test.pointer+"/line") != test.line || (seq == "0") != (test.text == edited) || r.at("/items/0/content") != test.text || (r.at("/items/0/until") == "null") != (seq == "0") {
			t.Errorf("%s: %s\n%s", test.pointer, prompts.text, r.text)
		}
	}
}

// abandonRun leaves a run that no server holds as a process does that dies at it.
func abandonRun(t *testing.T, dir, id string) {
	t.Helper()
	j, err := journalsqlite.Open(t.Context(), dir, journalsqlite.Options{Heartbeat: -time.Nanosecond})
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

// TestStuck: a run that was taken over three times from servers that died, without a step
// that finished, is left alone, and says so; its user may still go on with it. Servers that
// hand it over do not count.
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

// TestProgress checks how far runs in lists have come: one that is over, and one that waits.
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
		if !strings.Contains(text, `"progress":{"done":0,"total":2,"tokens":0,"needs":["place/city","place/days"]}`) {
			t.Errorf("the run that waits: %s", text)
		}
	}
	if text := f.do(token, "GET", "/api/v1/runs", "").text; strings.Contains(text, "progress") {
		t.Errorf("progress was not asked for: %s", text)
	}
}
