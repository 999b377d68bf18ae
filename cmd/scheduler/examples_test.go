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

// TestCallExamples lints and runs what `scheduler calls NAME` prints as an example,
// for every call.
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

// TestReadme holds the session that the README shows to what the program prints.
func TestReadme(t *testing.T) {
	readme, err := os.ReadFile("../../README.md")
	if err != nil {
		t.Fatal(err)
	}
	_, shown, ok := strings.Cut(string(readme), "$ scheduler run flows/quickstart.yaml --explain\n")
	if !ok {
		t.Fatal("the README does not show the quickstart any more")
	}
	shown, _, _ = strings.Cut(shown, "```")
	t.Chdir("../..")
	var stdout, stderr bytes.Buffer
	if code := runProgram([]string{"run", "--config", "configs/scheduler.yaml", "--ephemeral", "flows/quickstart.yaml", "--explain"}, strings.NewReader(""), &stdout, &stderr); code != exitDone {
		t.Fatalf("exit code %d\n%s", code, &stderr)
	}
	for line := range strings.SplitSeq(strings.TrimSpace(shown), "\n") {
		if mark, rest, ok := strings.Cut(line, ") "); ok && strings.HasPrefix(mark, "✓") {
			line = mark + ")" // the time differs
			_ = rest
		}
		if line = strings.TrimSuffix(line, "..."); line != "" && !strings.Contains(stdout.String()+stderr.String(), line) {
			t.Errorf("the README shows a line that the program does not print: %s", line)
		}
	}
}
