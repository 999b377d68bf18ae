package flow

import (
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

// What a run would read as a file and is none is found before the run, and not opened.
func TestUsedFilesAreFiles(t *testing.T) {
	dir := t.TempDir()
	if err := os.Mkdir(filepath.Join(dir, "folder"), 0o700); err != nil {
		t.Fatal(err)
	}
	paths := []string{"folder"}
	if runtime.GOOS != "windows" {
		paths = append(paths, os.DevNull)
	}
	for _, path := range paths {
		text := "steps:\n  - id: a\n    call: chat\n    with:\n      config_path: " + path + "\n      openapi: ./" + path + "\n      workspace: folder\n"
		if filepath.IsAbs(path) {
			text = strings.ReplaceAll(text, "./", "")
		}
		file := filepath.Join(dir, "f.yaml")
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		ld := fakeLoader(t)
		ld.ReadFile = nil
		_, problems := ld.Load(file)
		var found []string
		for _, p := range problems {
			if strings.Contains(p.Message, "is not a regular file") {
				found = append(found, p.String()[len(dir)+1:])
			}
		}
		full := path
		if !filepath.IsAbs(path) {
			full = filepath.Join(dir, path)
		}
		want := "f.yaml:5:20: " + full + " is not a regular file (name a file); f.yaml:6:16: " + full + " is not a regular file (name a file)"
		if got := strings.Join(found, "; "); got != want {
			t.Errorf("%s: got %s, want %s", path, got, want)
		}
	}
}
