package host_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/callnode/scheduler/calls"
	"github.com/callnode/scheduler/plugins/host"
	"github.com/callnode/scheduler/plugins/manifest"
)

// A reaper that hangs at its start delays nothing else.
func TestReaperHangs(t *testing.T) {
	dir := folder(t, "args: ["+hangs+"]\nlimits: {start_timeout: 200ms}")
	_, err := host.Single(t.Context(), dir, host.Options{TempDir: shortDir(t), Reaper: true})
	if err == nil || !strings.Contains(err.Error(), "plugin sample: the program "+os.Args[0]+" cannot be started: timeout") {
		t.Error(err)
	}
}

// A pipe in place of a program is refused, not waited for.
func TestProgramIsAPipe(t *testing.T) {
	dir := folder(t, "")
	text := "name: sample\nversion: 1.0.0\ncommand: ./program\n"
	err := errors.Join(syscall.Mkfifo(filepath.Join(dir, "program"), 0o700), os.WriteFile(filepath.Join(dir, manifest.FileName), []byte(text), 0o600))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := host.Single(t.Context(), dir, host.Options{TempDir: shortDir(t)}); !errors.Is(err, calls.ErrNotRegular) {
		t.Errorf("got %v", err)
	}
}
