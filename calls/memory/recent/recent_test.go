package recent_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/callnode/scheduler/calls"
	"github.com/callnode/scheduler/calls/callstest"
	"github.com/callnode/scheduler/calls/memory"
	"github.com/callnode/scheduler/calls/memory/memorytest"
	"github.com/callnode/scheduler/calls/memory/recent"
	"github.com/callnode/scheduler/llm/value"
)

func clock() time.Time { return callstest.Now }

func TestConformance(t *testing.T) {
	callstest.Run(t, recent.Definition(), func(e *calls.Env) {
		e.Memory = &memory.SnapshotProcessor{Store: memorytest.NewStore(t, clock), Clock: clock}
	})
}

func broken(context.Context) (*memory.SnapshotProcessor, error) {
	return nil, errors.New("the disk is gone")
}

// checkOrigins checks that the origin of a turn, and of its words in the text, is its memory.
func checkOrigins(t *testing.T, out value.Value, i int, id value.Value) {
	t.Helper()
	origins := recent.Definition().Origins
	record := calls.Record{Output: out}
	content, _ := out.At(fmt.Sprintf("/turns/%d/content", i))
	text, _ := out.Get("text")
	words, _ := content.Str()
	whole, _ := text.Str()
	name, _ := id.Str()
	inTurn := origins(t.Context(), record, fmt.Sprintf("/output/turns/%d/content", i))
	inText := origins(t.Context(), record, "/output/text")[i]
	if len(inTurn) != 1 || inTurn[0].Kind != calls.OriginMemory || inTurn[0].Name != name || inTurn[0].End != len(words) {
		t.Errorf("turn %d of %s comes from %+v", i, out, inTurn)
	}
	if inText.Name != name || whole[inText.Start:inText.End] != words {
		t.Errorf("turn %d in the text of %s comes from %+v", i, out, inText)
	}
}

func TestRecent(t *testing.T) {
	p := &memory.SnapshotProcessor{Store: memorytest.NewStore(t, clock), Clock: clock}
	for i, content := range []string{"one", "two", "three", "four"} {
		m := memory.BaseMemory{Content: content, Timestamp: callstest.Now.Add(time.Duration(i) * time.Second), Context: memory.Context{UserID: "ann", SessionID: "main"}}
		if content == "four" {
			m.Context.SessionID = "" // a session of its own
		}
		if i != 1 { // the second one has no speaker
			m.SetRole("user")
		}
		if _, err := p.ProcessMemory(t.Context(), m); err != nil {
			t.Fatal(err)
		}
	}
	env := calls.NewEnv()
	env.Memory = p
	run := func(scope calls.Scope, with ...any) (value.Value, error) {
		env.Vars = &calls.Vars{Scope: scope}
		call, err := recent.Definition().New(value.OfMap(value.Pairs(with...)))
		if err != nil {
			t.Fatal(err)
		}
		input, err := call.Init(t.Context(), env.Vars)
		if err != nil {
			return value.Value{}, err
		}
		return callstest.CollectOutput(call.Exec(t.Context(), env, input))
	}
	const four = `{"role":"user","content":"four","timestamp":"2026-03-05T09:07:03.000Z"}`
	const one, three = `{"role":"user","content":"one","timestamp":"2026-03-05T09:07:00.000Z"}`, `{"role":"user","content":"three","timestamp":"2026-03-05T09:07:02.000Z"}`
	for _, test := range []struct {
		scope calls.Scope
		with  []any
		want  string
	}{
		{calls.Scope{User: "ann", Session: "main"}, nil, `{"turns":[` + one + `,` + three + `],"text":"user: one\nuser: three"}`},
		{calls.Scope{User: "ann", Session: "main"}, []any{"items", 1}, `{"turns":[` + three + `],"text":"user: three"}`},
		{calls.Scope{User: "ann"}, nil, `{"turns":[` + four + `],"text":"user: four"}`},
		{calls.Scope{User: "ann", AllSessions: true}, nil, `{"turns":[` + one + `,` + three + `,` + four + `],"text":"user: one\nuser: three\nuser: four"}`},
		{calls.Scope{User: "ann", Session: "main", AllSessions: true}, []any{"items", 1}, `{"turns":[` + four + `],"text":"user: four"}`},
		{calls.Scope{User: "ann", Session: "main"}, []any{"tokens", 2}, `{"turns":[` + three + `],"text":"user: three"}`},
		{calls.Scope{User: "bob", Session: "main"}, nil, `{"turns":[],"text":""}`},
	} {
		got, err := run(test.scope, test.with...)
		said, _ := got.Get("turns")
		ids, _ := got.Get("memory_ids")
		shown := got.Map().Clone()
		shown.Delete("memory_ids")
		if err != nil || value.OfMap(shown).JSON() != test.want || len(ids.List()) != len(said.List()) {
			t.Errorf("%v %v:\ngot  %s, %v\nwant %s", test.scope, test.with, got, err, test.want)
		}
		for i, id := range ids.List() {
			checkOrigins(t, got, i, id)
		}
	}
	if _, err := run(calls.Scope{Session: "main"}); calls.KindOf(err) != calls.Invalid {
		t.Errorf("without a user: %v", err)
	}
	env.Memory = memory.NewLazy(broken)
	if _, err := run(calls.Scope{User: "ann"}); err == nil {
		t.Error("a broken store gives turns")
	}
}
