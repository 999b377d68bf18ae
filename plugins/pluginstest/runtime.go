package pluginstest

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// Python puts a python3 that has grpcio first in PATH, for plugins with that command; without one the test is
// skipped.
func Python(t testing.TB) {
	t.Helper()
	for _, name := range []string{"python3", "/usr/bin/python3"} {
		program, err := exec.LookPath(name)
		if err != nil || exec.CommandContext(t.Context(), program, "-c", "import grpc, google.protobuf").Run() != nil {
			continue
		}
		dir := t.TempDir()
		if err := os.Symlink(program, filepath.Join(dir, "python3")); err != nil {
			t.Fatal(err)
		}
		t.Setenv("PATH", dir+string(os.PathListSeparator)+os.Getenv("PATH"))
		return
	}
	t.Skip("no python3 with grpcio (Debian: apt install python3-grpcio)")
}

// Node returns a copy of the folder of a plugin in Node with its packages installed; if they cannot be installed
// the test is skipped.
func Node(t testing.TB, dir string) string {
	t.Helper()
	for _, name := range []string{"node", "npm"} {
		if _, err := exec.LookPath(name); err != nil {
			t.Skipf("no %s", name)
		}
	}
	out := t.TempDir()
	if err := CopyFolder(out, dir); err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), "npm", "ci", "--no-fund", "--no-audit", "--ignore-scripts", "--prefer-offline")
	cmd.Dir = out
	if text, err := cmd.CombinedOutput(); err != nil {
		t.Skipf("the packages of the plugin cannot be installed: %v\n%s", err, text)
	}
	return out
}
