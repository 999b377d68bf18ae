package sqlite_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"iter"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/callnode/scheduler/calls/memory"
	"github.com/callnode/scheduler/calls/memory/sqlite"
	"github.com/callnode/scheduler/llm/value"
)

// snapshotsOf are the snapshots and meta snapshots of a store, by their ids, with whose
// they are.
func snapshotsOf(t *testing.T, from memory.Lister, users memory.Users) map[string]string {
	t.Helper()
	got := map[string]string{}
	collect(t, got, from.Snapshots, users, func(x memory.MemorySnapshot) string { return x.ID })
	collect(t, got, from.MetaSnapshots, users, func(x memory.MetaSnapshot) string { return x.ID })
	return got
}

func collect[T any](t *testing.T, got map[string]string, list func(context.Context, memory.Selection) iter.Seq2[memory.Owned[T], error], users memory.Users, id func(T) string) {
	t.Helper()
	for x, err := range list(t.Context(), memory.Selection{Users: users}) {
		if err != nil || got[id(x.Snapshot)] != "" {
			t.Fatalf("%v, %v", x, err)
		}
		got[id(x.Snapshot)] = x.User + " " + value.Must(x.Snapshot).JSON()
	}
}

// TestLeavesOfSnapshots salvages snapshots and meta snapshots to which no way leads.
func TestLeavesOfSnapshots(t *testing.T) {
	dir := t.TempDir()
	s, err := sqlite.Open(t.Context(), dir, sqlite.Options{})
	if err != nil {
		t.Fatal(err)
	}
	saved, err := s.SaveMemories(t.Context(), []memory.BaseMemory{
		{Content: "one", Context: memory.Context{UserID: "ann"}}, {Content: "two", Context: memory.Context{UserID: "ben"}}, {Content: "three", Context: memory.Context{UserID: "ann"}}})
	if err != nil {
		t.Fatal(err)
	}
	for i := range 300 {
		user := []string{"ann", "ben"}[i%2]
		refs := []string{saved[i%2].ID}
		if i == 42 { // is gone with its memory
			refs = []string{saved[2].ID}
		}
		x := memory.MemorySnapshot{ID: memory.NewID(memory.SnapshotID, start), KeyPoints: []string{fmt.Sprintf("point%d 一", i), strings.Repeat("x", 50*(i%200))},
			MemoryRefs: refs, Category: fmt.Sprint("Category ", i%5), Importance: 0.25, Timestamp: start}
		if err := s.SaveSnapshot(t.Context(), user, x); err != nil {
			t.Fatal(err)
		}
		m := memory.MetaSnapshot{ID: memory.NewID(memory.MetaID, start), Keywords: []string{"k"}, SnapshotRefs: []string{x.ID}, Category: x.Category,
			Description: fmt.Sprintf("about%d %s", i, strings.Repeat("y", 5*(i%200))), Timestamp: start}
		if err := s.SaveMetaSnapshot(t.Context(), user, m); err != nil {
			t.Fatal(err)
		}
	}
	if d, err := s.Delete(t.Context(), memory.Selection{Users: memory.AllUsers(), ID: saved[2].ID}); err != nil || d.Snapshots != 1 || d.MetaSnapshots != 1 {
		t.Fatalf("%+v, %v", d, err)
	}
	want, bens := snapshotsOf(t, s, memory.AllUsers()), snapshotsOf(t, s, memory.User("ben"))
	if len(want) != 598 || len(bens) != 300 {
		t.Fatalf("%d snapshots, %d of them ben's", len(want), len(bens))
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(dir, sqlite.FileName)
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	const page = 4096
	destroy := func(at int) { copy(data[at:], bytes.Repeat([]byte{0x5a}, page)) }
	check := func(name string, found int) {
		t.Helper()
		if err := os.WriteFile(file, data, 0o600); err != nil {
			t.Fatal(err)
		}
		for users, want := range map[memory.Users]map[string]string{memory.AllUsers(): want, memory.User("ben"): bens} {
			d, err := sqlite.OpenDamaged(t.Context(), dir)
			if err != nil {
				t.Fatal(name, err)
			}
			if diff := cmp.Diff(want, snapshotsOf(t, d, users)); diff != "" {
				t.Errorf("%s: %s", name, diff)
			}
			if n := d.FoundSnapshots; n < min(found, len(want)) || n > len(want) {
				t.Errorf("%s: %d of %d were found, want %d", name, n, len(want), found)
			}
			if err := d.Close(); err != nil {
				t.Error(err)
			}
		}
	}
	check("nothing is damaged", 0)
	for at := page; at < len(data); at += page {
		if data[at] == 0x05 { // the inner pages of tables
			destroy(at)
		}
	}
	check("inner pages", 100)
	destroy(0)
	check("inner pages and the first one", len(want))

	// What is not as it was saved is no snapshot.
	for at := page; at < len(data); at += page {
		if data[at] == 0x0d {
			for i := range int(binary.BigEndian.Uint16(data[at+3:])) {
				cell := at + int(binary.BigEndian.Uint16(data[at+8+2*i:]))
				if n := bytes.Index(data[cell:min(cell+200, at+page)], []byte(`{"id":"`)); n >= 0 && i%2 == 0 {
					data[cell+n+20] ^= 1
				}
			}
		}
	}
	if err := os.WriteFile(file, data, 0o600); err != nil {
		t.Fatal(err)
	}
	d, err := sqlite.OpenDamaged(t.Context(), dir)
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	left := snapshotsOf(t, d, memory.AllUsers())
	if len(left) == 0 || len(left) > len(want)*3/4 {
		t.Errorf("%d of %d are left", len(left), len(want))
	}
	for id, x := range left {
		if want[id] != x {
			t.Errorf("%s is %s", id, x)
		}
	}
}
