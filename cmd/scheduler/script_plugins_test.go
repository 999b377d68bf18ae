package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/callnode/scheduler/plugins/pluginstest"
	"github.com/callnode/scheduler/test/slow"
)

// workshop builds plugins for scripts, each once.
type workshop struct {
	dir    string
	source string // of this module

	mu    sync.Mutex
	built map[string]error
}

// command is the script command plugin NAME...: it puts the plugins of those names,
// ready to run, into plugins.d.
func (w *workshop) command(ts *testscript.TestScript, neg bool, names []string) {
	if neg || len(names) == 0 {
		ts.Fatalf("usage: plugin NAME...")
	}
	for _, name := range names {
		ts.Check(w.build(name))
		ts.Check(os.CopyFS(ts.MkAbs(filepath.Join("plugins.d", name)), os.DirFS(filepath.Join(w.dir, name))))
	}
}

// build makes the folder of a plugin.
func (w *workshop) build(name string) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if err, ok := w.built[name]; ok {
		return err
	}
	err := w.make(name)
	w.built[name] = err
	return err
}

func (w *workshop) make(name string) error {
	source := filepath.Join("..", "..", "plugins", "examples", name)
	if _, err := os.Stat(source); err != nil {
		source = filepath.Join("testdata", name)
	}
	out := filepath.Join(w.dir, name)
	if err := pluginstest.CopyFolder(out, source); err != nil {
		return err
	}
	if _, err := os.Stat(filepath.Join(source, "main.go")); err == nil {
		return pluginstest.BuildProgram(context.Background(), source, filepath.Join(out, name))
	}
	if _, err := os.Stat(filepath.Join(source, "package.json")); err == nil {
		cmd := exec.Command("npm", "ci", "--no-fund", "--no-audit", "--ignore-scripts", "--prefer-offline", "--silent")
		cmd.Dir, cmd.Stderr = out, os.Stderr
		return cmd.Run()
	}
	return nil
}

// condition decides the words [grpcio] and [npm], whether plugins in Python and Node can run
// here, and [slow], whether slow tests run.
func (w *workshop) condition(word string) (bool, error) {
	switch word {
	case "slow":
		return slow.Enabled(), nil
	case "grpcio":
		return pythonWithGRPC() != "", nil
	case "npm":
		for _, name := range []string{"node", "npm"} {
			if _, err := exec.LookPath(name); err != nil {
				return false, nil //nolint:nilerr // it is not there
			}
		}
		return w.build("units") == nil, nil
	}
	return false, fmt.Errorf("the condition %q is not known", word)
}

// pythonWithGRPC is a python3 that plugins run with; "" if there is none.
var pythonWithGRPC = sync.OnceValue(func() string {
	for _, name := range []string{"python3", "/usr/bin/python3"} {
		program, err := exec.LookPath(name)
		if err == nil && exec.Command(program, "-c", "import grpc, google.protobuf").Run() == nil {
			return program
		}
	}
	return ""
})

// newWorkshop also puts the python3 that works first in PATH, and the program as make build
// builds it: under the race detector a command takes three times as long, and scripts run
// hundreds. The slow tests run the program of this test, race detector included.
func newWorkshop(t *testing.T) *workshop {
	t.Helper()
	source, err := filepath.Abs(filepath.Join("..", ".."))
	if err != nil {
		t.Fatal(err)
	}
	w := &workshop{dir: t.TempDir(), source: source, built: map[string]error{}}
	if err := os.MkdirAll(filepath.Join(w.dir, "bin"), 0o750); err != nil {
		t.Fatal(err)
	}
	if !slow.Enabled() {
		t.Setenv("CGO_ENABLED", "0")
		if err := pluginstest.BuildProgram(t.Context(), ".", filepath.Join(w.dir, "bin", "scheduler"), "-trimpath", "-ldflags", "-s -w"); err != nil {
			t.Fatalf("build the program: %v", err)
		}
	}
	if python := pythonWithGRPC(); python != "" {
		if err := os.Symlink(python, filepath.Join(w.dir, "bin", "python3")); err != nil {
			t.Fatal(err)
		}
	}
	return w
}

// setup lets scripts find the program and python3.
func (w *workshop) setup(e *testscript.Env) {
	e.Setenv("SOURCE", w.source)
	e.Setenv("PATH", filepath.Join(w.dir, "bin")+string(os.PathListSeparator)+strings.TrimSpace(e.Getenv("PATH")))
}
