package sqlite_test

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/callnode/scheduler/calls/memory"
	"github.com/callnode/scheduler/calls/memory/sqlite"
)

// TestLeaves salvages memories to which no way leads: the pages above theirs are lost.
var start = time.Date(2026, 3, 5, 9, 7, 0, 0, time.UTC)

func TestLeaves(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, sqlite.FileName)
	s, err := sqlite.Open(t.Context(), dir, sqlite.Options{})
	if err != nil {
		t.Fatal(err)
	}
	const n = 8000
	var list []memory.BaseMemory
	for i := range n {
		text := fmt.Sprintf("number%d 一%s", i, strings.Repeat("x", 100))
		if i%1000 == 7 { // of several pages
			text += strings.Repeat("長 ", 1000*(i/1000))
		}
		list = append(list, memory.BaseMemory{Content: text, Timestamp: start, Context: memory.Context{UserID: fmt.Sprint("u", i%2), SessionID: fmt.Sprint("s", i%3)}})
	}
	saved, err := s.SaveMemories(t.Context(), list)
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]memory.BaseMemory{}
	for i := range saved {
		list[i].ID = saved[i].ID
		want[saved[i].ID] = list[i]
	}
	// What was deleted stays so.
	if _, err := s.Delete(t.Context(), memory.Selection{Users: memory.AllUsers(), ID: saved[5000].ID}); err != nil {
		t.Fatal(err)
	}
	delete(want, saved[5000].ID)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}

	const page = 4096
	broken := bytes.Clone(data)
	destroyed := 0
	for at := page; at < len(data); at += page {
		if data[at] == 0x05 { // the inner pages of tables
			copy(broken[at:], bytes.Repeat([]byte{0x5a}, page))
			destroyed++
		}
	}
	check := func(name string, data []byte) {
		if err := os.WriteFile(file, data, 0o600); err != nil {
			t.Fatal(err)
		}
		d, err := sqlite.OpenDamaged(t.Context(), dir)
		if err != nil {
			t.Fatal(name, err)
		}
		got := 0
		for m, err := range d.Memories(t.Context(), memory.Selection{Users: memory.AllUsers()}) {
			w, known := want[m.ID]
			if err != nil || !known || !m.Equal(&w) {
				t.Fatalf("%s: %v, %v", name, m, err)
			}
			got++
		}
		if got != len(want) || d.Found < n/2 || d.Lost == 0 {
			t.Errorf("%s: %d of %d, %d found, %d lost; %d pages were destroyed", name, got, len(want), d.Found, d.Lost, destroyed)
		}
		if err := d.Close(); err != nil {
			t.Error(err)
		}
	}
	check("inner pages", broken)

	copy(broken, bytes.Repeat([]byte{0x5a}, page))
	check("inner pages and the first one", broken)

	// Chance in the pages is no memory.
	for at := 2 * page; at < len(broken); at += page {
		for i := 8; i < page-8; i += 8 {
			binary.BigEndian.PutUint64(broken[at+i:], uint64(at*i)*0x9e3779b97f4a7c15)
		}
	}
	if err := os.WriteFile(file, broken, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := sqlite.OpenDamaged(t.Context(), dir); err == nil {
		t.Error("chance is a memory")
	}
}
