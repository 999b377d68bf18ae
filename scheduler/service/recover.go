package service

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/callnode/scheduler/scheduler/journal"
)

const (
	// recoverInterval is how often runs are looked for that another process left.
	recoverInterval = 5 * time.Second
	// maxTakeOvers is how often a run is taken over without a step that finishes: more
	// would bring down one process after the other.
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

func (d *Dispatcher) recoverOnce(ctx context.Context) error {
	filter := journal.RunFilter{States: []journal.RunStatus{journal.RunRunning}}
	var found []*journal.RunInfo
	for info, err := range d.service.Runs(ctx, Principal{}, filter) {
		if err != nil {
			return err
		}
		_, isOthers := info.Labels[journal.LabelRunsOn]
		isOwn := d.options.Recover == "all" || slices.Contains(serverOrigins(), info.Labels[journal.LabelOrigin])
		if isOwn && info.Holder == nil && !isOthers {
			found = append(found, info)
		}
	}
	for _, info := range slices.Backward(found) {
		isStuck, err := d.IsStuck(ctx, info)
		if err != nil {
			return err
		}
		if isStuck || d.register(info.ID) != nil {
			continue
		}
		user := info.Labels[journal.LabelOwner]
		d.places.enqueue(user, func() { d.takeUp(info.ID, user) })
	}
	return nil
}

// takeUp goes on with a run whose turn has come; the caller has its place. What another
// process has taken, or ended, in the meantime is left alone.
func (d *Dispatcher) takeUp(id, user string) {
	if d.IsStopping() {
		d.forget(id)
		d.places.release(user)
		return
	}
	info, err := d.service.Run(d.ctx, Principal{}, id)
	if err == nil && info.State == journal.RunRunning && info.Holder == nil {
		err = d.goOn(d.ctx, Principal{}, id, user, ResumeWith{})
	} else {
		d.forget(id)
		d.places.release(user)
	}
	var held *journal.HeldError
	if err == nil || errors.As(err, &held) || d.ctx.Err() != nil {
		return
	}
	d.mu.Lock()
	d.failures[id]++
	d.mu.Unlock()
	d.options.Log.Error("a run cannot be taken up", "run", id, "error", err)
}

// IsStuck reports whether a run that no process holds is left alone because taking it up has
// not helped. A user may still resume it.
func (d *Dispatcher) IsStuck(ctx context.Context, info *journal.RunInfo) (bool, error) {
	if info.State != journal.RunRunning || info.Holder != nil {
		return false, nil
	}
	d.mu.Lock()
	failed := d.failures[info.ID] >= maxTakeOvers
	d.mu.Unlock()
	if failed || info.LastSeq == 0 {
		return failed, nil
	}
	n := 0
	for e, err := range d.service.Events(ctx, Principal{}, info.ID, 1) {
		if err != nil {
			return false, err
		}
		switch e.Type { //nolint:exhaustive // the others tell nothing
		case journal.FlowResumed:
			n++
		case journal.StepFinished:
			n = 0
		}
	}
	return n >= maxTakeOvers, nil
}
