package sqlmemory_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/callnode/scheduler/calls/database/sqlitefile"
	"github.com/callnode/scheduler/calls/memory"
	"github.com/callnode/scheduler/calls/memory/sqlmemory"
)

// Deleted memories leave no trace in the files: no text, and no name of a session, a speaker or a user.
func TestNoTrace(t *testing.T) {
	dir := t.TempDir()
	s := open(t, dir, sqlmemory.FileOptions{})
	var many []memory.BaseMemory // so many that whole pages of the file become free
	for i := range 3000 {
		many = append(many, memory.BaseMemory{Content: fmt.Sprintf("wordgnu %d", i), Context: memory.Context{UserID: "userquokka", SessionID: "sessionocelot"}})
	}
	for part := range slices.Chunk(many, 100) { // few enough to wait for the index
		if _, err := s.SaveMemories(t.Context(), part); err != nil {
			t.Fatal(err)
		}
	}
	if d, err := s.Delete(t.Context(), memory.Selection{Users: memory.User("userquokka"), Session: "sessionocelot", HasSession: true}); err != nil || d.Memories != 3000 {
		t.Fatalf("%+v, %v", d, err)
	}
	say := func(user, session, content string) memory.BaseMemory {
		return memory.BaseMemory{Content: content, Context: memory.Context{UserID: user, SessionID: session}}
	}
	for range 2 { // also when it was there before
		_, err := s.SaveMemories(t.Context(), []memory.BaseMemory{
			say("userquokka", "sessionocelot", "Speakeremu: wordibex"), say("userquokka", "sessionpanda", "wordheron"), say("other", "sessionpanda", "wordlynx"),
		})
		if err != nil {
			t.Fatal(err)
		}
		if d, err := s.Delete(t.Context(), memory.Selection{Users: memory.User("userquokka"), Session: "sessionocelot", HasSession: true}); err != nil || d.Memories != 1 {
			t.Fatalf("%+v, %v", d, err)
		}
		found, err := s.Search(t.Context(), &memory.Query{Users: memory.User("userquokka"), Text: "wordheron", Session: "sessionpanda", OnlySession: true})
		if err != nil || len(found.Memories) != 1 {
			t.Fatalf("%+v, %v", found, err)
		}
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	traces(t, dir, []string{"sessionocelot", "wordibex", "wordgnu"}, []string{"userquokka", "wordheron"})
	s = open(t, dir, sqlmemory.FileOptions{})
	if d, err := s.Delete(t.Context(), memory.Selection{Users: memory.User("userquokka")}); err != nil || d.Memories != 1 {
		t.Fatalf("%+v, %v", d, err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	traces(t, dir, []string{"userquokka", "peakeremu", "wordheron"}, []string{"other", "sessionpanda", "wordlynx"})
}

// Readers do not hold up writers after a deletion; deleted texts disappear from the log once no reader is left.
func TestWipeWaits(t *testing.T) {
	dir := t.TempDir()
	first, second := open(t, dir, sqlmemory.FileOptions{}), open(t, dir, sqlmemory.FileOptions{BusyTimeout: 10 * time.Second})
	one := func(content string) []memory.BaseMemory { return []memory.BaseMemory{{Content: content}} }
	saved, err := first.SaveMemories(t.Context(), one("wordgnu"))
	if err != nil {
		t.Fatal(err)
	}
	db, err := sqlitefile.Connect(first.File(), time.Second)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	reader, err := db.BeginTx(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := reader.QueryRowContext(t.Context(), "SELECT count(*) FROM memory").Scan(new(int)); err != nil {
		t.Fatal(err)
	}
	if d, err := first.Delete(t.Context(), memory.Selection{Users: memory.User(""), ID: saved[0].ID}); err != nil || d.Memories != 1 {
		t.Fatalf("%+v, %v", d, err)
	}
	for i := range 20 {
		for _, s := range []*sqlmemory.Store{first, second} {
			if _, err := s.SaveMemories(t.Context(), one(fmt.Sprint("wordibex ", i))); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := reader.Rollback(); err != nil {
		t.Fatal(err)
	}
	if err := first.Close(); err != nil {
		t.Fatal(err)
	}
	traces(t, dir, []string{"wordgnu"}, []string{"wordibex"})
	if err := second.Close(); err != nil {
		t.Fatal(err)
	}
}

// traces looks for texts in the files of a store.
func traces(t *testing.T, dir string, gone, there []string) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	all := ""
	for _, e := range entries {
		data, err := os.ReadFile(filepath.Join(dir, e.Name()))
		if err != nil {
			t.Fatal(err)
		}
		all += string(data)
	}
	for _, text := range gone {
		if strings.Contains(all, text) {
			t.Errorf("%s is still in a file", text)
		}
	}
	for _, text := range there {
		if !strings.Contains(all, text) {
			t.Errorf("%s is in no file", text)
		}
	}
}
