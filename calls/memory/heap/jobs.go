package heap

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"time"

	"github.com/callnode/scheduler/calls/memory"
)

// reservation is what is known of a job beyond what waits in it.
type reservation struct {
	until    time.Time // not before
	attempts int
}

// waiting is a session or a category with something new.
type waiting struct {
	job  memory.Job
	n    int
	last time.Time
}

// open are the jobs that could be done, the longest waiting first.
func (s *Store) open(users memory.Users) []*waiting {
	found := map[string]*waiting{}
	of := func(token string, job memory.Job, saved time.Time) *waiting {
		w := found[token]
		if w == nil {
			job.Token = token
			w = &waiting{job: job}
			found[token] = w
		}
		w.n++
		w.last = saved
		return w
	}
	summed, described := s.linked()
	for _, r := range s.order {
		if c := r.Context; !summed[r] && users.Has(c.UserID) {
			w := of("d\x00"+c.UserID+"\x00"+c.SessionID, memory.Job{User: c.UserID, Session: c.SessionID}, r.saved)
			if len(w.job.Memories) < memory.MaxJob {
				w.job.Memories = append(w.job.Memories, r.BaseMemory)
			}
		}
	}
	for _, id := range slices.Sorted(maps.Keys(s.snapshots)) {
		if x := s.snapshots[id]; !described[x] && users.Has(x.User) {
			w := of("m\x00"+x.User+"\x00"+memory.CategoryKey(x.Snapshot.Category), memory.Job{User: x.User, Category: x.Snapshot.Category}, x.saved)
			if len(w.job.Snapshots) < memory.MaxJob {
				w.job.Snapshots = append(w.job.Snapshots, x.Snapshot)
			}
		}
	}
	return slices.SortedFunc(maps.Values(found), func(a, b *waiting) int {
		return cmp.Or(a.last.Compare(b.last), cmp.Compare(a.job.Token, b.job.Token))
	})
}

// linked are the memories that a snapshot has, and the snapshots that a meta snapshot
// has.
func (s *Store) linked() (summed map[*record]bool, described map[*snapshot]bool) {
	summed, described = map[*record]bool{}, map[*snapshot]bool{}
	for _, x := range s.snapshots {
		for _, r := range x.links {
			summed[r] = true
		}
	}
	for _, x := range s.metas {
		for _, y := range x.links {
			described[y] = true
		}
	}
	return summed, described
}

// Claim gives a job that is due and reserves it.
func (s *Store) Claim(ctx context.Context, c memory.Claim) (*memory.Job, error) {
	if err := cmp.Or(c.Users.Check(), ctx.Err()); err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, w := range s.open(c.Users) {
		held := s.reserved[w.job.Token]
		if held.until.After(c.Now) || !c.Due(len(w.job.Memories) > 0, w.n, w.last) {
			continue
		}
		w.job.Attempts = held.attempts
		s.reserved[w.job.Token] = reservation{c.Now.Add(c.Lease), held.attempts}
		return &w.job, nil
	}
	return nil, nil
}

// Complete saves what a job has made, unless something it was made of is gone.
func (s *Store) Complete(ctx context.Context, job *memory.Job) error {
	if err := cmp.Or(job.Check(s.clock()), ctx.Err()); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.reserved, job.Token)
	for _, m := range job.Memories {
		if s.byID[m.ID] == nil {
			return nil // deleted since: the job is done again with what is left
		}
	}
	for _, x := range job.Snapshots {
		if s.snapshots[x.ID] == nil {
			return nil
		}
	}
	if job.Detail != nil {
		s.putSnapshot(job.User, *job.Detail)
	} else {
		s.putMeta(job.User, *job.Meta)
	}
	return nil
}

// Postpone gives a job back, to be tried later.
func (s *Store) Postpone(ctx context.Context, job *memory.Job, until time.Time) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.reserved[job.Token] = reservation{until, job.Attempts + 1}
	return ctx.Err()
}
