package flowtest_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/callnode/scheduler/calls"
	"github.com/callnode/scheduler/llm"
	"github.com/callnode/scheduler/llm/replay"
	"github.com/callnode/scheduler/llm/scripted"
	"github.com/callnode/scheduler/llm/value/secret"
	"github.com/callnode/scheduler/scheduler"
	"github.com/callnode/scheduler/scheduler/flow"
	"github.com/callnode/scheduler/scheduler/flowtest/result"
)

// TestRecordsOutside: with --record a case asks servers and calls outside, once for all repeats and cases that ask
// the same, and later runs play the answers. A request that differs is an error that shows the difference; the
// cassette has no secret.
func TestRecordsOutside(t *testing.T) {
	var requests, uses, chats atomic.Int64
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprintf(w, `{"n": %d, "auth": %q}`, requests.Add(1), r.Header.Get("Authorization"))
	}))
	defer server.Close()
	type given struct {
		Text string `json:"text"`
	}
	outside := calls.Func("desk.use", calls.Text{En: "Works outside.", Zh: "在外部工作。"}, func(_ context.Context, env *calls.Env, p given) (given, error) {
		return given{fmt.Sprintf("%s %d in %s", p.Text, uses.Add(1), env.Vars.Run.ID)}, nil
	})
	outside.Info.IsOutside = true
	open := func(string) (llm.Provider, error) {
		chats.Add(1)
		return scripted.Echo{}, nil
	}
	dir := unpack(t, `
-- a.yaml --
name: a
inputs: {type: object, properties: {question: {type: string}, path: {type: string, default: x}}}
steps:
  - {id: get, call: http, with: {url: "`+server.URL+`/{{ inputs.path }}", headers: {Authorization: "Bearer {{ secrets.TOKEN }}"}}}
  - {id: use, call: desk.use, with: {text: "no. {{ get.body.n }}"}}
  - {id: say, call: chat, with: {user: "{{ use.text }} {{ get.body.auth | length }} {{ secrets.TOKEN in get.body.auth }}"}}
outputs: {reply: "{{ say.text }}"}
-- a.test.yaml --
defaults: {until: end}
cases:
  - {name: one, repeat: 2, expect: [{output: reply, matches: "^no. 1 1 in test-1-[12] 26 True$"}]}
  - {name: same, expect: [{output: reply, equals: "no. 1 1 in test-2-1 26 True"}]}
  - {name: mocked, mocks: {get: {status: 200, body: {n: 7, auth: ""}}}, expect: [{output: reply, contains: "no. 7 "}]}
`)
	w := newWorld(t, open, outside)
	w.options.Parallel = 1 // the first case is the first to ask
	hidden := secret.NewSet(nil)
	hidden.Add("hush-hush-4711-4711")
	w.options.Hidden, w.options.Secrets = hidden, func() []replay.Secret { return []replay.Secret{{Name: "TOKEN", Text: "hush-hush-4711-4711"}} }
	w.options.Executor = func(*flow.Flow) (*scheduler.StepExecutor, error) {
		env := calls.NewEnv()
		env.HTTP = http.DefaultClient
		return &scheduler.StepExecutor{Env: env, Loader: w.loader, Secrets: func(string) (string, bool) { return "hush-hush-4711-4711", true }}, nil
	}
	path := filepath.Join(dir, "a.test.yaml")
	run := func(mode result.Mode, want result.Outcome) string {
		t.Helper()
		w.options.Mode = mode
		r := w.run(t, w.load(t, dir, path))
		for id, outcome := range outcomes(r) {
			if outcome != want {
				t.Fatalf("%s: %s is %s\n%s", mode, id, outcome, lines(t, r))
			}
		}
		return lines(t, r)
	}
	run(result.Replay, result.Error)
	if requests.Load() != 0 || uses.Load() != 0 {
		t.Fatal("a test without --record works outside")
	}
	run(result.Record, result.Pass)
	asked := requests.Load() + uses.Load()
	if asked != 3 { // the mocked answer is another parameter
		t.Errorf("asked %d times outside", asked)
	}
	cassette := filepath.Join(dir, "a.test.cassette.yaml")
	text, err := os.ReadFile(cassette)
	if err != nil || strings.Contains(string(text), "hush") || !strings.Contains(string(text), "[secret:TOKEN:19]") {
		t.Errorf("the cassette (%v):\n%s", err, text)
	}
	run(result.Replay, result.Pass)
	run(result.Record, result.Pass)
	if now := requests.Load() + uses.Load(); now != asked {
		t.Errorf("what is recorded was asked for again: %d times", now-asked)
	}

	edited, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(strings.ReplaceAll(string(edited), "name: one,", "name: one, inputs: {path: other},")), 0o600); err != nil {
		t.Fatal(err)
	}
	w.options.Mode = result.Replay
	got := lines(t, w.run(t, w.load(t, dir, path)))
	for _, want := range []string{"no recording of this request to http GET", "the nearest is recording 1", "+ url: " + server.URL + "/other", "--record to record it"} {
		if !strings.Contains(got, want) {
			t.Errorf("%q is not in:\n%s", want, got)
		}
	}
}

// TestRecordsFallback: a provider that failed, behind which the next one has answered, does so in a replay too; --record asks it again.
func TestRecordsFallback(t *testing.T) {
	isDead := true
	asked := map[string]int{}
	open := func(name string) (llm.Provider, error) {
		asked[name]++
		if name == "main" && isDead {
			return scripted.New(slices.Repeat([]scripted.Answer{{Error: &llm.Error{Status: http.StatusUnauthorized, Message: "wrong key"}}}, 4)...), nil
		}
		return scripted.Texts("of "+name, "of "+name), nil
	}
	dir := unpack(t, `
-- a.yaml --
name: a
llm: [main, judge]
steps: [{id: say, call: chat, with: {user: hi}}]
outputs: {reply: "{{ say.text }}", by: "{{ say.provider }}"}
-- a.test.yaml --
cases: [{name: one, until: end, expect: [{output: reply, starts_with: "of "}]}]
`)
	path := filepath.Join(dir, "a.test.yaml")
	for i, tt := range []struct {
		mode   result.Mode
		isDead bool
		asked  string
		reply  string
	}{
		{result.Record, true, "map[judge:1 main:1]", "of judge"},
		{result.Replay, true, "map[judge:1 main:1]", "of judge"},
		{result.Record, false, "map[judge:1 main:2]", "of main"},
		{result.Replay, false, "map[judge:1 main:2]", "of main"},
	} {
		isDead = tt.isDead
		w := newWorld(t, open)
		w.options.Mode = tt.mode
		got := lines(t, w.run(t, w.load(t, dir, path)))
		if fmt.Sprint(asked) != tt.asked || !strings.Contains(got, tt.reply) || !strings.Contains(got, `"passed":1`) {
			t.Errorf("run %d, %s: asked %v\n%s", i, tt.mode, asked, got)
		}
	}
}
