package sqlmemory_test

import (
	"database/sql"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/callnode/scheduler/calls/memory"
	"github.com/callnode/scheduler/calls/memory/sqlmemory"
	"github.com/callnode/scheduler/test/slow"
)

// TestTail: a search that reads new memories from the tail finds the same as one that reads them from the index,
// and knows the same speakers.
func TestTail(t *testing.T) {
	dir := t.TempDir()
	first, second := open(t, dir, sqlmemory.FileOptions{}), open(t, dir, sqlmemory.FileOptions{})
	n := 0
	save := func(s *sqlmemory.Store, count int, names ...string) (ids []string) {
		t.Helper()
		var list []memory.BaseMemory
		for range count {
			m := memory.BaseMemory{
				Content: fmt.Sprintf("%s: the harvest of field%d was good", names[n%len(names)], n%50), Timestamp: time.UnixMilli(int64(n) * 60_000),
				Context: memory.Context{UserID: "ann", SessionID: fmt.Sprint("s", n/20)},
			}
			list = append(list, m)
			n++
		}
		saved, err := s.SaveMemories(t.Context(), list)
		if err != nil {
			t.Fatal(err)
		}
		for _, x := range saved {
			ids = append(ids, x.ID)
		}
		return ids
	}
	said := func(s *sqlmemory.Store) (all []string) {
		t.Helper()
		for _, name := range []string{"Mel", "Tom", "Zoe", "Kim", "Eva"} {
			found, err := s.Search(t.Context(), &memory.Query{Users: memory.User("ann"), Text: "what did " + name + " say of the harvest of field7?", Now: time.UnixMilli(1e9), Limit: 10})
			if err != nil {
				t.Fatal(err)
			}
			by := false
			for _, m := range found.Memories {
				all = append(all, fmt.Sprintf("%s: %q %v", name, m.Memory.Content, m.Relevance))
				by = by || strings.HasPrefix(m.Memory.Content, name)
			}
			all = append(all, fmt.Sprintf("%s: %v", name, by))
		}
		return all
	}
	same := func(when string) {
		t.Helper()
		want := said(open(t, dir, sqlmemory.FileOptions{}))
		for i, s := range []*sqlmemory.Store{first, second} {
			if diff := cmp.Diff(want, said(s)); diff != "" {
				t.Errorf("%s, store %d: %s", when, i+1, diff)
			}
		}
		if err := first.Check(t.Context()); err != nil {
			t.Errorf("%s: %v", when, err)
		}
	}
	ids := save(first, 300, "Mel", "Tom") // in the index at once
	same("folded")
	late := save(second, 60, "Zoe", "Mel")
	same("in the tail")
	// The index gets another speaker before the tail's.
	change := func(id, content string) {
		t.Helper()
		m := memory.BaseMemory{ID: id, Content: content, Timestamp: time.UnixMilli(1e6), Context: memory.Context{UserID: "ann", SessionID: "s1"}}
		if saved, err := first.SaveMemories(t.Context(), []memory.BaseMemory{m}); err != nil || saved[0].State != memory.Updated {
			t.Fatalf("%v, %v", saved, err)
		}
	}
	change(ids[7], "Kim: the harvest of field7 was good")
	same("a speaker before the tail")
	change(late[0], "Eva: the harvest of field7 was bad")
	same("one of the tail changed")
	save(first, 300, "Eva", "Zoe")
	same("folded again")
	if _, err := second.Delete(t.Context(), memory.Selection{Users: memory.User("ann"), ID: save(first, 1, "Tom")[0]}); err != nil {
		t.Fatal(err)
	}
	same("the newest deleted")
	save(first, 1, "Tom")
	same("and another in its place")
}

// TestLongText: long memories do not stay in the tail, because each search would read them all.
func TestLongText(t *testing.T) {
	dir := t.TempDir()
	s, err := sqlmemory.OpenFile(t.Context(), dir, sqlmemory.FileOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for _, content := range []string{"short", strings.Repeat("long winding words ", 1000)} {
		if _, err := s.SaveMemories(t.Context(), []memory.BaseMemory{{Content: content}}); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	db, err := sql.Open("sqlite", filepath.Join(dir, sqlmemory.FileName))
	if err != nil {
		t.Fatal(err)
	}
	var folded int
	if err := db.QueryRowContext(t.Context(), "SELECT folded FROM user").Scan(&folded); err != nil || folded != 2 {
		t.Errorf("%d, %v are in the index, want 2", folded, err)
	}
	if err := db.Close(); err != nil {
		t.Error(err)
	}
}

// TestManyWords: memories with more words than are in memory at once are read and folded
// in parts, each with its own words.
func TestManyWords(t *testing.T) {
	slow.Test(t)
	dir := t.TempDir()
	first, second := open(t, dir, sqlmemory.FileOptions{}), open(t, dir, sqlmemory.FileOptions{})
	var list []memory.BaseMemory
	var words strings.Builder
	for i := range 1<<14 + 100 { // each is known by its number, too
		fmt.Fprintf(&words, "x%d ", i)
	}
	for i := range 6 {
		text := fmt.Sprintf("unique%c", 'a'+i)
		if i < 4 { // as many as there may be at once
			text += " " + words.String()
		}
		list = append(list, memory.BaseMemory{Content: text, Context: memory.Context{SessionID: fmt.Sprint(i)}})
	}
	saved, err := first.SaveMemories(t.Context(), list)
	if err != nil {
		t.Fatal(err)
	}
	for range 2 { // perhaps from themselves, then from the index
		for i := range saved {
			for _, s := range []*sqlmemory.Store{first, second} {
				found, err := s.Search(t.Context(), &memory.Query{Users: memory.User(""), Text: fmt.Sprintf("unique%c", 'a'+i), Limit: 3})
				if err != nil || len(found.Memories) != 1 || found.Memories[0].Memory.ID != saved[i].ID {
					t.Fatalf("%d: %d found, %v", i, len(found.Memories), err)
				}
			}
		}
		if err := first.Close(); err != nil {
			t.Fatal(err)
		}
		first = open(t, dir, sqlmemory.FileOptions{})
	}
	if err := first.Check(t.Context()); err != nil {
		t.Error(err)
	}
}
