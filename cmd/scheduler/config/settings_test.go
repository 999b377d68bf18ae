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
	c, err := Load(Place{File: file}, nil)
	if err != nil {
		t.Fatal(err)
	}
	got := append([]string{c.Languages, c.StateDir}, c.Media...)
	want := []string{filepath.Join(dir, "lang"), ".scheduler", filepath.Join(dir, "media"), "/abs"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	t.Setenv("SCHEDULER_LANGUAGES", "mine")
	if c, err = Load(Place{File: file}, nil); err != nil || c.Languages != "mine" {
		t.Errorf("got %v, %v", c, err)
	}
	t.Chdir(t.TempDir())
	if c, err = Load(Place{}, nil); err != nil || c.file != nil || c.Languages != "mine" {
		t.Errorf("without a file: %v, %v", c, err)
	}
}

// A project is found from the folders in it; its state directory stands beside its settings.
func TestProjectIsFoundUpward(t *testing.T) {
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	inner := filepath.Join(dir, "flows", "deep")
	if err := os.MkdirAll(inner, 0o750); err != nil {
		t.Fatal(err)
	}
	t.Chdir(inner)
	load := func(place Place) [3]string {
		t.Helper()
		c, err := Load(place, nil)
		if err != nil {
			t.Fatal(err)
		}
		return [3]string{c.File(), c.Root, c.StateDir}
	}
	state, file := filepath.Join(dir, ".scheduler"), filepath.Join(dir, "scheduler.yaml")
	if got := load(Place{}); got != [3]string{"", "", ".scheduler"} {
		t.Errorf("outside of a project: %q", got)
	}
	if err := os.Mkdir(state, 0o750); err != nil {
		t.Fatal(err)
	}
	if got := load(Place{}); got != [3]string{"", dir, state} {
		t.Errorf("below a state directory: %q", got)
	}
	if err := os.WriteFile(file, []byte("language: zh\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if got := load(Place{}); got != [3]string{file, dir, state} {
		t.Errorf("below a settings file: %q", got)
	}
	t.Chdir(t.TempDir())
	if got := load(Place{StateDir: state}); got != [3]string{file, "", state} {
		t.Errorf("by the state directory: %q", got)
	}
	t.Chdir(dir)
	if got := load(Place{}); got != [3]string{"scheduler.yaml", "", ".scheduler"} {
		t.Errorf("in the project: %q", got)
	}
}
