package service

import (
	"context"
	"errors"
	"maps"
	"slices"
	"time"

	"github.com/callnode/scheduler/calls"
	"github.com/callnode/scheduler/llm/value/wording"
	"github.com/callnode/scheduler/scheduler"
	"github.com/callnode/scheduler/scheduler/flow"
	"github.com/callnode/scheduler/scheduler/journal"
)

const (
	// recoverInterval is how often runs are looked for that another process left.
	recoverInterval = 5 * time.Second
	// maxTakeOvers is how often a run is taken up in vain before it has to pause in between: one that ends its process
	// would bring down one process after the other.
	maxTakeOvers = 3
	// firstPause is that pause; it doubles up to longestPause.
	firstPause   = 30 * time.Second
	longestPause = time.Hour
)

// tries counts how often a run was taken up in vain. For example, a run whose step ends the process has one more after each
// restart; a step that finishes makes it none.
type tries struct {
	n           int
	first, last time.Time
	seq         int64 // the last event of the run then
}

// add counts a try.
func (t *tries) add(at time.Time) {
	if t.n == 0 {
		t.first = at
	}
	t.n++
	t.last = at
}

// areMany reports whether the run has to pause before it is taken up again.
func (t *tries) areMany() bool { return t.n >= maxTakeOvers }

// next returns when the run may be taken up again.
func (t *tries) next() time.Time {
	if !t.areMany() {
		return time.Time{}
	}
	const most = 10 // doublings, far above longestPause
	return t.last.Add(min(firstPause<<min(t.n-maxTakeOvers, most), longestPause))
}

// areSpent reports whether the run fails now. Only time with tries counts: after a server was off for a week, a run is tried once more.
func (t *tries) areSpent(limit time.Duration) bool {
	return t.areMany() && t.last.Sub(t.first) >= limit
}

// Recover takes up interrupted and queued runs, the oldest first, now and every few
// seconds, until ctx ends.
func (d *Dispatcher) Recover(ctx context.Context) {
	if d.options.Recover == "none" {
		return
	}
	ticker := time.NewTicker(recoverInterval)
	defer ticker.Stop()
	for {
		if err := d.recoverOnce(ctx); err != nil && ctx.Err() == nil {
			d.options.Log.Error("looking for interrupted runs", "error", err)
		}
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
	}
}

// recoverOnce queues the unheld runs that this process may go on with.
func (d *Dispatcher) recoverOnce(ctx context.Context) error {
	filter := journal.RunFilter{States: []journal.RunStatus{journal.RunRunning}}
	var found []*journal.RunInfo
	unheld := map[string]bool{}
	for info, err := range d.service.Runs(ctx, Principal{}, filter) {
		if err != nil {
			return err
		}
		if info.Holder != nil {
			continue
		}
		unheld[info.ID] = true
		if d.isRecoverable(info) {
			found = append(found, info)
		}
	}
	d.dropRecords(unheld)
	for _, info := range slices.Backward(found) {
		if d.isKnown(info.ID) {
			continue
		}
		t, err := d.triesOf(ctx, info)
		if err != nil { // the others go on
			d.options.Log.Warn("run left alone: its events cannot be read", "run", info.ID, "error", err)
			continue
		}
		if t.areSpent(d.options.GiveUpAfter) {
			d.giveUp(ctx, info, t)
			continue
		}
		if d.now().Before(t.next()) || d.registerRun(info.ID) != nil {
			continue
		}
		user := info.Labels[journal.LabelOwner]
		d.noteQueued(info.ID, d.slots.enqueueAlways(user, func() { d.recoverRun(info.ID, user) }))
	}
	return nil
}

// isRecoverable reports whether this server may go on with a run that no process holds.
func (d *Dispatcher) isRecoverable(info *journal.RunInfo) bool {
	if _, isPinned := info.Labels[journal.LabelRunsOn]; isPinned {
		return false
	}
	return d.options.Recover == "all" || IsServerRun(info)
}

// dropRecords removes what is remembered of runs that are neither unheld nor known any more.
func (d *Dispatcher) dropRecords(unheld map[string]bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	maps.DeleteFunc(d.deaths, func(id string, _ tries) bool { return !unheld[id] })
	maps.DeleteFunc(d.failures, func(id string, _ tries) bool { return !unheld[id] && d.known[id] == nil })
}

// recoverRun goes on with a run whose turn has come, and counts that as a failure where it cannot; the
// caller has its slot.
func (d *Dispatcher) recoverRun(id, user string) {
	if d.IsStopping() {
		d.dropRun(id, user)
		return
	}
	err := d.tryRecover(id, user)
	var held *journal.HeldError
	isElsewhere := errors.As(err, &held) || errors.Is(err, scheduler.ErrCancelledSince)
	if err == nil || isElsewhere || d.ctx.Err() != nil {
		return
	}
	var unavailable *UnavailableError // the store is away, and says nothing about the run
	if !errors.As(err, &unavailable) {
		d.mu.Lock()
		t := d.failures[id]
		t.add(d.now())
		d.failures[id] = t
		d.mu.Unlock()
	}
	d.options.Log.Error("run could not be recovered", "run", id, "error", err)
}

// tryRecover goes on with a run, or cancels it where its process died before it could heed a request to. What
// another process has taken, or ended, in the meantime is left alone.
func (d *Dispatcher) tryRecover(id, user string) error {
	info, err := d.service.Run(d.ctx, Principal{}, id)
	if err == nil && info.State == journal.RunRunning && info.Holder == nil && !info.CancelRequested {
		return d.continueRun(d.ctx, Principal{}, id, user, ResumeWith{seen: &info.LastSeq})
	}
	d.dropRun(id, user)
	if err == nil && info.CancelRequested && info.Holder == nil {
		_, err = d.service.CancelInJournal(d.ctx, id)
		d.options.Changed(id)
	}
	return err
}

