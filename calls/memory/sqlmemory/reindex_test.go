package sqlmemory_test

import (
	"bytes"
	"context"
	"database/sql"
	"fmt"
	"log/slog"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/callnode/scheduler/calls"
	"github.com/callnode/scheduler/calls/memory"
	"github.com/callnode/scheduler/calls/memory/rank"
	"github.com/callnode/scheduler/calls/memory/sqlmemory"
	"github.com/callnode/scheduler/test/slow"
)

// edit changes a store behind its back.
func edit(t *testing.T, dir string, statements ...string) {
	t.Helper()
	db, err := sql.Open("sqlite", filepath.Join(dir, sqlmemory.FileName))
	if err != nil {
		t.Fatal(err)
	}
	for _, statement := range statements {
		if _, err := db.ExecContext(t.Context(), statement); err != nil {
			t.Errorf("%s: %v", statement, err)
		}
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
}

// fillForReindex stores memories in the postings and in the tail, deleted ones,
// speakers and snapshots, of two users.
func fillForReindex(t *testing.T, s *sqlmemory.Store) {
	t.Helper()
	for _, name := range []string{"ann", "bob"} {
		var ids []string
		for part, n := range []int{5000, 40} {
			var list []memory.BaseMemory
			for i := range n {
				list = append(list, memory.BaseMemory{
					Content: fmt.Sprintf("%s: the %s tree number%d of row %d", []string{"Mel", "Tom"}[i%2], []string{"apple", "pear", "plum"}[i%3], i%300, part),
					Context: memory.Context{UserID: name, SessionID: fmt.Sprintf("s%d", i/25)}, Timestamp: time.UnixMilli(int64(i) * 60_000),
				})
			}
			saved, err := s.SaveMemories(t.Context(), list)
			if err != nil {
				t.Fatal(err)
			}
			for _, x := range saved {
				ids = append(ids, x.ID)
			}
		}
		for _, i := range []int{0, 77, 4999, 5010} {
			if _, err := s.Delete(t.Context(), memory.Selection{Users: memory.User(name), ID: ids[i]}); err != nil {
				t.Fatal(err)
			}
		}
		x := memory.MemorySnapshot{ID: memory.NewID(memory.SnapshotID, time.Now()), KeyPoints: []string{"an orchard in Kent"}, MemoryRefs: ids[100:103], Category: "garden"}
		if err := s.SaveSnapshot(t.Context(), name, x); err != nil {
			t.Fatal(err)
		}
		m := memory.MetaSnapshot{ID: memory.NewID(memory.MetaID, time.Now()), Category: "garden", Keywords: []string{"harvest"}, SnapshotRefs: []string{x.ID}}
		if err := s.SaveMetaSnapshot(t.Context(), name, m); err != nil {
			t.Fatal(err)
		}
	}
}

func answers(t *testing.T, s *sqlmemory.Store) (all []string) {
	t.Helper()
	for _, user := range []string{"ann", "bob"} {
		for _, text := range []string{"pear tree number7", "what did Tom say of number12?", "orchard in Kent", "harvest", "apple row 1"} {
			found, err := s.Search(t.Context(), &memory.Query{Users: memory.User(user), Text: text, Now: time.UnixMilli(1e9), Limit: 20})
			if err != nil {
				t.Fatal(err)
			}
			for _, m := range found.Memories {
				all = append(all, fmt.Sprintf("%s %q: %s %v", user, text, m.Memory.ID, m.Relevance))
			}
		}
	}
	return all
}

// A store whose words come from an older analysis finds the same as a new one once it has been opened, and logs
// that.
func TestOlderAnalysis(t *testing.T) {
	slow.Test(t)
	dir := t.TempDir()
	s := open(t, dir, sqlmemory.FileOptions{})
	fillForReindex(t, s)
	want := answers(t, s)
	if len(want) < 100 {
		t.Fatalf("%d answers", len(want))
	}
	// Another analysis might have left no words, or others.
	edit(t, dir, "UPDATE user SET analysis = 0", "DELETE FROM posting WHERE term < 'o'", "UPDATE posting SET term = term || 'x'", "UPDATE speaker SET name = 'Nobody' WHERE number = 1")

	// A program that has it open neither misses memories nor mixes words.
	if _, err := s.Search(t.Context(), &memory.Query{Users: memory.User("ann"), Text: "tree"}); calls.KindOf(err) != calls.Invalid || calls.HintOf(err) == "" {
		t.Errorf("searching: %v", err)
	}
	if _, err := s.SaveMemories(t.Context(), []memory.BaseMemory{{Content: "x", Context: memory.Context{UserID: "bob"}}}); calls.KindOf(err) != calls.Invalid {
		t.Errorf("saving: %v", err)
	}

	var log bytes.Buffer
	again := open(t, dir, sqlmemory.FileOptions{Log: slog.New(slog.NewTextHandler(&log, nil))})
	if diff := cmp.Diff(want, answers(t, again)); diff != "" {
		t.Error(diff)
	}
	if err := again.Check(t.Context()); err != nil {
		t.Error(err)
	}
	if n := strings.Count(log.String(), "indexed again"); n != 1 || !strings.Contains(log.String(), "of=10080") {
		t.Errorf("the log says: %s", log.String())
	}
	if diff := cmp.Diff(want, answers(t, s)); diff != "" {
		t.Errorf("who had it open: %s", diff)
	}
	for _, store := range []*sqlmemory.Store{s, again} { // and go on with it
		if _, err := store.SaveMemories(t.Context(), []memory.BaseMemory{{Content: "Mel: a quince", Context: memory.Context{UserID: "ann"}}}); err != nil {
			t.Error(err)
		}
	}
	if _, err := again.Delete(t.Context(), memory.Selection{Users: memory.User("ann")}); err != nil {
		t.Fatal(err)
	}
	db, err := sql.Open("sqlite", filepath.Join(dir, sqlmemory.FileName))
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	var left int
	if err := db.QueryRowContext(t.Context(), "SELECT count(*) FROM posting WHERE user = (SELECT id FROM user WHERE name = 'ann')").Scan(&left); err != nil || left > 0 {
		t.Errorf("%d postings are left of what was deleted, %v", left, err)
	}
	log.Reset()
	open(t, dir, sqlmemory.FileOptions{Log: slog.New(slog.NewTextHandler(&log, nil))})
	if log.Len() > 0 {
		t.Errorf("it is indexed once only: %s", log.String())
	}
}

// A file of the form that had the words of the newest memories in a table of their own
// finds the same once it has been opened.
func TestOlderForm(t *testing.T) {
	slow.Test(t)
	dir := t.TempDir()
	s := open(t, dir, sqlmemory.FileOptions{})
	fillForReindex(t, s)
	list := []memory.BaseMemory{{Content: "Zoe: what about the pear tree number7 of row 1?"}, {Content: "Tom: it is an apple tree"}, {Content: "Zoe: last year it was a pear tree"}}
	for i := range list {
		list[i].Context, list[i].Timestamp = memory.Context{UserID: "ann", SessionID: "s1"}, time.UnixMilli(1e9)
	}
	if _, err := s.SaveMemories(t.Context(), list); err != nil {
		t.Fatal(err)
	}
	want := answers(t, s)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	// The newest of its numbers belongs to a deleted memory.
	edit(t, dir, "DROP TABLE fact", "DROP TABLE fact_alias", "ALTER TABLE user DROP COLUMN facts", "ALTER TABLE user DROP COLUMN facts_next",
		"ALTER TABLE user ADD COLUMN n INTEGER NOT NULL DEFAULT 0", "CREATE TABLE tail(rid INTEGER PRIMARY KEY, doc BLOB NOT NULL)",
		"INSERT INTO tail SELECT rid, 'words' FROM memory WHERE rid & 4294967295 >= (SELECT folded FROM user WHERE id = rid >> 32)",
		"INSERT INTO tail SELECT max(rid) + 1, 'nothing' FROM tail", "UPDATE user SET n = folded + (SELECT count(*) FROM tail WHERE rid >> 32 = id)",
		"INSERT INTO speaker SELECT user, max(number) + 1, 'Zoe' FROM speaker WHERE user = (SELECT id FROM user WHERE name = 'ann')", "PRAGMA user_version = 2")
	s = open(t, dir, sqlmemory.FileOptions{})
	if diff := cmp.Diff(want, answers(t, s)); diff != "" {
		t.Error(diff)
	}
	if st, err := s.Stats(t.Context(), memory.User("ann")); err != nil || st.Memories != 5039 {
		t.Errorf("%+v, %v", st, err)
	}
	// Its next memories get their words into the index.
	for i := range 300 {
		list = append(list, memory.BaseMemory{Content: fmt.Sprintf("Zoe: a hazel %d", i), Context: list[0].Context, Timestamp: time.UnixMilli(2e9)})
	}
	if _, err := s.SaveMemories(t.Context(), list); err != nil {
		t.Fatal(err)
	}
	q := &memory.Query{Users: memory.User("ann"), Text: "what did Zoe say of the hazel 77?", Now: time.UnixMilli(2e9)}
	if found, err := s.Search(t.Context(), q); err != nil || len(found.Memories) == 0 || found.Memories[0].Memory.Content != "Zoe: a hazel 77" {
		t.Errorf("%+v, %v", found, err)
	}
	if err := s.Check(t.Context()); err != nil {
		t.Error(err)
	}
}

// A store that a newer analysis has indexed is left alone.
func TestNewerAnalysis(t *testing.T) {
	dir := t.TempDir()
	s := open(t, dir, sqlmemory.FileOptions{})
	if _, err := s.SaveMemories(t.Context(), []memory.BaseMemory{{Content: "tea"}}); err != nil {
		t.Fatal(err)
	}
	edit(t, dir, fmt.Sprintf("UPDATE user SET analysis = %d", rank.AnalysisVersion+1))
	for range 2 {
		if _, err := sqlmemory.OpenFile(t.Context(), dir, sqlmemory.FileOptions{}); calls.KindOf(err) != calls.Invalid || !strings.Contains(fmt.Sprint(err), "newer version") || calls.HintOf(err) == "" {
			t.Errorf("opening: %v", err)
		}
	}
	if _, err := s.Search(t.Context(), &memory.Query{Users: memory.User(""), Text: "tea"}); !strings.Contains(fmt.Sprint(err), "newer version") {
		t.Errorf("searching: %v", err)
	}
}

// A program that is interrupted while memories are indexed again begins again the next time.
func TestInterruptedReindex(t *testing.T) {
	slow.Test(t)
	dir := t.TempDir()
	s := open(t, dir, sqlmemory.FileOptions{})
	fillForReindex(t, s)
	want := answers(t, s)
	edit(t, dir, "UPDATE user SET analysis = 0")
	ctx, cancel := context.WithCancel(t.Context())
	log := slog.New(slog.NewTextHandler(writerFunc(func(p []byte) (int, error) { cancel(); return len(p), nil }), nil))
	if _, err := sqlmemory.OpenFile(ctx, dir, sqlmemory.FileOptions{Log: log}); err == nil {
		t.Error("it was opened")
	}
	again := open(t, dir, sqlmemory.FileOptions{})
	if diff := cmp.Diff(want, answers(t, again)); diff != "" {
		t.Error(diff)
	}
}

type writerFunc func([]byte) (int, error)

func (f writerFunc) Write(p []byte) (int, error) { return f(p) }
