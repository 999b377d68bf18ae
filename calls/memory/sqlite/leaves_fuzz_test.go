package sqlite

import (
	"cmp"
	"encoding/binary"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/callnode/scheduler/calls/memory"
	"github.com/callnode/scheduler/llm/value"
)

// Whatever lies in a damaged file and its log, looking through it ends, and gives nothing
// that could not be saved again.
func FuzzLeaves(f *testing.F) {
	data, log := filesOf(f)
	const page = 4096
	for at := page; at < len(data); at += page { // few pages at a time, which is fast
		if kind := data[at]; (kind == tableLeaf || kind == indexLeaf) && binary.BigEndian.Uint16(data[at+3:]) > 0 {
			f.Add(slices.Concat(data[:page], data[at:min(at+2*page, len(data))]), log[:logHead])
		}
	}
	for at := logHead; at < len(log); at += frameHead + page {
		if log[at+frameHead] == tableLeaf {
			f.Add(data[:page], slices.Concat(log[:logHead], log[at:at+frameHead+page]))
		}
	}
	dir := f.TempDir()
	f.Fuzz(func(t *testing.T, data, log []byte) {
		file := filepath.Join(dir, FileName)
		for name, content := range map[string][]byte{file: data, file + "-wal": log} {
			if err := os.WriteFile(name, content, 0o600); err != nil {
				t.Fatal(err)
			}
		}
		d := &Damaged{file: file, users: map[int64]string{}, sessions: map[[2]int64]string{}, seen: map[int64]bool{}}
		err := d.rescue(t.Context(), func(_ int64, m memory.BaseMemory) error {
			if _, err := memory.UUIDOf(memory.MemoryID, m.ID); err != nil || !utf8.ValidString(m.Content) {
				t.Errorf("%+v, %v", m, err)
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		for _, kind := range []memory.Kind{memory.SnapshotID, memory.MetaID} {
			err := d.rescueExtras(t.Context(), kind, func(_ int64, id string, _ value.Value) error {
				if _, err := memory.UUIDOf(kind, id); err != nil {
					t.Errorf("%s: %v", id, err)
				}
				return nil
			})
			if err != nil {
				t.Fatal(err)
			}
		}
	})
}

// filesOf are the file and the log of a small store.
func filesOf(f *testing.F) (data, log []byte) {
	f.Helper()
	dir := f.TempDir()
	s, err := Open(f.Context(), dir, Options{})
	if err != nil {
		f.Fatal(err)
	}
	defer s.Close()
	long := make([]byte, 0, 1<<14)
	for i := range 1 << 11 {
		long = binary.BigEndian.AppendUint64(long, 0x6162636465666768+uint64(i%3))
	}
	for _, content := range []string{"one", string(long), "二"} {
		if _, err := s.SaveMemories(f.Context(), []memory.BaseMemory{{Content: content, Context: memory.Context{UserID: "ann", SessionID: "s"}}}); err != nil {
			f.Fatal(err)
		}
	}
	x := memory.MemorySnapshot{ID: memory.NewID(memory.SnapshotID, time.Now()), KeyPoints: []string{"one"}, Category: "A"}
	m := memory.MetaSnapshot{ID: memory.NewID(memory.MetaID, time.Now()), Keywords: []string{"one"}, SnapshotRefs: []string{x.ID}, Category: "A"}
	if err := cmp.Or(s.SaveSnapshot(f.Context(), "ann", x), s.SaveMetaSnapshot(f.Context(), "ann", m)); err != nil {
		f.Fatal(err)
	}
	file := filepath.Join(dir, FileName)
	if log, err = os.ReadFile(file + "-wal"); err != nil {
		f.Fatal(err)
	}
	if err := s.Close(); err != nil {
		f.Fatal(err)
	}
	if data, err = os.ReadFile(file); err != nil {
		f.Fatal(err)
	}
	return data, log
}
