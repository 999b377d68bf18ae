package userpath_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/callnode/scheduler/calls/internal/userpath"
)

func TestResolve(t *testing.T) {
	home, dir := t.TempDir(), t.TempDir()
	t.Setenv("HOME", home)
	t.Setenv("USERPROFILE", home)
	absolute := filepath.Join(dir, "else", "where")
	for given, want := range map[string]string{
		"notes":         filepath.Join(dir, "notes"),
		"./a/../b":      filepath.Join(dir, "b"),
		"~":             home,
		"~/notes":       filepath.Join(home, "notes"),
		"~notes":        filepath.Join(dir, "~notes"),
		"notes/~/today": filepath.Join(dir, "notes", "~", "today"),
		absolute:        absolute,
	} {
		got, err := userpath.Resolve(dir, given)
		if err != nil || got != want {
			t.Errorf("%q: %s, %v; want %s", given, got, err, want)
		}
	}
}

func TestWithoutPath(t *testing.T) {
	dir := t.TempDir()
	_, missing := os.ReadFile(filepath.Join(dir, "missing"))
	_, folder := os.ReadFile(dir)
	for _, err := range []error{missing, folder} {
		hidden := userpath.WithoutPath(err)
		if hidden == nil || strings.Contains(hidden.Error(), dir) {
			t.Errorf("the error has the path: %v", hidden)
		}
	}
	if hidden := userpath.WithoutPath(missing); !errors.Is(hidden, fs.ErrNotExist) {
		t.Errorf("a missing file is not recognized: %v", hidden)
	}
}
