package packed

import (
	"strings"

	"github.com/callnode/scheduler/calls/memory"
	"github.com/callnode/scheduler/calls/memory/rank"
	"github.com/callnode/scheduler/llm/value/wording"
)

// ErrDry makes a dry run roll back its changes.
var ErrDry = wording.Errorf("a dry run")

// Deletion is one change's deletions of a user's memories, with the effects on snapshots. A store makes one with
// [NewDeletion] for each user of a change.
type Deletion struct {
	memory.Deleted
	// Touched are the keys of the snapshots that referred to deleted memories: the store
	// collects them.
	Touched map[int64]bool

	keepSnapshots bool
	gone          map[string]bool // the ids of deleted memories and snapshots, in lower case
}

// NewDeletion returns an empty deletion. With keepSnapshots, snapshots only lose their references.
func NewDeletion(keepSnapshots bool) Deletion {
	return Deletion{Touched: map[int64]bool{}, keepSnapshots: keepSnapshots, gone: map[string]bool{}}
}

// AddMemory counts a memory as deleted, and returns the entry that replaces its own.
func (d *Deletion) AddMemory(m *memory.BaseMemory) rank.Entry {
	d.Memories++
	d.gone[strings.ToLower(m.ID)] = true
	entry := Deleted
	entry.Time = m.Timestamp.UnixMilli()
	return entry
}

// ScrubSnapshot returns a snapshot without the deleted memories; ok is false if the snapshot must be deleted too.
// left are its memories that still exist.
func (d *Deletion) ScrubSnapshot(s memory.MemorySnapshot, left []memory.BaseMemory) (fresh memory.MemorySnapshot, ok bool) {
	left = inOrder(s.MemoryRefs, left, func(m memory.BaseMemory) string { return m.ID })
	fresh, ok = memory.Scrub(s, d.isGone, left, d.keepSnapshots)
	if ok {
		d.Rewritten++
	} else {
		d.Snapshots++
		d.gone[strings.ToLower(s.ID)] = true
	}
	return fresh, ok
}

// ScrubMeta does for a meta snapshot the same as ScrubSnapshot for a snapshot.
func (d *Deletion) ScrubMeta(m memory.MetaSnapshot, left []memory.MemorySnapshot) (fresh memory.MetaSnapshot, ok bool) {
	left = inOrder(m.SnapshotRefs, left, func(s memory.MemorySnapshot) string { return s.ID })
	fresh, ok = memory.ScrubMeta(m, d.isGone, left, d.keepSnapshots)
	if ok {
		d.Rewritten++
	} else {
		d.MetaSnapshots++
	}
	return fresh, ok
}

func (d *Deletion) isGone(id string) bool { return d.gone[strings.ToLower(id)] }

// inOrder returns the items that refs name, in their order.
func inOrder[T any](refs []string, items []T, idOf func(T) string) (ordered []T) {
	byID := make(map[string]T, len(items))
	for _, item := range items {
		byID[strings.ToLower(idOf(item))] = item
	}
	for _, ref := range refs {
		if item, ok := byID[strings.ToLower(ref)]; ok {
			ordered = append(ordered, item)
		}
	}
	return ordered
}

// DeleteByUsers deletes memories of the named users, some at a time: remove deletes memories of the first n of
// them, and returns n.
func DeleteByUsers(names []string, progress memory.Progress, remove func(names []string) (n int, d memory.Deleted, err error)) (d memory.Deleted, err error) {
	for done := 0; done < len(names); {
		n, some, err := remove(names[done:])
		if err != nil {
			return d, err
		}
		d.Add(some)
		done += n
		if progress != nil {
			progress.Show(done, len(names))
		}
	}
	return d, nil
}

// One change deletes memories of at most UsersTogether users, and adds no further user once it has GoneTogether
// memories, so that saving programs do not wait long.
const (
	UsersTogether = 256
	GoneTogether  = 10_000
)

// SelectTogether returns, for the first of these users, the memories of each that one change deletes; find returns
// one user's memories to delete. total counts them.
func SelectTogether(names []string, find func(name string) ([]int64, error)) (found [][]int64, total int, err error) {
	for len(found) < min(len(names), UsersTogether) && total < GoneTogether {
		rids, err := find(names[len(found)])
		if err != nil {
			return found, total, err
		}
		found, total = append(found, rids), total+len(rids)
	}
	return found, total, nil
}
