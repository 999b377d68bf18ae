package memory

import (
	"context"
	"time"

	"github.com/callnode/scheduler/calls"
)

// SnapshotManager creates and finds snapshots by hand. Of the documents, add_memory is
// AddMemory, create_snapshot CreateSnapshot, create_meta_snapshot CreateMetaSnapshot,
// get_memory, get_snapshot and get_meta_snapshot are the methods that begin with Get,
// find_snapshots_by_category and find_meta_snapshots_by_category those with Find. The caller sets its fields; it is
// safe for concurrent use if they are not changed.
type SnapshotManager struct {
	Store SnapshotStore
	// Clock dates snapshots; nil is the machine's.
	Clock func() time.Time
}

// SnapshotStore is the part of a [Store] that a [SnapshotManager] needs. It is safe for concurrent use.
type SnapshotStore interface {
	Saver
	Loader
	Lister
}

func (m *SnapshotManager) now() time.Time {
	if m.Clock == nil {
		return time.Now()
	}
	return m.Clock()
}

// AddMemory saves a memory and returns its id.
func (m *SnapshotManager) AddMemory(ctx context.Context, memory BaseMemory) (id string, err error) {
	saved, err := m.Store.SaveMemories(ctx, []BaseMemory{memory})
	if err != nil {
		return "", err
	}
	return saved[0].ID, nil
}

// CreateSnapshot saves a snapshot of a user's memories, which must all exist.
func (m *SnapshotManager) CreateSnapshot(ctx context.Context, user string, keyPoints, memoryIDs []string, category string, importance float64) (*MemorySnapshot, error) {
	for _, id := range memoryIDs {
		found, err := m.Store.LoadMemory(ctx, id)
		if err != nil {
			return nil, err
		}
		if found == nil || found.Context.UserID != user {
			return nil, calls.Errorf(calls.NotFound, "the user %q has no memory %s", user, id)
		}
	}
	s := MemorySnapshot{ID: NewID(SnapshotID, m.now()), KeyPoints: keyPoints, MemoryRefs: memoryIDs, Category: category, Importance: importance, Timestamp: m.now()}
	if err := m.Store.SaveSnapshot(ctx, user, s); err != nil {
		return nil, err
	}
	return m.Store.LoadSnapshot(ctx, s.ID)
}

// CreateMetaSnapshot saves a meta snapshot of a user's snapshots, which must all exist.
func (m *SnapshotManager) CreateMetaSnapshot(ctx context.Context, user, category string, keywords, snapshotIDs []string, description string) (*MetaSnapshot, error) {
	for _, id := range snapshotIDs {
		id, err := CheckID(SnapshotID, id)
		if err != nil {
			return nil, err
		}
		own := false
		for _, err := range m.Store.Snapshots(ctx, Selection{Users: User(user), ID: id}) {
			if err != nil {
				return nil, err
			}
			own = true
		}
		if !own {
			return nil, calls.Errorf(calls.NotFound, "the user %q has no snapshot %s", user, id)
		}
	}
	s := MetaSnapshot{ID: NewID(MetaID, m.now()), Category: category, Keywords: keywords, SnapshotRefs: snapshotIDs, Description: description, Timestamp: m.now()}
	if err := m.Store.SaveMetaSnapshot(ctx, user, s); err != nil {
		return nil, err
	}
	return m.Store.LoadMetaSnapshot(ctx, s.ID)
}

// GetMemory returns a memory, or nil if the id is unknown.
func (m *SnapshotManager) GetMemory(ctx context.Context, id string) (*BaseMemory, error) {
	return m.Store.LoadMemory(ctx, id)
}

// GetSnapshot returns a snapshot, or nil if the id is unknown.
func (m *SnapshotManager) GetSnapshot(ctx context.Context, id string) (*MemorySnapshot, error) {
	return m.Store.LoadSnapshot(ctx, id)
}

// GetMetaSnapshot returns a meta snapshot, or nil if the id is unknown.
func (m *SnapshotManager) GetMetaSnapshot(ctx context.Context, id string) (*MetaSnapshot, error) {
	return m.Store.LoadMetaSnapshot(ctx, id)
}

// FindSnapshotsByCategory returns the snapshots of a category, regardless of case.
func (m *SnapshotManager) FindSnapshotsByCategory(ctx context.Context, users Users, category string) (list []MemorySnapshot, err error) {
	for x, err := range m.Store.Snapshots(ctx, Selection{Users: users, Category: category}) {
		if err != nil {
			return nil, err
		}
		list = append(list, x.Snapshot)
	}
	return list, nil
}

// FindMetaSnapshotsByCategory returns the meta snapshots of a category, regardless of case.
func (m *SnapshotManager) FindMetaSnapshotsByCategory(ctx context.Context, users Users, category string) (list []MetaSnapshot, err error) {
	for x, err := range m.Store.MetaSnapshots(ctx, Selection{Users: users, Category: category}) {
		if err != nil {
			return nil, err
		}
		list = append(list, x.Snapshot)
	}
	return list, nil
}

// CleanupOldMemories deletes the selected memories that are older than a number of days. Snapshots stay as long as
// one of their memories is left.
func CleanupOldMemories(ctx context.Context, store Deleter, which Selection, days int, now time.Time) (Deleted, error) {
	if days < 1 {
		return Deleted{}, calls.Errorf(calls.Invalid, "invalid number of days %d", days).WithHint("use at least 1")
	}
	which.Before = now.UTC().AddDate(0, 0, -days)
	return store.Delete(ctx, which)
}
