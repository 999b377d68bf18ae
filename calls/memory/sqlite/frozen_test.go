package sqlite_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/callnode/scheduler/calls"
	"github.com/callnode/scheduler/calls/memory"
	"github.com/callnode/scheduler/calls/memory/sqlite"
	"github.com/callnode/scheduler/calls/sqlitefile/sqlitefiletest"
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
	stranger := sqlitefiletest.NewStranger(t)
	dir := t.TempDir()
	s, err := sqlite.Open(t.Context(), dir, sqlite.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.SaveMemories(t.Context(), []memory.BaseMemory{{Content: "She likes jasmine tea.", Context: memory.Context{UserID: "ann"}}}); err != nil {
		t.Fatal(err)
	}
	const db = sqlite.FileName
	stranger.Freeze(t, dir, "killed", db, db+"-wal", db+"-shm")
	stranger.Freeze(t, dir, "lost", db, db+"-wal")
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	stranger.Freeze(t, dir, "closed", db)

	for name, want := range map[string]string{
		"killed": "found She likes jasmine tea.\nread only: true, saving: writing to the memory store",
		"closed": "found She likes jasmine tea.\nread only: true, saving: writing to the memory store",
		"lost":   "write-ahead log",
	} {
		out := stranger.Run(t, "TestFrozenChild", frozenDir+"="+filepath.Join(stranger.Dir, name))
		if !strings.Contains(out, want) || !strings.Contains(out, "state_dir") {
			t.Errorf("%s: %s", name, out)
		}
	}
}
