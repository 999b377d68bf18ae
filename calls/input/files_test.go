package input_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"

	"github.com/callnode/scheduler/calls"
	"github.com/callnode/scheduler/calls/input"
	"github.com/callnode/scheduler/calls/schema"
	"github.com/callnode/scheduler/llm/value"
)

// The construction itself finds faults in a config, without the check of the engine before it.
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
			for _, p := range def.Lint(read(t, c.with), calls.LintEnv{Registry: newEnv(t).Registry}) {
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
		"lenient with names":  {twice, "on_invalid: default", "a\n\nb", `duplicate module name "m0"`, ""},
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

// A default template of a user need not have all the labels.
func TestDefaultFromAFolder(t *testing.T) {
	env := newEnv(t)
	env.Vars.Language = "fr-CA"
	env.Languages = fstest.MapFS{"fr/input/config.jsonc": {Data: []byte(`{"context_template": [
		{"module_name": "m", "segments": [{"type": "text", "value": "Bonjour "}, {"type": "variable", "value": "current_user_input"}]},
		{"module_name": "h", "segments": [{"type": "variable", "value": "short_term_history_content"}]}
	], "settings": {"user_label": "Utilisateur"}}`)}}
	out, err := exec(t, value.OfMap(value.Pairs("user_input", "x", "memory", value.Pairs("short_term", []any{
		value.Pairs("role", "user", "content", "a"), value.Pairs("role", "assistant", "content", "b"),
	}))), env)
	if err != nil || out.Prompt != "Bonjour x\n\nUtilisateur: a\nAssistant: b" {
		t.Errorf("got %q, %v", out.Prompt, err)
	}
	env.Languages = fstest.MapFS{"fr/input/config.jsonc": {Data: []byte(`{`)}}
	if _, err := exec(t, value.OfMap(nil), env); err == nil || !strings.Contains(err.Error(), "fr/input/config.jsonc:1:") {
		t.Errorf("got %v", err)
	}
}
