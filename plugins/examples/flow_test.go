package examples

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"google.golang.org/grpc"

	"github.com/callnode/scheduler/calls"
	"github.com/callnode/scheduler/calls/builtin"
	"github.com/callnode/scheduler/llm"
	"github.com/callnode/scheduler/llm/scripted"
	"github.com/callnode/scheduler/llm/value"
	"github.com/callnode/scheduler/plugins"
	"github.com/callnode/scheduler/plugins/host"
	"github.com/callnode/scheduler/plugins/manifest"
	"github.com/callnode/scheduler/plugins/pluginstest"
	"github.com/callnode/scheduler/plugins/proto"
	"github.com/callnode/scheduler/plugins/sdk"
	"github.com/callnode/scheduler/scheduler"
	"github.com/callnode/scheduler/scheduler/flow"
)

func newHost(t *testing.T, names ...string) (*host.Host, *calls.Registry) {
	t.Helper()
	var dirs []string
	for _, name := range names {
		dirs = append(dirs, pluginstest.Build(t, name))
	}
	h, err := host.Open(host.Options{Plugins: dirs, LockFile: filepath.Join(t.TempDir(), manifest.LockFileName)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := h.Close(); err != nil {
			t.Error(err)
		}
	})
	for _, name := range names {
		if _, err := h.Trust(t.Context(), name); err != nil {
			t.Fatal(err)
		}
	}
	r, err := builtin.Registry()
	if err == nil {
		err = h.Register(r)
	}
	if err != nil {
		t.Fatal(err)
	}
	return h, r
}

// The example flow uses a function of every kind; a step has its parameters filled.
func TestFlow(t *testing.T) {
	h, r := newHost(t, "recency", "almanac", "lookup")
	loader := &flow.Loader{Registry: r, Plugins: h.Names(), Secrets: []string{}}
	f, problems := loader.Load("concierge.yaml")
	if problems.HasErrors() {
		t.Fatal(problems)
	}
	env := calls.NewEnv()
	env.LLM = scripted.Texts(`{"table": "rooms"}`)
	env.Clock = func() time.Time { return time.Date(2026, 3, 5, 12, 0, 0, 0, time.UTC) }
	exec := scheduler.StepExecutor{Env: env, Loader: loader, Secrets: func(string) (string, bool) { return "", false }}
	result, err := scheduler.Collect(exec.Run(t.Context(), f, value.OfMap(value.Pairs("question", "Is a room with sea view free?"))))
	if err != nil {
		t.Fatal(err)
	}
	got := result.Outputs.JSON()
	for _, want := range []string{"The pool is open", "A room with a view", "Team meeting", "Dinner with Lin", `"answer":"Found: 2 rooms, first 201; light rain, Dinner with Lin"`} {
		if !strings.Contains(got, want) {
			t.Errorf("the outputs lack %q:\n%s", want, got)
		}
	}
	if strings.Contains(got, "Closed for repairs") {
		t.Errorf("what is old is in the prompt:\n%s", got)
	}
}

