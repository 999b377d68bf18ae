package snapshot_test

import (
	"testing"
	"time"

	"github.com/callnode/scheduler/calls"
	"github.com/callnode/scheduler/calls/callstest"
	"github.com/callnode/scheduler/calls/memory"
	"github.com/callnode/scheduler/calls/memory/memorytest"
	"github.com/callnode/scheduler/calls/memory/snapshot"
	"github.com/callnode/scheduler/llm/scripted"
	"github.com/callnode/scheduler/llm/value"
)

func clock() time.Time { return callstest.Now }

func TestConformance(t *testing.T) {
	callstest.Run(t, snapshot.Definition(), func(e *calls.Env) {
		e.Memory = &memory.SnapshotProcessor{Store: memorytest.NewStore(t, clock), Clock: clock}
	})
}

func TestSnapshot(t *testing.T) {
	p := &memory.SnapshotProcessor{Store: memorytest.NewStore(t, clock), Clock: clock}
	env := calls.NewEnv()
	env.Memory = p
	env.Vars = &calls.Vars{Scope: calls.Scope{User: "ann"}}
	run := func(with ...any) memory.Report {
		t.Helper()
		call, err := snapshot.Definition().New(value.OfMap(value.Pairs(with...)))
		if err != nil {
			t.Fatal(err)
		}
		input, err := call.Init(t.Context(), env.Vars)
		if err != nil {
			t.Fatal(err)
		}
		out, err := callstest.CollectOutput(call.Exec(t.Context(), env, input))
		if err != nil {
			t.Fatal(err)
		}
		var report memory.Report
		if err := value.Decode(out, &report); err != nil {
			t.Fatal(err)
		}
		return report
	}
	for _, user := range []string{"ann", "bob"} {
		if _, err := p.ProcessMemory(t.Context(), memory.BaseMemory{Content: "I like tea.", Context: memory.Context{UserID: user, SessionID: "s"}}); err != nil {
			t.Fatal(err)
		}
	}
	if r := run("only_due", true); len(r.Snapshots) != 0 {
		t.Errorf("nothing is due: %+v", r)
	}
	env.LLM = scripted.Texts(`{"key_points": ["Ann likes tea"], "category": "Taste", "importance": 0.7}`, `{"keywords": ["tea"], "description": "What Ann likes"}`)
	r := run()
	if len(r.Snapshots) != 1 || len(r.MetaSnapshots) != 1 || r.Postponed != 0 {
		t.Fatalf("%+v", r)
	}
	s, err := p.Store.LoadSnapshot(t.Context(), r.Snapshots[0])
	if err != nil || s.Category != "Taste" || s.Extracted() {
		t.Errorf("%+v, %v", s, err)
	}
	env.LLM = calls.NewEnv().LLM // bob's, without a model
	env.Vars.Scope.User = "bob"
	r = run()
	if len(r.Snapshots) != 1 {
		t.Fatalf("%+v", r)
	}
	s, err = p.Store.LoadSnapshot(t.Context(), r.Snapshots[0])
	if err != nil || !s.Extracted() || s.KeyPoints[0] != "I like tea." {
		t.Errorf("%+v, %v", s, err)
	}
	env.Memory = calls.NewEnv().Memory
	call, err := snapshot.Definition().New(value.OfMap(nil))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := callstest.CollectOutput(call.Exec(t.Context(), env, value.OfMap(value.Pairs("user", "x")))); calls.KindOf(err) != calls.Invalid {
		t.Errorf("without a store: %v", err)
	}
}
