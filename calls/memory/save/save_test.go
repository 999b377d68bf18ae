package save_test

import (
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/callnode/scheduler/calls"
	"github.com/callnode/scheduler/calls/callstest"
	"github.com/callnode/scheduler/calls/memory"
	"github.com/callnode/scheduler/calls/memory/memorytest"
	"github.com/callnode/scheduler/calls/memory/save"
	"github.com/callnode/scheduler/llm/value"
	"github.com/callnode/scheduler/llm/value/yaml"
)

func clock() time.Time { return callstest.Now }

func TestConformance(t *testing.T) {
	callstest.Run(t, save.Definition(), func(e *calls.Env) {
		e.Memory = &memory.SnapshotProcessor{Store: memorytest.NewStore(t, clock), Clock: clock}
	})
}

// A memory names the run that saved it, and the same words of another run are no second memory.
func TestRunOfMemory(t *testing.T) {
	store := memorytest.NewStore(t, clock)
	ids := map[string]bool{}
	for _, run := range []string{"first", "second"} {
		env := calls.NewEnv()
		env.Memory = &memory.SnapshotProcessor{Store: store, Clock: clock}
		env.Vars = &calls.Vars{Now: callstest.Now, Scope: calls.Scope{User: "ann", Session: "tea"}, Run: calls.Run{ID: run}}
		call, err := save.Definition().New(value.OfMap(value.Pairs("content", "Ann likes jasmine tea.", "context", "a note")))
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
		id, _ := out.Get("memory_id")
		text, _ := id.Str()
		ids[text] = true
	}
	var runs []string
	for m, err := range store.Memories(t.Context(), memory.Selection{Users: memory.User("ann")}) {
		if err != nil {
			t.Fatal(err)
		}
		runs = append(runs, m.Context.RunID())
	}
	if !slices.Equal(runs, []string{"first"}) || len(ids) != 1 {
		t.Errorf("%d ids, memories of the runs %q", len(ids), runs)
	}
}

// A context whose members are nearly user_id and session_id does not name them: lint and the run say so.
func TestMisspeltContext(t *testing.T) {
	params, err := yaml.ParseValue([]byte("{content: x, context: {userId: bob, session-id: s, user: bob, other: {userId: y}}}"))
	if err != nil {
		t.Fatal(err)
	}
	var pointers []string
	for _, p := range save.Definition().Lint(params, calls.LintEnv{}) {
		if p.Warning {
			pointers = append(pointers, p.Pointer)
		}
	}
	if want := []string{"/context/userId", "/context/session-id"}; !slices.Equal(pointers, want) {
		t.Errorf("got %q, want %q", pointers, want)
	}
	env := calls.NewEnv()
	env.Memory = &memory.SnapshotProcessor{Store: memorytest.NewStore(t, clock), Clock: clock}
	env.Vars = &calls.Vars{Now: callstest.Now, Scope: calls.Scope{User: "ann"}}
	var warnings warningList
	env.Warner = &warnings
	call, err := save.Definition().New(value.OfMap(value.Pairs("content", "x", "context", `{"userID": "bob"}`)))
	if err != nil {
		t.Fatal(err)
	}
	input, err := call.Init(t.Context(), env.Vars)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := callstest.CollectOutput(call.Exec(t.Context(), env, input)); err != nil {
		t.Fatal(err)
	}
	if len(warnings) != 1 || !strings.Contains(warnings[0].Text, `"userID"`) || !strings.Contains(warnings[0].Text, "user_id") {
		t.Errorf("the run warns of %+v", warnings)
	}
}

// warningList keeps warnings.
type warningList []calls.Warning

func (l *warningList) Warn(w calls.Warning) { *l = append(*l, w) }

