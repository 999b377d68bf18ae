package input_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/callnode/scheduler/calls"
	"github.com/callnode/scheduler/calls/builtin"
	"github.com/callnode/scheduler/calls/callstest"
	"github.com/callnode/scheduler/calls/input"
	"github.com/callnode/scheduler/calls/schema"
	"github.com/callnode/scheduler/llm/value"
	"github.com/callnode/scheduler/llm/value/yaml"
	"github.com/callnode/scheduler/plugins"
)

type result struct {
	Prompt   string       `json:"prompt"`
	Parts    []calls.Part `json:"parts"`
	Warnings []string     `json:"warnings"`
}

// exec runs the call as the engine does.
func exec(t testing.TB, with value.Value, env *calls.Env) (out result, err error) {
	t.Helper()
	def := input.Definition()
	if problems := def.Info.Params.Check(with); problems != nil {
		return out, problems
	}
	call, err := def.New(with)
	if err != nil {
		return out, err
	}
	in, err := call.Init(t.Context(), env.Vars)
	if err != nil {
		return out, err
	}
	ctx := t.Context()
	for chunk, err := range call.Exec(ctx, env, in) {
		if err != nil {
			return out, err
		}
		if problems := def.Info.Output.Check(*chunk.Data); problems != nil {
			t.Error(problems)
		}
		if err := value.Decode(*chunk.Data, &out); err != nil {
			t.Fatal(err)
		}
	}
	checkParts(t, out)
	return out, nil
}

// checkParts holds parts to the prompt byte by byte.
func checkParts(t testing.TB, out result) {
	t.Helper()
	end := 0
	for _, p := range out.Parts {
		if p.Included && out.Prompt[p.Start:p.End] != p.Text || !p.Included && (p.Text != "" || p.Tokens != 0) {
			t.Errorf("part %+v does not fit the prompt %q", p, out.Prompt)
		}
		if p.Reason == "" || p.Kind != "module" || p.Module != p.Name || p.Start < end {
			t.Errorf("part %+v", p)
		}
		end = p.End
	}
	if end != len(out.Prompt) {
		t.Errorf("the parts end at %d, the prompt at %d", end, len(out.Prompt))
	}
}

