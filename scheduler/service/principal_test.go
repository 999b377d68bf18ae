package service_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/callnode/scheduler/calls"
	"github.com/callnode/scheduler/calls/memory"
	"github.com/callnode/scheduler/calls/memory/memorytest"
	"github.com/callnode/scheduler/llm"
	"github.com/callnode/scheduler/llm/scripted"
	"github.com/callnode/scheduler/llm/value"
	"github.com/callnode/scheduler/plugins"
	"github.com/callnode/scheduler/scheduler"
	"github.com/callnode/scheduler/scheduler/flow"
	"github.com/callnode/scheduler/scheduler/journal"
	journalmemory "github.com/callnode/scheduler/scheduler/journal/memory"
	"github.com/callnode/scheduler/scheduler/schedulertest"
	"github.com/callnode/scheduler/scheduler/service"
)

var (
	anyone = service.Principal{}
	lin    = service.Principal{User: "lin", Bound: true}
	bo     = service.Principal{User: "bo", Bound: true}
)

// loadText loads a flow from its text.
func loadText(t *testing.T, s *service.Service, text string) *flow.Flow {
	t.Helper()
	file := filepath.Join(t.TempDir(), "flow.yaml")
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	f, problems, _, err := s.Load(t.Context(), file)
	if err != nil || f == nil {
		t.Fatal(err, problems)
	}
	return f
}

// start runs a flow as far as it comes, and returns the run's id.
func start(t *testing.T, s *service.Service, p service.Principal, f *flow.Flow, r service.StartRequest) (string, error) {
	t.Helper()
	r.Flow, r.Inputs = f, value.OfMap(nil)
	session, _, err := s.NewSession(t.Context(), p, r)
	if err != nil {
		return "", err
	}
	_, err = scheduler.Collect(session.Events())
	return session.ID, err
}

const waitsForCity = `
memory: {user: "{{ run.user }}", session: main}
steps:
  - id: place
    call: slot
    with: {current_schema: {type: object, required: [city], properties: {city: {type: string}}}, stages: []}
`

// A run of one user does not exist for another bound user, in any use case.
func TestRunsOfOthers(t *testing.T) {
	s := newService()
	defer s.Close()
	f := loadText(t, s, waitsForCity)
	id, _ := start(t, s, lin, f, service.StartRequest{StartedBy: "api", Session: "s1", Labels: map[string]string{"ticket": "42"}})
	ctx := t.Context()
	drain := func(events func(yield func(*journal.Event, error) bool)) error {
		for _, err := range events {
			if err != nil {
				return err
			}
		}
		return nil
	}
	for name, use := range map[string]func(p service.Principal) error{
		"Run":     func(p service.Principal) error { _, err := s.Run(ctx, p, id); return err },
		"FindRun": func(p service.Principal) error { _, err := s.FindRun(ctx, p, id[:30]); return err },
		"last":    func(p service.Principal) error { _, err := s.FindRun(ctx, p, "last"); return err },
		"ShowRun": func(p service.Principal) error { _, _, err := s.ShowRun(ctx, p, id); return err },
		"Events":  func(p service.Principal) error { return drain(s.Events(ctx, p, id, 1)) },
		"Follow":  func(p service.Principal) error { return drain(s.Follow(ctx, p, id, 0)) },
		"ReopenSession": func(p service.Principal) error {
			_, _, err := s.ReopenSession(ctx, p, service.ResumeRequest{Run: id})
			return err
		},
		"LoadEdited": func(p service.Principal) error { _, _, _, err := s.LoadEdited(ctx, p, id, f.File); return err },
		"Release":    func(p service.Principal) error { _, err := s.Release(ctx, p, id); return err },
	} {
		for _, p := range []service.Principal{anyone, lin} {
			if err := use(p); err != nil {
				t.Errorf("%s of %+v: %v", name, p, err)
			}
		}
		if err := use(bo); calls.KindOf(err) != calls.NotFound {
			t.Errorf("%s of another user: %v", name, err)
		}
	}
	if _, err := s.Cancel(ctx, bo, id); calls.KindOf(err) != calls.NotFound {
		t.Errorf("another user cancels: %v", err)
	}
	if pruned, err := s.Prune(ctx, bo, journal.Prune{Runs: []string{id}, Force: true}); err != nil || len(pruned.Runs) != 0 {
		t.Errorf("another user deletes %+v, %v", pruned, err)
	}
	for p, want := range map[service.Principal]int{anyone: 1, lin: 1, bo: 0} {
		n := 0
		for range s.Runs(ctx, p, journal.RunFilter{Labels: map[string]string{"ticket": "42", "origin": "api", "session": "s1", "owner": "lin"}}) {
			n++
		}
		if n != want {
			t.Errorf("%+v sees %d runs, want %d", p, n, want)
		}
	}
	if info, err := s.Cancel(ctx, lin, id); err != nil || info.State != journal.RunCancelled {
		t.Errorf("its user cancels: %+v, %v", info, err)
	}
}

