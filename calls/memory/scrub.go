package memory

import "slices"

// Scrub removes deleted memories from a snapshot: the references to them, and its text, which is extracted again
// from the remaining memories. ok is false if none remains and the snapshot should be deleted too. With keep, only
// the references are removed.
func Scrub(s MemorySnapshot, gone func(id string) bool, left []BaseMemory, keep bool) (_ MemorySnapshot, ok bool) {
	s.MemoryRefs = slices.DeleteFunc(slices.Clone(s.MemoryRefs), gone)
	if keep {
		return s, true
	}
	if len(left) == 0 {
		return s, false
	}
	fresh := ExtractSnapshot(s.ID, left, s.Timestamp)
	fresh.MemoryRefs, fresh.Category, fresh.Importance = s.MemoryRefs, Uncategorized, s.Importance
	return fresh, true
}

// ScrubMeta does for a meta snapshot the same as [Scrub] for a snapshot; left are its remaining snapshots.
func ScrubMeta(m MetaSnapshot, gone func(id string) bool, left []MemorySnapshot, keep bool) (_ MetaSnapshot, ok bool) {
	m.SnapshotRefs = slices.DeleteFunc(slices.Clone(m.SnapshotRefs), gone)
	if keep {
		return m, true
	}
	if len(left) == 0 {
		return m, false
	}
	fresh := ExtractMeta(m.ID, m.Category, left, m.Timestamp)
	fresh.SnapshotRefs = m.SnapshotRefs
	return fresh, true
}
