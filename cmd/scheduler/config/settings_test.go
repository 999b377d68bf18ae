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
	c, err = Load(Place{File: file}, nil)
	if err != nil || c.Languages != "mine" {
		t.Errorf("got %v, %v", c, err)
	}
	t.Chdir(t.TempDir())
	c, err = Load(Place{}, nil)
	if err != nil || c.file != nil || c.Languages != "mine" {
		t.Errorf("without a file: %v, %v", c, err)
	}
}

// A project is found from the folders in it; its state directory is beside its settings.
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

// Folders from a shared one upwards are not searched for a project: users who can write there must not choose what
// other users run.
func TestProjectIsNotFoundInSharedFolder(t *testing.T) {
	above, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	shared := filepath.Join(above, "shared")
	inner := filepath.Join(shared, "mine", "flows")
	if err := os.MkdirAll(inner, 0o750); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(shared, 0o777|os.ModeSticky); err != nil {
		t.Fatal(err)
	}
	if !isSharedFolder(shared) {
		t.Skip("this system has no such folders")
	}
	for _, dir := range []string{above, shared} {
		if err := os.WriteFile(filepath.Join(dir, "scheduler.yaml"), []byte("nonsense: true\n"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	t.Chdir(inner)
	if c, err := Load(Place{}, nil); err != nil || c.File() != "" || c.Root != "" {
		t.Errorf("below the shared folder: %+v, %v", c, err)
	}
	if err := os.Mkdir(filepath.Join(shared, "mine", ".scheduler"), 0o750); err != nil {
		t.Fatal(err)
	}
	if c, err := Load(Place{}, nil); err != nil || c.Root != filepath.Dir(inner) {
		t.Errorf("in a project of its own: %+v, %v", c, err)
	}
	t.Chdir(shared)
	if _, err := Load(Place{}, nil); err == nil {
		t.Error("in the shared folder itself, its settings are not read")
	}
	if err := os.Remove(filepath.Join(shared, "scheduler.yaml")); err != nil {
		t.Fatal(err)
	}
	if c, err := Load(Place{}, nil); err != nil || c.File() != "" {
		t.Errorf("in the shared folder, without settings: %+v, %v", c, err)
	}
	if err := os.Chmod(shared, 0o777); err != nil { // writable by all, but not for temporary files
		t.Fatal(err)
	}
	if _, err := Load(Place{}, nil); err == nil {
		t.Error("a folder that is only writable by all ends the search")
	}
}