// A bound user only has that user's memory: in new runs, in runs that anyone resumes, and in single calls.
func TestMemoryOfOthers(t *testing.T) {
	s := newService()
	defer s.Close()
	stolen := loadText(t, s, "memory: {user: bo}\nsteps: [{id: a, call: template, with: {template: x}}]\n")
	if _, err := start(t, s, lin, stolen, service.StartRequest{}); calls.KindOf(err) != calls.Invalid {
		t.Errorf("the memory of another user: %v", err)
	}
	if _, _, err := s.Enqueue(t.Context(), lin, service.StartRequest{Flow: stolen, Inputs: value.OfMap(nil)}); calls.KindOf(err) != calls.Invalid {
		t.Errorf("queued with the memory of another user: %v", err)
	}
	if _, err := start(t, s, service.Principal{User: "lin"}, stolen, service.StartRequest{}); err != nil {
		t.Errorf("a user who is not bound: %v", err)
	}

	id, _ := start(t, s, lin, loadText(t, s, waitsForCity), service.StartRequest{})
	for _, p := range []service.Principal{anyone, lin, {User: "admin"}} {
		if err := resume(t.Context(), s, p, id, stolen); calls.KindOf(err) != calls.Invalid {
			t.Errorf("%+v goes on with a flow that has the memory of another: %v", p, err)
		}
	}

	def, _ := registry(t).Call("template")
	ask := func(p service.Principal, user string) error {
		r := &service.CallRequest{With: value.OfMap(value.Pairs("template", "x")), Vars: service.RequestVars{User: user}}
		_, _, err := s.Caller(p, def).Call(t.Context(), r)
		return err
	}
	if err := ask(lin, "bo"); calls.KindOf(err) != calls.Invalid {
		t.Errorf("a call in the memory of another: %v", err)
	}
	retrieve, _ := registry(t).Call("memory-retrieve")
	everybody := &service.CallRequest{With: value.OfMap(value.Pairs("current_query", "tea", "all_users", true))}
	if _, _, err := s.Caller(lin, retrieve).Call(t.Context(), everybody); calls.KindOf(err) != calls.Invalid || !strings.Contains(err.Error(), "all_users") {
		t.Errorf("a call in the memory of everybody: %v", err)
	}
	for _, err := range []error{ask(lin, "lin"), ask(lin, ""), ask(anyone, "bo")} {
		if err != nil {
			t.Error(err)
		}
	}
}

// resume continues a run, with an edited flow.
func resume(ctx context.Context, s *service.Service, p service.Principal, id string, edited *flow.Flow) error {
	session, _, err := s.ReopenSession(ctx, p, service.ResumeRequest{Run: id, Flow: edited})
	if err != nil {
		return err
	}
	_, err = scheduler.Collect(session.Continue(ctx, scheduler.Resumption{Flow: edited}))
	return err
}

// A queued run is recorded, and begins when it is reopened.
func TestEnqueue(t *testing.T) {
	s := newService()
	defer s.Close()
	f := loadText(t, s, "steps: [{id: a, call: template, with: {template: '{{ run.user }}'}}]\n")
	info, _, err := s.Enqueue(t.Context(), lin, service.StartRequest{ID: "run-1", Flow: f, Inputs: value.OfMap(nil)})
	if err != nil || info.ID != "run-1" || !info.Queued() {
		t.Fatalf("got %+v, %v", info, err)
	}
	session, _, err := s.ReopenSession(t.Context(), anyone, service.ResumeRequest{Run: "run-1"})
	if err != nil {
		t.Fatal(err)
	}
	result, err := scheduler.Collect(session.Continue(t.Context(), scheduler.Resumption{}))
	if text, _ := result.Outputs.At("/a/text"); err != nil || !value.Equal(text, value.OfString("lin")) {
		t.Errorf("got %s, %v", result.Outputs, err)
	}
}

