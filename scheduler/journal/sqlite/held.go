package sqlite

import (
	"context"
	"fmt"
	"sync"

	"github.com/callnode/scheduler/calls"
	"github.com/callnode/scheduler/scheduler/journal"
)

// held is what every RunLog does, wherever it stores: it keeps count of the
// events, remembers the first failure, and tells those who watch.
type held struct {
	opened journal.RunInfo

	mu   sync.Mutex
	next int64
	last journal.EventType
	// err is why nothing can be written any more.
	err error
	// cause is why the run should stop.
	cause    error
	watchers map[*context.CancelCauseFunc]struct{}
}

func newHeld(info *journal.RunInfo) *held {
	h := &held{opened: *info, next: info.LastSeq + 1, watchers: map[*context.CancelCauseFunc]struct{}{}}
	if info.State == journal.RunFinished {
		h.last = journal.FlowFinished
	}
	return h
}

// Info is how the run stood when it was opened.
func (h *held) Info() journal.RunInfo { return h.opened }

// check says whether the events go on where the last ended. The lock is held.
func (h *held) check(events []*journal.Event) error {
	if h.err != nil {
		return h.err
	}
	next, last := h.next, h.last
	for _, ev := range events {
		switch {
		case ev.Run != h.opened.ID:
			return calls.Errorf(calls.Internal, "an event of the run %s was given to the journal of %s", ev.Run, h.opened.ID)
		case ev.Seq != next:
			return calls.Errorf(calls.Internal, "event %d of the run %s was given to the journal where %d comes next", ev.Seq, ev.Run, next)
		case last == journal.FlowFinished:
			return calls.Errorf(calls.Internal, "event %d (%s) comes after the end of the run %s", ev.Seq, ev.Type, ev.Run)
		}
		next++
		last = ev.Type
	}
	return nil
}

// accept counts events that were checked. The lock is held.
func (h *held) accept(events []*journal.Event) {
	if n := len(events); n > 0 {
		h.next = events[n-1].Seq + 1
		h.last = events[n-1].Type
	}
}

// fail makes err the answer to every further write; the first one stays.
func (h *held) fail(err error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.err == nil {
		h.err = err
	}
}

// failed is the first failure, or nil.
func (h *held) failed() error {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.err
}

// stop tells those who watch why the run should stop.
func (h *held) stop(cause error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.cause != nil {
		return
	}
	h.cause = cause
	for cancel := range h.watchers {
		(*cancel)(cause)
	}
}

// Watch gives a context that ends when the run should stop.
func (h *held) Watch(parent context.Context) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancelCause(parent)
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.cause != nil {
		cancel(h.cause)
	}
	h.watchers[&cancel] = struct{}{}
	return ctx, func() {
		h.mu.Lock()
		delete(h.watchers, &cancel)
		h.mu.Unlock()
		cancel(nil)
	}
}

// errClosed answers a write to a log that was let go.
func errClosed(run string) error {
	return calls.Errorf(calls.Internal, "the journal of the run %s was closed before this write", run)
}

func errUnknown(run string) error {
	return calls.Errorf(calls.NotFound, "there is no run %s in the journal", run).
		WithHint("list the runs with: scheduler runs list")
}

func errExists(run string) error {
	return calls.Errorf(calls.Invalid, "a run %s is in the journal already", run)
}

func errOver(run string, state journal.RunStatus) error {
	return calls.Errorf(calls.Invalid, "the run %s is %s already: there is nothing to cancel", run, state)
}

// checkHeader refuses what cannot begin.
func checkHeader(run *journal.RunHeader) error {
	switch {
	case run.ID == "":
		return calls.Errorf(calls.Internal, "a run needs an id to be recorded")
	case run.Mode != "" && run.Mode != journal.Sync && run.Mode != journal.Async:
		return calls.Errorf(calls.Invalid, "the durability %q is not known", run.Mode).
			WithHint("write %s or %s", journal.Sync, journal.Async)
	}
	return nil
}

// cancelled is the event of a run that is cancelled while nobody holds it.
func cancelled(info *journal.RunInfo) *journal.Event {
	return &journal.Event{Seq: info.LastSeq + 1, Run: info.ID, Type: journal.FlowCancelled}
}

func canCancel(info *journal.RunInfo) error {
	if info.State == journal.RunRunning || info.State == journal.RunWaiting {
		return nil
	}
	return errOver(info.ID, info.State)
}

// reading says what was being read when err happened.
func reading(run string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("reading the run %s: %w", run, err)
}
