package dispatch

import (
	"context"
	"errors"
	"slices"
	"sync"

	"github.com/callnode/scheduler/llm/value/wording"
)

// Limits limit the runs that a [Dispatcher] has at once.
type Limits struct {
	// Runs and PerUser are how many are at work.
	Runs, PerUser int
	// Queued is how many more wait for their turn.
	Queued int
}

// Errors of a [Dispatcher] that cannot take a run now.
var (
	// ErrQueueFull means that as many runs wait as may.
	ErrQueueFull = wording.Errorf("the run queue is full")
	// ErrNoSlot means that no run ended in time to make room.
	ErrNoSlot = wording.Errorf("no run slot became free in time")
	// ErrAtWork means that a run is at work or queued, so it cannot be resumed now.
	ErrAtWork = wording.Errorf("the run is at work or queued")
	// ErrStopping means that the process is about to end.
	ErrStopping = wording.Errorf("the server is stopping")
)

// runSlots hands out the slots in which runs are at work: if all are taken, users take turns, each with the
// request that has waited longest. [New] makes one; it is safe for concurrent use. For example, a user with 100
// waiting runs and one with a single run get the next two slots.
type runSlots struct {
	limits Limits

	mu      sync.Mutex // guards the fields below
	taken   int
	byUser  map[string]int
	turns   []string // the users with requests, the next first
	waiting map[string][]*slotRequest
	pending int // the requests
	queued  int // runs in the queue that Limits.Queued limits, including reserved places
}

// slotRequest waits for a slot. admitted is called once it has one, with the lock of [runSlots]
// held. isQueued is true for a run in the queue, and false for a request that waits.
type slotRequest struct {
	admitted func()
	isQueued bool
}

func newRunSlots(limits Limits) *runSlots {
	return &runSlots{limits: limits, byUser: map[string]int{}, waiting: map[string][]*slotRequest{}}
}

// tryAcquire takes a slot if one is free for the user. Waiting requests come first: while a slot is free, only
// users at their limit wait.
func (s *runSlots) tryAcquire(user string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.hasFreeSlotLocked(user) {
		return false
	}
	s.takeLocked(user)
	return true
}

func (s *runSlots) hasFreeSlotLocked(user string) bool {
	return s.taken < s.limits.Runs && s.byUser[user] < s.limits.PerUser
}

func (s *runSlots) takeLocked(user string) {
	s.taken++
	s.byUser[user]++
}

// reserveInQueue counts a run that is about to be queued, and reports whether the queue has room for it.
// [runSlots.enqueueReserved] queues the run, [runSlots.cancelReservation] takes the count back.
func (s *runSlots) reserveInQueue() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.queued >= s.limits.Queued {
		return false
	}
	s.queued++
	return true
}

func (s *runSlots) cancelReservation() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.queued--
}

// enqueueReserved queues a run that [runSlots.reserveInQueue] has counted. It
// calls admitted in a goroutine of its own once the run may begin. withdraw takes the run out of the queue, and
// reports whether it was still there.
func (s *runSlots) enqueueReserved(user string, admitted func()) (withdraw func() bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	a := &slotRequest{admitted: func() { go admitted() }, isQueued: true}
	s.addLocked(user, a)
	return func() bool { return s.withdraw(user, a) }
}

// enqueueAlways is [runSlots.enqueueReserved] for a run that waits whether or not the queue is full.
func (s *runSlots) enqueueAlways(user string, admitted func()) (withdraw func() bool) {
	s.mu.Lock()
	s.queued++
	s.mu.Unlock()
	return s.enqueueReserved(user, admitted)
}

func (s *runSlots) addLocked(user string, a *slotRequest) {
	if len(s.waiting[user]) == 0 {
		s.turns = append(s.turns, user)
	}
	s.waiting[user] = append(s.waiting[user], a)
	s.pending++
	s.admitLocked()
}

// waitForSlot waits for a slot until ctx ends: [ErrNoSlot] means that its time was over.
func (s *runSlots) waitForSlot(ctx context.Context, user string) error {
	s.mu.Lock()
	ready := make(chan struct{})
	a := &slotRequest{admitted: func() { close(ready) }}
	s.addLocked(user, a)
	s.mu.Unlock()
	select {
	case <-ready:
		return nil
	case <-ctx.Done():
	}
	if !s.withdraw(user, a) {
		return nil // it came at the last moment
	}
	if errors.Is(ctx.Err(), context.DeadlineExceeded) {
		return ErrNoSlot
	}
	return context.Cause(ctx)
}

// withdraw takes a request out of the queue. false means that it has its slot already.
func (s *runSlots) withdraw(user string, a *slotRequest) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	i := slices.Index(s.waiting[user], a)
	if i < 0 {
		return false
	}
	s.removeLocked(user, i)
	return true
}

func (s *runSlots) removeLocked(user string, i int) {
	s.pending--
	if s.waiting[user][i].isQueued {
		s.queued--
	}
	s.waiting[user] = slices.Delete(s.waiting[user], i, i+1)
	if len(s.waiting[user]) == 0 {
		delete(s.waiting, user)
		s.turns = slices.DeleteFunc(s.turns, func(u string) bool { return u == user })
	}
}

// release frees a slot and admits the next run.
func (s *runSlots) release(user string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.taken--
	s.byUser[user]--
	if s.byUser[user] == 0 {
		delete(s.byUser, user)
	}
	s.admitLocked()
}

// admitLocked hands out the free slots. The user that got one goes to the end of the turns.
func (s *runSlots) admitLocked() {
	for {
		i := slices.IndexFunc(s.turns, s.hasFreeSlotLocked)
		if i < 0 {
			return
		}
		user := s.turns[i]
		a := s.waiting[user][0]
		s.turns = append(slices.Delete(s.turns, i, i+1), user)
		s.removeLocked(user, 0)
		s.takeLocked(user)
		a.admitted()
	}
}

// counts returns how many are at work and how many wait.
func (s *runSlots) counts() (taken, queued int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.taken, s.pending
}