func read(t testing.TB, text string) value.Value {
	t.Helper()
	v, err := yaml.ParseValue([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return v
}

func newEnv(t testing.TB) *calls.Env {
	t.Helper()
	registry, err := builtin.Registry()
	if err != nil {
		t.Fatal(err)
	}
	env := calls.NewEnv()
	env.Functions = registry
	env.Dir = t.TempDir()
	env.Clock = func() time.Time { return callstest.Now }
	env.Vars = &calls.Vars{
		Question: "how hot?", Language: "en", Now: callstest.Now,
		Scope:    calls.Scope{User: "ann", Session: "main"},
		Inputs:   value.OfMap(value.Pairs("city", "Hangzhou", "n", 3)),
		Upstream: calls.Past{Abstract: "They spoke of tea.", Known: []string{"likes tea", "lives here"}},
	}
	return env
}

func write(t testing.TB, env *calls.Env, name, content string) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(env.Dir, name), []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
}

func TestConformance(t *testing.T) {
	callstest.Run(t, input.Definition(), func(env *calls.Env) { env.Functions = newEnv(t).Functions })
}

// segments makes a config of one module per argument.
func segments(modules ...string) string {
	list := []string{}
	for i, m := range modules {
		list = append(list, fmt.Sprintf(`{"module_name": "m%d", "segments": [%s]}`, i, m))
	}
	return `{"context_template": [` + strings.Join(list, ", ") + `]}`
}

func variable(name string) string { return fmt.Sprintf(`{"type": "variable", "value": %q}`, name) }
func text(s string) string        { return fmt.Sprintf(`{"type": "text", "value": %q}`, s) }

func TestPrompts(t *testing.T) {
	for name, c := range map[string]struct{ with, want string }{
		"state": {
			`config: ` + segments(variable("user"), variable("session"), variable("language"), variable("now"),
				variable("question"), variable("summary"), variable("facts"), variable("inputs.city"), variable("inputs.n")),
			"ann\n\nmain\n\nen\n\n2026-03-05 09:07:00\n\nhow hot?\n\nThey spoke of tea.\n\nlikes tea\nlives here\n\nHangzhou\n\n3",
		},
		"the prefix of templates":    {"config: " + segments(variable("vars.current_date")), "2026-03-05"},
		"the question by default":    {"config: " + segments(variable("current_user_input")), "how hot?"},
		"an empty input is an input": {"user_input: ''\nconfig: " + segments(text("Q:")+","+variable("current_user_input")), "Q:"},
		"members of a variable":      {"variables: {a: {b.c: [x, {d: deep}]}}\nconfig: " + segments(variable("a.b.c"), variable("a")), ""},
		"an index in a variable":     {"variables: {a: {b: [x, {d: deep}]}}\nconfig: " + segments(variable("a.b.1.d")), "deep"},
		"a name with a dot wins":     {"variables: {a.b: whole, a: {b: part}}\nconfig: " + segments(variable("a.b")), "whole"},
		"nothing is expanded again": {
			"variables: {x: '{{ y }} {content}', y: no}\nuser_input: '{role} {{ x }}'\nmemory: {short_term: [{role: user, content: '{role} {time}'}]}\nconfig: " +
				segments(variable("x"), variable("current_user_input"), variable("short_term_history_content")),
			"{{ y }} {content}\n\n{role} {{ x }}\n\nUser: {role} {time}",
		},
		"blank lines":           {"config: " + segments(text("a"), text(""), "", variable("current_user_input"), text(" "), text("b")), "a\n\nhow hot?\n\n \n\nb"},
		"an empty template":     {"config: {context_template: []}", ""},
		"separators":            {"config: {context_template: [{module_name: a, segments: [{type: text, value: 1}]}]}", ""},
		"the default template":  {"memory: {short_term: [], long_term: []}", "You are a friendly assistant. Use the context below to give a helpful answer.\n\nUser input:\nhow hot?"},
		"memory is left out":    {"memory: {short_term: [], long_term: []}\nconfig: " + segments(text("So far:")+","+variable("short_term_history_content"), text("x")), "x"},
		"but not beside others": {"memory: {short_term: []}\nconfig: " + segments(text("So far:")+","+variable("short_term_history_content")+","+variable("user")), "So far:ann"},
	} {
		t.Run(name, func(t *testing.T) {
			out, err := exec(t, read(t, c.with), newEnv(t))
			if c.want == "" && err != nil {
				return // wrong on purpose
			}
			if err != nil {
				t.Fatal(err, calls.HintOf(err))
			}
			if diff := cmp.Diff(c.want, out.Prompt); diff != "" {
				t.Error(diff)
			}
			if len(out.Warnings) > 0 {
				t.Errorf("warnings: %q", out.Warnings)
			}
		})
	}
}

func TestMemoryForms(t *testing.T) {
	with := read(t, `
memory:
  short_term:
    - plain
    - {role: user, content: hi}
    - {is_user: false, content: hello, timestamp: 2026-01-02T03:04:05Z}
    - {role: assistant, content: null, tool_calls: []}
    - {role: tool, content: [{type: text, text: one}, {type: image_url}, {type: text, text: two}]}
    - {is_user: true, content: old, timestamp: 0}
  long_term:
    - bare
    - {text: a, score: 0.95}
    - {content: b, relevance_score: 1}
    - [c, 0.5]
    - {text: d, score: null}
config:
  context_template:
    - {module_name: s, segments: [{type: variable, value: short_term_history_content}]}
    - {module_name: l, segments: [{type: variable, value: long_term_memory_content}]}
  settings: {short_term_format: "{role} {time}> {content}", max_long_term_memory_results: 4, user_label: me, prompt_separator: "\n--\n"}
`)
	out, err := exec(t, with, newEnv(t))
	if err != nil {
		t.Fatal(err)
	}
	want := `plain
me > hi
Assistant 2026-01-02 03:04> hello
tool > one
two
me 1970-01-01 00:00> old
--
- bare
- a (relevance: 0.95)
- b (relevance: 1.00)
- c (relevance: 0.50)`
	if diff := cmp.Diff(want, out.Prompt); diff != "" {
		t.Error(diff)
	}
	if r := out.Parts[1].Reason; !strings.Contains(r, "the first 4 of 5 memories") {
		t.Errorf("the reason %q does not say what was left out", r)
	}
}

func TestWrongParameters(t *testing.T) {
	for name, c := range map[string]struct{ with, want string }{
		"both":              {"config: {context_template: []}\nconfig_path: x", "config and config_path are both given"},
		"keyed template":    {"config: {context_template: {main: []}}", "/context_template: want array, got object"},
		"no template":       {"config: {settings: {}}", "/config/context_template: the required property"},
		"segment":           {"config: {context_template: [{module_name: a, segments: [{type: image, value: x}]}]}", "/config/context_template/0/segments/0/type"},
		"value":             {"config: {context_template: [{module_name: a, segments: [{type: text, value: 3}]}]}", "/config/context_template/0/segments/0/value: want string, got integer"},
		"importance":        {"config: {context_template: [{module_name: a, segments: [], importance_func: 1}]}", "/config/context_template/0/importance_func"},
		"setting":           {"config: {context_template: [], settings: {max_short_term_memory: 201}}", "/config/settings/max_short_term_memory"},
		"timeout":           {"config: {context_template: [], settings: {function_timeout: soon}}", `/config/settings/function_timeout: "soon" is no duration`},
		"duplicate":         {"config: " + strings.ReplaceAll(segments(text("a"), text("b")), "m1", "m0"), `/config/context_template/1/module_name: the name "m0" is taken by context_template[0]`},
		"strict and not":    {"strict: true\non_invalid: default", "contradict each other"},
		"strict warning":    {"strict: true\nconfig: {context_template: [], other: 1}", `/config/other: unknown property "other" is ignored`},
		"memory entry":      {"memory: {short_term: [{role: user}]}", "/memory/short_term/0: want a string or an object with content"},
		"memory content":    {"memory: {short_term: [{content: {}}]}", "/memory/short_term/0: content: want"},
		"memory role":       {"memory: {short_term: [a, {role: 3, content: x}]}", "/memory/short_term/1: role: want a string"},
		"memory is_user":    {"memory: {short_term: [{is_user: yes please, content: x}]}", "/memory/short_term/0: is_user: want a boolean"},
		"memory time":       {"memory: {short_term: [{timestamp: soon, content: x}]}", "/memory/short_term/0: timestamp:"},
		"long-term entry":   {"memory: {long_term: [[a]]}", "/memory/long_term/0: want a string, an object"},
		"long-term score":   {"memory: {long_term: [[a, b]]}", "/memory/long_term/0: score: want a number"},
		"unknown variable":  {"config: " + segments(variable("current_user_inptu")), `context_template[0].segments[0].value: unknown variable "current_user_inptu" (did you mean "current_user_input"?)`},
		"unknown input":     {"config: " + segments(variable("inputs.town")), `context_template[0].segments[0].value: unknown variable "inputs.town" (`},
		"unknown function":  {"config: {context_template: [{module_name: a, segments: [], importance_func: is_relevent}]}", `unknown importance function "is_relevent" (did you mean "is_relevant"?)`},
		"strict and absent": {"strict: true\nconfig_path: none.json", "reading the config file"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := exec(t, read(t, c.with), newEnv(t))
			if err == nil || !strings.Contains(err.Error(), c.want) && !strings.Contains("/config"+err.Error(), c.want) {
				t.Errorf("got  %v\nwant %s", err, c.want)
			}
			var problems schema.Problems
			if kind := calls.KindOf(err); kind == calls.Internal && !errors.As(err, &problems) {
				t.Errorf("kind %s", kind)
			}
		})
	}
}

