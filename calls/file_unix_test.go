//go:build unix

package calls_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/callnode/scheduler/calls"
)

// A pipe is never opened, for any purpose, and still exists afterwards.
func TestPipesAreNotOpened(t *testing.T) {
	dir := t.TempDir()
	pipe := filepath.Join(dir, "pipe")
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	root, err := calls.OpenRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer root.Close()
	for use, try := range map[string]func() error{
		"ReadFile":   func() error { _, err := calls.ReadFile(pipe, calls.AnyLength); return err },
		"ReadFileFS": func() error { _, err := calls.ReadFileFS(root.FS(), "pipe", 10); return err },
		"ReadFileIn": func() error { _, err := calls.ReadFileIn(root, "pipe", 10); return err },
		"OpenFile":   func() error { _, err := calls.OpenFile(pipe); return err },
		"WriteFile":  func() error { return calls.WriteFile(pipe, []byte("x"), 0o600) },
		"CreateFile": func() error { _, err := calls.CreateFile(pipe, 0o600); return err },
		"OpenRoot":   func() error { _, err := calls.OpenRoot(pipe); return err },
		"ReadDirFS":  func() error { _, err := calls.ReadDirFS(root.FS(), "pipe"); return err },
	} {
		if err := try(); err == nil || !strings.Contains(err.Error(), "pipe: it is not a ") {
			t.Errorf("%s: %v", use, err)
		}
	}
	if info, err := os.Stat(pipe); err != nil || info.Mode()&fs.ModeNamedPipe == 0 {
		t.Errorf("the pipe is %v, %v", info, err)
	}
}

// A file that is missing is written, one that is there is written over.
func TestFilesAreWritten(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	for _, text := range []string{"a longer text", "short"} {
		if err := calls.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if have, err := calls.ReadFile(file, calls.AnyLength); string(have) != text || err != nil {
			t.Errorf("%q, %v", have, err)
		}
	}
	f, err := calls.CreateFile(file, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	if info, err := os.Stat(file); err != nil || info.Size() != 0 {
		t.Errorf("it is not emptied: %v, %v", info, err)
	}
}
