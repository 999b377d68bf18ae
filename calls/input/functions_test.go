package input_test

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/callnode/scheduler/calls"
	"github.com/callnode/scheduler/calls/callstest"
	"github.com/callnode/scheduler/calls/input"
	"github.com/callnode/scheduler/llm/value"
	"github.com/callnode/scheduler/plugins"
)

// store counts how often it is asked.
type store struct {
	recent, retrieved int
	query             string
	limit             int
}

func (s *store) Recent(_ context.Context, scope calls.Scope, limit int) ([]plugins.Turn, error) {
	s.recent++
	s.limit = limit
	return []plugins.Turn{{Role: "user", Content: "I am " + scope.User}, {Role: "assistant", Content: "Hello"}}, nil
}

func (s *store) Retrieve(_ context.Context, _ calls.Scope, query string, limit int) ([]plugins.Recalled, error) {
	s.retrieved++
	s.query, s.limit = query, limit
	return []plugins.Recalled{{Text: "tea at 80 degrees", Score: 0.876}}, nil
}

func TestStoreIsAskedOnce(t *testing.T) {
	env, s := newEnv(t), &store{}
	env.Memory = s
	out, err := exec(t, read(t, `config:
  context_template:
    - {module_name: a, importance_func: is_relevant, segments: [`+variable("long_term_memory_content")+`]}
    - {module_name: b, importance_func: has_memories, segments: [`+variable("long_term_memory_content")+`]}
    - {module_name: c, importance_func: has_history, segments: [`+variable("short_term_history_content")+","+variable("short_term_history_content")+`]}
    - {module_name: d, segments: [`+variable("turn_count")+`]}
user_input: I remember tea.
`), env)
	if err != nil {
		t.Fatal(err)
	}
	want := "- tea at 80 degrees (relevance: 0.88)\n\n- tea at 80 degrees (relevance: 0.88)\n\nUser: I am ann\nAssistant: HelloUser: I am ann\nAssistant: Hello\n\n2"
	if diff := cmp.Diff(want, out.Prompt); diff != "" {
		t.Error(diff)
	}
	if s.recent != 1 || s.retrieved != 1 || s.query != "I remember tea." || s.limit != 3 {
		t.Errorf("the store was asked as %+v", *s)
	}
}

func TestStoreIsNotAskedInVain(t *testing.T) {
	for name, with := range map[string]string{
		"no use":      "config: " + segments(variable("current_user_input")),
		"module out":  "config: {context_template: [{module_name: a, importance_func: false, segments: [" + variable("long_term_memory_content") + "]}]}",
		"wrong name":  "config: " + segments(variable("short_term_history_content"), variable("nothing")),
		"given":       "memory: {short_term: [], long_term: []}\nconfig: " + segments(variable("short_term_history_content"), variable("long_term_memory_content")),
		"blank query": "user_input: ' '\nmemory: {short_term: []}\nconfig: " + segments(variable("long_term_memory_content")),
		"none wanted": "config: {settings: {max_short_term_memory: 0, max_long_term_memory_results: 0}, context_template: [{module_name: a, segments: [" +
			variable("short_term_history_content") + "," + variable("long_term_memory_content") + "]}]}",
	} {
		t.Run(name, func(t *testing.T) {
			env, s := newEnv(t), &store{}
			env.Memory = s
			_, err := exec(t, read(t, with), env)
			if (err != nil) != (name == "wrong name") {
				t.Error(err)
			}
			if s.recent+s.retrieved > 0 {
				t.Errorf("the store was asked: %+v", *s)
			}
		})
	}
}

