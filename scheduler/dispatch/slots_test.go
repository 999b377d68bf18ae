package dispatch

import (
	"context"
	"errors"
	"slices"
	"sync"
	"sync/atomic"
	"testing"

	"pgregory.net/rapid"
)

// Users take turns, each with the request that has waited longest; a user with many runs does not delay others.
func TestRunSlotsTakeTurns(t *testing.T) {
	s := newRunSlots(Limits{Runs: 1, PerUser: 1, Queued: 100})
	if !s.tryAcquire("lin") {
		t.Fatal("no slot in the beginning")
	}
	var order []string
	s.mu.Lock()
	for _, name := range []string{"lin1", "lin2", "lin3", "bo1", "ann1"} {
		s.addLocked(name[:len(name)-1], &slotRequest{admitted: func() { order = append(order, name) }})
	}
	s.mu.Unlock()
	for _, user := range []string{"lin", "lin", "bo", "ann", "lin"} {
		s.release(user)
	}
	if want := []string{"lin1", "bo1", "ann1", "lin2", "lin3"}; !slices.Equal(order, want) {
		t.Errorf("got %v, want %v", order, want)
	}
}

// For any order of requests, no limit is exceeded, no slot stays free while a request that may have it waits, and
// each waiting request is admitted once.
func TestRunSlotsKeepLimits(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		limits := Limits{Runs: rapid.IntRange(1, 4).Draw(t, "runs"), PerUser: rapid.IntRange(1, 3).Draw(t, "per user"), Queued: 1000}
		s := newRunSlots(limits)
		var atWork []string
		waiting := 0
		for _, step := range rapid.SliceOfN(rapid.IntRange(0, 5), 1, 60).Draw(t, "steps") {
			user := string(rune('a' + step%3))
			if step < 3 {
				if s.tryAcquire(user) {
					atWork = append(atWork, user)
				} else {
					waiting++
					s.mu.Lock()
					s.addLocked(user, &slotRequest{admitted: func() {
						waiting--
						atWork = append(atWork, user)
					}})
					s.mu.Unlock()
				}
			} else if i := slices.Index(atWork, user); i >= 0 {
				atWork = slices.Delete(atWork, i, i+1)
				s.release(user)
			}
			taken, queued := s.counts()
			if taken != len(atWork) || taken > limits.Runs || queued != waiting {
				t.Fatalf("%d are at work of %d, %d wait of %d", taken, len(atWork), queued, waiting)
			}
			for user, list := range s.waiting {
				if len(list) > 0 && s.hasFreeSlotLocked(user) {
					t.Fatalf("%s waits though there is a slot", user)
				}
			}
		}
	})
}

// A request that stops waiting leaves the queue.
func TestRunSlotsGiveUp(t *testing.T) {
	s := newRunSlots(Limits{Runs: 1, PerUser: 1})
	if !s.tryAcquire("lin") {
		t.Fatal("no slot in the beginning")
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := s.waitForSlot(ctx, "bo"); !errors.Is(err, context.Canceled) {
		t.Errorf("a caller that cancels gets %v", err)
	}
	ctx, cancel = context.WithTimeout(t.Context(), 0)
	defer cancel()
	if err := s.waitForSlot(ctx, "bo"); !errors.Is(err, ErrNoSlot) {
		t.Errorf("a caller whose time is over gets %v", err)
	}
	s.release("lin")
	if taken, queued := s.counts(); taken != 0 || queued != 0 {
		t.Errorf("%d are at work, %d wait", taken, queued)
	}
	if err := s.waitForSlot(t.Context(), "bo"); err != nil {
		t.Error(err)
	}
}

// The queue has a limit for runs. Requests that wait for a slot do not use it up, and of
// several runs that start at once as many are queued as the limit says.
func TestRunSlotsReserve(t *testing.T) {
	s := newRunSlots(Limits{Queued: 2})
	s.mu.Lock()
	s.addLocked("lin", &slotRequest{})
	s.mu.Unlock()
	var reserved atomic.Int32
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			if s.reserveInQueue() {
				reserved.Add(1)
			}
		})
	}
	all.Wait()
	if n := reserved.Load(); n != 2 {
		t.Fatalf("%d of 2 were reserved", n)
	}
	s.enqueueReserved("lin", func() {})
	if s.reserveInQueue() {
		t.Error("a queued run does not count")
	}
	s.cancelReservation()
	if !s.reserveInQueue() {
		t.Error("a reservation that was cancelled still counts")
	}
}
