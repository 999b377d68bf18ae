package service

import (
	"context"
	"errors"
	"slices"
	"sync"

	"github.com/callnode/scheduler/llm/value/wording"
)

// Limits bound how many runs a [Dispatcher] has at once.
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
	// ErrNoPlace means that no run ended in time to make room.
	ErrNoPlace = wording.Errorf("no run slot became free in time")
	// ErrAtWork means that a run is at work or queued, so it cannot be resumed now.
	ErrAtWork = wording.Errorf("the run is at work or queued")
	// ErrStopping means that the process is about to end.
	ErrStopping = wording.Errorf("the server is stopping")
)

// places hands out the right to be at work: where all are taken, users take turns, each
// with the one that has waited longest. [newPlaces] makes one; it is safe for concurrent use.
type places struct {
	limits Limits

	mu      sync.Mutex // guards what follows
	taken   int
	byUser  map[string]int
	turns   []string // the users with applicants, the next first
	waiting map[string][]*applicant
	pending int // the applicants
	queued  int // those in the queue that Limits.Queued bounds, with the reserved places in it
}

// applicant waits for a place. admitted is called once it has one, with the lock of places
// held. isQueued is true for a run in the queue, and false for a request that waits.
type applicant struct {
	admitted func()
	isQueued bool
}

func newPlaces(limits Limits) *places {
	return &places{limits: limits, byUser: map[string]int{}, waiting: map[string][]*applicant{}}
}

// tryAcquire takes a place if one is free for the user. Whoever waits comes first: while a
// place is free, only users with no place left for them wait.
func (p *places) tryAcquire(user string) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.hasRoomLocked(user) {
		return false
	}
	p.takeLocked(user)
	return true
}

func (p *places) hasRoomLocked(user string) bool {
	return p.taken < p.limits.Runs && p.byUser[user] < p.limits.PerUser
}

func (p *places) takeLocked(user string) {
	p.taken++
	p.byUser[user]++
}

// reservePlace takes a place in the queue and reports whether one was free. [places.enqueueReserved]
// uses the place, [places.cancelReserved] gives it back.
func (p *places) reservePlace() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.queued >= p.limits.Queued {
		return false
	}
	p.queued++
	return true
}

func (p *places) cancelReserved() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.queued--
}

// enqueueReserved lets a run wait in the place of the queue that was reserved for it. It
// calls admitted in a goroutine of its own once the run may begin.
func (p *places) enqueueReserved(user string, admitted func()) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.addLocked(user, &applicant{admitted: func() { go admitted() }, isQueued: true})
}

// enqueueAlways is [places.enqueueReserved] for a run that waits whether or not the queue is full.
func (p *places) enqueueAlways(user string, admitted func()) {
	p.mu.Lock()
	p.queued++
	p.mu.Unlock()
	p.enqueueReserved(user, admitted)
}

func (p *places) addLocked(user string, a *applicant) {
	if len(p.waiting[user]) == 0 {
		p.turns = append(p.turns, user)
	}
	p.waiting[user] = append(p.waiting[user], a)
	p.pending++
	p.admitLocked()
}

// waitForPlace waits for a place until ctx ends: [ErrNoPlace] means that its time was over.
func (p *places) waitForPlace(ctx context.Context, user string) error {
	p.mu.Lock()
	ready := make(chan struct{})
	a := &applicant{admitted: func() { close(ready) }}
	p.addLocked(user, a)
	p.mu.Unlock()
	select {
	case <-ready:
		return nil
	case <-ctx.Done():
	}
	if !p.withdrawApplicant(user, a) {
		return nil // it came at the last moment
	}
	if errors.Is(ctx.Err(), context.DeadlineExceeded) {
		return ErrNoPlace
	}
	return context.Cause(ctx)
}

// withdrawApplicant takes an applicant out of the queue. false means that it has its place already.
func (p *places) withdrawApplicant(user string, a *applicant) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	i := slices.Index(p.waiting[user], a)
	if i < 0 {
		return false
	}
	p.removeLocked(user, i)
	return true
}

func (p *places) removeLocked(user string, i int) {
	p.pending--
	if p.waiting[user][i].isQueued {
		p.queued--
	}
	p.waiting[user] = slices.Delete(p.waiting[user], i, i+1)
	if len(p.waiting[user]) == 0 {
		delete(p.waiting, user)
		p.turns = slices.DeleteFunc(p.turns, func(u string) bool { return u == user })
	}
}

// releasePlace frees a place and admits the next run.
func (p *places) releasePlace(user string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.taken--
	p.byUser[user]--
	if p.byUser[user] == 0 {
		delete(p.byUser, user)
	}
	p.admitLocked()
}

// admitLocked gives the free places away. The user that got one goes to the end of the turns.
func (p *places) admitLocked() {
	for {
		i := slices.IndexFunc(p.turns, p.hasRoomLocked)
		if i < 0 {
			return
		}
		user := p.turns[i]
		a := p.waiting[user][0]
		p.turns = append(slices.Delete(p.turns, i, i+1), user)
		p.removeLocked(user, 0)
		p.takeLocked(user)
		a.admitted()
	}
}

// counts returns how many are at work and how many wait.
func (p *places) counts() (taken, queued int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.taken, p.pending
}
