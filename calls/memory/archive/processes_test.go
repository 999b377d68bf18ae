package archive_test

import (
	"bufio"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/callnode/scheduler/calls/memory"
	"github.com/callnode/scheduler/calls/memory/archive"
	"github.com/callnode/scheduler/calls/memory/sqlmemory"
)

// childName makes TestMirrorChild a process that changes a mirrored store; that named
// endless goes on until it is killed.
const childName, childDir, endless = "MIRROR_TEST_CHILD", "MIRROR_TEST_DIR", "endless"

// mirrored opens the store of a directory, with its mirror.
func mirrored(t *testing.T, dir string) *archive.Mirror {
	t.Helper()
	s, err := sqlmemory.OpenFile(t.Context(), dir, sqlmemory.FileOptions{})
	if err != nil {
		t.Fatal(err)
	}
	m, err := archive.NewMirror(t.Context(), s, filepath.Join(dir, "mirror"), slog.New(slog.NewTextHandler(os.Stdout, nil)))
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func TestMirrorChild(t *testing.T) {
	name, dir := os.Getenv(childName), os.Getenv(childDir)
	if name == "" {
		t.Skip("it is for the tests below")
	}
	for i := 0; i < 12 || name == endless; i++ {
		m := mirrored(t, dir)
		var list []memory.BaseMemory
		for j := range 5 { // ids that all children change, and a new one
			list = append(list, memory.BaseMemory{
				ID: fmt.Sprintf("memory_00000000-0000-4000-8000-%012d", j), Content: fmt.Sprint(name, i), Timestamp: start.Add(time.Duration(i*100+len(name)) * time.Minute),
			})
		}
		list = append(list, memory.BaseMemory{Content: fmt.Sprintf("new %s %d", name, i), Timestamp: start})
		saved, err := m.SaveMemories(t.Context(), list)
		if err == nil && i%4 == 3 { // which writes everything again
			_, err = m.Delete(t.Context(), memory.Selection{Users: memory.AllUsers(), ID: saved[5].ID})
		}
		if err := errors.Join(err, m.Close()); err != nil {
			t.Fatal(err)
		}
		fmt.Println("round", i)
	}
}

func mirrorChild(t *testing.T, name, dir string) *exec.Cmd {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestMirrorChild$")
	cmd.Env = append(os.Environ(), childName+"="+name, childDir+"="+dir)
	return cmd
}

// Two processes keep one mirror: neither loses the other's files.
func TestMirrorProcesses(t *testing.T) {
	dir := t.TempDir()
	results := make(chan error)
	for _, name := range []string{"a", "bb", "ccc"} {
		cmd := mirrorChild(t, name, dir)
		go func() {
			out, err := cmd.CombinedOutput()
			if strings.Contains(string(out), "behind") {
				err = errors.Join(err, fmt.Errorf("%s", out))
			}
			results <- err
		}()
	}
	for range 3 {
		if err := <-results; err != nil {
			t.Error(err)
		}
	}
	s, err := sqlmemory.OpenFile(t.Context(), dir, sqlmemory.FileOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	same(t, s, filepath.Join(dir, "mirror"))
}

// The unfinished work of a killed process is done by the next one.
func TestMirrorKilled(t *testing.T) {
	for round := range 3 {
		dir := t.TempDir()
		cmd := mirrorChild(t, endless, dir)
		out, err := cmd.StdoutPipe()
		if err == nil {
			err = cmd.Start()
		}
		if err != nil {
			t.Fatal(err)
		}
		for lines := bufio.NewScanner(out); lines.Scan() && lines.Text() != fmt.Sprint("round ", round*3); {
		}
		time.Sleep(time.Duration(round) * 3 * time.Millisecond) // anywhere in a round
		if err := cmd.Process.Kill(); err != nil {
			t.Fatal(err)
		}
		_ = cmd.Wait() // it was killed
		m := mirrored(t, dir)
		same(t, m.Store, filepath.Join(dir, "mirror"))
		if err := m.Close(); err != nil {
			t.Error(err)
		}
	}
}

// A file that never came, and a mark that no process holds: the process was killed between the two.
func TestMirrorLeftBehind(t *testing.T) {
	dir := t.TempDir()
	m := mirrored(t, dir)
	saved, err := m.SaveMemories(t.Context(), []memory.BaseMemory{{Content: "one"}, {Content: "two"}})
	if err := errors.Join(err, m.Close()); err != nil {
		t.Fatal(err)
	}
	mirror := filepath.Join(dir, "mirror")
	if err := os.Remove(filepath.Join(mirror, "memories", saved[0].ID+".json")); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(mirror, ".behind-x"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	m = mirrored(t, dir)
	same(t, m.Store, mirror)
	if err := m.Close(); err != nil {
		t.Error(err)
	}
	if left, err := filepath.Glob(filepath.Join(mirror, ".*")); err != nil || left != nil {
		t.Errorf("%v, %v", left, err)
	}
}
