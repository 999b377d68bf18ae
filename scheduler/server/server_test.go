package server_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"iter"
	"log/slog"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/callnode/scheduler/calls"
	"github.com/callnode/scheduler/calls/builtin"
	"github.com/callnode/scheduler/calls/memory"
	"github.com/callnode/scheduler/calls/memory/sqlmemory"
	"github.com/callnode/scheduler/llm"
	"github.com/callnode/scheduler/llm/scripted"
	"github.com/callnode/scheduler/llm/tokens"
	"github.com/callnode/scheduler/llm/value"
	"github.com/callnode/scheduler/scheduler"
	"github.com/callnode/scheduler/scheduler/dispatch"
	"github.com/callnode/scheduler/scheduler/flow"
	"github.com/callnode/scheduler/scheduler/journal"
	journalmemory "github.com/callnode/scheduler/scheduler/journal/memory"
	"github.com/callnode/scheduler/scheduler/journal/sqljournal"
	"github.com/callnode/scheduler/scheduler/server"
	"github.com/callnode/scheduler/scheduler/server/store"
	"github.com/callnode/scheduler/scheduler/service"
)

// flows are the flows of the tests' servers.
var flows = map[string]string{
	"echo.yaml": `name: echo
description: Say it again.
inputs: {type: object, required: [question], properties: {question: {type: string, minLength: 1}}}
steps: [{id: answer, call: chat, with: {user: "{{ inputs.question }}"}, to_user: true}]
outputs: {reply: "{{ answer.text }}"}
`,
	"sub/wait.yaml": `name: wait
inputs: {type: object, properties: {question: {type: string, default: Rain}}}
steps:
  - id: place
    call: slot
    with: {current_schema: {type: object, required: [city, days], properties: {city: {type: string, minLength: 1, description: The town}, days: {type: integer}}}, stages: []}
  - {id: say, call: chat, with: {user: "{{ inputs.question }} in {{ place.slot_data.city }} for {{ place.slot_data.days }}"}, to_user: true}
`,
	"broken.yaml":  "steps:\n  - {id: a, call: chta}\n",
	"mine.yaml":    "name: mine\nmemory: {user: bo, session: main}\nsteps: [{id: a, call: template, with: {template: x}}]\n",
	"model.yaml":   "name: model\nllm: slow\nsteps: [{id: a, call: chat, with: {user: hello}, to_user: true}]\noutputs: {reply: \"{{ a.text }}\"}\n",
	"edited.yaml":  "steps: [{id: a, call: template, with: {template: x}}]\n",
	"space.yaml":   "steps:\n  - {id: prompt, call: context, with: {workspace: ws, current_message: hi}}\n  - {id: answer, call: chat, with: {messages: \"{{ prompt.messages }}\"}}\n",
	"ws/AGENTS.md": "Be brief.\n",
	"data.yaml":    "key: value\n",
	"echo.test.yaml": `defaults: {now: 2026-11-22T09:00:00Z, inputs: {question: lamp}}
cases:
  - {name: the question is in, until: answer, tags: [fast], expect: [{prompt: answer, contains: lamp}]}
  - name: the reply is wrong
    llm: [dark]
    expect:
      - {run: finished}
      - {output: reply, equals: light}
  - {name: nothing is recorded, expect: [{output: reply, equals: light}]}
  - {name: later, skip: not yet, expect: [{run: finished}]}
`,
	"broken.test.yaml": "cases: [{name: a, expect: [{run: finished}]}]\n",
	"timed.yaml": `name: timed
inputs: {type: object, required: [question], properties: {question: {type: string, minLength: 1}, days: {type: integer}}}
triggers:
  schedules:
    - {id: daily, cron: "0 7 * * *", timezone: Europe/Berlin, inputs: {question: "{{ schedule.time }}"}}
    - {id: mine, cron: "30 * * * *", inputs: {question: lin's secret}, user: lin, overlap: parallel}
  webhooks:
    - {id: open, verify: none, inputs: {question: "{{ webhook.body.json.text }}", days: "{{ webhook.query.days | default(1) | int }}"}}
    - {id: push, verify: standard, secret: HOOK_KEY, inputs: {question: "{{ webhook.body.text }} {{ webhook.headers['x-event'] }}"}, user: lin}
    - {id: github, verify: github, secret: GITHUB_KEY, inputs: {question: "{{ webhook.body.json.action }}"}}
    - {id: lab, verify: header, header: X-Gitlab-Token, secret: GITHUB_KEY, inputs: {question: "all: {{ webhook.headers }}"}}
steps: [{id: answer, call: chat, with: {user: "{{ inputs.question }}"}, to_user: true}]
outputs: {reply: "{{ answer.text }}"}
`,
}

