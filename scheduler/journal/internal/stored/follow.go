package stored

import (
	"context"
	"iter"
	"math"
	"strconv"
	"time"

	"github.com/callnode/scheduler/calls"
	"github.com/callnode/scheduler/scheduler/journal"
)

// pollInterval is how often a run that is followed is read.
const pollInterval = 100 * time.Millisecond

// Follow is [journal.EventReader] Follow for stores without notice of new events: it
// looks again and again.
func Follow(ctx context.Context, store journal.RunReader, id string, after int64) iter.Seq2[*journal.Event, error] {
	return func(yield func(*journal.Event, error) bool) {
		tick := time.NewTicker(pollInterval)
		defer tick.Stop()
		for {
			// The run's state is read before its events, so that they cover it.
			info, err := store.Run(ctx, id)
			if err != nil {
				yield(nil, err)
				return
			}
			for ev, err := range store.Events(ctx, id, after+1) {
				if !yield(ev, err) || err != nil {
					return
				}
				after = ev.Seq
			}
			if info.State != journal.RunRunning && info.Holder == nil {
				return
			}
			select {
			case <-ctx.Done():
				yield(nil, ctx.Err())
				return
			case <-tick.C:
			}
		}
	}
}

// ParseCursors returns the numbers between which the runs of a [journal.RunFilter] are; newer runs have greater
// numbers, from 1.
func ParseCursors(f *journal.RunFilter) (after, downTo int64, err error) {
	after, err = parseCursor(f.After, math.MaxInt64)
	if err == nil {
		downTo, err = parseCursor(f.DownTo, 0)
	}
	return after, downTo, err
}

// parseCursor returns the number of a run by its cursor, or none for "".
func parseCursor(cursor string, none int64) (int64, error) {
	if cursor == "" {
		return none, nil
	}
	n, err := strconv.ParseInt(cursor, 10, 64)
	if err != nil || n < 0 {
		return 0, calls.Errorf(calls.Invalid, "the cursor %q is not one of this journal", cursor).
			WithHint("leave it out to list from the beginning")
	}
	return n, nil
}
