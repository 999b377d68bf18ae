package stored

import (
	"context"
	"sync"
	"time"
	"unicode/utf8"

	"github.com/callnode/scheduler/calls"
	"github.com/callnode/scheduler/llm/value/wording"
	"github.com/callnode/scheduler/scheduler/journal"
)

// LogState is the part of a [journal.RunLog] that does not depend on the store: it counts the events, remembers
// the first failure, and cancels its watchers. A backend makes one when it opens a run and embeds it in its log.
// It is safe for concurrent use; its mutex guards the fields and is held by callers of methods that end in Locked.
type LogState struct {
	// Opened is the state of the run when it was opened.
	Opened journal.RunInfo

	sync.Mutex
	// NextLocked is the Seq of the next event.
	NextLocked int64
	last       journal.EventType
	// ErrLocked is why nothing can be written any more.
	ErrLocked error
	// untoldLocked is the failure of a write that has not been reported yet; closed is set when the log is closed.
	untoldLocked error
	closed       bool
	// cause is why the run should stop.
	cause    error
	watchers map[*context.CancelCauseFunc]struct{}
}

// NewLogState returns the state of a log that was just opened.
func NewLogState(info *journal.RunInfo) *LogState {
	h := &LogState{Opened: *info, NextLocked: info.LastSeq + 1, watchers: map[*context.CancelCauseFunc]struct{}{}}
	if info.State == journal.RunFinished {
		h.last = journal.FlowFinished
	}
	return h
}

// Info returns the state of the run when it was opened.
func (h *LogState) Info() journal.RunInfo { return h.Opened }

// CheckLocked returns an error unless the events continue after the last one.
func (h *LogState) CheckLocked(events []*journal.Event) error {
	if h.ErrLocked != nil {
		return h.ErrLocked
	}
	next, last := h.NextLocked, h.last
	for _, ev := range events {
		switch {
		case ev.Run != h.Opened.ID:
			return calls.Errorf(calls.Internal, "an event of the run %s was given to the journal of %s", ev.Run, h.Opened.ID)
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

// AcceptLocked counts events that were checked.
func (h *LogState) AcceptLocked(events []*journal.Event) {
	if n := len(events); n > 0 {
		h.NextLocked = events[n-1].Seq + 1
		h.last = events[n-1].Type
	}
}

// Fail makes err the answer to every further write; the first one stays.
func (h *LogState) Fail(err error) {
	h.Lock()
	defer h.Unlock()
	if h.ErrLocked == nil {
		h.ErrLocked = err
	}
}

// Failed returns the first failure, or nil.
func (h *LogState) Failed() error {
	h.Lock()
	defer h.Unlock()
	return h.ErrLocked
}

// Stop passes the reason to stop to all watchers.
func (h *LogState) Stop(cause error) {
	h.Lock()
	defer h.Unlock()
	if h.cause != nil {
		return
	}
	h.cause = cause
	for cancel := range h.watchers {
		(*cancel)(cause)
	}
}

// Watch returns a context that ends when the run should stop.
func (h *LogState) Watch(parent context.Context) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancelCause(parent)
	h.Lock()
	defer h.Unlock()
	if h.cause != nil {
		cancel(h.cause)
	}
	h.watchers[&cancel] = struct{}{}
	return ctx, func() {
		h.Lock()
		delete(h.watchers, &cancel)
		h.Unlock()
		cancel(nil)
	}
}

// ErrClosed returns the error of a write to a log that was closed.
func ErrClosed(run string) error {
	return calls.Errorf(calls.Internal, "the journal of the run %s was closed before this write", run)
}

// ErrUnknown returns the error of a run that does not exist.
func ErrUnknown(run string) error {
	return calls.Errorf(calls.NotFound, "there is no run %s in the journal", run).
		WithHint("list the runs with: scheduler runs list")
}

// ErrAlive returns the error of a run that is not taken from a process which is alive.
func ErrAlive(run string, h *journal.Holder) error {
	holder := wording.Say("the process %d on %s", h.PID, h.Host)
	if !h.Since.IsZero() {
		holder = wording.Say("the process %d on %s since %s", h.PID, h.Host, h.Since.Local().Format(time.DateTime))
	}
	return calls.Errorf(calls.Invalid, "the run %s is held by %s, and that process is alive: the run is not taken from it", run, holder).
		WithHint("have it stop the run: scheduler runs cancel %s; where it does not, end the process (kill %d): the run is free then", run, h.PID)
}

// ErrExists returns the error of a run that exists already.
func ErrExists(run string) error {
	return calls.Errorf(calls.Invalid, "a run %s is in the journal already", run)
}

func errOver(run string, state journal.RunStatus) error {
	return calls.Errorf(calls.Invalid, "the run %s is %s already: there is nothing to cancel", run, wording.Of(string(state)))
}

// CheckHeader returns an error for a header that no run can begin with.
func CheckHeader(run *journal.RunHeader) error {
	if run.ID == "" {
		return calls.Errorf(calls.Internal, "a run needs an id to be recorded")
	}
	if run.Mode != "" && run.Mode != journal.Sync && run.Mode != journal.Async {
		return calls.Errorf(calls.Invalid, "the durability %q is not known", run.Mode).
			WithHint("write %s or %s", journal.Sync, journal.Async)
	}
	return checkLabels(run.Labels)
}

// Bounds of labels: they are read with every list of runs.
const (
	maxLabels     = 32
	maxLabelName  = 64
	maxLabelValue = 256
)

func checkLabels(labels map[string]string) error {
	if len(labels) > maxLabels {
		return calls.Errorf(calls.Invalid, "the run has %d labels, more than %d", len(labels), maxLabels)
	}
	for name, text := range labels {
		switch {
		case name == "" || len(name) > maxLabelName:
			return calls.Errorf(calls.Invalid, "the label name %q must have 1 to %d bytes", name, maxLabelName)
		case len(text) > maxLabelValue:
			return calls.Errorf(calls.Invalid, "the value of the label %q is longer than %d bytes", name, maxLabelValue)
		case !utf8.ValidString(name) || !utf8.ValidString(text):
			return calls.Errorf(calls.Invalid, "the label %q is not valid UTF-8", name)
		}
	}
	return nil
}

// NewCancelledEvent returns the event of a run that is cancelled while no process holds it.
func NewCancelledEvent(info *journal.RunInfo) *journal.Event {
	return &journal.Event{Seq: info.LastSeq + 1, Run: info.ID, Type: journal.FlowCancelled}
}

// CheckCancel returns an error if a run cannot be cancelled any more.
func CheckCancel(info *journal.RunInfo) error {
	if info.State.IsOver() {
		return errOver(info.ID, info.State)
	}
	return nil
}

// IsUnheeded reports whether the holder of a run was asked to stop it and died without doing so.
func IsUnheeded(info *journal.RunInfo) bool {
	return info.Holder == nil && info.CancelRequested && CheckCancel(info) == nil
}

// WrapReadError adds to err which run was being read; nil stays nil.
func WrapReadError(run string, err error) error {
	if err == nil {
		return nil
	}
	return wording.Errorf("reading the run %s: %w", run, err)
}