func TestFailingMemory(t *testing.T) {
	env := newEnv(t)
	env.Memory = failing{}
	out, err := exec(t, read(t, "user_input: tea\nconfig: "+segments(variable("short_term_history_content"), variable("long_term_memory_content"), text("x"))), env)
	if err != nil || out.Prompt != "x" {
		t.Errorf("got %q, %v", out.Prompt, err)
	}
	want := []string{"the short-term memory cannot be read: the store is gone", "the long-term memory cannot be read: the store is gone"}
	if diff := cmp.Diff(want, out.Warnings); diff != "" {
		t.Error(diff)
	}
	// A function that needs the memory fails with it.
	out, err = exec(t, read(t, "user_input: tea\nmemory: {short_term: []}\nconfig: {context_template: [{module_name: a, importance_func: is_relevant, segments: ["+text("a")+"]}]}"), env)
	if err != nil || out.Parts[0].Included || len(out.Warnings) != 1 {
		t.Errorf("got %+v, %v", out, err)
	}
}

// counting is a resolver that remembers its requests.
type counting struct {
	asked [][]string
	give  func(name string) (string, bool)
	err   error
}

func (c *counting) Resolve(_ context.Context, _ plugins.State, names []string) (map[string]json.RawMessage, error) {
	c.asked = append(c.asked, names)
	values := map[string]json.RawMessage{}
	for _, name := range names {
		if text, ok := c.give(name); ok {
			values[name] = json.RawMessage(text)
		}
	}
	return values, c.err
}

func register(t testing.TB, env *calls.Env, r plugins.Resolver, names ...string) {
	t.Helper()
	if err := env.Registry.AddResolver(r, names...); err != nil {
		t.Fatal(err)
	}
}

func TestResolversAreAskedInOneBatch(t *testing.T) {
	env := newEnv(t)
	r := &counting{give: func(name string) (string, bool) { return `{"name": "` + name + `"}`, true }}
	other := &counting{give: func(string) (string, bool) { return `1`, true }}
	register(t, env, r, "p.one", "p.two", "p.three")
	register(t, env, other, "q")
	out, err := exec(t, read(t, "config: "+segments(variable("p.one.name")+","+variable("p.two.name"), variable("q"), variable("p.one.name"))), env)
	if err != nil || out.Prompt != "p.onep.two\n\n1\n\np.one" {
		t.Errorf("got %q, %v", out.Prompt, err)
	}
	if diff := cmp.Diff([][]string{{"p.one", "p.two"}}, r.asked); diff != "" {
		t.Error(diff)
	}
	if len(other.asked) != 1 {
		t.Errorf("the other was asked %d times", len(other.asked))
	}
}

func TestVariablePolicies(t *testing.T) {
	for policy, want := range map[string]string{"error": "", "empty": "[]", "keep": "[{{bad}}]"} {
		for name, r := range map[string]plugins.Resolver{
			"failing":  &counting{give: func(string) (string, bool) { return "1", true }, err: errors.New("boom")},
			"silent":   &counting{give: func(string) (string, bool) { return "", false }},
			"broken":   &counting{give: func(string) (string, bool) { return "{", true }},
			"panics":   plugins.ResolverFunc(func(context.Context, plugins.State, string) (any, error) { panic("ouch") }),
			"waiting":  plugins.ResolverFunc(func(ctx context.Context, _ plugins.State, _ string) (any, error) { <-ctx.Done(); return nil, ctx.Err() }),
			"unknown":  nil,
			"memberof": &counting{give: func(string) (string, bool) { return "{}", true }},
		} {
			t.Run(policy+" "+name, func(t *testing.T) {
				env, want := newEnv(t), want
				if r != nil {
					register(t, env, r, "bad")
				}
				config := `{context_template: [{module_name: a, segments: [` + text("[") + "," + variable("bad") + "," + text("]") + `]}], settings: {function_timeout: 5ms}}`
				if name == "memberof" {
					config = strings.ReplaceAll(config, `"bad"`, `"bad.member"`)
					want = strings.ReplaceAll(want, "bad", "bad.member")
				}
				out, err := exec(t, read(t, "on_unknown: "+policy+"\nconfig: "+config), env)
				if want == "" {
					kind := map[string]calls.Kind{"waiting": calls.Timeout, "unknown": calls.NotFound}[name]
					if kind == "" {
						kind = calls.Plugin
					}
					if err == nil || calls.KindOf(err) != kind || !strings.Contains(err.Error(), "segments[1]") {
						t.Errorf("got %v of kind %s", err, calls.KindOf(err))
					}
					return
				}
				if err != nil || out.Prompt != want || len(out.Warnings) != 1 {
					t.Fatalf("got %q, %v, %q", out.Prompt, err, out.Warnings)
				}
				if name == "waiting" && !strings.HasSuffix(out.Warnings[0], "it gave no answer within 5ms (settings.function_timeout)") {
					t.Errorf("the warning is %q", out.Warnings[0])
				}
			})
		}
	}
}

