package service

import (
	"context"
	"errors"
	"maps"
	"slices"
	"time"

	"github.com/callnode/scheduler/scheduler"
	"github.com/callnode/scheduler/scheduler/journal"
)

const (
	// recoverInterval is how often runs are looked for that another process left.
	recoverInterval = 5 * time.Second
	// maxTakeOvers is how often a run is taken over from processes that died, without a step
	// that finishes: more would bring down one process after the other.
	maxTakeOvers = 3
)

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
		isStuck, err := d.IsStuck(ctx, info)
		if err != nil { // the others go on
			d.options.Log.Warn("run left alone: its events cannot be read", "run", info.ID, "error", err)
			continue
		}
		if isStuck || d.registerRun(info.ID) != nil {
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
	maps.DeleteFunc(d.stuck, func(id string, _ int64) bool { return !unheld[id] })
	maps.DeleteFunc(d.failures, func(id string, _ int) bool { return !unheld[id] && d.known[id] == nil })
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
	d.mu.Lock()
	d.failures[id]++
	d.mu.Unlock()
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

// IsStuck reports whether a run that no process holds is left alone because taking it up has
// not helped. A user may still resume it.
func (d *Dispatcher) IsStuck(ctx context.Context, info *journal.RunInfo) (bool, error) {
	if info.State != journal.RunRunning || info.Holder != nil {
		return false, nil
	}
	d.mu.Lock()
	isStuck := d.failures[info.ID] >= maxTakeOvers
	seq, isRemembered := d.stuck[info.ID]
	d.mu.Unlock()
	hasNotMoved := isRemembered && seq == info.LastSeq
	isStuck = isStuck || hasNotMoved
	if isStuck || !info.Abandoned || info.LastSeq == 0 {
		return isStuck, nil
	}
	n, err := d.service.takeOversAfter(ctx, info.ID, 0)
	if err != nil || n < maxTakeOvers {
		return false, err
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.stuck[info.ID] = info.LastSeq
	return true, nil
}

// HasNotMoved reports whether a run that no process holds, and whose last process died, was
// taken over again and again after its event since, without a step that finished.
func (s *Service) HasNotMoved(ctx context.Context, info *journal.RunInfo, since int64) (bool, error) {
	if !info.Abandoned || info.State != journal.RunRunning {
		return false, nil
	}
	n, err := s.takeOversAfter(ctx, info.ID, since)
	return n >= maxTakeOvers, err
}

// takeOversAfter returns how often a run was taken over from processes that died, after an event and
// since the last step that finished.
func (s *Service) takeOversAfter(ctx context.Context, run string, seq int64) (n int, err error) {
	for e, err := range s.Events(ctx, Principal{}, run, seq+1) {
		if err != nil {
			return 0, err
		}
		switch e.Type { //nolint:exhaustive // the others tell nothing
		case journal.FlowResumed:
			if e.Data != nil && e.Data.Interrupted {
				n++
			}
		case journal.StepFinished:
			n = 0
		}
	}
	return n, nil
}
