// Package pluginstest tests plugins: [Run] holds any plugin, in any language, to
// everything that the host relies on.
package pluginstest

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/callnode/scheduler/plugins/host"
	"github.com/callnode/scheduler/plugins/manifest"
	"github.com/callnode/scheduler/plugins/proto"
	"github.com/callnode/scheduler/plugins/verify"
)

// Run checks the plugin in a folder: the same as `scheduler plugins verify`.
func Run(t *testing.T, dir string) {
	t.Helper()
	h, err := host.Single(t.Context(), dir, host.Options{TempDir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	report(t, h)
}

// RunInProcess checks a plugin inside the process of the test, where a debugger
// reaches it. What only a program can do wrong is not checked.
func RunInProcess(t *testing.T, server proto.PluginServer, services ...string) {
	t.Helper()
	h, err := host.InProcess(server, host.Options{}, services...)
	if err != nil {
		t.Fatal(err)
	}
	report(t, h)
}

func report(t *testing.T, h *host.Host) {
	t.Helper()
	for _, r := range verify.Run(t.Context(), h, h.Names()[0]) {
		t.Run(r.Check, func(t *testing.T) {
			if r.Err != nil {
				t.Error(r.Err)
			}
		})
	}
	if err := h.Close(); err != nil {
		t.Error(err)
	}
}

// Build builds the Go plugin of a folder, and gives a folder with the program and
// everything that stands beside its source: one that a host can start.
func Build(t testing.TB, dir string) string {
	t.Helper()
	m, err := manifest.Read(dir)
	if err != nil {
		t.Fatal(err)
	}
	out := t.TempDir()
	if err := os.CopyFS(out, os.DirFS(dir)); err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), "go", "build", "-o", filepath.Join(out, filepath.FromSlash(m.Command)), ".")
	cmd.Dir = dir
	if text, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("building the plugin in %s: %v\n%s", dir, err, text)
	}
	return out
}
