//go:build linux

package host_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/callnode/scheduler/plugins/host"
	"github.com/callnode/scheduler/plugins/manifest"
)

// A program gets three standard files and the life pipe, even if this process has files of its own parent that
// every child would get. Standard input is empty.
func TestNoFilesAreInherited(t *testing.T) {
	fd, err := syscall.Open("/dev/null", syscall.O_RDONLY, 0) // no O_CLOEXEC, as from a parent
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = syscall.Close(fd) }()
	dir := filepath.Join(t.TempDir(), "lister")
	if err := os.Mkdir(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	// The folder that the shell looks into is closed again when the loop comes to it.
	const script = `cat; for f in /proc/$$/fd/*; do [ -e "$f" ] && printf "%s " "${f##*/}" >&2 && readlink "$f" >&2; done; exit 1`
	text := fmt.Sprintf("name: lister\nversion: 1.0.0\ncommand: sh\nargs: [-c, %q]\n", script)
	if err := os.WriteFile(filepath.Join(dir, manifest.FileName), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, keeper := range []bool{true, false} {
		_, err = host.Single(t.Context(), dir, host.Options{TempDir: shortDir(t), Reaper: keeper})
		if err == nil {
			t.Fatal("it is a plugin")
		}
		inheritsNothing(t, err)
	}
}

func inheritsNothing(t *testing.T, err error) {
	t.Helper()
	_, list, ok := strings.Cut(err.Error(), "it wrote:\n")
	if !ok {
		t.Fatal(err)
	}
	want := []string{"0 /dev/null", "1 pipe:", "2 pipe:", "3 pipe:"}
	lines := strings.Split(list, "\n")
	if len(lines) != len(want) {
		t.Fatalf("it got\n%s", list)
	}
	for i, line := range lines {
		if !strings.HasPrefix(line, want[i]) {
			t.Errorf("it got %s, want %s", line, want[i])
		}
	}
}
