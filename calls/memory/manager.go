package memory

import (
	"context"
	"time"

	"github.com/callnode/scheduler/calls"
)

// SnapshotManager makes and finds snapshots by hand.
type SnapshotManager struct {
	Store Store
	// Clock dates snapshots; nil is the machine's.
	Clock func() time.Time
}

func (m *SnapshotManager) now() time.Time {
	if m.Clock == nil {
		return time.Now()
	}
	return m.Clock()
}

// AddMemory stores a memory and gives its id.
func (m *SnapshotManager) AddMemory(ctx context.Context, memory BaseMemory) (id string, err error) {
	saved, err := m.Store.SaveMemories(ctx, []BaseMemory{memory})
	if err != nil {
		return "", err
	}
	return saved[0].ID, nil
}

// CreateSnapshot sums a user's memories up. All of them must be there and be the
// user's.
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

// CreateMetaSnapshot describes a user's snapshots of a category. All of them must be
// there and be the user's.
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

// GetMemory gives nil where there is none, as the two below do.
func (m *SnapshotManager) GetMemory(ctx context.Context, id string) (*BaseMemory, error) {
	return m.Store.LoadMemory(ctx, id)
}

// GetSnapshot gives a snapshot.
func (m *SnapshotManager) GetSnapshot(ctx context.Context, id string) (*MemorySnapshot, error) {
	return m.Store.LoadSnapshot(ctx, id)
}

// GetMetaSnapshot gives a meta snapshot.
func (m *SnapshotManager) GetMetaSnapshot(ctx context.Context, id string) (*MetaSnapshot, error) {
	return m.Store.LoadMetaSnapshot(ctx, id)
}

// FindSnapshotsByCategory gives the snapshots of a category, compared without case.
func (m *SnapshotManager) FindSnapshotsByCategory(ctx context.Context, users Users, category string) (list []MemorySnapshot, err error) {
	for x, err := range m.Store.Snapshots(ctx, Selection{Users: users, Category: category}) {
		if err != nil {
			return nil, err
		}
		list = append(list, x.Snapshot)
	}
	return list, nil
}

// FindMetaSnapshotsByCategory gives the meta snapshots of a category.
func (m *SnapshotManager) FindMetaSnapshotsByCategory(ctx context.Context, users Users, category string) (list []MetaSnapshot, err error) {
	for x, err := range m.Store.MetaSnapshots(ctx, Selection{Users: users, Category: category}) {
		if err != nil {
			return nil, err
		}
		list = append(list, x.Snapshot)
	}
	return list, nil
}

// CleanupOldMemories deletes what is selected and older than so many days, and gives
// what it deleted, or in a dry run would. Snapshots of which a memory is left stay.
func CleanupOldMemories(ctx context.Context, store MemoryStorage, which Selection, days int, now time.Time) (Deleted, error) {
	if days < 1 {
		return Deleted{}, calls.Errorf(calls.Invalid, "memories of %d days are not old", days).WithHint("give at least 1 day")
	}
	which.Before = now.UTC().AddDate(0, 0, -days)
	return store.Delete(ctx, which)
}