// Labels that programs agree on are not the user's.
func TestReservedLabels(t *testing.T) {
	s := newService()
	defer s.Close()
	f := loadText(t, s, waitsForCity)
	for _, name := range []string{"owner", "origin", "session", "runs_on"} {
		if _, err := start(t, s, lin, f, service.StartRequest{Labels: map[string]string{name: "bo"}}); calls.KindOf(err) != calls.Invalid {
			t.Errorf("%s: %v", name, err)
		}
	}
	for _, p := range []service.Principal{{Bound: true}, {User: "\xff"}} {
		if _, err := start(t, s, p, f, service.StartRequest{}); calls.KindOf(err) != calls.Invalid {
			t.Errorf("%+v: %v", p, err)
		}
	}
}

// withMemory gives a service an empty memory.
func withMemory(t *testing.T) func(*service.Parts) {
	return func(parts *service.Parts) {
		store := memorytest.NewStore(t, nil)
		parts.Memory = func(context.Context, service.MemoryOptions) (*memory.SnapshotProcessor, error) {
			return &memory.SnapshotProcessor{Store: store}, nil
		}
	}
}

// TestFilesOfBoundCalls: the single calls of a bound principal, and the calls that these run, read no file of the machine.
func TestFilesOfBoundCalls(t *testing.T) {
	s := newServiceOf(scripted.Echo{}, func(context.Context, bool) (journal.Journal, error) { return journalmemory.New(time.Now), nil }, withMemory(t))
	defer s.Close()
	dir := t.TempDir()
	file := filepath.Join(dir, "AGENTS.md")
	if err := os.WriteFile(file, []byte("the plan of others"), 0o600); err != nil {
		t.Fatal(err)
	}
	quoted := value.OfString(dir).JSON()
	use := scripted.Answer{ToolCalls: []llm.ToolCall{{ID: "1", Name: "context", Arguments: `{"workspace": ` + quoted + `}`}}}
	for _, c := range []struct{ call, parameter, with string }{
		{"context", "workspace", `{"workspace": ` + quoted + `, "current_message": "hi"}`},
		{"context", "builtin_skills", `{"builtin_skills": ` + quoted + `, "current_message": "hi"}`},
		{"context", "media", `{"media": ["AGENTS.md"], "current_message": "hi"}`},
		{"agent", "workspace", `{"workspace": ` + quoted + `, "prompt": "hi"}`},
		{"agent", "builtin_skills", `{"builtin_skills": ` + quoted + `, "prompt": "hi"}`},
		{"agent", "workspace", `{"prompt": "hi", "tools": {"calls": [{"call": "context"}]}}`},
		{"input", "config_path", `{"config_path": ` + value.OfString(file).JSON() + `}`},
	} {
		def, ok := registry(t).Call(c.call)
		if !ok {
			t.Fatal(c.call)
		}
		with, err := value.ParseJSON([]byte(c.with))
		if err != nil {
			t.Fatal(err)
		}
		told := func(p service.Principal) string {
			model := scripted.New(use, scripted.Answer{Text: "done"})
			output, _, err := s.Caller(p, def).Call(t.Context(), &service.CallRequest{With: with, LLM: model})
			return fmt.Sprint(output.JSON(), err)
		}
		const refused = ": the files of the server are not open to the token of a user"
		if text := told(lin); !strings.Contains(text, c.parameter+refused) || strings.Contains(text, "the plan of others") {
			t.Errorf("%s %s: %s", c.call, c.with, text)
		}
		if text := told(anyone); strings.Contains(text, refused) {
			t.Errorf("%s %s, not bound: %s", c.call, c.with, text)
		}
	}
}

