package service

import (
	"context"
	"errors"
	"slices"
	"sync"
	"sync/atomic"
	"testing"

	"pgregory.net/rapid"
)

// Users take turns, each with what has waited longest; one with many runs holds up nobody.
func TestPlacesTakeTurns(t *testing.T) {
	p := newPlaces(Limits{Runs: 1, PerUser: 1, Queued: 100})
	if !p.tryAcquire("lin") {
		t.Fatal("no place in the beginning")
	}
	var order []string
	p.mu.Lock()
	for _, name := range []string{"lin1", "lin2", "lin3", "bo1", "ann1"} {
		p.addLocked(name[:len(name)-1], &applicant{admitted: func() { order = append(order, name) }})
	}
	p.mu.Unlock()
	for _, user := range []string{"lin", "lin", "bo", "ann", "lin"} {
		p.releasePlace(user)
	}
	if want := []string{"lin1", "bo1", "ann1", "lin2", "lin3"}; !slices.Equal(order, want) {
		t.Errorf("got %v, want %v", order, want)
	}
}

// Whatever comes in whatever order, no limit is passed, no place stays free while one who
// may have it waits, and whoever waits is admitted once.
func TestPlacesKeepLimits(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		limits := Limits{Runs: rapid.IntRange(1, 4).Draw(t, "runs"), PerUser: rapid.IntRange(1, 3).Draw(t, "per user"), Queued: 1000}
		p := newPlaces(limits)
		var atWork []string
		waiting := 0
		for _, step := range rapid.SliceOfN(rapid.IntRange(0, 5), 1, 60).Draw(t, "steps") {
			user := string(rune('a' + step%3))
			if step < 3 {
				if p.tryAcquire(user) {
					atWork = append(atWork, user)
				} else {
					waiting++
					p.mu.Lock()
					p.addLocked(user, &applicant{admitted: func() {
						waiting--
						atWork = append(atWork, user)
					}})
					p.mu.Unlock()
				}
			} else if i := slices.Index(atWork, user); i >= 0 {
				atWork = slices.Delete(atWork, i, i+1)
				p.releasePlace(user)
			}
			taken, queued := p.counts()
			if taken != len(atWork) || taken > limits.Runs || queued != waiting {
				t.Fatalf("%d are at work of %d, %d wait of %d", taken, len(atWork), queued, waiting)
			}
			for user, list := range p.waiting {
				if len(list) > 0 && p.hasRoomLocked(user) {
					t.Fatalf("%s waits though there is a place", user)
				}
			}
		}
	})
}

// Whoever does not wait any longer leaves the queue.
func TestPlacesGiveUp(t *testing.T) {
	p := newPlaces(Limits{Runs: 1, PerUser: 1})
	if !p.tryAcquire("lin") {
		t.Fatal("no place in the beginning")
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := p.waitForPlace(ctx, "bo"); !errors.Is(err, context.Canceled) {
		t.Errorf("a caller that cancels gets %v", err)
	}
	ctx, cancel = context.WithTimeout(t.Context(), 0)
	defer cancel()
	if err := p.waitForPlace(ctx, "bo"); !errors.Is(err, ErrNoPlace) {
		t.Errorf("a caller whose time is over gets %v", err)
	}
	p.releasePlace("lin")
	if taken, queued := p.counts(); taken != 0 || queued != 0 {
		t.Errorf("%d are at work, %d wait", taken, queued)
	}
	if err := p.waitForPlace(t.Context(), "bo"); err != nil {
		t.Error(err)
	}
}

// The queue has a limit for runs. Requests that wait for a place do not use it up, and of
// several runs that start at once as many are queued as the limit says.
func TestPlacesReserve(t *testing.T) {
	p := newPlaces(Limits{Queued: 2})
	p.mu.Lock()
	p.addLocked("lin", &applicant{})
	p.mu.Unlock()
	var reserved atomic.Int32
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			if p.reservePlace() {
				reserved.Add(1)
			}
		})
	}
	all.Wait()
	if n := reserved.Load(); n != 2 {
		t.Fatalf("%d places of 2 were reserved", n)
	}
	p.enqueueReserved("lin", func() {})
	if p.reservePlace() {
		t.Error("a queued run has no place of its own")
	}
	p.cancelReserved()
	if !p.reservePlace() {
		t.Error("a place that was given back is not free")
	}
}
