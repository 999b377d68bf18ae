package server_test

import (
	"net/http"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/callnode/scheduler/calls/memory"
	"github.com/callnode/scheduler/llm"
	"github.com/callnode/scheduler/llm/scripted"
	"github.com/callnode/scheduler/scheduler/server"
	"github.com/callnode/scheduler/scheduler/server/store"
	"github.com/callnode/scheduler/scheduler/service"
)

// TestMakeSnapshots: a request makes the snapshots of one user at once. If the model fails it says so, and the next request tries again.
func TestMakeSnapshots(t *testing.T) {
	var isMended atomic.Bool
	dir := t.TempDir()
	parts := newParts(dir, nil)
	parts.Snapshots = func() (*memory.SnapshotGenerator, error) {
		if isMended.Load() {
			return nil, nil // sentences of the memories are taken
		}
		return &memory.SnapshotGenerator{LLM: scripted.New(scripted.Answer{Error: &llm.Error{Provider: "summer", Status: 400, Message: "the model is asleep"}}), Language: "en"}, nil
	}
	s := service.New(parts)
	f := newFixture(t, dir, nil, func(o *server.Options) { o.Service = s })
	t.Cleanup(func() { f.stop(); _ = s.Close() })
	lin, bo, reader := f.token("lin", store.MemoryRead, store.MemoryWrite), f.token("bo", store.MemoryRead, store.MemoryWrite), f.token("lin", store.MemoryRead)
	for _, token := range []string{lin, bo} {
		if r := f.do(token, "POST", "/api/v1/memory", `{"content": "I drink jasmine tea.", "session": "monday"}`); r.status != http.StatusCreated {
			t.Fatal(r.status, r.text)
		}
	}
	const path = "/api/v1/memory/snapshots"
	if r := f.do(reader, "POST", path, ""); r.status != http.StatusForbidden {
		t.Errorf("a token that may only read: %d %s", r.status, r.text)
	}
	if r := f.do(lin, "POST", path, ""); r.status != http.StatusBadGateway || !strings.Contains(r.at("/detail"), "the model is asleep") {
		t.Errorf("the model fails: %d %s", r.status, r.text)
	}
	isMended.Store(true)
	if r := f.do(lin, "POST", path, ""); r.status != http.StatusOK || r.at("/snapshots/0") == "null" {
		t.Errorf("tried again: %d %s", r.status, r.text)
	}
	if r := f.do(lin, "POST", path, ""); r.status != http.StatusOK || r.at("/snapshots") != "[]" {
		t.Errorf("nothing is new: %d %s", r.status, r.text)
	}
	for _, of := range []struct{ token, want string }{{lin, "1"}, {bo, "0"}} {
		if r := f.do(of.token, "GET", "/api/v1/memory/stats", ""); r.at("/snapshots") != of.want {
			t.Errorf("snapshots: %s, want %s", r.text, of.want)
		}
	}
}