func TestImportanceErrors(t *testing.T) {
	config := func(policy, function string) value.Value {
		return read(t, `{"config": {"context_template": [
			{"module_name": "a", "importance_func": "`+function+`", "segments": [`+text("A")+`]},
			{"module_name": "b", "segments": [`+text("B")+`]}],
			"settings": {"on_importance_error": "`+policy+`", "function_timeout": "5ms"}},
			"variables": {"word": "no", "null": null}}`)
	}
	for name, f := range map[string]plugins.Importance{
		"failing": judge(func(context.Context, []plugins.Item) ([]plugins.Verdict, error) { return nil, errors.New("boom") }),
		"panics":  judge(func(context.Context, []plugins.Item) ([]plugins.Verdict, error) { panic("ouch") }),
		"short":   judge(func(context.Context, []plugins.Item) ([]plugins.Verdict, error) { return nil, nil }),
		"waiting": judge(func(ctx context.Context, _ []plugins.Item) ([]plugins.Verdict, error) {
			<-ctx.Done()
			return nil, ctx.Err()
		}),
		"word": nil, // a variable that is neither true nor false
		"null": nil,
	} {
		for policy, want := range map[string]string{"exclude": "B", "include": "A\n\nB", "fail": ""} {
			t.Run(name+" "+policy, func(t *testing.T) {
				env := newEnv(t)
				if f != nil {
					if err := env.Registry.AddImportance(name, f); err != nil {
						t.Fatal(err)
					}
				}
				out, err := exec(t, config(policy, name), env)
				if policy == "fail" {
					if err == nil || !strings.HasPrefix(err.Error(), `importance function "`+name+`" of module "a": `) {
						t.Errorf("got %v", err)
					}
					return
				}
				if err != nil || out.Prompt != want || len(out.Warnings) != 1 || !strings.Contains(out.Parts[0].Reason, name+" failed: ") {
					t.Errorf("got %+v, %v", out, err)
				}
			})
		}
	}
}

type judge func(context.Context, []plugins.Item) ([]plugins.Verdict, error)

func (f judge) Judge(ctx context.Context, _ plugins.State, items []plugins.Item) ([]plugins.Verdict, error) {
	return f(ctx, items)
}

type stateful func(plugins.State, []plugins.Item) ([]plugins.Verdict, error)

func (f stateful) Judge(_ context.Context, s plugins.State, items []plugins.Item) ([]plugins.Verdict, error) {
	return f(s, items)
}

