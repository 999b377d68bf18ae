package input_test

import (
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
		if p.Kind == "separator" {
			if p.Start != end || p.Module != "" || !p.Included || p.Text == "" {
				t.Errorf("separator %+v", p)
			}
			end = p.End
			continue
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
	env.Registry = registry
	env.Dir = t.TempDir()
	env.Clock = func() time.Time { return callstest.Now }
	env.Vars = &calls.Vars{
		Question: "how hot?", Language: "en", Now: callstest.Now,
		Scope:    calls.Scope{User: "ann", Session: "main"},
		Inputs:   value.OfMap(value.Pairs("city", "Hangzhou", "n", 3)),
		Upstream: calls.FixedUpstream{SummaryText: "They spoke of tea.", FactList: []string{"likes tea", "lives here"}},
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
	callstest.Run(t, input.Definition(), func(env *calls.Env) { env.Registry = newEnv(t).Registry })
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
	if r := out.Parts[2].Reason; !strings.Contains(r, "the first 4 of 5 memories") {
		t.Errorf("the reason %q does not say what was left out", r)
	}
}

func TestWrongParameters(t *testing.T) {
	for name, c := range map[string]struct{ with, want string }{
		"both":              {"config: {context_template: []}\nconfig_path: x", "config and config_path are two ways to say the same"},
		"keyed template":    {"config: {context_template: {main: []}}", "/context_template: want array, got object"},
		"no template":       {"config: {settings: {}}", "/config/context_template: the required property"},
		"segment":           {"config: {context_template: [{module_name: a, segments: [{type: image, value: x}]}]}", "/config/context_template/0/segments/0/type"},
		"value":             {"config: {context_template: [{module_name: a, segments: [{type: text, value: 3}]}]}", "/config/context_template/0/segments/0/value: want string, got integer"},
		"importance":        {"config: {context_template: [{module_name: a, segments: [], importance_func: 1}]}", "/config/context_template/0/importance_func"},
		"setting":           {"config: {context_template: [], settings: {max_short_term_memory: 201}}", "/config/settings/max_short_term_memory"},
		"timeout":           {"config: {context_template: [], settings: {function_timeout: soon}}", `/config/settings/function_timeout: invalid duration "soon"`},
		"duplicate":         {"config: " + strings.ReplaceAll(segments(text("a"), text("b")), "m1", "m0"), `/config/context_template/1/module_name: duplicate module name "m0" (first in context_template[0])`},
		"strict and not":    {"strict: true\non_invalid: default", "contradict each other"},
		"strict warning":    {"strict: true\nconfig: {context_template: [], other: 1}", `/config/other: unknown property "other" is ignored`},
		"memory entry":      {"memory: {short_term: [{role: user}]}", "/memory/short_term/0: want a string or an object with content"},
		"memory content":    {"memory: {short_term: [{content: {}}]}", "/memory/short_term/0: content: want"},
		"memory role":       {"memory: {short_term: [a, {role: 3, content: x}]}", "/memory/short_term/1: role: want a string"},
		"memory is_user":    {"memory: {short_term: [{is_user: yes please, content: x}]}", "/memory/short_term/0: is_user: want a boolean"},
		"memory time":       {"memory: {short_term: [{timestamp: soon, content: x}]}", "/memory/short_term/0: timestamp:"},
		"long-term entry":   {"memory: {long_term: [[a]]}", "/memory/long_term/0: want a string, an object"},
		"long-term score":   {"memory: {long_term: [[a, b]]}", "/memory/long_term/0: score: want a number"},
		"unknown variable":  {"config: " + segments(variable("current_user_inptu")), `config.context_template[0].segments[0].value: unknown variable "current_user_inptu" (did you mean "current_user_input"?)`},
		"unknown input":     {"config: " + segments(variable("inputs.town")), `config.context_template[0].segments[0].value: unknown variable "inputs.town" (`},
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
		if n := len(slices.DeleteFunc(out.Parts, func(p calls.Part) bool { return !p.Included || p.Kind != "module" })); n != len(texts) {
			r.Fatalf("%d parts are in, want %d", n, len(texts))
		}
	})
}
