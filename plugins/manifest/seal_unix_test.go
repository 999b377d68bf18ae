//go:build unix

package manifest

import (
	"net"
	"os"
	"path/filepath"
	"syscall"
	"testing"
)

// Pipes and sockets, and links to them, are a part of a program by their names and kinds: they are
// not opened.
func TestDigestOfSpecialFiles(t *testing.T) {
	dir, err := os.MkdirTemp("", "seal") // the path of a socket is short
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	m := &Manifest{Name: "sample", Command: "sh", Data: []string{"cache"}}
	before := mustSeal(t, dir, m)
	seen := map[string]string{before.SHA256: "nothing"}
	name := filepath.Join(dir, "it")
	pipe := filepath.Join(t.TempDir(), "pipe")
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	for what, add := range map[string]func() error{
		"a pipe":            func() error { return syscall.Mkfifo(name, 0o600) },
		"a file":            func() error { return os.WriteFile(name, nil, 0o600) },
		"a link to a pipe":  func() error { return os.Symlink(pipe, name) },
		"a link to nothing": func() error { return os.Symlink(filepath.Join(dir, "none"), name) },
		"a socket": func() error {
			l, err := net.Listen("unix", name)
			if err == nil {
				t.Cleanup(func() { _ = l.Close() })
			}
			return err
		},
	} {
		if err := add(); err != nil {
			t.Fatal(err)
		}
		sum := mustSeal(t, dir, m).SHA256
		if other := seen[sum]; other != "" {
			t.Errorf("%s has the sum of %s", what, other)
		}
		seen[sum] = what
		if err := before.CheckUnmodified(); err == nil {
			t.Errorf("%s is not seen", what)
		}
		if err := os.Remove(name); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Mkdir(filepath.Join(dir, "cache"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Mkfifo(filepath.Join(dir, "cache", "it"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := before.CheckUnmodified(); err != nil {
		t.Errorf("a pipe in data: %v", err)
	}
}

func mustSeal(t *testing.T, dir string, m *Manifest) *Seal {
	t.Helper()
	s, err := NewSeal(dir, m, Started{})
	if err != nil {
		t.Fatal(err)
	}
	return s
}
