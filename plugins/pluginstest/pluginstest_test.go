package pluginstest_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/callnode/scheduler/plugins"
	"github.com/callnode/scheduler/plugins/manifest"
	"github.com/callnode/scheduler/plugins/pluginstest"
	"github.com/callnode/scheduler/plugins/sdk"
	"github.com/callnode/scheduler/test/slow"
)

func TestRun(t *testing.T) {
	slow.Test(t)
	pluginstest.Run(t, pluginstest.Build(t, "../examples/recency"))
}

func TestRunInProcess(t *testing.T) {
	server, err := sdk.Plugin{Name: "mood", Version: "1.0.0", Functions: []sdk.Function{
		sdk.Variable("mood", sdk.Doc{En: "A mood.", Zh: "心情。"}, func(context.Context, plugins.State) (string, error) { return "well", nil }),
	}}.Server()
	if err != nil {
		t.Fatal(err)
	}
	pluginstest.RunInProcess(t, server, "log")
}

// If a runtime is missing, or its packages cannot be had, tests are skipped.
func TestSkipped(t *testing.T) {
	skipped := func(name string, test func(t *testing.T)) {
		t.Run(name, func(inner *testing.T) {
			defer func() {
				if !inner.Skipped() {
					t.Errorf("%s is not skipped", name)
				}
			}()
			test(inner)
		})
	}
	skipped("no Node", func(t *testing.T) {
		t.Setenv("PATH", t.TempDir())
		pluginstest.Node(t, t.TempDir())
	})
	skipped("no packages", func(t *testing.T) {
		pluginstest.Node(t, t.TempDir()) // no package.json, or no npm
	})
}

// recorder is a test that may fail.
type recorder struct {
	testing.TB
	dir string
}

func (r recorder) Helper()                  {}
func (r recorder) TempDir() string          { return r.dir }
func (r recorder) Context() context.Context { return context.Background() }
func (r recorder) Fatal(args ...any)        { panic(fmt.Sprint(args...)) }
func (r recorder) Fatalf(format string, args ...any) {
	panic(fmt.Sprintf(format, args...))
}

// A folder that is not a plugin, or does not compile, fails the test that wants it built.
func TestBuildFails(t *testing.T) {
	broken := t.TempDir()
	for name, text := range map[string]string{
		manifest.FileName: "name: broken\nversion: 1.0.0\ncommand: ./broken\n",
		"go.mod":          "module broken\n\ngo 1.26\n",
		"main.go":         "package main\n\nfunc main() { this is no Go }\n",
	} {
		if err := os.WriteFile(filepath.Join(broken, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	occupied := filepath.Join(broken, "main.go")
	for _, c := range []struct{ dir, out, want string }{
		{t.TempDir(), t.TempDir(), "reading a manifest: "}, {broken, t.TempDir(), "main.go:3:"}, {broken, occupied, "not a directory"},
	} {
		func() {
			defer func() {
				if got := fmt.Sprint(recover()); !strings.Contains(got, c.want) {
					t.Errorf("got %s, want %s", got, c.want)
				}
			}()
			pluginstest.Build(recorder{t, c.out}, c.dir)
		}()
	}
}