func TestImportanceSeesTheStateInOneBatch(t *testing.T) {
	env := newEnv(t)
	env.Memory = &store{}
	asked := 0
	score := 0.5
	f := stateful(func(s plugins.State, items []plugins.Item) ([]plugins.Verdict, error) {
		asked++
		if len(items) != 2 || items[0].Name != "a" || items[1].Name != "c" || !strings.Contains(string(items[1].Data), `"later"`) {
			t.Errorf("asked about %+v", items)
		}
		if s.Input != "hi" || s.User != "ann" || s.Session != "main" || s.Language != "en" || !s.Now.Equal(callstest.Now) ||
			len(s.History) != 2 || string(s.Vars["mine"]) != "7" || string(s.Vars["summary"]) != `"They spoke of tea."` || string(s.Vars["early"]) != "true" {
			t.Errorf("the state is %+v", s)
		}
		found, err := s.Retrieve(t.Context())
		if err != nil || len(found) != 1 || found[0].Score != 0.876 {
			t.Errorf("retrieved %+v, %v", found, err)
		}
		done, cancel := context.WithCancel(t.Context())
		cancel()
		if _, err := s.Retrieve(done); !errors.Is(err, context.Canceled) {
			t.Errorf("a context that is over gives %v", err)
		}
		return []plugins.Verdict{{Include: true, Reason: "since"}, {Include: true, Score: &score}}, nil
	})
	if err := env.Registry.AddImportance("f", f); err != nil {
		t.Fatal(err)
	}
	env.Vars.Resolved = map[string]value.Value{"early": value.OfBool(true)}
	out, err := exec(t, read(t, `
user_input: hi
variables: {mine: 7}
config:
  context_template:
    - {module_name: a, importance_func: f, segments: [`+text("A")+`]}
    - {module_name: b, importance_func: early, segments: [`+text("B")+`]}
    - {module_name: c, importance_func: f, segments: [`+text("later")+`]}
    - {module_name: d, importance_func: never, segments: [`+text("D")+`]}
`), env)
	if err != nil || out.Prompt != "A\n\nB\n\nlater" || asked != 1 {
		t.Errorf("got %q after %d questions, %v", out.Prompt, asked, err)
	}
	var reasons []string
	for _, p := range out.Parts {
		if p.Kind != "module" {
			continue
		}
		reasons = append(reasons, p.Reason)
	}
	if diff := cmp.Diff([]string{"f: since", "early: the variable is true", "f returned true", "never: as its name says"}, reasons); diff != "" {
		t.Error(diff)
	}
}

func TestCancelledByTheRun(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	env := newEnv(t)
	stop := judge(func(ctx context.Context, _ []plugins.Item) ([]plugins.Verdict, error) {
		cancel()
		return nil, ctx.Err()
	})
	if err := env.Registry.AddImportance("stop", stop); err != nil {
		t.Fatal(err)
	}
	call, err := input.Definition().New(read(t, "config: {context_template: [{module_name: a, importance_func: stop, segments: []}]}"))
	if err != nil {
		t.Fatal(err)
	}
	in, err := call.Init(ctx, env.Vars)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := callstest.CollectOutput(call.Exec(ctx, env, in)); calls.KindOf(err) != calls.Canceled {
		t.Errorf("got %v", err)
	}
}

// expiring is a context whose deadline passes when over is closed.
type expiring struct {
	context.Context
	over chan struct{}
}

func (e expiring) Done() <-chan struct{} { return e.over }

func (e expiring) Err() error {
	select {
	case <-e.over:
		return context.DeadlineExceeded
	default:
		return nil
	}
}

// If the time of the step is over while a function works, the error is the function's: it names the function that
// used up the time.
func TestStepTimesOut(t *testing.T) {
	for _, module := range []string{
		"{module_name: a, importance_func: slow, segments: []}",
		"{module_name: a, segments: [{type: variable, value: slow}]}",
	} {
		ctx := expiring{context.Background(), make(chan struct{})}
		env := newEnv(t)
		wait := func(within context.Context) error {
			close(ctx.over) // now, and not after some milliseconds, which a busy machine may take to come here
			<-within.Done()
			return calls.Errorf(calls.Timeout, "plugin slow: %w", within.Err())
		}
		r := env.Registry
		err := errors.Join(
			r.AddImportance("slow", judge(func(ctx context.Context, _ []plugins.Item) ([]plugins.Verdict, error) { return nil, wait(ctx) })),
			r.AddResolver(plugins.ResolverFunc(func(ctx context.Context, _ plugins.State, _ string) (any, error) { return nil, wait(ctx) }), "slow"),
		)
		if err != nil {
			t.Fatal(err)
		}
		call, err := input.Definition().New(read(t, "config: {context_template: ["+module+"]}"))
		if err != nil {
			t.Fatal(err)
		}
		in, err := call.Init(ctx, env.Vars)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := callstest.CollectOutput(call.Exec(ctx, env, in)); calls.KindOf(err) != calls.Timeout || !strings.Contains(err.Error(), "plugin slow: context deadline exceeded") {
			t.Errorf("%s: got %v", module, err)
		}
	}
}