// An agent uses the call of a plugin as a tool; the model cannot change parameters that the tool fixes.
func TestAgent(t *testing.T) {
	h, r := newHost(t, "lookup")
	loader := &flow.Loader{Registry: r, Plugins: h.Names(), Secrets: []string{}}
	f, problems := loader.Parse("agent.yaml", []byte(`
name: desk
plugins: [lookup]
steps:
  - id: work
    call: agent
    with: {prompt: Find a room., tools: {calls: [{call: lookup.query, name: find_rooms, with: {table: rooms, columns: [room]}}]}}
outputs: {said: "{{ work.rounds[0].tool_calls[0].result }}", text: "{{ work.text }}"}
`))
	if problems.HasErrors() {
		t.Fatal(problems)
	}
	env := calls.NewEnv()
	env.LLM = scripted.New(
		scripted.Answer{ToolCalls: []llm.ToolCall{{ID: "1", Name: "find_rooms", Arguments: `{"where": {"view": "sea"}, "limit": 1}`}}},
		scripted.Answer{Text: "Take 201."})
	exec := scheduler.StepExecutor{Env: env, Loader: loader, Secrets: func(string) (string, bool) { return "", false }}
	result, err := scheduler.Collect(exec.Run(t.Context(), f, value.OfMap(value.Pairs())))
	if err != nil {
		t.Fatal(err)
	}
	if got, want := result.Outputs.JSON(), `{"said":"{\"rows\":[{\"room\":\"201\"}],\"total\":2}","text":"Take 201."}`; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

// A misspelt parameter or function of a plugin is found before anything starts.
func TestLint(t *testing.T) {
	h, r := newHost(t, "recency", "lookup")
	loader := &flow.Loader{Registry: r, Plugins: h.Names(), Secrets: []string{}}
	_, problems := loader.Parse("flow.yaml", []byte(`
name: wrong
plugins: [recency, lookups]
steps:
  - {id: a, call: lookup.query, with: {tabel: rooms}}
  - {id: b, call: lookup.find, with: {}}
  - {id: c, call: input, with: {user_input: x, config: {context_template: [{module_name: m, importance_func: recency.is_frehs, segments: [{type: text, value: y}]}]}}}
  - {id: d, call: template, with: {template: "Found: {{ t }}", values: {t: "{{ vars.wether }}"}}}
`))
	text := problems.Err().Error()
	for _, want := range []string{`lookups`, `tabel`, `lookup.find`, `recency.is_fresh`, `wether`} {
		if !strings.Contains(text, want) {
			t.Errorf("the problems lack %s:\n%s", want, text)
		}
	}
}

// counted notes the requests of a plugin.
type counted struct {
	proto.PluginServer

	mu       sync.Mutex
	requests []string
}

// Session notes everything that comes over the stream.
func (c *counted) Session(stream grpc.BidiStreamingServer[proto.Requests, proto.Replies]) error {
	return c.PluginServer.Session(&countedStream{stream, c})
}

type countedStream struct {
	grpc.BidiStreamingServer[proto.Requests, proto.Replies]
	*counted
}

func (s *countedStream) Recv() (*proto.Requests, error) {
	in, err := s.BidiStreamingServer.Recv()
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, r := range in.GetRequests() {
		switch {
		case r.GetJudge() != nil:
			s.requests = append(s.requests, fmt.Sprintf("judge %s: %d items, %d memories",
				r.GetJudge().GetFunction(), len(r.GetJudge().GetItems()), len(r.GetJudge().GetState().GetRetrieved())))
		case r.GetResolve() != nil:
			s.requests = append(s.requests, "resolve "+strings.Join(slices.Sorted(slices.Values(r.GetResolve().GetNames())), " "))
		}
	}
	return in, err
}

// searched counts how often memories are looked for.
type searched struct {
	memory
	times *int
}

func (s searched) Recent(context.Context, calls.Scope, int) ([]plugins.Turn, error) { return nil, nil }

func (s searched) Retrieve(ctx context.Context, scope calls.Scope, query string, limit int) ([]plugins.Recalled, error) {
	*s.times++
	return s.memory.Retrieve(ctx, scope, query, limit)
}

// However many modules, templates and items a step has, a function is asked once, the
// variables of a plugin are resolved in one request, and memories are looked for once.
func TestRequestsOfAStep(t *testing.T) {
	doc := sdk.Doc{En: "For tests."}
	judge := func(context.Context, plugins.State, plugins.Item) (plugins.Verdict, error) {
		return plugins.Verdict{Include: true}, nil
	}
	text := func(context.Context, plugins.State) (string, error) { return "x", nil }
	server, err := sdk.Plugin{Name: "p", Version: "1", Functions: []sdk.Function{
		sdk.Importance("one", doc, judge, sdk.Retrieves()), sdk.Importance("two", doc, judge, sdk.Retrieves()), sdk.Importance("three", doc, judge),
		sdk.Variable("a", doc, text), sdk.Variable("b", doc, text), sdk.Variable("c", doc, text),
	}}.Server()
	if err != nil {
		t.Fatal(err)
	}
	requests := &counted{PluginServer: server}
	h, err := host.InProcess(requests, host.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := h.Close(); err != nil {
			t.Error(err)
		}
	}()
	r, err := builtin.Registry()
	if err == nil {
		err = h.Register(r)
	}
	if err != nil {
		t.Fatal(err)
	}
	loader := &flow.Loader{Registry: r, Plugins: h.Names(), Secrets: []string{}}
	f, problems := loader.Parse("flow.yaml", []byte(`
name: counted
memory: {user: lin}
steps:
  - id: prompt
    call: input
    with:
      user_input: "{{ vars.a }} {{ vars.b }}{{ vars.a }}"
      config:
        context_template:
          - {module_name: m1, importance_func: p.one, segments: [{type: variable, value: a}, {type: variable, value: c}]}
          - {module_name: m2, importance_func: p.two, segments: [{type: variable, value: vars.c}, {type: text, value: y}]}
          - {module_name: m3, importance_func: p.one, segments: [{type: variable, value: long_term_memory_content}]}
          - {module_name: m4, importance_func: p.three, segments: [{type: text, value: y}]}
  - {id: items, call: template, for_each: [1, 2, 3], with: {template: "{{ x }} of {{ y }}", values: {x: "{{ item }}", y: "{{ vars.c }}{{ vars.b }}"}}}
outputs: {prompt: "{{ prompt.prompt }}"}
`))
	if problems.HasErrors() {
		t.Fatal(problems)
	}
	env := calls.NewEnv()
	times := 0
	env.Memory = searched{times: &times}
	exec := scheduler.StepExecutor{Env: env, Loader: loader}
	if _, err := scheduler.Collect(exec.Run(t.Context(), f, value.OfMap(nil))); err != nil {
		t.Fatal(err)
	}
	want := []string{
		"resolve a b", // the templates of the step
		"judge one: 2 items, 1 memories", "judge two: 1 items, 1 memories", "judge three: 1 items, 0 memories",
		"resolve c", // the segments that nothing gave a value before
		"resolve b c",
	}
	if !slices.Equal(requests.requests, want) {
		t.Errorf("got %q\nwant %q", requests.requests, want)
	}
	// The engine's own look is for the variables, the call's for the functions.
	if times != 1 {
		t.Errorf("memories were looked for %d times", times)
	}
}
