package config

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// The folders of a settings file are found from wherever the program is started.
func TestSettingsPaths(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "settings.yaml")
	if err := os.WriteFile(file, []byte("languages: lang\nmedia_roots: [media, /abs]\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	c, err := Load(file, nil)
	if err != nil {
		t.Fatal(err)
	}
	got := append([]string{c.Languages, c.StateDir}, c.Media...)
	want := []string{filepath.Join(dir, "lang"), ".scheduler", filepath.Join(dir, "media"), "/abs"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	t.Setenv("SCHEDULER_LANGUAGES", "mine")
	if c, err = Load(file, nil); err != nil || c.Languages != "mine" {
		t.Errorf("got %v, %v", c, err)
	}
	t.Chdir(t.TempDir())
	if c, err = Load("", nil); err != nil || c.file != nil || c.Languages != "mine" {
		t.Errorf("without a file: %v, %v", c, err)
	}
}
