package packed_test

import (
	"slices"
	"testing"
	"time"

	"github.com/callnode/scheduler/calls/memory"
	"github.com/callnode/scheduler/calls/memory/internal/packed"
)

// TestScrubWhateverTheCase: snapshots of other programs may write ids with capital letters.
func TestScrubWhateverTheCase(t *testing.T) {
	const gone, kept = "mem_aaaaaaaa-0000-4000-8000-000000000001", "mem_aaaaaaaa-0000-4000-8000-000000000002"
	upper := func(id string) string { return id[:4] + "AAAAAAAA" + id[12:] }
	d := packed.NewDeletion(false)
	d.AddMemory(&memory.BaseMemory{ID: gone, Timestamp: time.Unix(1, 0)})
	s := memory.MemorySnapshot{ID: "snap_AAAAAAAA-0000-4000-8000-000000000003", MemoryRefs: []string{upper(gone), upper(kept)}}
	fresh, ok := d.ScrubSnapshot(s, []memory.BaseMemory{{ID: kept, Content: "tea"}})
	if !ok || !slices.Equal(fresh.MemoryRefs, []string{upper(kept)}) || d.Rewritten != 1 {
		t.Errorf("got %v %v, want the reference to the memory that is left; %d rewritten", fresh.MemoryRefs, ok, d.Rewritten)
	}
	if _, ok := d.ScrubSnapshot(s, nil); ok || d.Deleted.Snapshots != 1 {
		t.Errorf("a snapshot without memories was kept; %d deleted", d.Deleted.Snapshots)
	}
	m := memory.MetaSnapshot{SnapshotRefs: []string{"snap_aaaaaaaa-0000-4000-8000-000000000003"}}
	if fresh, ok := d.ScrubMeta(m, nil); ok || len(fresh.SnapshotRefs) > 0 {
		t.Errorf("got %v %v, want no reference to the deleted snapshot", fresh.SnapshotRefs, ok)
	}
}
