//go:build unix

// Package sqlitefiletest helps test programs that open SQLite files in a folder that they may not write to, for
// example one of another user.
package sqlitefiletest

import (
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
)

// Stranger runs tests of the test program that uses it without the rights of root, which may write anywhere.
type Stranger struct {
	// Dir is a directory that every user may read, unlike t.TempDir.
	Dir string

	program string
}

// nobody is the user id of Unix for processes without rights.
const nobody = 65534

// NewStranger makes the directory, which goes with the test.
func NewStranger(t testing.TB) *Stranger {
	t.Helper()
	dir, err := os.MkdirTemp("", "stranger")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
			if err == nil && d.IsDir() {
				err = os.Chmod(path, 0o755) // else only root could empty it
			}
			return err
		})
		if err := os.RemoveAll(dir); err != nil {
			t.Error(err)
		}
	})
	s := &Stranger{Dir: dir, program: filepath.Join(dir, "program")}
	chmod(t, dir, 0o755)
	copyAs(t, os.Args[0], s.program, 0o755)
	return s
}

// Freeze copies files of a directory into one of that name in Dir, in which nothing can
// be written afterwards.
func (s *Stranger) Freeze(t testing.TB, from, name string, files ...string) (dir string) {
	t.Helper()
	dir = filepath.Join(s.Dir, name)
	if err := os.Mkdir(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		copyAs(t, filepath.Join(from, file), filepath.Join(dir, file), 0o444)
	}
	chmod(t, dir, 0o555)
	return dir
}

// Run runs the test of that name with one more environment variable, NAME=VALUE, and returns what it printed. If
// it fails, so does the calling test. Meanwhile no file can be created in Dir.
func (s *Stranger) Run(t testing.TB, test, variable string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), s.program, "-test.run=^"+test+"$")
	cmd.Env = append(os.Environ(), variable)
	if os.Geteuid() == 0 {
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: nobody, Gid: nobody}}
	} else {
		chmod(t, s.Dir, 0o555)
		defer chmod(t, s.Dir, 0o755)
	}
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Errorf("%s: %v\n%s", variable, err, out)
	}
	return string(out)
}

func copyAs(t testing.TB, from, to string, mode os.FileMode) {
	t.Helper()
	data, err := os.ReadFile(from)
	if err == nil {
		err = os.WriteFile(to, data, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	chmod(t, to, mode)
}

func chmod(t testing.TB, path string, mode os.FileMode) {
	t.Helper()
	if err := os.Chmod(path, mode); err != nil {
		t.Fatal(err)
	}
}
