package archive_test

import (
	"bytes"
	"errors"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/callnode/scheduler/calls/memory"
	"github.com/callnode/scheduler/calls/memory/archive"
)

func mirror(t *testing.T, s memory.Store, dir string) (*archive.Mirror, *bytes.Buffer) {
	t.Helper()
	var log bytes.Buffer
	m, err := archive.NewMirror(t.Context(), s, dir, slog.New(slog.NewTextHandler(&log, nil)))
	if err != nil {
		t.Fatal(err)
	}
	return m, &log
}

// same compares the mirror with an export.
func same(t *testing.T, s memory.Store, dir string) {
	t.Helper()
	exported, _ := export(t, s, memory.AllUsers())
	got := files(t, dir)
	maps.DeleteFunc(got, func(name, _ string) bool { return strings.HasPrefix(name, ".behind-") })
	if diff := cmp.Diff(files(t, exported), got); diff != "" {
		t.Error(diff)
	}
}

// kept is a store that is not closed with its mirror.
type kept struct{ memory.Store }

func (kept) Close() error { return nil }

func TestMirror(t *testing.T) {
	s := kept{filled(t)}
	dir := filepath.Join(t.TempDir(), "mirror")
	first, log := mirror(t, s, dir)
	same(t, s, dir)

	// Two mirrors keep the same directory.
	second, _ := mirror(t, s, dir)
	saved, err := first.SaveMemories(t.Context(), []memory.BaseMemory{{Content: "four", Context: memory.Context{UserID: "ann"}}, {Content: "five", Context: memory.Context{UserID: "bob"}}})
	if err != nil {
		t.Fatal(err)
	}
	for _, x := range saved {
		if _, ok := files(t, dir)["memories/"+x.ID+".json"]; !ok {
			t.Errorf("%s is saved, but has no file", x.ID)
		}
	}
	changed := memory.BaseMemory{ID: saved[0].ID, Content: "4", Timestamp: start.Add(time.Hour), Context: memory.Context{UserID: "ann"}}
	if _, err := second.SaveMemories(t.Context(), []memory.BaseMemory{changed, changed}); err != nil {
		t.Fatal(err)
	}
	snapshot := memory.MemorySnapshot{ID: memory.NewID(memory.SnapshotID, start), Category: "FOOD", KeyPoints: []string{"k"}, MemoryRefs: []string{saved[0].ID, "../../x"}}
	if err := first.SaveSnapshot(t.Context(), "ann", snapshot); err != nil {
		t.Fatal(err)
	}
	if err := first.SaveMetaSnapshot(t.Context(), "ann", memory.MetaSnapshot{ID: memory.NewID(memory.MetaID, start), Category: "new", SnapshotRefs: []string{snapshot.ID}}); err != nil {
		t.Fatal(err)
	}
	p := &memory.SnapshotProcessor{Store: second, Clock: func() time.Time { return start }}
	report, err := p.Run(t.Context(), memory.User("bob"), true)
	if err != nil || len(report.Snapshots) == 0 || len(report.MetaSnapshots) == 0 {
		t.Fatalf("%+v, %v", report, err)
	}
	if err := errors.Join(first.Close(), second.Close()); err != nil {
		t.Fatal(err)
	}
	same(t, s, dir)

	// No file of the deleted memories is left.
	third, _ := mirror(t, s, dir)
	if _, err := third.Delete(t.Context(), memory.Selection{Users: memory.User("bob"), DryRun: true}); err != nil {
		t.Fatal(err)
	}
	same(t, s, dir)
	if _, err := third.Delete(t.Context(), memory.Selection{Users: memory.User("bob")}); err != nil {
		t.Fatal(err)
	}
	same(t, s, dir)
	for name, text := range files(t, dir) {
		if strings.Contains(text, "bob") {
			t.Errorf("%s has bob", name)
		}
	}
	if err := third.Close(); err != nil || log.Len() > 0 {
		t.Errorf("%v, %s", err, log)
	}
	if left, err := filepath.Glob(filepath.Join(dir, ".*")); err != nil || left != nil {
		t.Errorf("%v, %v", left, err)
	}
}

// Files missing in the directory are written again; the store itself does not change.
func TestMirrorHeals(t *testing.T) {
	s := kept{filled(t)}
	dir := t.TempDir()
	m, log := mirror(t, s, dir)
	folder := filepath.Join(dir, "memories")
	if err := os.RemoveAll(folder); err != nil {
		t.Fatal(err)
	}
	one := memory.BaseMemory{Content: "four", Context: memory.Context{UserID: "ann"}}
	if _, err := m.SaveMemories(t.Context(), []memory.BaseMemory{one}); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(log.String(), "behind") {
		t.Errorf("logged %s", log)
	}
	if err := m.Close(); err != nil {
		t.Fatal(err)
	}
	same(t, s, dir)

	// An index that is damaged is made of the files.
	index := filepath.Join(dir, "index.json")
	if err := os.WriteFile(index, []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	m, _ = mirror(t, s, dir)
	one.Content = "five"
	if _, err := m.SaveMemories(t.Context(), []memory.BaseMemory{one}); err != nil {
		t.Fatal(err)
	}
	if err := m.Close(); err != nil {
		t.Fatal(err)
	}
	same(t, s, dir)

	if _, err := archive.NewMirror(t.Context(), s, index, slog.Default()); err == nil {
		t.Error("a file is a directory")
	}
}
