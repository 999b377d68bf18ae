// Package heap is a memory store that lasts as long as its process: for runs that
// shall leave nothing behind, for tests, and as the plainest form of what every
// store does.
package heap

import (
	"cmp"
	"context"
	"iter"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/callnode/scheduler/calls/memory"
)

// Store is a memory store in the heap.
type Store struct {
	clock func() time.Time

	mu        sync.Mutex
	order     []*record // as they were saved
	byID      map[string]*record
	byKey     map[[3]string][]*record // some may be changed or gone
	snapshots map[string]*snapshot
	metas     map[string]*meta
	reserved  map[string]reservation // by job token
	shelves   map[string]*shelf      // by user; made when somebody searches
	model     memory.Model           // whose vectors are kept
}

var _ memory.Store = (*Store)(nil)

type record struct {
	memory.BaseMemory
	versions []memory.BaseMemory
	saved    time.Time
	vector   packed
	waits    *reservation // for a vector; nil: it does not
}

// snapshot is linked to the memories that were there, and the same user's, when it
// was saved.
type snapshot struct {
	memory.Owned[memory.MemorySnapshot]
	saved time.Time
	links []*record
}

// meta is linked to snapshots as they are to memories.
type meta struct {
	memory.Owned[memory.MetaSnapshot]
	links []*snapshot
}

// New gives an empty store. A nil clock is the machine's.
func New(clock func() time.Time) *Store {
	if clock == nil {
		clock = time.Now
	}
	return &Store{
		clock: clock, byID: map[string]*record{}, byKey: map[[3]string][]*record{}, snapshots: map[string]*snapshot{},
		metas: map[string]*meta{}, reserved: map[string]reservation{}, shelves: map[string]*shelf{},
	}
}

// Close does nothing: nothing is left.
func (s *Store) Close() error { return nil }

// SaveMemories stores all or none.
func (s *Store) SaveMemories(ctx context.Context, list []memory.BaseMemory) ([]memory.Saved, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	now := s.clock()
	list = slices.Clone(list)
	given, dated := make([]bool, len(list)), make([]bool, len(list))
	owners := map[string]string{}
	for i := range list {
		m := &list[i]
		given[i], dated[i] = m.ID != "", !m.Timestamp.IsZero()
		if err := m.Normalize(now); err != nil {
			return nil, memory.At(i, len(list), err)
		}
		owner, known := owners[m.ID]
		if r := s.byID[m.ID]; r != nil {
			owner, known = r.Context.UserID, true
		}
		if known && owner != m.Context.UserID {
			return nil, memory.At(i, len(list), memory.ErrForeign(m.ID))
		}
		owners[m.ID] = m.Context.UserID
	}
	saved := make([]memory.Saved, len(list))
	for i, m := range list {
		saved[i] = s.save(m, given[i], dated[i], now)
	}
	return saved, nil
}

func (s *Store) save(m memory.BaseMemory, given, dated bool, now time.Time) memory.Saved {
	if r := s.byID[m.ID]; r != nil {
		if m.Repeats(&r.BaseMemory, dated) {
			return memory.Saved{ID: m.ID, State: memory.Unchanged}
		}
		r.versions = append(r.versions, r.BaseMemory)
		if r.EmbeddedText() != m.EmbeddedText() {
			r.vector, r.waits = packed{}, nil
		}
		r.BaseMemory = m
		s.await(r)
		s.byKey[keyOf(&m)] = append(s.byKey[keyOf(&m)], r)
		delete(s.shelves, m.Context.UserID)
		return memory.Saved{ID: m.ID, State: memory.Updated}
	}
	if !given {
		for _, r := range s.byKey[keyOf(&m)] {
			if s.byID[r.ID] == r && memory.Duplicate(&r.BaseMemory, &m) {
				return memory.Saved{ID: r.ID, State: memory.Merged}
			}
		}
	}
	r := &record{BaseMemory: m, saved: now}
	s.await(r)
	s.order = append(s.order, r)
	s.byID[m.ID] = r
	s.byKey[keyOf(&m)] = append(s.byKey[keyOf(&m)], r)
	if sh := s.shelves[m.Context.UserID]; sh != nil {
		sh.add(r)
	}
	return memory.Saved{ID: m.ID, State: memory.Created}
}

