package dispatch

import (
	"context"
	"iter"
	"slices"
	"time"

	"github.com/callnode/scheduler/scheduler/journal"
	"github.com/callnode/scheduler/scheduler/service"
)

// FollowOptions say which events of a run are followed, and how long.
type FollowOptions struct {
	// After is the Seq of the last event that is known.
	After int64
	// UntilWaiting ends also when the run waits for values, and not only when it is over.
	UntilWaiting bool
	// UntilWaitingAgain is UntilWaiting for a run that waits at After and is being answered: it ends when the run
	// waits after continuing. Answers alone do not count, as other machines may take them up later.
	UntilWaitingAgain bool
	// Idle yields an empty batch whenever nothing has happened for so long; 0 does not.
	Idle time.Duration
}

// Follow yields the events of a run with a Seq above After in batches, including future events from any process,
// until the run is over. While it waits, the reader waits too. A slow reader never holds the run back: it reads
// missed events from the journal. The caller must check that the reader may see the run.
func (d *Dispatcher) Follow(ctx context.Context, id string, o FollowOptions) iter.Seq2[[]*Frame, error] {
	return func(yield func([]*Frame, error) bool) {
		live := d.hub.acquireRun(id)
		defer d.hub.releaseRun(id, live)
		noticed, stop := d.service.SubscribeToRun(ctx, id)
		defer stop()
		f := &follower{d: d, id: id, live: live, noticed: noticed, options: o, since: time.Now()}
		for f.yieldNext(ctx, yield) {
		}
	}
}

// follower is a reader of a run. [Dispatcher.Follow] makes one for itself.
type follower struct {
	d       *Dispatcher
	id      string
	live    *liveRun
	noticed <-chan struct{} // receives when another process may have written; nil if the journal has no notices
	options FollowOptions
	since   time.Time // earlier states of the run are outdated
	goesOn  bool      // an event other than an answer has come
	idle    time.Duration
}

// yieldNext yields the available events, or waits for some. It reports whether there may be more.
func (f *follower) yieldNext(ctx context.Context, yield func([]*Frame, error) bool) bool {
	batch, behind, changed := f.live.framesAfter(f.options.After)
	if len(batch) > 0 {
		return f.yieldBatch(batch, yield)
	}
	wait := f.options.Idle
	var noticed <-chan struct{} // only if the journal has to be read
	if behind {
		if changed == nil { // the frames here are newer than the reader's next
			f.since = time.Now()
		}
		hasMore, isOver := f.readJournal(ctx, yield)
		if hasMore || isOver {
			return !isOver
		}
		wait, noticed = pollInterval, f.noticed
	}
	var again <-chan time.Time
	if wait > 0 {
		timer := time.NewTimer(wait)
		defer timer.Stop()
		again = timer.C
	}
	select {
	case <-ctx.Done():
		yield(nil, context.Cause(ctx))
		return false
	case <-changed:
		f.since = time.Now()
	case <-noticed:
		f.since = time.Now()
	case <-again:
		f.idle += wait
		if f.options.Idle > 0 && f.idle >= f.options.Idle {
			f.idle = 0
			return yield(nil, nil)
		}
	}
	return true
}

// yieldBatch yields a batch.
func (f *follower) yieldBatch(batch []*Frame, yield func([]*Frame, error) bool) bool {
	f.options.After = batch[len(batch)-1].Seq
	f.idle = 0
	f.goesOn = f.goesOn || slices.ContainsFunc(batch, func(frame *Frame) bool { return frame.Type != journal.StepAnswered })
	return yield(batch, nil)
}

// readJournal yields the events that the journal has, if any.
func (f *follower) readJournal(ctx context.Context, yield func([]*Frame, error) bool) (hasMore, isOver bool) {
	look := func(ctx context.Context) (*journal.RunInfo, error) {
		return f.d.service.Run(ctx, service.Principal{}, f.id)
	}
	info, err := f.live.pollInfo(ctx, look, f.since)
	if err != nil {
		yield(nil, err)
		return false, true
	}
	if info.LastSeq <= f.options.After {
		return false, f.isOver(info)
	}
	var batch []*Frame
	for event, err := range f.d.service.Events(ctx, service.Principal{}, f.id, f.options.After+1) {
		var frame *Frame
		if err == nil {
			frame, err = EncodeEvent(event)
		}
		if err != nil {
			yield(nil, err)
			return true, true
		}
		batch = append(batch, frame)
		if len(batch) == maxFrameBatch {
			if !f.yieldBatch(batch, yield) {
				return true, true
			}
			batch = nil
		}
	}
	return true, len(batch) > 0 && !f.yieldBatch(batch, yield)
}

// isOver reports whether no event will come for the reader after the ones that info has.
func (f *follower) isOver(info *journal.RunInfo) bool {
	if info.Holder != nil {
		return false
	}
	if info.State == journal.RunWaiting {
		return f.options.UntilWaiting || f.options.UntilWaitingAgain && f.goesOn
	}
	return info.State.IsOver()
}
