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
	"github.com/callnode/scheduler/scheduler/fleet"
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
	seq         int64            // the last event of the run then
	missing     error            // a *[MissingError] if the last try ended because this machine lacks something
	by          *journal.Process // which process was at the run last; nil where the journal does not tell
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

// next returns when the run may be taken up again. A run that only this machine cannot carry out is left to others at once, and
// looked at again at each recovery: pauses that grow would outlast the lack.
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
		switch {
		case isPinned(info):
			d.watchPinned(ctx, info)
		case d.isRecoverable(info):
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

// isPinned reports whether other machines carry a run out: workers of a Temporal server.
func isPinned(info *journal.RunInfo) bool { return info.Labels[journal.LabelRunsOn] != "" }

// watchPinned counts how often workers of other machines died at a run, so that the metrics and notifications of this server tell of a
// run that is stuck there.
func (d *Dispatcher) watchPinned(ctx context.Context, info *journal.RunInfo) {
	if _, err := d.triesOf(ctx, info); err != nil && ctx.Err() == nil {
		d.options.Log.Warn("run left alone: its events cannot be read", "run", info.ID, "error", err)
	}
}

// isRecoverable reports whether this server may go on with a run that no process holds.
func (d *Dispatcher) isRecoverable(info *journal.RunInfo) bool {
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
	if errors.As(err, &unavailable) || d.addFailure(id, err) {
		d.options.Log.Error("run could not be recovered", "run", id, "error", err)
	}
}

// addFailure counts a failed try to recover a run, and reports whether the log is to tell of it. A run that this machine lacks something
// for is told of once for each lack; the notifications tell of it as of a stuck run.
func (d *Dispatcher) addFailure(id string, err error) (isUntold bool) {
	d.mu.Lock()
	t := d.failures[id]
	before, wasStuck := t.missing, t.areMany()
	t.missing = nil
	var missing *MissingError
	if errors.As(err, &missing) {
		t.missing = missing
	}
	t.add(d.now())
	d.failures[id] = t
	d.mu.Unlock()
	if t.missing == nil {
		return true
	}
	if t.areMany() && !wasStuck {
		d.options.Changed(id)
	}
	if before == nil || before.Error() != t.missing.Error() {
		d.options.Log.Warn("a run is left to other servers: this one lacks something for it", "run", id, "missing", t.missing)
	}
	return false
}

// tryRecover goes on with a run, or cancels it where its process died before it could heed a request to. What
// another process has taken, or ended, in the meantime is left alone.
func (d *Dispatcher) tryRecover(id, user string) error {
	info, err := d.service.Run(d.ctx, Principal{}, id)
	if err == nil && info.State == journal.RunRunning && info.Holder == nil && !info.CancelRequested {
		return d.continueRun(d.ctx, Principal{}, id, user, ResumeWith{seen: &info.LastSeq, isRecovery: true})
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

// LeftRuns returns the runs that this process could not go on with, and why: other processes may.
func (d *Dispatcher) LeftRuns() (all []fleet.Left) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for id, t := range d.failures {
		switch {
		case t.missing != nil:
			all = append(all, fleet.Left{Run: id, Reason: wording.OfError(t.missing), At: t.last})
		case t.areMany():
			all = append(all, fleet.Left{Run: id, Reason: wording.Say("it was taken up in vain"), At: t.last, Until: t.next()})
		}
	}
	return all
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
	e, err := d.service.GiveUp(ctx, info, t.reason(d.options.GiveUpAfter))
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
	d.options.Log.Error("a run was given up", "run", info.ID, "flow", info.Flow, "tries", t.n, "reason", e.Data.Error.Message)
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

// Reason tells why a run is given up.
type Reason struct{ Text, Hint wording.Text }

// reason returns why the run is given up after so long.
func (t *tries) reason(after time.Duration) Reason {
	if t.missing != nil {
		return MissingReason(after, t.missing.Error())
	}
	return Reason{
		wording.Say("the run was taken up %d times, and no step has finished: it is given up", t.n),
		wording.Say("the log of the server tells why; then resume the run"),
	}
}

// MissingReason is the reason of a run that no machine could carry out for so long; missing is a text of a [MissingError].
func MissingReason(after time.Duration, missing string) Reason {
	return Reason{
		wording.Say("no machine could carry the run out for %s: %s", after, missing),
		wording.Say("give a machine what is missing; then resume the run"),
	}
}

// GiveUp records that a run has failed because it was taken up in vain. A user may resume it. The event is nil if the
// run has gone on since info.
func (s *Service) GiveUp(ctx context.Context, info *journal.RunInfo, why Reason) (e *journal.Event, err error) {
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
		Kind: calls.Internal, Message: why.Text.En, Hint: why.Hint.En,
	}}}
	return e, markUnavailable(log.Append(ctx, e))
}

// VainTries tells how often a run was taken over from processes that died without a step that finished.
type VainTries struct {
	// N is 0 if the run may go on at once.
	N int
	// Next is when it may be taken up again; a time that has passed is now.
	Next time.Time
	// IsSpent is true if it fails now, for Reason.
	IsSpent bool
	Reason  Reason
}

// TakenInVain returns how often a run that no process holds, and whose last process died, was taken over after its event since. It
// is given up after so long.
func (s *Service) TakenInVain(ctx context.Context, info *journal.RunInfo, since int64, giveUpAfter time.Duration) (VainTries, error) {
	if !info.Abandoned || info.State != journal.RunRunning {
		return VainTries{}, nil
	}
	t, err := s.takeOversAfter(ctx, info.ID, since)
	if err != nil || !t.areMany() {
		return VainTries{}, err
	}
	return VainTries{N: t.n, Next: t.next(), IsSpent: t.areSpent(giveUpAfter), Reason: t.reason(giveUpAfter)}, nil
}

// LookAfterDeath returns, for a run whose process died, when it is taken up again after processes died at it again and again, zero for a run
// that does not pause; and which process died, nil where that is not known.
func (s *Service) LookAfterDeath(ctx context.Context, info *journal.RunInfo) (until time.Time, died *journal.Process, err error) {
	if !info.Abandoned || info.State != journal.RunRunning || info.LastSeq == 0 {
		return time.Time{}, nil, nil
	}
	t, err := s.takeOversAfter(ctx, info.ID, 0)
	return t.next(), t.by, err
}

// takeOversAfter returns how often a run was taken over from processes that died, after an event and
// since it last got on: since a step finished, or it came to an end that a person has answered.
func (s *Service) takeOversAfter(ctx context.Context, run string, seq int64) (t tries, err error) {
	for e, err := range s.Events(ctx, Principal{}, run, seq+1) {
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
