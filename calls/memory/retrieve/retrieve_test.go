package retrieve_test

import (
	"testing"
	"time"

	"github.com/callnode/scheduler/calls"
	"github.com/callnode/scheduler/calls/callstest"
	"github.com/callnode/scheduler/calls/memory"
	"github.com/callnode/scheduler/calls/memory/memorytest"
	"github.com/callnode/scheduler/calls/memory/retrieve"
	"github.com/callnode/scheduler/llm/value"
	"github.com/callnode/scheduler/llm/value/yaml"
)

func clock() time.Time { return callstest.Now }

func env(t *testing.T) *calls.Env {
	t.Helper()
	env := calls.NewEnv()
	env.Memory = &memory.SnapshotProcessor{Store: memorytest.NewStore(t, clock), Clock: clock}
	env.Vars = &calls.Vars{Now: callstest.Now, Scope: calls.Scope{User: "ann", Session: "main"}}
	return env
}

func TestConformance(t *testing.T) {
	callstest.Run(t, retrieve.Definition(), func(e *calls.Env) { e.Memory = env(t).Memory })
}

func run(t *testing.T, env *calls.Env, with string) (value.Value, error) {
	t.Helper()
	params, err := yaml.ParseValue([]byte(with))
	if err != nil {
		t.Fatal(err)
	}
	def := retrieve.Definition()
	if problems := def.Info.Params.Check(params); problems != nil {
		t.Fatal(problems)
	}
	call, err := def.New(params)
	if err != nil {
		t.Fatal(err)
	}
	input, err := call.Init(t.Context(), env.Vars)
	if err != nil {
		return value.Value{}, err
	}
	output, err := callstest.CollectOutput(call.Exec(t.Context(), env, input))
	if problems := def.Info.Output.Check(output); err == nil && problems != nil {
		t.Error(problems)
	}
	return output, err
}

func TestRetrieve(t *testing.T) {
	env := env(t)
	store, err := memory.FromEnv(t.Context(), env)
	if err != nil {
		t.Fatal(err)
	}
	say := func(user, session, content string, after time.Duration) string {
		id, err := store.ProcessMemory(t.Context(), memory.BaseMemory{
			ID: "", Content: content, Timestamp: callstest.Now.Add(after), Context: memory.Context{UserID: user, SessionID: session, Other: value.Must(map[string]any{"place": session})},
		})
		if err != nil {
			t.Fatal(err)
		}
		return id
	}
	tea := say("ann", "main", "I like jasmine tea best.", -time.Hour)
	say("bob", "main", "I like black tea best.", -time.Hour)
	say("ann", "other", "Tea is for later.", time.Hour)
	for with, want := range map[string]string{
		"{current_query: 'Which jasmine tea do I like best?'}": `{"relevant_memories":[{"memory_id":"` + tea + `","relevance_score":"S","reason":"matches “jasmine”, “like”, “best”, “tea”"}]}`,
		"{current_query: jasmine tea, include: [content, timestamp, snapshot_ids, context]}": `{"relevant_memories":[{"memory_id":"` + tea + `","relevance_score":"S","reason":"matches “jasmine”, “tea”",` +
			`"content":"I like jasmine tea best.","timestamp":"2026-03-05T08:07:00.000Z","snapshot_ids":[],"context":{"user_id":"ann","session_id":"main","other_context":{"place":"main"}}}]}`,
		"{current_query: quantum chromodynamics}": `{"relevant_memories":[]}`,
		"{current_query: 'And which?', history: [{is_user: true, content: I want jasmine}, {role: assistant, content: later}], limit: 1}": `{"relevant_memories":[{"memory_id":"` + tea + `","relevance_score":"S","reason":"matches “jasmine”"}]}`,
	} {
		got, err := run(t, env, with)
		if err != nil {
			t.Errorf("%s: %v", with, err)
			continue
		}
		for _, m := range mustGet(got, "relevant_memories").List() {
			if s, _ := mustGet(m, "relevance_score").Float(); s <= 0.5 || s > 1 {
				t.Errorf("%s: score %v", with, s)
			}
			m.Map().Set("relevance_score", value.OfString("S"))
		}
		wanted, err := value.ParseJSON([]byte(want))
		if err != nil {
			t.Fatal(err)
		}
		if !value.Equal(got, wanted) {
			t.Errorf("%s\ngot  %s\nwant %s", with, got, wanted)
		}
	}
	for with, want := range map[string]int{
		"{current_query: tea, min_relevance: 0}": 2, "{current_query: tea, min_relevance: 0, all_users: true}": 3, "{current_query: tea, min_relevance: 0, as_of: true}": 1,
		"{current_query: tea, min_relevance: 0, only_session: true}": 1, "{current_query: tea, min_relevance: 0, limit: 1}": 1, "{current_query: tea, min_relevance: 1}": 0,
		"{current_query: tea, min_relevance: 0, since: '2026-03-05T09:07:00Z'}": 1, "{current_query: tea, min_relevance: 0, before: '2026-03-05T09:07:00Z'}": 1,
		"{current_query: tea, min_relevance: 0, other_context: {place: main}, timestamp: '2026-03-05T09:07:00Z'}": 2,
	} {
		got, err := run(t, env, with)
		if n := len(mustGet(got, "relevant_memories").List()); err != nil || n != want {
			t.Errorf("%s: %d memories, want %d (%v)", with, n, want, err)
		}
	}
	for _, with := range []string{"{current_query: x, timestamp: soon}", "{current_query: x, since: soon}", "{current_query: x, before: soon}"} {
		if _, err := run(t, env, with); calls.KindOf(err) != calls.Invalid {
			t.Errorf("%s: %v", with, err)
		}
	}
	env.Memory = calls.NewEnv().Memory
	if _, err := run(t, env, "{current_query: x}"); calls.KindOf(err) != calls.Invalid || calls.HintOf(err) == "" {
		t.Errorf("without a store: %v", err)
	}
}

func mustGet(v value.Value, key string) value.Value {
	member, _ := v.Get(key)
	return member
}

// The content of a result is a memory, which has an id.
func TestOrigins(t *testing.T) {
	output, err := value.ParseJSON([]byte(`{"relevant_memories": [{"memory_id": "m-1", "content": "tea"}, {"memory_id": "m-2"}]}`))
	if err != nil {
		t.Fatal(err)
	}
	origins := retrieve.Definition().Origins
	got := origins(t.Context(), calls.Record{Output: output}, "/output/relevant_memories/0/content")
	if len(got) != 1 || got[0].Kind != calls.OriginMemory || got[0].Name != "m-1" {
		t.Errorf("got %+v", got)
	}
	for _, pointer := range []string{"/output/relevant_memories/1/memory_id", "/output/nothing/content", "/input/query"} {
		if got := origins(t.Context(), calls.Record{Output: output}, pointer); got != nil {
			t.Errorf("%s: got %+v", pointer, got)
		}
	}
}
