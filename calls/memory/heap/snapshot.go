package heap

import (
	"context"
	"iter"
	"maps"
	"slices"

	"github.com/callnode/scheduler/calls/memory"
)

// SaveSnapshot stores a snapshot of a user's memories.
func (s *Store) SaveSnapshot(ctx context.Context, user string, x memory.MemorySnapshot) error {
	if err := x.Normalize(s.clock()); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if old := s.snapshots[x.ID]; old != nil && old.User != user {
		return memory.ErrForeign(x.ID)
	}
	s.putSnapshot(user, x)
	return ctx.Err()
}

func (s *Store) putSnapshot(user string, x memory.MemorySnapshot) {
	y := s.snapshots[x.ID]
	if y == nil {
		y = &snapshot{}
		s.snapshots[x.ID] = y
	}
	y.Owned, y.saved, y.links = memory.Owned[memory.MemorySnapshot]{User: user, Snapshot: x}, s.clock(), nil
	for _, ref := range x.MemoryRefs {
		if r := s.byID[ref]; r != nil && r.Context.UserID == user {
			y.links = append(y.links, r)
		}
	}
	delete(s.shelves, user)
}

// LoadSnapshot gives nil where there is none.
func (s *Store) LoadSnapshot(ctx context.Context, id string) (*memory.MemorySnapshot, error) {
	id, err := memory.CheckID(memory.SnapshotID, id)
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if x := s.snapshots[id]; x != nil {
		found := x.Snapshot
		return &found, ctx.Err()
	}
	return nil, ctx.Err()
}

// SaveMetaSnapshot stores a meta snapshot of a user's snapshots.
func (s *Store) SaveMetaSnapshot(ctx context.Context, user string, x memory.MetaSnapshot) error {
	if err := x.Normalize(s.clock()); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if old := s.metas[x.ID]; old != nil && old.User != user {
		return memory.ErrForeign(x.ID)
	}
	s.putMeta(user, x)
	return ctx.Err()
}

func (s *Store) putMeta(user string, x memory.MetaSnapshot) {
	y := &meta{Owned: memory.Owned[memory.MetaSnapshot]{User: user, Snapshot: x}}
	s.metas[x.ID] = y
	for _, ref := range x.SnapshotRefs {
		if z := s.snapshots[ref]; z != nil && z.User == user {
			y.links = append(y.links, z)
		}
	}
	delete(s.shelves, user)
}

// LoadMetaSnapshot gives nil where there is none.
func (s *Store) LoadMetaSnapshot(ctx context.Context, id string) (*memory.MetaSnapshot, error) {
	id, err := memory.CheckID(memory.MetaID, id)
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if x := s.metas[id]; x != nil {
		found := x.Snapshot
		return &found, ctx.Err()
	}
	return nil, ctx.Err()
}

// Snapshots gives snapshots in order of their ids.
func (s *Store) Snapshots(ctx context.Context, which memory.Selection) iter.Seq2[memory.Owned[memory.MemorySnapshot], error] {
	return listed(ctx, which, func() (list []memory.Owned[memory.MemorySnapshot]) {
		s.mu.Lock()
		defer s.mu.Unlock()
		for _, id := range slices.Sorted(maps.Keys(s.snapshots)) {
			if x := s.snapshots[id]; which.HasSnapshot(x.User, id, x.Snapshot.Category) {
				list = append(list, x.Owned)
			}
		}
		return list
	})
}

// MetaSnapshots gives meta snapshots in order of their ids.
func (s *Store) MetaSnapshots(ctx context.Context, which memory.Selection) iter.Seq2[memory.Owned[memory.MetaSnapshot], error] {
	return listed(ctx, which, func() (list []memory.Owned[memory.MetaSnapshot]) {
		s.mu.Lock()
		defer s.mu.Unlock()
		for _, id := range slices.Sorted(maps.Keys(s.metas)) {
			if x := s.metas[id]; which.HasSnapshot(x.User, id, x.Snapshot.Category) {
				list = append(list, x.Owned)
			}
		}
		return list
	})
}