// keyOf is the same for duplicates.
func keyOf(m *memory.BaseMemory) [3]string {
	return [3]string{m.Context.UserID, m.Context.SessionID, memory.ContentKey(m.Content)}
}

// LoadMemory gives nil where there is none.
func (s *Store) LoadMemory(ctx context.Context, id string) (*memory.BaseMemory, error) {
	id, err := memory.CheckID(memory.MemoryID, id)
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if r := s.byID[id]; r != nil {
		m := r.BaseMemory
		return &m, ctx.Err()
	}
	return nil, ctx.Err()
}

// History gives the old versions of a memory.
func (s *Store) History(ctx context.Context, id string) ([]memory.BaseMemory, error) {
	id, err := memory.CheckID(memory.MemoryID, id)
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if r := s.byID[id]; r != nil {
		return slices.Clone(r.versions), ctx.Err()
	}
	return nil, ctx.Err()
}

// Memories gives memories by user, in order of their time.
func (s *Store) Memories(ctx context.Context, which memory.Selection) iter.Seq2[memory.BaseMemory, error] {
	return func(yield func(memory.BaseMemory, error) bool) {
		if err := cmp.Or(which.Users.Check(), ctx.Err()); err != nil {
			yield(memory.BaseMemory{}, err)
			return
		}
		s.mu.Lock()
		list := s.pick(which)
		s.mu.Unlock()
		for _, m := range list {
			if !yield(m, nil) {
				return
			}
		}
	}
}

// pick is the selected memories, oldest first.
func (s *Store) pick(which memory.Selection) (list []memory.BaseMemory) {
	for _, r := range s.order {
		if which.Has(&r.BaseMemory) {
			list = append(list, r.BaseMemory)
		}
	}
	slices.SortStableFunc(list, func(a, b memory.BaseMemory) int {
		return cmp.Or(strings.Compare(a.Context.UserID, b.Context.UserID), a.Timestamp.Compare(b.Timestamp))
	})
	if which.Newest > 0 {
		list = list[max(0, len(list)-which.Newest):]
	}
	return list
}

func listed[T any](ctx context.Context, which memory.Selection, list func() []T) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		var none T
		if err := cmp.Or(which.Users.Check(), ctx.Err()); err != nil {
			yield(none, err)
			return
		}
		for _, x := range list() {
			if !yield(x, nil) {
				return
			}
		}
	}
}

