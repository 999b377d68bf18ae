package calls_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/callnode/scheduler/calls"
)

func TestReadFile(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "ten"), []byte("0123456789"), 0o600); err != nil {
		t.Fatal(err)
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer root.Close()
	for way, read := range map[string]func(name string, limit int64) ([]byte, error){
		"path": func(name string, limit int64) ([]byte, error) { return calls.ReadFile(filepath.Join(dir, name), limit) },
		"fs":   func(name string, limit int64) ([]byte, error) { return calls.ReadFileFS(os.DirFS(dir), name, limit) },
		"root": func(name string, limit int64) ([]byte, error) { return calls.ReadFileIn(root, name, limit) },
	} {
		if data, err := read("ten", 10); string(data) != "0123456789" || err != nil {
			t.Errorf("%s: %q, %v", way, data, err)
		}
		if data, err := read("ten", 4); string(data) != "01234" || err != nil {
			t.Errorf("%s: a long file: %q, %v", way, data, err)
		}
		if _, err := read("none", 10); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%s: no file: %v", way, err)
		}
		if _, err := read(".", 10); err == nil || !strings.HasSuffix(err.Error(), ": it is not a regular file") {
			t.Errorf("%s: a directory: %v", way, err)
		}
	}
}
