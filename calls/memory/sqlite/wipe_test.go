package sqlite_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/callnode/scheduler/calls/memory"
	"github.com/callnode/scheduler/calls/memory/sqlite"
)

// What is deleted leaves no trace in the files: no text, and no name of a session, a
// speaker or a user.
func TestNoTrace(t *testing.T) {
	dir := t.TempDir()
	s := open(t, dir, sqlite.Options{})
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
	s = open(t, dir, sqlite.Options{})
	if d, err := s.Delete(t.Context(), memory.Selection{Users: memory.User("userquokka")}); err != nil || d.Memories != 1 {
		t.Fatalf("%+v, %v", d, err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	traces(t, dir, []string{"userquokka", "peakeremu", "wordheron"}, []string{"other", "sessionpanda", "wordlynx"})
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
