package manifest_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/callnode/scheduler/plugins/manifest"
)

func TestManifest(t *testing.T) {
	const good = "name: sample\nversion: 1.0.0\ncommand: ./x\n"
	for text, want := range map[string]string{
		good: "",
		good + "limits: {timeout: 5s, max_message_mib: 1}": "",
		good + "limits:":                             "",
		"name: sample\nversion: 1.0.0\n":             ":1:1: the required property \"command\" is missing (add it: The program",
		"name: Sample\nversion: 1\ncommand: x\n":     ":2:10: version: want string, got integer",
		"name: Sample\nversion: '1'\ncommand: x\n":   ":1:7: name: \"Sample\" does not match",
		good + "comand: y\n":                         ":4:1: unknown property \"comand\" (did you mean \"command\"?)",
		good + "limits: {a_b_c: 1}":                  ":4:10: unknown property \"a_b_c\" (take it out; there are start_timeout, timeout,",
		good + "env: ['A=B']":                        `:4:7: env.0: the environment variable "A=B" cannot be passed on`,
		good + "env: [PLUGIN_UNIX_SOCKET_DIR]":       "cannot be passed on",
		good + "services: [everything]":              ":4:12: services.0: \"everything\" is not one of llm, memory, vars, log",
		good + "data: [../x]":                        "is not a path inside the plugin's folder",
		good + "data: ['.']":                         "is not a path inside the plugin's folder",
		good + "data: [./plugin.yaml]":               ":4:8: data.0: plugin.yaml is part of what is trusted and cannot be data (take it out)",
		good + "limits: {timeout: 5}":                ":4:19: limits.timeout: want string, got integer",
		good + "limits: {timeout: soon}":             ":4:19: limits.timeout: invalid duration \"soon\" (use 30s",
		good + "limits: {memory: 1.5GB}":             ":4:18: limits.memory: invalid size \"1.5GB\" (use 512MiB or 2GiB)",
		good + "limits: {memory: 512MiB}":            "",
		good + "limits: {max_chunks: 0}":             ":4:22: limits.max_chunks: 0 is less",
		good + "args: [\"a\\nb\"]":                   ":4:8: args.0: \"a\\nb\" has a line break",
		"name: vars\nversion: '1'\ncommand: x\n":     "give it another name",
		good + "name: twice\n":                       ":4:1: ",
		good + "description: \"\\e[2J\"":             ":4:14: description: the text \"\\x1b[2J\" has the invisible character U+001B",
		good + "args: [\"a\\u202Eb\"]":               "the invisible character U+202E",
		"- a list":                                   "want object, got array",
		"name: x\nversion: 1.0.0\ncommand: ../../sh": "leaves the plugin's folder",
		"name: x\nversion: '1'\ncommand: ../../s":    "leaves the plugin's folder",
		"": "",
	} {
		dir := t.TempDir()
		if err := os.WriteFile(filepath.Join(dir, manifest.FileName), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		m, err := manifest.Read(dir)
		switch {
		case want == "" && text != "" && (err != nil || m.Limits.MaxChunks != 100_000):
			t.Errorf("%s\ngot %+v, %v", text, m, err)
		case want != "" && (err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), manifest.FileName)):
			t.Errorf("%s\ngot %v\nwant %s", text, err, want)
		case text == "" && err == nil:
			t.Error("an empty manifest was read")
		}
	}
}

// All faults of a manifest are reported, each with its place.
func TestManifestFaults(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, manifest.FileName)
	const text = "name: vars\nversion: 1.0.0\nservices:\n  - lmm\ndata: [../x]\nlimits:\n  timout: 3s\n  exec_timeout: 9\n"
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	_, err := manifest.Read(dir)
	want := strings.ReplaceAll(strings.TrimSpace(`
FILE:1:1: the required property "command" is missing (add it: The program: a path relative to this folder, or a name that is looked for in PATH)
FILE:1:7: name: a plugin cannot be called vars: flows name variables by that (give it another name)
FILE:4:5: services.0: "lmm" is not one of llm, memory, vars, log (did you mean "llm"?)
FILE:5:8: data.0: "../x" is not a path inside the plugin's folder (data is relative to plugin.yaml, and below it)
FILE:7:3: unknown property "timout" (did you mean "timeout"?)
FILE:8:17: limits.exec_timeout: want string, got integer (One execution of a call)`), "FILE", file)
	if err == nil || err.Error() != want {
		t.Errorf("got %v\nwant %s", err, want)
	}
}

func FuzzManifest(f *testing.F) {
	f.Add("name: sample\nversion: 1.0.0\ncommand: ./x\nenv: [A]\nlimits: {timeout: 3s}\n")
	f.Add("limits: 3")
	f.Fuzz(func(t *testing.T, text string) {
		dir := t.TempDir()
		if err := os.WriteFile(filepath.Join(dir, manifest.FileName), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if m, err := manifest.Read(dir); err == nil && (m.Name == "" || m.Command == "" || m.Limits.Concurrency < 1) {
			t.Errorf("%q gave %+v", text, m)
		}
	})
}