// fixture is a server with its client.
type fixture struct {
	t      testing.TB
	dir    string
	base   string
	store  *store.Store
	stop   func()
	server *server.Server
}

// gate is a model that answers once it is open.
type gate struct {
	scripted.Echo
	open chan struct{}
}

func (g *gate) Chat(ctx context.Context, r *llm.Request) iter.Seq2[llm.Delta, error] {
	return func(yield func(llm.Delta, error) bool) {
		select {
		case <-g.open:
		case <-ctx.Done():
			yield(llm.Delta{}, ctx.Err())
			return
		}
		for d, err := range g.Echo.Chat(ctx, r) {
			if !yield(d, err) {
				return
			}
		}
	}
}

// newParts are the parts of a service whose stores are in dir.
func newParts(dir string, slow llm.Provider) service.Parts {
	registry := sync.OnceValues(builtin.Registry)
	loader := func(service.Surroundings) (*flow.Loader, []service.Note, error) {
		r, err := registry()
		return &flow.Loader{Registry: r}, nil, err
	}
	return service.Parts{
		Tests:  testParts(dir, loader),
		Dir:    dir,
		Loader: loader,

		CancelWords: []string{"cancel", "取消"},
		Viewer: func() (*flow.Loader, error) {
			l, _, err := loader(service.Surroundings{})
			return l, err
		},
		Executor: func(_ *flow.Flow, o service.ExecutorOptions) (*scheduler.StepExecutor, []service.Note, error) {
			if o.Provider == "nobody" {
				return nil, nil, calls.Errorf(calls.Invalid, "unknown provider %q", o.Provider)
			}
			l, _, err := loader(o.Surroundings)
			env := calls.NewEnv()
			env.LLM = scripted.Echo{}
			return &scheduler.StepExecutor{Env: env, Loader: l, CancelGrace: 2 * time.Second, Models: func(names []string) ([]llm.Candidate, error) {
				if len(names) == 0 {
					return []llm.Candidate{{Provider: env.LLM}}, nil
				}
				return []llm.Candidate{{Name: names[0], Provider: slow}}, nil
			}}, nil, err
		},
		Provider: func(name string) (llm.Provider, error) {
			if name == "nobody" {
				return nil, calls.Errorf(calls.Invalid, "unknown provider %q", name)
			}
			return scripted.Echo{}, nil
		},
		Counter: func(*flow.Flow, string, string) llm.Counter { return tokens.For("") },
		Journal: func(ctx context.Context, _ bool) (journal.Journal, error) {
			return sqljournal.OpenFile(ctx, dir, sqljournal.FileOptions{})
		},
		EphemeralJournal: func() journal.Journal { return journalmemory.New(time.Now) },
		Languages:        func() *flow.Languages { return &flow.Languages{Default: "en"} },
		Memory: func(ctx context.Context, _ service.MemoryOptions) (*memory.SnapshotProcessor, error) {
			s, err := sqlmemory.OpenFile(ctx, dir, sqlmemory.FileOptions{})
			return &memory.SnapshotProcessor{Store: s}, err
		},
		Snapshots: func() (*memory.SnapshotGenerator, error) { return nil, nil },
		CallEnv: func(bool) (*calls.Env, error) {
			env := calls.NewEnv()
			var err error
			env.Registry, err = registry()
			env.LLM = scripted.Echo{}
			return env, err
		},
		Script: func(answers value.Value) (llm.Provider, error) {
			if len(answers.List()) == 0 {
				return nil, nil
			}
			parsed, err := scripted.Parse(answers)
			if err != nil {
				return nil, err
			}
			return scripted.New(parsed...), nil
		},
	}
}

