package service

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// A new file is there with its whole text or not at all, and nothing else is left.
func TestCreatedFileIsWhole(t *testing.T) {
	folder := t.TempDir()
	dir, err := os.OpenRoot(folder)
	if err != nil {
		t.Fatal(err)
	}
	defer dir.Close()
	text := strings.Repeat("# a line of a flow\n", 200_000)
	for _, name := range []string{"a", "deep/b", "deep/c"} {
		created := make(chan error, 1)
		go func() { created <- createFile(dir, name, text) }()
		for {
			kept, err := dir.ReadFile(name)
			if err == nil && len(kept) < len(text) {
				t.Fatalf("a part of %s is seen: %d of %d bytes", name, len(kept), len(text))
			}
			if err == nil {
				break
			}
		}
		if err := <-created; err != nil {
			t.Fatal(err)
		}
		if err := createFile(dir, name, "other"); !errors.Is(err, fs.ErrExist) {
			t.Errorf("a second file %s: %v", name, err)
		}
	}
	left, err := filepath.Glob(filepath.Join(folder, "deep", ".new-*"))
	if err != nil || len(left) > 0 {
		t.Errorf("left are %v, %v", left, err)
	}
}