// TestEveryCallOfBoundTokens: a bound principal uses a call outside of flows only if the call says that it is
// contained, or the settings list it: built-in calls, tools of MCP servers and calls of plugins, by themselves and
// through an agent.
func TestEveryCallOfBoundTokens(t *testing.T) {
	contained := strings.Fields("agent chat choice context facts in-chat input memory-recent memory-retrieve memory-save memory-snapshot slot summary template")
	var used []string
	foreign := func(name string) calls.Definition {
		return schedulertest.Do(name, func(context.Context, *calls.Env, value.Value) (any, error) {
			used = append(used, name)
			return map[string]string{"text": "the plan of others"}, nil
		})
	}
	registry := registry(t)
	for _, name := range []string{"mcp.files.read_text_file", "mcp.shop.price", "weather.now"} {
		if err := registry.AddCall(foreign(name)); err != nil {
			t.Fatal(err)
		}
	}
	s := newServiceOf(scripted.Echo{}, func(context.Context, bool) (journal.Journal, error) { return journalmemory.New(time.Now), nil }, withMemory(t), func(parts *service.Parts) {
		parts.BoundCalls = []string{"mcp.shop.*"}
		callEnv := parts.CallEnv
		parts.CallEnv = func(asksModel bool) (*calls.Env, error) {
			env, err := callEnv(asksModel)
			if err == nil {
				env.Registry = registry
			}
			return env, err
		}
	})
	defer s.Close()
	const refusal = "is not open to the token of a user"
	for _, name := range registry.CallNames() {
		def, _ := registry.Call(name)
		with := value.OfMap(value.NewMap(0))
		if name == "http" {
			with = value.OfMap(value.Pairs("url", "http://127.0.0.1:1/"))
		} else if name == "flow" {
			with = value.OfMap(value.Pairs("path", "x.yaml"))
		}
		_, _, err := s.Caller(lin, def).Call(t.Context(), &service.CallRequest{With: with, LLM: scripted.Texts("x")})
		isRefused := err != nil && strings.Contains(err.Error(), refusal)
		isOpen := slices.Contains(contained, name) || strings.HasPrefix(name, "mcp.shop.")
		if isRefused == isOpen || isOpen != def.Info.IsContained && name != "mcp.shop.price" {
			t.Errorf("%s: refused %v: %v", name, isRefused, err)
		}
		if name == "agent" || name == "flow" { // an agent cannot have these as tools at all
			continue
		}
		agent, _ := registry.Call("agent")
		tools := `{"prompt": "hi", "tools": {"calls": [{"name": "it", "call": "` + name + `"}]}}`
		if name == "http" {
			tools = `{"prompt": "hi", "tools": {"http": [{"name": "it", "with": {"url": "http://127.0.0.1:1/"}}]}}`
		}
		arguments, err := value.ParseJSON([]byte(tools))
		if err != nil {
			t.Fatal(err)
		}
		model := scripted.New(scripted.Answer{ToolCalls: []llm.ToolCall{{ID: "1", Name: "it", Arguments: "{}"}}}, scripted.Answer{Text: "done"})
		output, _, err := s.Caller(lin, agent).Call(t.Context(), &service.CallRequest{With: arguments, LLM: model})
		if told := fmt.Sprint(output.JSON(), err); strings.Contains(told, refusal) == isOpen {
			t.Errorf("an agent that has %s: %s", name, told)
		}
	}
	if want := []string{"mcp.shop.price", "mcp.shop.price"}; !slices.Equal(used, want) {
		t.Errorf("%v were used", used)
	}
}

// outsideFunction is an importance function of a plugin.
type outsideFunction struct{}

func (outsideFunction) IsOutside() bool { return true }

func (outsideFunction) Judge(_ context.Context, _ plugins.State, items []plugins.Item) ([]plugins.Verdict, error) {
	return make([]plugins.Verdict, len(items)), nil
}

// A bound principal reaches no functions of plugins that the settings do not list.
func TestFunctionsOfBoundTokens(t *testing.T) {
	r := registry(t)
	if err := r.AddImportance("weather.fits", outsideFunction{}); err != nil {
		t.Fatal(err)
	}
	for listed, want := range map[string]bool{"": false, "weather.fits": true, "other.fits": false} {
		confined := r.Confined(func(name string) bool { return name == listed })
		if _, ok := confined.Importance("weather.fits"); ok != want {
			t.Errorf("listed %q: found %v", listed, ok)
		}
		if names := r.ImportanceNames(); len(names) < 2 {
			t.Fatal(names)
		} else if _, ok := confined.Importance(names[0]); !ok {
			t.Errorf("%s of the program is not there", names[0])
		}
	}
	if _, ok := r.Importance("weather.fits"); !ok {
		t.Error("who is not bound does not find it")
	}
}