// secretOf has the secrets of webhooks.
func secretOf(name string) (string, bool) {
	text, ok := map[string]string{"HOOK_KEY": "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw", "GITHUB_KEY": "It's a Secret to Everybody"}[name]
	return text, ok
}

// newFixture starts a server; change may change its options. Files already in dir are kept.
func newFixture(t testing.TB, dir string, slow llm.Provider, change func(*server.Options)) *fixture {
	t.Helper()
	for name, text := range flows {
		file := filepath.Join(dir, "flows", name)
		if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	st, err := store.Open(t.Context(), dir, nil)
	if err != nil {
		t.Fatal(err)
	}
	s := service.New(newParts(dir, slow))
	none := func() ([]value.Value, error) { return []value.Value{value.OfMap(value.Pairs("name", "one"))}, nil }
	o := server.Options{
		Service: s, Store: st, Log: slog.New(slog.NewTextHandler(testLog{t}, nil)), Flows: []string{filepath.Join(dir, "flows")},
		Limits: dispatch.Limits{Runs: 8, PerUser: 8, Queued: 8}, Recover: "own", GiveUpAfter: 24 * time.Hour, MaxCheck: time.Minute, MaxBody: 1 << 20, Language: "en", Version: "test",
		Functions: none, Plugins: none, Secret: secretOf, ParseTime: func(string) (time.Time, error) { return time.Time{}, nil },
	}
	if change != nil {
		change(&o)
	}
	srv, err := server.New(o)
	if err != nil {
		t.Fatal(err)
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- srv.Serve(ctx, listener) }()
	f := &fixture{t: t, dir: dir, base: "http://" + listener.Addr().String(), store: st, server: srv}
	stopped := false
	f.stop = func() {
		if stopped {
			return
		}
		stopped = true
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
		for _, c := range []io.Closer{s, st} {
			if err := c.Close(); err != nil {
				t.Error(err)
			}
		}
	}
	t.Cleanup(f.stop)
	return f
}

// testLog shows the log of a server with its test.
type testLog struct{ t testing.TB }

func (l testLog) Write(b []byte) (int, error) {
	fmt.Fprintf(os.Stderr, "%s: %s", l.t.Name(), b)
	return len(b), nil
}

// token creates a token.
func (f *fixture) token(user string, scopes ...store.Scope) string {
	f.t.Helper()
	_, text, err := f.store.CreateToken(f.t.Context(), "test", user, scopes, 0)
	if err != nil {
		f.t.Fatal(err)
	}
	return text
}

// reply is an answer of the server.
type reply struct {
	status int
	header http.Header
	text   string
	doc    value.Value
}

// at returns the text of a place in the document.
func (r *reply) at(pointer string) string {
	v, _ := r.doc.At(pointer)
	if text, ok := v.Str(); ok {
		return text
	}
	return v.JSON()
}

// do makes a request; headers are name and value in turn.
func (f *fixture) do(token, method, path, body string, headers ...string) *reply {
	f.t.Helper()
	ctx, cancel := context.WithTimeout(f.t.Context(), 30*time.Second)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, method, f.base+path, strings.NewReader(body))
	if err != nil {
		f.t.Fatal(err)
	}
	if body != "" {
		r.Header.Set("Content-Type", "application/json")
	}
	if token != "" {
		r.Header.Set("Authorization", "Bearer "+token)
	}
	for i := 0; i+1 < len(headers); i += 2 {
		if !slices.Contains(headers[:i], headers[i]) { // the first one replaces the default, others are added
			r.Header.Del(headers[i])
		}
		r.Header.Add(headers[i], headers[i+1])
		if headers[i] == "Host" {
			r.Host = headers[i+1]
		}
	}
	client := &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	answer, err := client.Do(r)
	if err != nil {
		f.t.Fatalf("%s %s: %v", method, path, err)
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	if err != nil {
		f.t.Fatalf("%s %s: %v", method, path, err)
	}
	checkDocumented(f.t, method, r.URL.Path, answer.StatusCode)
	out := &reply{status: answer.StatusCode, header: answer.Header, text: string(text)}
	if json.Valid(bytes.TrimSpace(text)) {
		out.doc, err = value.ParseJSON(text)
		if err != nil {
			f.t.Fatal(err)
		}
	}
	return out
}

// start begins a run and returns its id.
func (f *fixture) start(token, flow, inputs string) string {
	f.t.Helper()
	r := f.do(token, "POST", "/api/v1/runs?wait=20s", fmt.Sprintf(`{"flow": %q, "inputs": %s}`, flow, inputs))
	if r.status != http.StatusOK && r.status != http.StatusCreated {
		f.t.Fatalf("starting %s: %d %s", flow, r.status, r.text)
	}
	return r.at("/run")
}

// TestOldVersions: the earlier version of a memory that was saved again is shown on request.
func TestOldVersions(t *testing.T) {
	f := newFixture(t, t.TempDir(), nil, nil)
	token := f.token("lin", store.MemoryRead, store.MemoryWrite)
	id := f.do(token, "POST", "/api/v1/memory", `{"content": "tea"}`).at("/id")
	for _, content := range []string{"coffee", "water"} {
		doc := f.do(token, "GET", "/api/v1/memory/"+id, "").doc
		doc.Map().Set("content", value.OfString(content))
		r := f.do(token, "POST", "/api/v1/memory/import", doc.JSON()+"\n", "Content-Type", "application/x-ndjson")
		if r.status != http.StatusOK {
			t.Fatalf("got %d %s", r.status, r.text)
		}
	}
	r := f.do(token, "GET", "/api/v1/memory/"+id+"?history=true", "")
	if r.at("/content") != "water" || r.at("/old_versions/0/content") != "coffee" || r.at("/old_versions/1/content") != "tea" {
		t.Errorf("got %s", r.text)
	}
	if r := f.do(token, "GET", "/api/v1/memory/"+id, ""); strings.Contains(r.text, "old_versions") {
		t.Errorf("without being asked: %s", r.text)
	}
	if r := f.do(f.token("bo", store.MemoryRead), "GET", "/api/v1/memory/"+id+"?history=true", ""); r.status != http.StatusNotFound {
		t.Errorf("another user: %d %s", r.status, r.text)
	}
}

// TestCallExamples makes each call as the catalogue shows it.
func TestCallExamples(t *testing.T) {
	f := newFixture(t, t.TempDir(), nil, nil)
	token := f.token("lin", store.FlowsRead, store.CallsRun)
	list := f.do(token, "GET", "/api/v1/calls?limit=200", "")
	items, _ := list.doc.Get("items")
	var without []string
	for _, item := range items.List() {
		v, _ := item.Get("name")
		name, _ := v.Str()
		path := "/api/v1/calls/" + name
		request, ok := f.do(token, "GET", path, "").doc.Get("request")
		if !ok {
			without = append(without, name)
			continue
		}
		isOffline := name == "http" // tests have no network
		if r := f.do(token, "POST", path, request.JSON()); r.status != http.StatusOK && !isOffline {
			t.Errorf("%s with %s: %d %s", path, request.JSON(), r.status, r.text)
		}
	}
	if got := strings.Join(without, " "); got != "agent context flow" {
		t.Errorf("calls without an example that runs: %s", got)
	}
}
