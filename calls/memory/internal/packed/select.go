package packed

import (
	"cmp"
	"math"
	"slices"
	"time"

	"github.com/callnode/scheduler/calls/memory"
	"github.com/callnode/scheduler/calls/memory/rank"
)

// SelectNumbers returns the numbers of the selected memories of a user, in the order of
// their time. sessionNumber returns the number of a session, or [rank.None].
func SelectNumbers(ix *rank.Index, which memory.Selection, sessionNumber func(name string) int32) (seqs []uint32) {
	since, before := int64(math.MinInt64), int64(math.MaxInt64)
	if !which.Since.IsZero() {
		since = ceilMillis(which.Since)
	}
	if !which.Before.IsZero() {
		before = ceilMillis(which.Before)
	}
	in := int32(rank.None)
	if which.HasSession {
		in = sessionNumber(which.Session)
		if in == rank.None && which.Session != "" {
			return nil
		}
	}
	add := func(seq uint32) {
		e := ix.Entry(seq)
		inTime := e.Time >= since && e.Time < before
		inSession := !which.HasSession || e.Session == in
		hasRole := !which.Utterances || e.Utterance
		if !e.Deleted && inTime && inSession && hasRole {
			seqs = append(seqs, seq)
		}
	}
	if in >= 0 {
		for _, seq := range ix.Members(in) {
			add(seq)
		}
	} else {
		for seq := range ix.Len() {
			add(uint32(seq))
		}
		slices.SortStableFunc(seqs, func(a, b uint32) int { return cmp.Compare(ix.Entry(a).Time, ix.Entry(b).Time) })
	}
	if which.Newest > 0 {
		seqs = seqs[max(0, len(seqs)-which.Newest):]
	}
	return slices.Clone(seqs)
}

// ceilMillis returns a bound in ms, rounded up: stored times are whole milliseconds.
func ceilMillis(t time.Time) int64 {
	ms := t.UnixMilli()
	if time.UnixMilli(ms).Before(t) {
		ms++
	}
	return ms
}
