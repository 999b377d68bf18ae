package sqlmemory_test

import (
	"context"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/callnode/scheduler/calls"
	"github.com/callnode/scheduler/calls/database/sqlitefile/sqlitefiletest"
	"github.com/callnode/scheduler/calls/memory"
	"github.com/callnode/scheduler/calls/memory/memorytest"
	"github.com/callnode/scheduler/calls/memory/sqlmemory"
	"github.com/callnode/scheduler/test/slow"
)

// openDir makes this test binary a process that opens a store and says how that went.
const openDir = "MEMORY_TEST_OPEN_DIR"

func TestMain(m *testing.M) {
	memorytest.RunChild(openPlace)
	if dir := os.Getenv(openDir); dir != "" {
		s, err := sqlmemory.OpenFile(context.Background(), dir, sqlmemory.FileOptions{})
		if err == nil {
			_, err = s.SaveMemories(context.Background(), []memory.BaseMemory{{Content: "x"}})
		}
		fmt.Println(err, "Hint:", calls.HintOf(err))
		os.Exit(0)
	}
	flag.Parse()
	if checks := flag.Lookup("rapid.checks"); checks.Value.String() == checks.DefValue {
		_ = flag.Set("rapid.checks", "10") // each of them opens files or makes databases
	}
	os.Exit(m.Run())
}

func TestDiskFull(t *testing.T) {
	s := open(t, t.TempDir(), sqlmemory.FileOptions{MaxPages: 200})
	saved, refused := 0, 0
	for i := range 3000 {
		_, err := s.SaveMemories(t.Context(), []memory.BaseMemory{{Content: fmt.Sprintf("number%d %s", i, strings.Repeat("filling the disk ", 30))}})
		switch {
		case err == nil && refused == 0:
			saved++
		case err != nil:
			refused++
			if !strings.Contains(calls.HintOf(err), "free some space") {
				t.Fatal(err)
			}
		}
		if refused > 5 {
			break
		}
	}
	if saved < 100 || refused == 0 {
		t.Errorf("%d saved, %d refused", saved, refused)
	}
	found, err := s.Search(t.Context(), &memory.Query{Users: memory.User(""), Text: "number7", Now: time.Now()})
	if err != nil || len(found.Memories) == 0 {
		t.Errorf("with a full disk: %v, %v", found, err)
	}
	if err := s.Check(t.Context()); err != nil {
		t.Error(err)
	}
}