func TestSave(t *testing.T) {
	env := calls.NewEnv()
	env.Memory = &memory.SnapshotProcessor{Store: memorytest.NewStore(t, clock), Clock: clock}
	env.Vars = &calls.Vars{Now: callstest.Now, Scope: calls.Scope{User: "ann", Session: "main"}}
	run := func(with string) (value.Value, error) {
		params, err := yaml.ParseValue([]byte(with))
		if err != nil {
			t.Fatal(err)
		}
		call, err := save.Definition().New(params)
		if err != nil {
			t.Fatal(err)
		}
		input, err := call.Init(t.Context(), env.Vars)
		if err != nil {
			return value.Value{}, err
		}
		return callstest.CollectOutput(call.Exec(t.Context(), env, input))
	}
	const id = "memory_01890a5d-ac96-774b-bcce-b302099a8057"
	for with, want := range map[string]string{
		"{content: x, id: " + id + "}":                `"timestamp":"2026-03-05T09:07:00.000Z","context":{"user_id":"ann","session_id":"main"}}`,
		"{content: x, id: " + id + ", role: user}":    `"timestamp":"2026-03-05T09:07:00.000Z","context":{"user_id":"ann","session_id":"main","other_context":{"role":"user"}}}`,
		"{content: x, id: " + id + ", context: mood}": `"timestamp":"2026-03-05T09:07:00.000Z","context":{"user_id":"ann","session_id":"main","other_context":"mood"}}`,
		"{content: x, id: " + id + ", context: {user_id: ann, session_id: other, other_context: {place: home}}}": `"timestamp":"2026-03-05T09:07:00.000Z","context":{"user_id":"ann","session_id":"other","other_context":{"place":"home"}}}`,
		"{content: x, id: " + id + ", context: '{\"user_id\": \"ann\", \"session_id\": \"other\"}'}":             `"timestamp":"2026-03-05T09:07:00.000Z","context":{"user_id":"ann","session_id":"other"}}`,
		"{content: x, id: " + id + ", context: mood, role: user, timestamp: '2025-01-02'}":                       `"timestamp":"2025-01-02T00:00:00.000Z","context":{"user_id":"ann","session_id":"main","other_context":{"text":"mood","role":"user"}}}`,
	} {
		out, err := run(with)
		if err != nil || out.JSON() != `{"memory_id":"`+id+`"}` {
			t.Errorf("%s: %s, %v", with, out, err)
			continue
		}
		store, err := memory.FromEnv(t.Context(), env)
		if err != nil {
			t.Fatal(err)
		}
		m, err := store.Store.LoadMemory(t.Context(), id)
		if got := value.Must(*m).JSON(); err != nil || got != `{"id":"`+id+`","content":"x",`+want {
			t.Errorf("%s: %s, %v", with, got, err)
		}
	}
	env.Vars.Run.ID = "run"
	ids := map[string]int{}
	for _, path := range []string{"step", "step", "step[1]"} { // the first one ran twice
		env.Path = path
		for _, with := range []string{"{content: y, role: user}", "{content: y}"} {
			out, err := run(with)
			if err != nil {
				t.Fatal(err)
			}
			ids[out.JSON()]++
			id, _ := out.Get("memory_id")
			text, _ := id.Str()
			if u, err := memory.UUIDOf(memory.MemoryID, text); err != nil || u.Version() != 7 {
				t.Errorf("the id %s: %v", text, err)
			}
		}
		env.Vars.Now = env.Vars.Now.Add(time.Second)
	}
	if counts := slices.Sorted(maps.Values(ids)); !slices.Equal(counts, []int{1, 2, 3}) {
		t.Errorf("got %v", ids)
	}
	env.Path = ""
	for _, with := range []string{"{content: x, context: {user_id: bob}}", "{content: x, context: {user_id: 7}}", "{content: ' '}", "{content: x, timestamp: soon}", "{content: x, id: y}"} {
		if _, err := run(with); calls.KindOf(err) != calls.Invalid {
			t.Errorf("%s: %v", with, err)
		}
	}
	env.Vars.Scope.User = "" // in a run, a run without a user has no memories
	if _, err := run("{content: x}"); calls.KindOf(err) != calls.Invalid {
		t.Errorf("without a user: %v", err)
	}
	env.Vars.Scope.User = "a\ufffd"
	if _, err := run("{content: x}"); calls.KindOf(err) != calls.Invalid {
		t.Errorf("a user that was not UTF-8: %v", err)
	}
	env.Vars.Scope.User = "ann"
	env.Memory = calls.NewEnv().Memory
	if _, err := run("{content: x}"); calls.KindOf(err) != calls.Invalid {
		t.Errorf("without a store: %v", err)
	}
}
