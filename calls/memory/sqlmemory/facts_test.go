package sqlmemory_test

import (
	"database/sql"
	"fmt"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/callnode/scheduler/calls/memory"
	"github.com/callnode/scheduler/calls/memory/sqlmemory"
	"github.com/callnode/scheduler/llm/value"
)

// rowsOf returns the rows of a query on the file of a store, each as a text.
func rowsOf(t *testing.T, dir, query string) (list []string) {
	t.Helper()
	db, err := sql.Open("sqlite", filepath.Join(dir, sqlmemory.FileName))
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	rows, err := db.QueryContext(t.Context(), query)
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	names, err := rows.Columns()
	if err != nil {
		t.Fatal(err)
	}
	for rows.Next() {
		values, targets := make([]any, len(names)), make([]any, len(names))
		for i := range values {
			targets[i] = &values[i]
		}
		if err := rows.Scan(targets...); err != nil {
			t.Fatal(err)
		}
		list = append(list, fmt.Sprint(values...))
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
	return list
}

const (
	allFacts   = "SELECT * FROM fact ORDER BY rid, n"
	allAliases = "SELECT * FROM fact_alias ORDER BY alias, name, rid"
)

// fillWithFacts saves memories of two users, more than are read again at once.
func fillWithFacts(t *testing.T, s *sqlmemory.Store) {
	t.Helper()
	var list []memory.BaseMemory
	for i := range 1100 {
		content := []string{"I live in %s.", "我搬到了上海%s。", "My sister Anna works at %s.", "Nothing here but %s."}[i%4]
		m := memory.BaseMemory{
			Content: fmt.Sprintf(content, []string{"Paris", "Oslo", "Rome"}[i%3]), Timestamp: time.UnixMilli(int64(i) * 86_400_000),
			Context: memory.Context{UserID: []string{"ann", "bob"}[i/1050], Other: value.Must(map[string]any{"role": "user"})},
		}
		list = append(list, m)
	}
	if _, err := s.SaveMemories(t.Context(), list); err != nil {
		t.Fatal(err)
	}
}

// TestRebuildFacts: facts that are read again equal the facts read at saving.
func TestRebuildFacts(t *testing.T) {
	dir := t.TempDir()
	s := open(t, dir, sqlmemory.FileOptions{})
	fillWithFacts(t, s)
	want, wantAliases := rowsOf(t, dir, allFacts), rowsOf(t, dir, allAliases)
	if len(want) < 500 || len(wantAliases) == 0 {
		t.Fatalf("there are %d facts, %d aliases", len(want), len(wantAliases))
	}
	if err := s.RebuildFacts(t.Context(), memory.AllUsers()); err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(want, rowsOf(t, dir, allFacts)) + cmp.Diff(wantAliases, rowsOf(t, dir, allAliases)); d != "" {
		t.Error(d)
	}
	if got := rowsOf(t, dir, "SELECT facts, facts_next FROM user"); fmt.Sprint(got) != "[1 0 1 0]" {
		t.Errorf("the users are %v", got)
	}
}

// TestRereadOlderStore: a store from before facts reads them when it is opened, and goes on behind those that were read already.
func TestRereadOlderStore(t *testing.T) {
	dir := t.TempDir()
	s := open(t, dir, sqlmemory.FileOptions{})
	fillWithFacts(t, s)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	want := rowsOf(t, dir, allFacts)
	for name, change := range map[string][]string{
		"never read":  {"UPDATE user SET facts = 0", "DELETE FROM fact", "DELETE FROM fact_alias"},
		"interrupted": {"UPDATE user SET facts = 0, facts_next = 1000", "DELETE FROM fact WHERE rid & 4294967295 >= 1000"},
	} {
		edit(t, dir, change...)
		s = open(t, dir, sqlmemory.FileOptions{})
		for deadline := time.Now().Add(time.Minute); time.Now().Before(deadline); time.Sleep(10 * time.Millisecond) {
			if len(rowsOf(t, dir, "SELECT 1 FROM user WHERE facts = 0")) == 0 {
				break
			}
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(want, rowsOf(t, dir, allFacts)); d != "" {
			t.Errorf("%s: %s", name, d)
		}
	}
}

// TestFactsOff: without facts nothing is read and nothing is answered; memories saved meanwhile are read later.
func TestFactsOff(t *testing.T) {
	dir := t.TempDir()
	s := open(t, dir, sqlmemory.FileOptions{})
	fillWithFacts(t, s)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	s = open(t, dir, sqlmemory.FileOptions{Facts: sqlmemory.FactOptions{Off: true}})
	n := len(rowsOf(t, dir, allFacts))
	if _, err := s.SaveMemories(t.Context(), []memory.BaseMemory{{Content: "I moved to Lima.", Context: memory.Context{UserID: "ann"}}}); err != nil {
		t.Fatal(err)
	}
	if got := len(rowsOf(t, dir, allFacts)); got != n {
		t.Errorf("facts are off, but there are %d facts, before there were %d", got, n)
	}
	found, err := s.Search(t.Context(), &memory.Query{Users: memory.User("ann"), Text: "Where do I live now?", Now: time.Now()})
	if err != nil {
		t.Fatal(err)
	}
	for _, x := range found.Memories {
		if x.Fact != nil {
			t.Errorf("facts are off, but %+v answers", x.Fact)
		}
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	s = open(t, dir, sqlmemory.FileOptions{})
	if err := s.RebuildFacts(t.Context(), memory.User("ann")); err != nil {
		t.Fatal(err)
	}
	if got := len(rowsOf(t, dir, allFacts)); got != n+1 {
		t.Errorf("there are %d facts, want %d", got, n+1)
	}
}