func TestDamage(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, sqlmemory.FileName)
	s, err := sqlmemory.OpenFile(t.Context(), dir, sqlmemory.FileOptions{})
	if err != nil {
		t.Fatal(err)
	}
	var list []memory.BaseMemory
	for i := range 2000 {
		list = append(list, memory.BaseMemory{Content: fmt.Sprintf("number%d %s", i, strings.Repeat("x", 100)), Context: memory.Context{UserID: fmt.Sprint("u", i%2), SessionID: "s"}})
	}
	saved, err := s.SaveMemories(t.Context(), list)
	if err != nil {
		t.Fatal(err)
	}
	x := memory.MemorySnapshot{ID: memory.NewID(memory.SnapshotID, time.Now()), KeyPoints: []string{"k"}, MemoryRefs: []string{saved[0].ID}}
	if err := s.SaveSnapshot(t.Context(), "u0", x); err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	// A page in the middle of the memories is overwritten.
	at := strings.Index(string(data), "number1000 ") / 4096 * 4096
	broken := append([]byte{}, data...)
	for i := range 4096 {
		broken[at+i] = 0x5a
	}
	if err := os.WriteFile(file, broken, 0o600); err != nil {
		t.Fatal(err)
	}
	s, err = sqlmemory.OpenFile(t.Context(), dir, sqlmemory.FileOptions{})
	if err != nil {
		t.Fatal(err)
	}
	err = s.Check(t.Context())
	if err == nil || !strings.Contains(err.Error(), file) {
		t.Errorf("the damage is not seen: %v", err)
	}
	for _, err = range s.Memories(t.Context(), memory.Selection{Users: memory.AllUsers()}) {
		if err != nil {
			break
		}
	}
	if !strings.Contains(calls.HintOf(err), "import an export") {
		t.Errorf("reading: %v, hint %q", err, calls.HintOf(err))
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}

	// The beginning of the file is gone.
	for name, text := range map[string]string{"garbage": strings.Repeat("no database ", 1000), "cut": string(data[:5000])} {
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		s, err := sqlmemory.OpenFile(t.Context(), dir, sqlmemory.FileOptions{})
		if err == nil {
			err = s.Check(t.Context())
			_ = s.Close() // of a broken file
		}
		if err == nil || !strings.Contains(err.Error(), file) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestOtherFiles(t *testing.T) {
	dir := t.TempDir()
	s := open(t, dir, sqlmemory.FileOptions{})
	info, err := os.Stat(s.File())
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the file is %v, %v", info.Mode(), err)
	}
	if err := os.WriteFile(filepath.Join(dir, "x"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := sqlmemory.OpenFile(t.Context(), filepath.Join(dir, "x"), sqlmemory.FileOptions{}); calls.KindOf(err) == "" {
		t.Errorf("a file as directory: %v", err)
	}
}

// TestReadOnly opens stores in read-only places, without the rights of root, who may write anywhere.
func TestReadOnly(t *testing.T) {
	stranger := sqlitefiletest.NewStranger(t)
	filled := t.TempDir()
	s, err := sqlmemory.OpenFile(t.Context(), filled, sqlmemory.FileOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	stranger.Freeze(t, filled, "filled", sqlmemory.FileName)
	for _, name := range []string{"new", "filled"} {
		dir := filepath.Join(stranger.Dir, name)
		if out := stranger.Run(t, "TestMain", openDir+"="+dir); !strings.Contains(out, dir) || !strings.Contains(out, "check state_dir") {
			t.Errorf("%s: %s", dir, out)
		}
	}
}

// TestOtherDatabases: a file of another program or of a newer version is left alone.
func TestOtherDatabases(t *testing.T) {
	for want, change := range map[string]string{
		"database of another program": "CREATE TABLE x(y)", "newer version": "PRAGMA application_id = 0x636e6d6d; PRAGMA user_version = 99",
	} {
		dir := t.TempDir()
		edit(t, dir, change)
		if _, err := sqlmemory.OpenFile(t.Context(), dir, sqlmemory.FileOptions{}); calls.KindOf(err) != calls.Invalid || !strings.Contains(err.Error(), want) || calls.HintOf(err) == "" {
			t.Errorf("want %q: %v", want, err)
		}
	}
}

// TestCheck finds words that are missing from the index.
func TestCheck(t *testing.T) {
	for name, change := range map[string]string{
		"postings": "DELETE FROM posting", "entries": "UPDATE entry SET data = substr(data, 22)", "a memory": "UPDATE entry SET data = CAST(substr(data, 1, 20) || x'08' || substr(data, 22) AS BLOB)",
		"rowids": "UPDATE memory SET rid = rid + 1000000000 WHERE rid = (SELECT max(rid) FROM memory)",
	} {
		dir := t.TempDir()
		s := open(t, dir, sqlmemory.FileOptions{})
		for _, n := range []int{300, 3} {
			var list []memory.BaseMemory
			for i := range n {
				list = append(list, memory.BaseMemory{Content: fmt.Sprintf("number%d of %d", i, n)})
			}
			if _, err := s.SaveMemories(t.Context(), list); err != nil {
				t.Fatal(err)
			}
		}
		if err := s.Check(t.Context()); err != nil {
			t.Errorf("before: %v", err)
		}
		edit(t, dir, change)
		if err := s.Check(t.Context()); err == nil || !strings.Contains(err.Error(), "damaged") || !strings.Contains(calls.HintOf(err), "import an export") {
			t.Errorf("without %s: %v", name, err)
		}
		if _, err := s.Search(t.Context(), &memory.Query{Users: memory.User(""), Text: "number7"}); name == "rowids" && !strings.Contains(calls.HintOf(err), "import an export") {
			t.Errorf("searching without %s: %v", name, err)
		}
	}
}

func TestClosed(t *testing.T) {
	s := open(t, t.TempDir(), sqlmemory.FileOptions{})
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := s.SaveMemories(t.Context(), []memory.BaseMemory{{Content: "x"}}); err == nil {
		t.Error("a closed store saves")
	}
	if _, err := s.Stats(t.Context(), memory.AllUsers()); err == nil {
		t.Error("a closed store reads")
	}
}

func TestReopening(t *testing.T) {
	dir := t.TempDir()
	talks, err := memorytest.Talks("dialogue")
	if err != nil {
		t.Fatal(err)
	}
	for _, talk := range talks {
		for i := 0; i < len(talk.Memories); i += 10 {
			s, err := sqlmemory.OpenFile(t.Context(), dir, sqlmemory.FileOptions{})
			if err != nil {
				t.Fatal(err)
			}
			if _, err := s.SaveMemories(t.Context(), talk.Memories[i:min(i+10, len(talk.Memories))]); err != nil {
				t.Fatal(err)
			}
			if err := s.Close(); err != nil {
				t.Fatal(err)
			}
		}
	}
	s := open(t, dir, sqlmemory.FileOptions{})
	st, err := s.Stats(t.Context(), memory.AllUsers())
	if err != nil || st.Users != len(talks) {
		t.Errorf("%+v, %v", st, err)
	}
}

func TestModel(t *testing.T) {
	slow.Checks(t, 1) // each opens three stores
	memorytest.RunModel(t, func(t *testing.T, clock func() time.Time) (first, second memory.Store) {
		dir := t.TempDir()
		s, other := open(t, dir, sqlmemory.FileOptions{Clock: clock}), open(t, dir, sqlmemory.FileOptions{Clock: clock})
		t.Cleanup(func() { // before they are closed
			if err := s.Check(context.WithoutCancel(t.Context())); err != nil {
				t.Error(err)
			}
		})
		return s, other
	})
}
