package sqlite_test

import (
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/callnode/scheduler/calls"
	"github.com/callnode/scheduler/calls/memory"
	"github.com/callnode/scheduler/calls/memory/sqlite"
)

// frozenDir makes TestFrozenChild read a store, and say how that went.
const frozenDir = "MEMORY_TEST_FROZEN_DIR"

func TestFrozenChild(t *testing.T) {
	dir := os.Getenv(frozenDir)
	if dir == "" {
		t.Skip("it is for TestFrozen")
	}
	s, err := sqlite.Open(t.Context(), dir, sqlite.Options{})
	if err != nil {
		fmt.Printf("opening: %v. Hint: %s\n", err, calls.HintOf(err))
		return
	}
	found, err := s.Search(t.Context(), &memory.Query{Users: memory.User("ann"), Text: "jasmine tea", Now: time.Now()})
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range found.Memories {
		fmt.Println("found", m.Memory.Content)
	}
	_, err = s.SaveMemories(t.Context(), []memory.BaseMemory{{Content: "x"}})
	fmt.Printf("read only: %v, saving: %v. Hint: %s\n", s.ReadOnly(), err, calls.HintOf(err))
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
}

// TestFrozen reads stores that cannot be written, without the rights of root, who may
// write anywhere: one that was closed, and two of a process that was killed, of which
// one has lost what it takes to read its log.
func TestFrozen(t *testing.T) {
	base, err := os.MkdirTemp("", "memory")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := os.RemoveAll(base); err != nil {
			t.Error(err)
		}
	})
	if err := os.Chmod(base, 0o755); err != nil {
		t.Fatal(err)
	}
	binary := filepath.Join(base, "child")
	copyFile(t, os.Args[0], binary, 0o755)

	dir := t.TempDir()
	s, err := sqlite.Open(t.Context(), dir, sqlite.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.SaveMemories(t.Context(), []memory.BaseMemory{{Content: "She likes jasmine tea.", Context: memory.Context{UserID: "ann"}}}); err != nil {
		t.Fatal(err)
	}
	const db = sqlite.FileName
	freeze(t, dir, filepath.Join(base, "killed"), db, db+"-wal", db+"-shm")
	freeze(t, dir, filepath.Join(base, "lost"), db, db+"-wal")
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	freeze(t, dir, filepath.Join(base, "closed"), db)

	for name, want := range map[string]string{
		"killed": "found She likes jasmine tea.\nread only: true, saving: writing to the memory store",
		"closed": "found She likes jasmine tea.\nread only: true, saving: writing to the memory store",
		"lost":   "write-ahead log",
	} {
		cmd := exec.CommandContext(t.Context(), binary, "-test.run=^TestFrozenChild$")
		cmd.Env = append(os.Environ(), frozenDir+"="+filepath.Join(base, name))
		if os.Geteuid() == 0 {
			cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}}
		}
		out, err := cmd.CombinedOutput()
		if err != nil || !strings.Contains(string(out), want) || !strings.Contains(string(out), "state_dir") {
			t.Errorf("%s: %s, %v", name, out, err)
		}
		if err := os.Chmod(filepath.Join(base, name), 0o755); err != nil {
			t.Fatal(err)
		}
	}
}

// freeze copies files of a store to a directory in which nothing can be written.
func freeze(t *testing.T, from, to string, files ...string) {
	t.Helper()
	if err := os.Mkdir(to, 0o755); err != nil {
		t.Fatal(err)
	}
	for _, name := range files {
		copyFile(t, filepath.Join(from, name), filepath.Join(to, name), 0o444)
	}
	if err := os.Chmod(to, 0o555); err != nil {
		t.Fatal(err)
	}
}

func copyFile(t *testing.T, from, to string, mode os.FileMode) {
	t.Helper()
	in, err := os.Open(from)
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	out, err := os.OpenFile(to, os.O_WRONLY|os.O_CREATE|os.O_EXCL, mode)
	if err == nil {
		_, err = io.Copy(out, in)
	}
	if err != nil {
		t.Fatal(err)
	}
	if err := out.Close(); err != nil {
		t.Fatal(err)
	}
}
