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

	"github.com/google/go-cmp/cmp"

	"github.com/callnode/scheduler/calls/memory"
	"github.com/callnode/scheduler/calls/memory/sqlite"
)

var start = time.Date(2026, 3, 5, 9, 7, 0, 0, time.UTC)

// TestLeaves salvages memories to which no way leads: the pages above theirs are lost.
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

// What a process that was killed has left in the log is salvaged too, and nothing is
// changed by that, neither the file nor the log.
func TestLeavesOfLog(t *testing.T) {
	live := t.TempDir()
	s, err := sqlite.Open(t.Context(), live, sqlite.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { s.Close() }()
	want := map[string]string{}
	for i := range 40 {
		m := memory.BaseMemory{Content: fmt.Sprintf("number%d %s", i, strings.Repeat("word ", 200*(i%8))), Context: memory.Context{UserID: "ann"}}
		saved, err := s.SaveMemories(t.Context(), []memory.BaseMemory{m})
		if err != nil {
			t.Fatal(err)
		}
		want[saved[0].ID] = m.Content
		if i == 19 { // those before are in the file, those behind in the log
			if err := s.Close(); err != nil {
				t.Fatal(err)
			}
			if s, err = sqlite.Open(t.Context(), live, sqlite.Options{}); err != nil {
				t.Fatal(err)
			}
		}
	}
	for name, damage := range map[string]func(data, log []byte){
		"none":                           func(_, _ []byte) {},
		"the file's head":                func(data, _ []byte) { clear(data[:4096]) },
		"the log's head":                 func(_, log []byte) { clear(log[:32]) },
		"the file's and the log's heads": func(data, log []byte) { clear(data[:4096]); clear(log[:32]) },
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			before := map[string][]byte{}
			for _, file := range []string{sqlite.FileName, sqlite.FileName + "-wal"} {
				data, err := os.ReadFile(filepath.Join(live, file))
				if err != nil {
					t.Fatal(err)
				}
				before[file] = data
			}
			damage(before[sqlite.FileName], before[sqlite.FileName+"-wal"])
			for file, data := range before {
				if err := os.WriteFile(filepath.Join(dir, file), data, 0o600); err != nil {
					t.Fatal(err)
				}
			}
			d, err := sqlite.OpenDamaged(t.Context(), dir)
			if err != nil {
				t.Fatal(err)
			}
			got := map[string]string{}
			for m, err := range d.Memories(t.Context(), memory.Selection{Users: memory.AllUsers()}) {
				if err != nil || got[m.ID] != "" {
					t.Fatalf("%v, %v", m, err)
				}
				got[m.ID] = m.Content
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Error(diff)
			}
			if err := d.Close(); err != nil {
				t.Error(err)
			}
			for file, data := range before {
				if after, err := os.ReadFile(filepath.Join(dir, file)); err != nil || !bytes.Equal(data, after) {
					t.Errorf("%s was changed: %v", file, err)
				}
			}
		})
	}
}
