package flow_test

import (
	"errors"
	"os"
	"strings"
	"testing"

	"github.com/callnode/scheduler/calls"
	"github.com/callnode/scheduler/calls/builtin"
	"github.com/callnode/scheduler/scheduler"
	"github.com/callnode/scheduler/scheduler/schedulertest"
)

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
		"weather":           "weather:1:1: there is no file weather (did you mean flows/weather.yaml?)",
		"weather.yaml":      "weather.yaml:1:1: there is no file weather.yaml (did you mean flows/weather.yaml?)",
		"wether":            "wether:1:1: there is no file wether (did you mean flows/weather.yaml?)",
		"flows/weather":     "flows/weather:1:1: there is no file flows/weather (did you mean flows/weather.yaml?)",
		"nosuch.yaml":       "nosuch.yaml:1:1: there is no file nosuch.yaml",
		"-":                 "-:1:1: a flow is not read from standard input (paths in a flow start at its file: write it to one)",
	} {
		if _, problems := builtinLoader(t).Load(path); problems.Error() != want {
			t.Errorf("got %v", problems)
		}
	}
}

// An error of a template that a call renders has the place of its text in the flow.
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
		"a name of the step": {`
inputs: {type: object}
steps:
  - {id: a, call: template, with: {template: "Hello {{ inputs.name.first }}"}}
`, "flow.yaml:4:56", "inputs.name is undefined"},
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
		"flows/secret.txt":  "secret.txt:1:1: this file is not a flow",
		"flows/secret.yaml": "secret.yaml:1:1: this file is not a flow",
		"flows/step.yaml":   "step.yaml:1:47: this file is not a flow",
		"flows/wrong.yaml":  `there is no call "chatt"`,
		"flows/none.yaml":   "cannot read the flow none.yaml: no such file",
		"flows/link.yaml":   "cannot read the flow link.yaml: path escapes from parent",
		"outside.yaml":      "the flow ../outside.yaml is not in the folder of the flow that runs it",
		"flows":             ". is not a regular file",
	} {
		_, err := loader.LoadInside("flows", path)
		if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "hunter2") || strings.Contains(err.Error(), "secret word") {
			t.Errorf("%s: got %v, want %s", path, err, want)
		}
	}
}
