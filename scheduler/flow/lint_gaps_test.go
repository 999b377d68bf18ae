package flow_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/tools/txtar"

	"github.com/callnode/scheduler/calls"
	"github.com/callnode/scheduler/calls/builtin"
	"github.com/callnode/scheduler/scheduler"
	"github.com/callnode/scheduler/scheduler/flow"
	"github.com/callnode/scheduler/scheduler/schedulertest"
)

func builtinLoader(t *testing.T) *flow.Loader {
	t.Helper()
	registry, err := builtin.Registry()
	if err != nil {
		t.Fatal(err)
	}
	return &flow.Loader{Registry: registry}
}

// unpackHere puts files into a new directory and works there.
func unpackHere(t *testing.T, archive string) (first []byte) {
	t.Helper()
	t.Chdir(t.TempDir())
	a := txtar.Parse([]byte(archive))
	for _, f := range a.Files {
		if err := os.MkdirAll(filepath.Dir(f.Name), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(f.Name, f.Data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return a.Comment
}

// TestLintBuiltin lints flows with the calls that the program has.
func TestLintBuiltin(t *testing.T) {
	for name, c := range map[string]struct {
		flow string
		want []string
	}{
		"a wrong template": {`steps:
  - id: a
    call: template
    with:
      template: |
        Hello {{ name | uper }}
        and {{ b ! c }}, {{ nmae }}
      values: {name: "{{ inputs.name }}"}
`, []string{
			`flow.yaml:6:25: template: unknown filter 'uper' (did you mean "upper"?)`,
			`flow.yaml:7:18: template: unexpected character '!'`,
			`flow.yaml:7:29: template: no value is given for the name "nmae" (did you mean "name"?)`,
		}},
		"a template from a file": {`steps: [{id: a, call: template, with: {template: !file t.md, values: {name: x}}}]
-- t.md --
Hello
  {{ nam }}
`, []string{`t.md:2:6: template: no value is given for the name "nam" (did you mean "name"?)`}},
		"values that are not known": {`steps: [{id: a, call: template, with: {template: "{{ nam }}{{ x | default(1) }}", values: "{{ inputs.all }}"}}]`, nil},
		"a template of the flow": {`steps: [{id: a, call: chat, with: {user: "{{ a | nosuch }} {{ b }} {{ inputs.x | nope }}"}}]`, []string{
			`flow.yaml:1:50: template: unknown filter 'nosuch'`,
			`flow.yaml:1:63: unknown name "b" (names are the ids of steps and inputs, question, history, summary, facts, vars, run, item, index, error, secrets)`,
			`flow.yaml:1:82: template: unknown filter 'nope'`,
		}},
		"no closing braces": {`steps: [{id: a, call: chat, with: {user: "{{ inputs.x }"}}]`, []string{
			`flow.yaml:1:45: template: }} is missing: the tag is not closed`,
		}},
		"a whole expression": {`steps: [{id: a, call: template, with: {template: "{{ v }}", values: {v: 1}}}]`, []string{
			`flow.yaml:1:54: unknown name "v" (one whole {{ expression }} is rendered by the flow, also in template; write template: !raw "{{ v }}" for a template of the call)`,
		}},
		"raw":    {`steps: [{id: a, call: template, with: {template: !raw "{{ v }}", values: {v: 1}}}]`, nil},
		"filled": {`steps: [{id: a, call: template, enable_filling: true, with: {template: "Hi {{ v }}"}}]`, nil},
		"when": {`steps:
  - {id: a, call: chat, with: {user: x}, when: "inputs.text =="}
  - {id: b, call: chat, with: {user: x}, when: "inputs.text == 1"}
`, []string{
			`flow.yaml:2:48: when must be one {{ expression }}; any other text counts as true (and "inputs.text ==" is not an expression: unexpected the end of the expression: expected an expression)`,
			`flow.yaml:3:48: when must be one {{ expression }}; any other text counts as true (write when: "{{ inputs.text == 1 }}")`,
		}},
		"an alias": {`steps:
  - &x {id: a, call: chat, with: {user: x}}
  - *x
`, []string{`flow.yaml:3:5: duplicate step id "a" (first at flow.yaml:2:13) (ids are unique in a flow)`}},
		"a config file": {`steps:
  - {id: a, call: input, with: {config_path: conf/c.jsonc}}
  - {id: b, call: input, with: {config_path: conf/none.jsonc}}
  - {id: c, call: input, with: {config_path: conf/bad.jsonc}}
  - {id: d, call: input, with: {config_path: conf/none.jsonc, on_invalid: default}}
  - {id: e, call: input, with: {config_path: /nonexistent/c.jsonc}}
-- conf/c.jsonc --
{"context_template": [ // modules
  {"module_name": "a", "importance_func": "is_relevnt",
   "segments": [{"type": "variable", "value": "current_user_inptu"}]}
]}
-- conf/bad.jsonc --
{"context_template": [}
`, []string{
			`flow.yaml:3:46: config_path: there is no file conf/none.jsonc (paths are relative to the flow file)`,
			`flow.yaml:5:46: warning: config_path: there is no file conf/none.jsonc (paths are relative to the flow file)`,
			`conf/bad.jsonc:1:23: `,
			`conf/c.jsonc:2:43: context_template[0].importance_func: unknown importance function "is_relevnt" (did you mean "is_relevant"?)`,
			`conf/c.jsonc:3:47: context_template[0].segments[0].value: unknown variable "current_user_inptu" (did you mean "current_user_input"?)`,
		}},
		"a workspace": {`steps:
  - {id: a, call: context, with: {workspace: desk, current_message: hi}}
  - {id: b, call: context, with: {workspace: desk2, current_message: hi}}
  - {id: c, call: context, with: {workspace: "~/nonexistent", current_message: hi}}
-- desk/AGENTS.md --
`, []string{`flow.yaml:3:46: warning: workspace: there is no directory desk2 (paths are relative to the flow file)`}},
	} {
		t.Run(name, func(t *testing.T) {
			src := unpackHere(t, c.flow)
			_, problems := builtinLoader(t).Parse("flow.yaml", src)
			var got []string
			for i, p := range problems {
				text := p.String()
				if i < len(c.want) && strings.HasSuffix(c.want[i], ": ") && strings.HasPrefix(text, c.want[i]) {
					text = c.want[i]
				}
				got = append(got, text)
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestLanguages(t *testing.T) {
	loader := builtinLoader(t)
	parse := func(language string) string {
		_, problems := loader.Parse("flow.yaml", []byte("language: "+language+"\nsteps: [{id: a, call: chat, with: {user: x}}]"))
		return problems.Error()
	}
	if got := parse("xx"); got != "" {
		t.Errorf("not checked: %s", got)
	}
	if got := loader.LintLanguages(); len(got) > 0 {
		t.Errorf("there is no directory: %s", got)
	}
	loader.Languages = &flow.Languages{Dir: "langs", Files: fstest.MapFS{"fr": {Mode: fs.ModeDir}}}
	for _, language := range []string{"zh", "en", "zh-CN", "en_US", "fr"} {
		if got := parse(language); got != "" {
			t.Errorf("%s: %s", language, got)
		}
	}
	if got, want := parse("xx"), `flow.yaml:1:11: there is no language "xx" (there are zh, en, fr; put the texts of another one into langs/xx)`; got != want {
		t.Errorf("got %s", got)
	}
}

func TestLoadArgument(t *testing.T) {
	t.Chdir(t.TempDir())
	if err := os.Mkdir("flows", 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile("flows/weather.yaml", nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]string{
		"flows/wether.yaml": "flows/wether.yaml:1:1: there is no file flows/wether.yaml (did you mean flows/weather.yaml?)",
		"nosuch.yaml":       "nosuch.yaml:1:1: there is no file nosuch.yaml",
		"-":                 "-:1:1: a flow is not read from standard input (paths in a flow start at its file: write it to one)",
	} {
		if _, problems := builtinLoader(t).Load(path); problems.Error() != want {
			t.Errorf("got %v", problems)
		}
	}
}

// An error of a template that a call renders stands where the flow has its text.
func TestTemplateErrorPlace(t *testing.T) {
	for name, c := range map[string]struct{ flow, position, message string }{
		"in the flow": {`
steps:
  - id: a
    call: template
    with:
      template: |
        Hello
          {{ name.first }}
      values: {name: "{{ inputs }}"}
`, "flow.yaml:8:14", "name.first is undefined"},
		"in a file": {`
steps: [{id: a, call: template, with: {template: !file t.md, values: {name: {}}}}]
-- t.md --
Hello
  {{ name.first }}
`, "t.md:2:6", "name.first is undefined"},
		"from elsewhere": {`
steps:
  - {id: t, call: template, with: {template: "{{ '{{' }} name.first }}"}}
  - {id: a, call: template, with: {template: "{{ t.text }}", values: {name: {}}}}
`, "flow.yaml:4:46", "template:1:4: name.first is undefined"},
	} {
		t.Run(name, func(t *testing.T) {
			r := schedulertest.Run(t, c.flow, schedulertest.With(builtin.Calls()...))
			var failure *scheduler.Failure
			if !errors.As(r.Err, &failure) {
				t.Fatalf("got %v", r.Err)
			}
			info := failure.Info
			if info.Position != c.position || !strings.Contains(info.Message, c.message) || info.Kind != calls.Invalid {
				t.Errorf("got %+v", info)
			}
			if strings.Contains(info.Message, "template:") != strings.Contains(c.message, "template:") {
				t.Errorf("two places: %+v", info)
			}
		})
	}
}

func TestLoadInside(t *testing.T) {
	unpackHere(t, `
-- flows/good.yaml --
steps: [{id: a, call: chat, with: {user: x}}]
-- flows/secret.txt --
the secret word
-- flows/secret.yaml --
password: hunter2
-- flows/step.yaml --
steps: [{id: a, call: chat, with: {user: x}}, {password: hunter2}]
-- flows/wrong.yaml --
steps: [{id: a, call: chatt, with: {user: x}}]
-- outside.yaml --
steps: [{id: a, call: chat, with: {user: x}}]
`)
	if err := os.Symlink("../outside.yaml", "flows/link.yaml"); err != nil {
		t.Fatal(err)
	}
	loader := builtinLoader(t)
	if flow, err := loader.LoadInside("flows", "flows/good.yaml"); err != nil || flow.File != "flows/good.yaml" {
		t.Error(err)
	}
	for path, want := range map[string]string{
		"flows/secret.txt":  "flows/secret.txt:1:1: this file is not a flow",
		"flows/secret.yaml": "flows/secret.yaml:1:1: this file is not a flow",
		"flows/step.yaml":   "flows/step.yaml:1:47: this file is not a flow",
		"flows/wrong.yaml":  `there is no call "chatt"`,
		"flows/none.yaml":   "cannot read the flow flows/none.yaml: no such file",
		"flows/link.yaml":   "cannot read the flow flows/link.yaml: path escapes from parent",
		"outside.yaml":      "the flow outside.yaml is not in the folder flows",
		"flows":             "flows is not a regular file",
	} {
		_, err := loader.LoadInside("flows", path)
		if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "hunter2") || strings.Contains(err.Error(), "secret word") {
			t.Errorf("%s: got %v, want %s", path, err, want)
		}
	}
}
