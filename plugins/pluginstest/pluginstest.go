// Package pluginstest tests plugins: [Run] checks any plugin, in any language, for everything that the host relies
// on, for example that it ends with its host.
package pluginstest

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
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

// RunInProcess checks a plugin inside the process of the test, for debuggers. The checks of processes always pass
// there.
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

// Build builds the Go plugin of a folder, and returns a folder with the program and all other files beside its
// source, which a host can start.
func Build(t testing.TB, dir string) string {
	t.Helper()
	m, err := manifest.Read(dir)
	if err != nil {
		t.Fatal(err)
	}
	out := t.TempDir()
	if err := CopyFolder(out, dir); err != nil {
		t.Fatal(err)
	}
	if err := BuildProgram(t.Context(), dir, filepath.Join(out, filepath.FromSlash(m.Command))); err != nil {
		t.Fatalf("building the plugin in %s: %v", dir, err)
	}
	return out
}

// BuildProgram builds the Go program of a folder into a file, with flags of go build. Unlike go build,
// go run keeps the programs that it links in the build cache: one that has not changed is only copied.
func BuildProgram(ctx context.Context, dir, file string, flags ...string) error {
	file, err := filepath.Abs(file)
	if err != nil {
		return err
	}
	args := slices.Concat([]string{"run", "-exec", "cp"}, flags, []string{".", file})
	if _, err := exec.LookPath("cp"); err != nil {
		args = slices.Concat([]string{"build", "-o", file}, flags, []string{"."})
	}
	cmd := exec.CommandContext(ctx, "go", args...)
	cmd.Dir = dir
	if text, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("%w\n%s", err, text)
	}
	return nil
}

// CopyFolder copies the folder of a plugin, with the targets of links in it: links of the examples lead out of
// their folder, to the SDK.
func CopyFolder(to, from string) error {
	if err := os.MkdirAll(to, 0o750); err != nil {
		return err
	}
	entries, err := os.ReadDir(from)
	if err != nil {
		return err
	}
	for _, e := range entries {
		if err := copyEntry(filepath.Join(to, e.Name()), filepath.Join(from, e.Name())); err != nil {
			return err
		}
	}
	return nil
}

func copyEntry(to, from string) error {
	info, err := os.Stat(from)
	if err != nil {
		return err
	}
	if info.IsDir() {
		return CopyFolder(to, from)
	}
	content, err := os.ReadFile(from)
	if err != nil {
		return err
	}
	return os.WriteFile(to, content, info.Mode().Perm())
}