// IsStuck reports whether a run that no process holds was taken up in vain so often that it pauses in between. A user may
// resume it at once.
func (d *Dispatcher) IsStuck(ctx context.Context, info *journal.RunInfo) (bool, error) {
	if info.State != journal.RunRunning || info.Holder != nil {
		return false, nil
	}
	t, err := d.triesOf(ctx, info)
	return t.areMany(), err
}

// CountStuck returns how many runs pause because they were taken up in vain, as recovery last saw them.
func (d *Dispatcher) CountStuck() int {
	d.mu.Lock()
	defer d.mu.Unlock()
	stuck := map[string]bool{}
	for _, all := range []map[string]tries{d.deaths, d.failures} {
		for id, t := range all {
			if t.areMany() {
				stuck[id] = true
			}
		}
	}
	return len(stuck)
}

// triesOf returns how often a run that no process holds was taken up in vain.
func (d *Dispatcher) triesOf(ctx context.Context, info *journal.RunInfo) (tries, error) {
	d.mu.Lock()
	failures := d.failures[info.ID]
	deaths, isRemembered := d.deaths[info.ID]
	d.mu.Unlock()
	if !isRemembered || deaths.seq != info.LastSeq {
		var err error
		deaths, err = d.countDeaths(ctx, info)
		if err != nil {
			return tries{}, err
		}
	}
	if failures.n > deaths.n {
		return failures, nil
	}
	return deaths, nil
}

// countDeaths returns how often a run was taken over from processes that died, and remembers and tells that where it
// is too often.
func (d *Dispatcher) countDeaths(ctx context.Context, info *journal.RunInfo) (tries, error) {
	if !info.Abandoned || info.LastSeq == 0 {
		return tries{}, nil
	}
	t, err := d.service.takeOversAfter(ctx, info.ID, 0)
	t.seq = info.LastSeq
	if err != nil || !t.areMany() {
		return t, err
	}
	d.mu.Lock()
	d.deaths[info.ID] = t
	d.mu.Unlock()
	d.options.Log.Warn("a run was taken over from processes that died, and no step has finished since: it pauses before the next try",
		"run", info.ID, "flow", info.Flow, "tries", t.n, "next", t.next())
	d.options.Changed(info.ID)
	return t, nil
}

// giveUp fails a run that was taken up in vain for too long. Its journal, the log, metrics and notifications tell.
func (d *Dispatcher) giveUp(ctx context.Context, info *journal.RunInfo, t tries) {
	e, err := d.service.GiveUp(ctx, info, t.n)
	var held *journal.HeldError
	if errors.As(err, &held) {
		return // another process goes on with it
	}
	if err != nil {
		d.options.Log.Error("giving up a run", "run", info.ID, "error", err)
		return
	}
	if e == nil {
		return
	}
	d.options.Log.Error("a run was given up: it was taken up again and again, and no step has finished", "run", info.ID, "flow", info.Flow, "tries", t.n)
	d.clearFailures(info.ID)
	session := &Session{Flow: &flow.Flow{Name: info.Flow}, State: journal.NewRunState(), ID: info.ID, StartedBy: info.Labels[journal.LabelOrigin]}
	d.options.Observe(session, e)
	d.options.Ended(info.ID)
	d.options.Changed(info.ID)
}

// now returns the present.
func (d *Dispatcher) now() time.Time {
	if d.options.Clock == nil {
		return time.Now()
	}
	return d.options.Clock()
}

// GiveUp records that a run has failed because it was taken up in vain, n times. A user may resume it. The event is nil where the
// run has gone on since info.
func (s *Service) GiveUp(ctx context.Context, info *journal.RunInfo, n int) (e *journal.Event, err error) {
	j, err := s.openJournal(ctx, false)
	if err != nil {
		return nil, err
	}
	log, err := j.Reopen(ctx, info.ID)
	if err != nil {
		return nil, markUnavailable(err)
	}
	defer func() { err = errors.Join(err, markUnavailable(log.Close())) }()
	if now := log.Info(); now.LastSeq != info.LastSeq || now.State != journal.RunRunning {
		return nil, nil
	}
	e = &journal.Event{Run: info.ID, Seq: info.LastSeq + 1, Type: journal.FlowFailed, Time: time.Now(), Data: &journal.Data{Error: &journal.ErrorInfo{
		Kind:    calls.Internal,
		Message: wording.Say("the run was taken up %d times, and no step has finished: it is given up", n).En,
		Hint:    wording.Say("the log of the server tells why; then resume the run").En,
	}}}
	return e, markUnavailable(log.Append(ctx, e))
}

// TakenInVain returns how often a run that no process holds, and whose last process died, was taken over after its event since
// without a step that finished; 0 where that is not too often yet.
func (s *Service) TakenInVain(ctx context.Context, info *journal.RunInfo, since int64) (int, error) {
	if !info.Abandoned || info.State != journal.RunRunning {
		return 0, nil
	}
	t, err := s.takeOversAfter(ctx, info.ID, since)
	if err != nil || !t.areMany() {
		return 0, err
	}
	return t.n, nil
}

// takeOversAfter returns how often a run was taken over from processes that died, after an event and
// since it last got on: since a step finished, or it came to an end that a person has answered.
func (s *Service) takeOversAfter(ctx context.Context, run string, seq int64) (t tries, err error) {
	for e, err := range s.Events(ctx, Principal{}, run, seq+1) {
		if err != nil {
			return tries{}, err
		}
		switch {
		case e.Type == journal.StepFinished, e.StopsRun():
			t = tries{}
		case e.Type == journal.FlowResumed && e.Data != nil && e.Data.Interrupted:
			t.add(e.Time)
		}
	}
	return t, nil
}
