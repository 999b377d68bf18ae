package server_test

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/callnode/scheduler/calls"
	"github.com/callnode/scheduler/llm/value"
	"github.com/callnode/scheduler/scheduler/journal"
	"github.com/callnode/scheduler/scheduler/server"
	"github.com/callnode/scheduler/scheduler/server/store"
	"github.com/callnode/scheduler/scheduler/service"
)

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
	// reached is closed when Begin was called; go receives its error.
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
	// asked is closed at the first look-up.
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

// unreachableRemote are machines that cannot be notified of the first run, and that let the others wait.
type unreachableRemote struct {
	service.Remote
	told atomic.Int32
}

func (r *unreachableRemote) Check(context.Context) error { return nil }

func (r *unreachableRemote) Start(context.Context, service.RemoteRun) error {
	if r.told.Add(1) == 1 {
		return errors.New("connection refused")
	}
	return nil
}

// TestIdempotencyOnOtherMachines: a run is recorded although the other machines could not be notified of it at
// first. They are notified a little later, and a repeat begins no other one.
func TestIdempotencyOnOtherMachines(t *testing.T) {
	dir := t.TempDir()
	remote := &unreachableRemote{}
	parts := newParts(dir, nil)
	parts.Remote = func(context.Context, string) (service.Remote, error) { return remote, nil }
	s := service.New(parts)
	t.Cleanup(func() { _ = s.Close() })
	f := newFixture(t, dir, nil, func(o *server.Options) { o.Service, o.On = s, "far" })
	token := f.token("lin", store.RunsRead, store.RunsWrite)
	start := func() *reply {
		return f.do(token, "POST", "/api/v1/runs", `{"flow": "echo", "inputs": {"question": "q"}}`, "Idempotency-Key", "k")
	}
	first := start()
	if first.status != http.StatusCreated || first.at("/queued") != "true" {
		t.Fatalf("the first request: %d %s", first.status, first.text)
	}
	f.eventually("the machines to be told of the run", func() bool { return remote.told.Load() == 2 })
	for range 2 {
		again := start()
		if again.status != http.StatusCreated || again.header.Get("Idempotency-Replayed") != "true" || again.at("/run") != first.at("/run") {
			t.Errorf("the repeat: %d %s", again.status, again.text)
		}
	}
	if n := remote.told.Load(); n != 2 {
		t.Errorf("the other machines were told %d times", n)
	}
}
