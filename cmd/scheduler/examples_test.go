package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/callnode/scheduler/calls/builtin"
	"github.com/callnode/scheduler/scheduler/service"
)

// TestCallExamples lints and runs the example that `scheduler calls NAME` prints, for every call.
func TestCallExamples(t *testing.T) {
	for _, def := range builtin.Calls() {
		t.Run(def.Info.Name, func(t *testing.T) {
			t.Chdir(t.TempDir())
			files := map[string]string{"try.yaml": service.ExampleFlow(def)}
			for _, path := range exampleFiles(def) {
				files[path] = def.Info.Examples[0].Files[path]
			}
			for path, content := range files {
				if err := os.MkdirAll(filepath.Dir(path), 0o750); err != nil {
					t.Fatal(err)
				}
				if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			var stdout, stderr bytes.Buffer
			if code := runProgram([]string{"lint", "try.yaml"}, strings.NewReader(""), &stdout, &stderr); code != exitDone {
				t.Fatalf("lint: exit code %d\n%s%s\n%s", code, &stdout, &stderr, files["try.yaml"])
			}
			if def.Info.Name == "http" {
				return // its example asks a server on the Internet
			}
			stdout.Reset()
			code := runProgram([]string{"run", "--ephemeral", "try.yaml"}, strings.NewReader(""), &stdout, &stderr)
			// echo repeats the prompt: a call that wants more from a model may wait or fail.
			if code != exitDone && !def.Info.UsesLLM {
				t.Fatalf("run: exit code %d\n%s%s\n%s", code, &stdout, &stderr, files["try.yaml"])
			}
			if code == exitUsage {
				t.Fatalf("run: wrong before anything ran\n%s\n%s", &stderr, files["try.yaml"])
			}
		})
	}
}
