package dispatch

import (
	"context"
	"errors"
	"maps"
	"slices"
	"time"

	"github.com/callnode/scheduler/llm/value/wording"
	"github.com/callnode/scheduler/scheduler"
	"github.com/callnode/scheduler/scheduler/fleet"
	"github.com/callnode/scheduler/scheduler/journal"
	"github.com/callnode/scheduler/scheduler/service"
)

// recoverInterval is how often to search for runs that another process left.
const recoverInterval = 5 * time.Second

// Recover continues interrupted and queued runs, the oldest first, and runs whose time for an approval is over, now and every few seconds, until ctx ends.
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
		if err := d.denyOverdue(ctx); err != nil && ctx.Err() == nil {
			d.options.Log.Error("looking for approvals whose time is over", "error", err)
		}
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
	}
}

// recoverOnce queues the unheld runs that this process may continue.
func (d *Dispatcher) recoverOnce(ctx context.Context) error {
	filter := journal.RunFilter{States: []journal.RunStatus{journal.RunRunning}}
	var found []*journal.RunInfo
	unheld := map[string]bool{}
	for info, err := range d.service.Runs(ctx, service.Principal{}, filter) {
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
		if err != nil { // the others continue
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

// waitUntil is when the first approval of a run that waits is denied by the clock; zero is never. It holds for the event seq.
type waitUntil struct {
	seq   int64
	until time.Time
}

// denyOverdue continues runs whose approval nobody has decided about in time: the engine denies it by the clock. A run is
// read once for each time that it waits.
func (d *Dispatcher) denyOverdue(ctx context.Context) error {
	waiting := map[string]waitUntil{}
	var over []*journal.RunInfo
	for info, err := range d.service.Runs(ctx, service.Principal{}, journal.RunFilter{States: []journal.RunStatus{journal.RunWaiting}}) {
		if err != nil {
			return err
		}
		if info.Holder != nil || isPinned(info) || !d.isRecoverable(info) {
			continue
		}
		w, isRead := d.overdue[info.ID]
		if !isRead || w.seq != info.LastSeq {
			waits, err := d.service.WaitsFor(ctx, service.Principal{}, info)
			if err != nil { // the others are looked at
				d.options.Log.Warn("run left alone: its events cannot be read", "run", info.ID, "error", err)
				continue
			}
			w = waitUntil{info.LastSeq, firstUntil(waits)}
		}
		waiting[info.ID] = w
		if !w.until.IsZero() && !d.now().Before(w.until) {
			over = append(over, info)
		}
	}
	d.overdue = waiting
	for _, info := range over {
		if err := d.Resume(ctx, service.Principal{}, info.ID, service.ResumeWith{Wait: time.Second}); err != nil { // tried again next time
			d.options.Log.Warn("an approval whose time is over could not be denied now", "run", info.ID, "error", err)
		}
	}
	return nil
}

// firstUntil returns when the first approval of a run that waits is denied by the clock; zero is never.
func firstUntil(waits []journal.WaitingFor) (first time.Time) {
	for _, w := range waits {
		if w.Approval == nil || w.Approval.Until.IsZero() {
			continue
		}
		if first.IsZero() || w.Approval.Until.Before(first) {
			first = w.Approval.Until
		}
	}
	return first
}

// isPinned reports whether other machines carry a run out: workers of a Temporal server.
func isPinned(info *journal.RunInfo) bool { return info.Labels[journal.LabelRunsOn] != "" }

// watchPinned counts how often workers of other machines died at a run, so that the metrics and notifications of
// this server report a run that is stuck there.
func (d *Dispatcher) watchPinned(ctx context.Context, info *journal.RunInfo) {
	if _, err := d.triesOf(ctx, info); err != nil && ctx.Err() == nil {
		d.options.Log.Warn("run left alone: its events cannot be read", "run", info.ID, "error", err)
	}
}

// isRecoverable reports whether this server may continue a run that no process holds.
func (d *Dispatcher) isRecoverable(info *journal.RunInfo) bool {
	return d.options.Recover == "all" || service.IsServerRun(info)
}

// dropRecords removes the records of runs that are neither unheld nor known any more.
func (d *Dispatcher) dropRecords(unheld map[string]bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	maps.DeleteFunc(d.deaths, func(id string, _ tries) bool { return !unheld[id] })
	maps.DeleteFunc(d.failures, func(id string, _ tries) bool { return !unheld[id] && d.known[id] == nil })
}

// recoverRun continues a run whose turn has come, and counts a failure if it cannot; the caller has its slot.
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
	var unavailable *service.UnavailableError // the store is away, and says nothing about the run
	if errors.As(err, &unavailable) || d.addFailure(id, err) {
		d.options.Log.Error("run could not be recovered", "run", id, "error", err)
	}
}

// addFailure counts a failed try to recover a run, and reports whether to log it. A run for which this machine
// lacks something is logged once for each lack; the notifications report it as a stuck run.
func (d *Dispatcher) addFailure(id string, err error) (isUntold bool) {
	d.mu.Lock()
	t := d.failures[id]
	before, wasStuck := t.missing, t.areMany()
	t.missing = nil
	var missing *service.MissingError
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

// tryRecover continues a run, or cancels it if its process died before obeying a request to. A run that another
// process has taken or ended in the meantime is left alone.
func (d *Dispatcher) tryRecover(id, user string) error {
	info, err := d.service.Run(d.ctx, service.Principal{}, id)
	if err == nil && info.State == journal.RunRunning && info.Holder == nil && !info.CancelRequested {
		return d.continueRun(d.ctx, service.Principal{}, id, user, continuation{seen: &info.LastSeq, isRecovery: true})
	}
	d.dropRun(id, user)
	if err == nil && info.CancelRequested && info.Holder == nil {
		_, err = d.service.CancelInJournal(d.ctx, id)
		d.options.Changed(id)
	}
	return err
}

// IsStuck reports whether a run that no process holds was continued in vain so often that it pauses in between. A
// user may resume it at once.
func (d *Dispatcher) IsStuck(ctx context.Context, info *journal.RunInfo) (bool, error) {
	if info.State != journal.RunRunning || info.Holder != nil {
		return false, nil
	}
	t, err := d.triesOf(ctx, info)
	return t.areMany(), err
}

// CountStuck returns how many runs pause because they were continued in vain, as recovery last saw them.
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

// LeftRuns returns the runs that this process could not continue, and why: other processes may.
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

// triesOf returns how often a run that no process holds was continued in vain.
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

// countDeaths returns how often a run was taken over from processes that died, and records and logs it if that is
// too often.
func (d *Dispatcher) countDeaths(ctx context.Context, info *journal.RunInfo) (tries, error) {
	if !info.Abandoned || info.LastSeq == 0 {
		return tries{}, nil
	}
	t, err := takeOversAfter(ctx, d.service, info.ID, 0)
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

// giveUp fails a run that could not be continued for too long. Its journal, the log, metrics and notifications
// report it.
func (d *Dispatcher) giveUp(ctx context.Context, info *journal.RunInfo, t tries) {
	e, err := d.service.GiveUp(ctx, info, t.reason(d.options.GiveUpAfter))
	var held *journal.HeldError
	if errors.As(err, &held) {
		return // another process continues it
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
	session := d.service.ToldSession(info)
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
