package dispatch

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/callnode/scheduler/scheduler/journal"
)

// Limits of the frames kept of a run for its readers. Readers that are further behind read the journal.
const (
	maxFrames     = 4096
	maxFrameBytes = 8 << 20
	// maxFrameBatch is how many frames a reader takes at a time.
	maxFrameBatch = 256
)

// hub has the newest events of the runs that are at work here or that have a reader. It
// is part of a [Dispatcher] and safe for concurrent use.
type hub struct {
	mu   sync.Mutex // guards the fields below
	runs map[string]*liveRun
}

// acquireRun returns the live part of a run, which lasts until everyone has released it.
func (h *hub) acquireRun(run string) *liveRun {
	h.mu.Lock()
	defer h.mu.Unlock()
	r := h.runs[run]
	if r == nil {
		r = &liveRun{}
		h.runs[run] = r
	}
	r.refs++
	return r
}

func (h *hub) releaseRun(run string, r *liveRun) {
	h.mu.Lock()
	defer h.mu.Unlock()
	r.refs--
	if r.refs == 0 && h.runs[run] == r {
		delete(h.runs, run)
	}
}

// liveRun is the newest events of one run. It is safe for concurrent use.
type liveRun struct {
	refs int // guarded by the hub

	mu      sync.Mutex // guards the fields below
	frames  []*Frame   // in order, without gaps
	bytes   int
	isLocal bool          // a session of this process publishes
	changed chan struct{} // closed when something changes; nil while no reader waits

	polling sync.Mutex // guards the fields below
	polled  time.Time
	info    *journal.RunInfo
	infoErr error
}

// publishFrame adds a frame and wakes the readers.
func (r *liveRun) publishFrame(f *Frame) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.frames = append(r.frames, f)
	r.bytes += len(f.JSON)
	for len(r.frames) > 1 && r.isOverfullLocked() {
		r.bytes -= len(r.frames[0].JSON)
		r.frames[0] = nil
		r.frames = r.frames[1:]
	}
	r.wakeLocked()
}

// isOverfullLocked reports whether the frames exceed their limits.
func (r *liveRun) isOverfullLocked() bool {
	return len(r.frames) > maxFrames || r.bytes > maxFrameBytes
}

// skipEvent leaves out an event that readers have to take from the journal. The frames before it are dropped too,
// so that the kept ones have no gap.
func (r *liveRun) skipEvent() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.frames, r.bytes = nil, 0
	r.wakeLocked()
}

// setLocal sets whether a session of this process is at the run. Frames of an earlier
// session go: events of another process may have come between.
func (r *liveRun) setLocal(local bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.isLocal = local
	if local {
		r.frames, r.bytes = nil, 0
	}
	r.wakeLocked()
}

func (r *liveRun) wakeLocked() {
	if r.changed != nil {
		close(r.changed)
		r.changed = nil
	}
}

// framesAfter returns the frames that follow after, as far as they are here. If there are none, behind reports
// whether to read the journal, and changed is closed when that may differ.
func (r *liveRun) framesAfter(after int64) (batch []*Frame, behind bool, changed <-chan struct{}) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.frames) > 0 {
		first := r.frames[0].Seq
		if i := after + 1 - first; i >= 0 && i < int64(len(r.frames)) {
			return slices.Clone(r.frames[i:min(i+maxFrameBatch, int64(len(r.frames)))]), false, nil
		} else if i < 0 {
			return nil, true, nil
		}
	}
	if r.changed == nil {
		r.changed = make(chan struct{})
	}
	return nil, !r.isLocal || len(r.frames) == 0, r.changed
}

// pollInterval is how often a run of another process is read.
const pollInterval = 250 * time.Millisecond

// pollInfo returns the state of the run: as read after since, or else at most pollInterval ago. Its readers share
// the read.
func (r *liveRun) pollInfo(ctx context.Context, look func(context.Context) (*journal.RunInfo, error), since time.Time) (*journal.RunInfo, error) {
	r.polling.Lock()
	defer r.polling.Unlock()
	if r.infoErr != nil || !r.polled.After(since) || time.Since(r.polled) >= pollInterval {
		r.polled = time.Now()
		r.info, r.infoErr = look(ctx)
	}
	return r.info, r.infoErr
}