// Stats counts what is stored.
func (s *Store) Stats(ctx context.Context, users memory.Users) (st memory.Stats, err error) {
	if err := cmp.Or(users.Check(), ctx.Err()); err != nil {
		return st, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	names, sessions := map[string]bool{}, map[[2]string]bool{}
	for _, r := range s.order {
		if !users.Has(r.Context.UserID) {
			continue
		}
		names[r.Context.UserID] = true
		if r.Context.SessionID != "" {
			sessions[[2]string{r.Context.UserID, r.Context.SessionID}] = true
		}
		st.Memories++
		st.Versions += len(r.versions)
		if r.waits != nil {
			st.Unembedded++
		}
		if s.model.Name != "" && r.vector.model == s.model.Name {
			st.Vectors++
		}
		st.Bytes += int64(len(r.Content))
		if st.Oldest.IsZero() || r.Timestamp.Before(st.Oldest) {
			st.Oldest = r.Timestamp
		}
		if r.Timestamp.After(st.Newest) {
			st.Newest = r.Timestamp
		}
	}
	for _, x := range s.snapshots {
		if users.Has(x.User) {
			st.Snapshots++
		}
	}
	for _, x := range s.metas {
		if users.Has(x.User) {
			st.MetaSnapshots++
		}
	}
	st.Users, st.Sessions = len(names), len(sessions)
	st.Jobs = len(s.open(users))
	return st, nil
}

// Delete removes memories and what snapshots say of them.
func (s *Store) Delete(ctx context.Context, which memory.Selection) (d memory.Deleted, err error) {
	if err := cmp.Or(which.Users.Check(), ctx.Err()); err != nil {
		return d, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	gone := map[string]bool{}
	for _, m := range s.pick(which) {
		gone[m.ID] = true
	}
	d.Memories = len(gone)
	if which.Everything() {
		s.wipe(which, &d)
	} else {
		s.scrub(which, gone, &d)
	}
	if which.DryRun {
		return d, nil
	}
	s.order = slices.DeleteFunc(s.order, func(r *record) bool { return gone[r.ID] })
	for id := range gone {
		delete(s.byID, id)
	}
	clear(s.shelves)
	return d, nil
}

// wipe removes all snapshots of the users, with those whose memories are gone.
func (s *Store) wipe(which memory.Selection, d *memory.Deleted) {
	for id, x := range s.snapshots {
		if which.Users.Has(x.User) {
			d.Snapshots++
			if !which.DryRun {
				delete(s.snapshots, id)
			}
		}
	}
	for id, x := range s.metas {
		if which.Users.Has(x.User) {
			d.MetaSnapshots++
			if !which.DryRun {
				delete(s.metas, id)
			}
		}
	}
}

// scrub takes what is gone out of the snapshots, and what those said of it out of the
// meta snapshots.
func (s *Store) scrub(which memory.Selection, gone map[string]bool, d *memory.Deleted) {
	changed := map[*snapshot]bool{} // false: deleted
	for _, id := range slices.Sorted(maps.Keys(s.snapshots)) {
		x := s.snapshots[id]
		var left []memory.BaseMemory
		for _, r := range x.links {
			if !gone[r.ID] {
				left = append(left, r.BaseMemory)
			}
		}
		if len(left) == len(x.links) {
			continue
		}
		fresh, ok := memory.Scrub(x.Snapshot, func(id string) bool { return gone[id] }, left, which.KeepSnapshots)
		changed[x] = ok
		count(ok, &d.Rewritten, &d.Snapshots)
		if which.DryRun {
			continue
		}
		if ok {
			s.putSnapshot(x.User, fresh)
			x.links = slices.DeleteFunc(x.links, func(r *record) bool { return gone[r.ID] })
		} else {
			delete(s.snapshots, id)
		}
	}
	for _, id := range slices.Sorted(maps.Keys(s.metas)) {
		x := s.metas[id]
		var left []memory.MemorySnapshot
		touched := false
		lost := map[string]bool{}
		for _, y := range x.links {
			there, isChanged := changed[y]
			touched = touched || isChanged
			if isChanged && !there {
				lost[y.Snapshot.ID] = true
			} else {
				left = append(left, y.Snapshot)
			}
		}
		if !touched {
			continue
		}
		fresh, ok := memory.ScrubMeta(x.Snapshot, func(id string) bool { return lost[id] }, left, which.KeepSnapshots)
		count(ok, &d.Rewritten, &d.MetaSnapshots)
		if which.DryRun {
			continue
		}
		if ok {
			s.putMeta(x.User, fresh)
		} else {
			delete(s.metas, id)
		}
	}
}

func count(ok bool, yes, no *int) {
	if ok {
		*yes++
	} else {
		*no++
	}
}

// Search finds the memories that matter for a query.
func (s *Store) Search(ctx context.Context, q *memory.Query) (*memory.Found, error) {
	if err := cmp.Or(q.Users.Check(), ctx.Err()); err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	var lists [][]memory.Scored
	users := map[string]bool{}
	for _, r := range s.order {
		if u := r.Context.UserID; q.Users.Has(u) && !users[u] {
			users[u] = true
			found, err := memory.Rank(ctx, s.shelf(u), q)
			if err != nil {
				return nil, err
			}
			lists = append(lists, found)
		}
	}
	return &memory.Found{Memories: memory.Merge(q, lists...)}, nil
}