// The construction itself finds what is wrong in a config, without the check of
// the engine before it.
func TestConstructionChecksTheConfig(t *testing.T) {
	_, err := input.Definition().New(read(t, `config: {context_template: [{module_name: "", segments: [{type: x}]}]}`))
	var problems schema.Problems
	if calls.KindOf(err) != calls.Invalid || !errors.As(err, &problems) || len(problems) != 3 {
		t.Errorf("got %v", err)
	}
	_, err = input.Definition().New(read(t, `config: {context_template: {main: []}}`))
	if err == nil || !strings.Contains(err.Error(), "must be a list of modules") {
		t.Errorf("got %v", err)
	}
}

func TestLint(t *testing.T) {
	def := input.Definition()
	some := "config: {context_template: [" +
		`{module_name: a, importance_func: on, segments: [` + variable("x.y") + "," + variable("inputs.any") + "," + variable("weekday") + `]},` +
		`{module_name: a, importance_func: nobody, segments: [` + variable("nothing") + `]}]}`
	const duplicate, function, unknown = "/config/context_template/1/module_name", "/config/context_template/1/importance_func", "/config/context_template/1/segments/0/value"
	for name, c := range map[string]struct {
		with string
		want []string
	}{
		"all":                   {"variables: {x: {y: 1}, on: true}\n" + some, []string{duplicate, function, unknown}},
		"values known later":    {"variables: {x: null, on: null}\n" + some, []string{duplicate, function, unknown}},
		"variables known later": {"variables: null\n" + some, []string{duplicate}},
		"another policy":        {"variables: {x: null, on: null}\non_unknown: keep\n" + some, []string{duplicate, function}},
		"a policy known later":  {"variables: {x: null, on: null}\non_unknown: null\n" + some, []string{duplicate, function}},
		"config known later":    {"config: null", nil},
		"no config":             {"{}", nil},
		"against the schema":    {"config: {context_template: 1}", nil},
	} {
		t.Run(name, func(t *testing.T) {
			var pointers []string
			for _, p := range def.Lint(read(t, c.with), newEnv(t).Functions) {
				pointers = append(pointers, p.Pointer)
			}
			if diff := cmp.Diff(c.want, pointers); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestFiles(t *testing.T) {
	twice := strings.ReplaceAll(segments(text("a"), text("b")), "m1", "m0")
	for name, c := range map[string]struct{ content, with, want, warning, err string }{
		"the example of the documents": {
			"{\n    \"context_template\": [\n        {\"module_name\": \"a\", \"segments\": [{\"type\": \"text\", \"value\": \"http://x // y\"}],},\n    ]\n    // ... more\n}", "", "http://x // y", "", ""},
		"unknown keys":        {`{"context_template": [{"module_name": "a", "segments": [], "importence_func": true}], "seting": 1}`, "", "", `c.json:1:79: context_template[0].importence_func: unknown property "importence_func" is ignored (did you mean "importance_func"?)`, ""},
		"true as text":        {`{"context_template": [{"module_name": "a", "segments": [` + text("A") + `], "importance_func": "True"}]}`, "", "A", `the text "True" is taken as a boolean`, ""},
		"false as text":       {`{"context_template": [{"module_name": "a", "segments": [` + text("A") + `], "importance_func": "false"}]}`, "", "", `the text "false" is taken as a boolean`, ""},
		"wrong JSON":          {"{\n  \"context_template\": [}\n", "", "", "", "c.json:2:24: "},
		"all that is wrong":   {`{"context_template": [{"segments": 1}, 2]}`, "", "", "", "c.json:1:36: context_template[0].segments: want array, got integer\nc.json:1:40: "},
		"lenient":             {"{", "on_invalid: default", defaultPrompt, "the default template is used: c.json:1:2", ""},
		"lenient with names":  {twice, "on_invalid: default", "a\n\nb", `the name "m0" is taken`, ""},
		"strict with warning": {`{"context_template": [], "x": 1}`, "strict: true", "", "", `unknown property "x"`},
		"too large":           {strings.Repeat(" ", 1<<20+1), "", "", "", "c.json:1:1: the file has more than"},
	} {
		t.Run(name, func(t *testing.T) {
			env := newEnv(t)
			write(t, env, "c.json", c.content)
			out, err := exec(t, read(t, "config_path: c.json\nmemory: {short_term: [], long_term: []}\n"+c.with), env)
			if c.err != "" {
				if err == nil || !strings.Contains(err.Error(), c.err) || calls.KindOf(err) != calls.Invalid {
					t.Errorf("got %v, want %s", err, c.err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if out.Prompt != c.want {
				t.Errorf("got %q, want %q", out.Prompt, c.want)
			}
			if got := strings.Join(out.Warnings, "\n"); !strings.Contains(got, c.warning) || (c.warning == "") != (got == "") {
				t.Errorf("got the warnings %q, want %q", got, c.warning)
			}
		})
	}
}

const defaultPrompt = "You are a friendly assistant. Use the context below to give a helpful answer.\n\nUser input:\nhow hot?"

func TestUnreadableFile(t *testing.T) {
	env := newEnv(t)
	if err := os.Mkdir(filepath.Join(env.Dir, "dir"), 0o700); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{"missing.json", "dir", filepath.Join(env.Dir, "missing.json")} {
		out, err := exec(t, value.OfMap(value.Pairs("config_path", path)), env)
		if err != nil || out.Prompt != defaultPrompt {
			t.Errorf("%s: got %q, %v", path, out.Prompt, err)
		}
		if len(out.Warnings) != 1 || !strings.HasPrefix(out.Warnings[0], "the default template is used: ") {
			t.Errorf("%s: got the warnings %q", path, out.Warnings)
		}
	}
}

func TestLanguages(t *testing.T) {
	for language, want := range map[string]string{
		"zh": "用户输入：", "zh-CN": "用户输入：", "": "User input:", "en_US": "User input:", "fr": "User input:",
	} {
		env := newEnv(t)
		env.Vars.Language = language
		out, err := exec(t, value.OfMap(nil), env)
		if err != nil || !strings.Contains(out.Prompt, want) {
			t.Errorf("%q: got %q, %v", language, out.Prompt, err)
		}
	}
}

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

// counting is a resolver that remembers what it was asked.
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
	if err := env.Functions.(*calls.Registry).AddResolver(r, names...); err != nil {
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
					t.Errorf("got %q, %v, %q", out.Prompt, err, out.Warnings)
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
					if err := env.Functions.(*calls.Registry).AddImportance(name, f); err != nil {
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
	if err := env.Functions.(*calls.Registry).AddImportance("f", f); err != nil {
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
		reasons = append(reasons, p.Reason)
	}
	if diff := cmp.Diff([]string{"f: since", "early: the variable is true", "f says yes", "never: as its name says"}, reasons); diff != "" {
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
	if err := env.Functions.(*calls.Registry).AddImportance("stop", stop); err != nil {
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
	if _, err := callstest.Fold(call.Exec(ctx, env, in)); calls.KindOf(err) != calls.Canceled {
		t.Errorf("got %v", err)
	}
}

func TestOmitIfEmpty(t *testing.T) {
	for name, c := range map[string]struct{ omit, want string }{
		"by default not": {"", "Q:"}, "asked for": {"omit_if_empty: true,", ""}, "refused": {"omit_if_empty: false,", "Q:"},
	} {
		out, err := exec(t, read(t, "user_input: ' '\nconfig: {context_template: [{module_name: a, "+c.omit+" segments: ["+text("Q:")+","+variable("current_user_input")+"]}]}"), newEnv(t))
		if err != nil || strings.TrimSpace(out.Prompt) != c.want {
			t.Errorf("%s: got %q, %v", name, out.Prompt, err)
		}
	}
	out, err := exec(t, read(t, "memory: {short_term: []}\nconfig: {context_template: [{module_name: a, omit_if_empty: false, segments: ["+text("S:")+","+variable("short_term_history_content")+"]}]}"), newEnv(t))
	if err != nil || out.Prompt != "S:" {
		t.Errorf("got %q, %v", out.Prompt, err)
	}
}

func TestShortTermBounds(t *testing.T) {
	env := newEnv(t)
	turns := []value.Value{}
	for i := range 205 {
		turns = append(turns, value.OfString(fmt.Sprintf("%03d", i)))
	}
	with := read(t, "config: "+segments(variable("short_term_history_content"))).Map()
	with.Set("memory", value.OfMap(value.Pairs("short_term", value.OfList(turns...))))
	out, err := exec(t, value.OfMap(with), env)
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(out.Prompt, "\n")
	if len(lines) != 200 || lines[0] != "005" || lines[199] != "204" || !strings.Contains(out.Parts[0].Reason, "the newest 200 of 205 utterances") {
		t.Errorf("got %d lines from %s to %s: %s", len(lines), lines[0], lines[len(lines)-1], out.Parts[0].Reason)
	}
}

// Whatever values are inserted, the prompt is the texts in order: nothing is
// interpreted, nothing is lost.
func TestPromptIsItsTexts(t *testing.T) {
	env := newEnv(t)
	rapid.Check(t, func(r *rapid.T) {
		given := value.NewMap(4)
		var modules, want []value.Value
		for i := range rapid.IntRange(0, 6).Draw(r, "modules") {
			var list []value.Value
			module := ""
			for j := range rapid.IntRange(0, 4).Draw(r, "segments") {
				s := rapid.StringOfN(rapid.SampledFrom([]rune("ab{}% \n时")), 0, 8, -1).Draw(r, "text")
				module += s
				if rapid.Bool().Draw(r, "variable") {
					name := fmt.Sprintf("v%d_%d", i, j)
					given.Set(name, value.OfString(s))
					list = append(list, value.OfMap(value.Pairs("type", "variable", "value", name)))
					continue
				}
				list = append(list, value.OfMap(value.Pairs("type", "text", "value", s)))
			}
			modules = append(modules, value.OfMap(value.Pairs("module_name", fmt.Sprint(i), "segments", value.OfList(list...))))
			if module != "" {
				want = append(want, value.OfString(module))
			}
		}
		texts := []string{}
		for _, w := range want {
			s, _ := w.Str()
			texts = append(texts, s)
		}
		with := value.Pairs("config", value.Pairs("context_template", value.OfList(modules...)), "variables", given)
		out, err := exec(t, value.OfMap(with), env)
		if err != nil || out.Prompt != strings.Join(texts, "\n\n") {
			r.Fatalf("got %q, %v, want %q", out.Prompt, err, texts)
		}
		if n := len(slices.DeleteFunc(out.Parts, func(p calls.Part) bool { return !p.Included })); n != len(texts) {
			r.Fatalf("%d parts are in, want %d", n, len(texts))
		}
	})
}
