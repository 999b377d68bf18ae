package dispatch

import (
	"context"
	"time"

	"github.com/callnode/scheduler/llm/value/wording"
	"github.com/callnode/scheduler/scheduler/journal"
	"github.com/callnode/scheduler/scheduler/service"
)

const (
	// maxTakeOvers is the number of vain continuations of a run before it pauses in between: a run that crashes its
	// process would crash one process after the other.
	maxTakeOvers = 3
	// firstPause is that pause; it doubles up to longestPause.
	firstPause   = 30 * time.Second
	longestPause = time.Hour
)

// tries counts the vain continuations of a run. For example, a run whose step ends the process has one more after
// each restart; a finished step resets the count.
type tries struct {
	n           int
	first, last time.Time
	seq         int64            // the last event of the run then
	missing     error            // a *[service.MissingError] if the last try ended because this machine lacks something
	by          *journal.Process // the process that held the run last; nil if the journal does not have it
}

// add counts a try.
func (t *tries) add(at time.Time) {
	if t.n == 0 {
		t.first = at
	}
	t.n++
	t.last = at
}

// areMany reports whether the run must pause before it is continued.
func (t *tries) areMany() bool { return t.n >= maxTakeOvers }

// next returns when the run may be continued. A run that only this machine cannot carry out is left to others at
// once, and checked again at each recovery: pauses that grow would outlast the lack.
func (t *tries) next() time.Time {
	if !t.areMany() || t.missing != nil {
		return time.Time{}
	}
	const most = 10 // doublings, far above longestPause
	return t.last.Add(min(firstPause<<min(t.n-maxTakeOvers, most), longestPause))
}

// areSpent reports whether the run fails now. Only time with tries counts: after a server was off for a week, a run is tried once more.
func (t *tries) areSpent(limit time.Duration) bool {
	return t.areMany() && t.last.Sub(t.first) >= limit
}

// reason returns why the run is given up after so long.
func (t *tries) reason(after time.Duration) service.Reason {
	if t.missing != nil {
		return service.MissingReason(after, t.missing.Error())
	}
	return service.Reason{
		Text: wording.Say("the run was taken up %d times, and no step has finished: it is given up", t.n),
		Hint: wording.Say("the log of the server tells why; then resume the run"),
	}
}

// VainTries counts how often a run was taken over from dead processes without a finished step.
type VainTries struct {
	// N is 0 if the run may continue at once.
	N int
	// Next is the time from which it may be continued; a past time means now.
	Next time.Time
	// IsSpent is true if it fails now, for Reason.
	IsSpent bool
	Reason  service.Reason
}

// TakenInVain returns how often a run that no process holds, and whose last process died, was taken over after its event since. It
// is given up after so long.
func TakenInVain(ctx context.Context, s *service.Service, info *journal.RunInfo, since int64, giveUpAfter time.Duration) (VainTries, error) {
	if !info.Abandoned || info.State != journal.RunRunning {
		return VainTries{}, nil
	}
	t, err := takeOversAfter(ctx, s, info.ID, since)
	if err != nil || !t.areMany() {
		return VainTries{}, err
	}
	return VainTries{N: t.n, Next: t.next(), IsSpent: t.areSpent(giveUpAfter), Reason: t.reason(giveUpAfter)}, nil
}

// LookAfterDeath returns, for a run whose process died, the time until which it pauses because processes carrying
// it out died repeatedly, zero if it does not pause; and the process that died, nil if not known.
func LookAfterDeath(ctx context.Context, s *service.Service, info *journal.RunInfo) (until time.Time, died *journal.Process, err error) {
	if !info.Abandoned || info.State != journal.RunRunning || info.LastSeq == 0 {
		return time.Time{}, nil, nil
	}
	t, err := takeOversAfter(ctx, s, info.ID, 0)
	return t.next(), t.by, err
}

// takeOversAfter returns how often a run was taken over from processes that died, after an event and since it last
// got on: since a step finished, or it ended in a way that a person has answered.
func takeOversAfter(ctx context.Context, s *service.Service, run string, seq int64) (t tries, err error) {
	for e, err := range s.Events(ctx, service.Principal{}, run, seq+1) {
		if err != nil {
			return tries{}, err
		}
		if e.Data != nil && e.Data.Worker != nil {
			t.by = e.Data.Worker
		}
		switch {
		case e.Type == journal.StepFinished, e.StopsRun():
			t = tries{by: t.by}
		case e.Type == journal.FlowResumed && e.Data != nil && e.Data.Interrupted:
			t.add(e.Time)
		}
	}
	return t, nil
}
