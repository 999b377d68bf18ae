package dispatch

import (
	"context"
	"errors"
	"time"

	"github.com/callnode/scheduler/calls"
	"github.com/callnode/scheduler/scheduler"
	"github.com/callnode/scheduler/scheduler/journal"
	"github.com/callnode/scheduler/scheduler/service"
)

// Start begins a run in the background: it is durable when Start returns; faults of its inputs are the error. r.ID
// must be set. If no slot is free, the run waits at most so long for one, and fails with [ErrNoSlot]; with 0 it is
// queued durably, or refused with [ErrQueueFull]. A run for other machines that cannot be reached is queued as
// durably with 0, and they are notified once they are back; else it fails with [service.ErrMachinesAway].
func (d *Dispatcher) Start(ctx context.Context, p service.Principal, r service.StartRequest, wait time.Duration) ([]service.Note, error) {
	if ctx.Err() != nil { // a run that begins outlives its request
		return nil, context.Cause(ctx)
	}
	if d.options.On != "" {
		return d.startElsewhere(ctx, p, r, wait)
	}
	if err := d.registerRun(r.ID); err != nil {
		return nil, err
	}
	if !d.slots.tryAcquire(p.User) {
		if wait == 0 {
			return d.queueRun(ctx, p, r)
		}
		if err := d.awaitSlot(ctx, p.User, wait); err != nil {
			d.forgetRun(r.ID)
			return nil, err
		}
	}
	runCtx, cancel := context.WithCancelCause(d.ctx)
	session, notes, err := d.service.NewSession(runCtx, p, r)
	if err != nil {
		cancel(nil)
		d.dropRun(r.ID, p.User)
		return notes, err
	}
	return notes, d.launchRun(r.ID, p.User, session, cancel, session.Events())
}

// queueRun records a run that has not begun and lets it wait for its turn. It is counted in the
// queue first, so that runs that start at once do not pass the limit.
func (d *Dispatcher) queueRun(ctx context.Context, p service.Principal, r service.StartRequest) ([]service.Note, error) {
	if !d.slots.reserveInQueue() {
		d.forgetRun(r.ID)
		return nil, ErrQueueFull
	}
	_, notes, err := d.service.Enqueue(ctx, p, r)
	if err != nil {
		d.slots.cancelReservation()
		d.forgetRun(r.ID)
		return notes, err
	}
	d.options.Changed(r.ID)
	d.noteQueued(r.ID, d.slots.enqueueReserved(p.User, func() { d.recoverRun(r.ID, p.User) }))
	return notes, nil
}

// awaitSlot waits for a slot of the user.
func (d *Dispatcher) awaitSlot(ctx context.Context, user string, limit time.Duration) error {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	return d.slots.waitForSlot(ctx, user)
}

// Resume continues a run in the background. Answers are checked before anything runs: when Resume returns nil,
// they are durable; with an error nothing has changed. A run that is cancelled while it waits for a slot stays so,
// with [scheduler.ErrCancelledSince]. For a run of other machines that cannot be reached the error is
// [service.ErrMachinesAway].
func (d *Dispatcher) Resume(ctx context.Context, p service.Principal, id string, with service.ResumeWith) error {
	info, err := d.service.Run(ctx, p, id)
	if err != nil {
		return err
	}
	if info.Labels[journal.LabelRunsOn] != "" {
		return d.hideRemote(id, d.resumeElsewhere(ctx, p, info, with))
	}
	if err := d.registerEnded(ctx, info); err != nil {
		return err
	}
	user := info.Labels[journal.LabelOwner]
	if err := d.awaitSlot(ctx, user, with.Wait); err != nil {
		d.forgetRun(id)
		return err
	}
	return d.continueRun(ctx, p, id, user, continuation{ResumeWith: with, seen: &info.LastSeq})
}

// Cancel stops a run as [service.Service.Cancel] does, and sooner if this process holds it.
func (d *Dispatcher) Cancel(ctx context.Context, p service.Principal, id string) error {
	if _, err := d.service.Run(ctx, p, id); err != nil {
		return err
	}
	d.mu.Lock()
	cancel := d.active[id]
	d.mu.Unlock()
	if cancel != nil {
		cancel(journal.ErrCancelRequested)
	}
	// Also then: the run may be about to wait, and heed its context no more.
	_, err := d.service.Cancel(ctx, p, id)
	if cancel != nil && calls.KindOf(err) == calls.Invalid { // it has ended since
		err = nil
	}
	if err == nil {
		d.withdrawRun(id)
	}
	d.options.Changed(id)
	return d.hideRemote(id, err)
}

// hideRemote returns the error of a request, but [service.ErrMachinesAway] for an error of other machines, which
// may name addresses: the log gets the original.
func (d *Dispatcher) hideRemote(id string, err error) error {
	if !errors.As(err, new(*service.RemoteError)) {
		return err
	}
	d.options.Log.Warn("other machines could not be told of a run", "run", id, "error", err)
	return service.ErrMachinesAway
}

// StartQueued notifies the other machines of a run that is theirs and has not begun: the request that has recorded
// it may not have reached that. A run that they already have is unchanged.
func (d *Dispatcher) StartQueued(ctx context.Context, p service.Principal, info *journal.RunInfo) error {
	isTheirs := info.Labels[journal.LabelRunsOn] != ""
	if !isTheirs || !info.Queued() {
		return nil
	}
	err := d.Resume(ctx, p, info.ID, service.ResumeWith{})
	if err == nil {
		return nil
	}
	now, lookUp := d.service.Run(ctx, p, info.ID)
	if lookUp == nil && !now.Queued() {
		return nil // it has begun meanwhile
	}
	if errors.Is(err, service.ErrMachinesAway) {
		d.remote.setUntold(true)
	}
	return err
}

// startElsewhere records a run and lets other machines carry it out.
func (d *Dispatcher) startElsewhere(ctx context.Context, p service.Principal, r service.StartRequest, wait time.Duration) ([]service.Note, error) {
	if d.IsStopping() {
		return nil, ErrStopping
	}
	r.On = d.options.On
	isQueued := wait == 0
	isAway := d.remote.lastError() != nil
	switch {
	case isAway && isQueued:
		return d.recordUntold(ctx, p, r)
	case isAway:
		return nil, service.ErrMachinesAway
	}
	session, notes, err := d.service.NewSession(ctx, p, r)
	if isQueued && errors.As(err, new(*service.RemoteError)) {
		return d.recordUntold(ctx, p, r)
	}
	if err != nil {
		return notes, d.hideRemote(r.ID, err)
	}
	d.watchElsewhere(r.ID, 0)
	defer d.options.Changed(r.ID)
	err = session.Detached(ctx)
	isUntold := errors.As(err, new(*service.NotStartedError))
	switch {
	case !isUntold:
		return notes, err
	case calls.KindOf(err) == calls.Invalid: // refused, for example for another key of payloads, and cancelled
		return notes, d.hideRemote(r.ID, &service.RemoteError{Err: err})
	case isQueued:
		d.options.Log.Warn("other machines are told of a run later", "run", r.ID, "error", err)
		d.remote.setUntold(true)
		return notes, nil
	}
	if _, notCancelled := d.service.CancelInJournal(context.WithoutCancel(ctx), r.ID); notCancelled != nil {
		err = errors.Join(err, notCancelled)
	}
	return notes, d.hideRemote(r.ID, &service.RemoteError{Err: err})
}

// recordUntold records a run of other machines that cannot be reached: they are notified once they are back.
func (d *Dispatcher) recordUntold(ctx context.Context, p service.Principal, r service.StartRequest) ([]service.Note, error) {
	_, notes, err := d.service.Enqueue(ctx, p, r)
	if err != nil {
		return notes, err
	}
	d.watchElsewhere(r.ID, 0)
	d.remote.setUntold(true)
	d.options.Changed(r.ID)
	return notes, nil
}

// resumeElsewhere continues a run that other machines carry out. As with a run of this process, the next reader
// should find that it continues: it waits for that as long as for a slot.
func (d *Dispatcher) resumeElsewhere(ctx context.Context, p service.Principal, info *journal.RunInfo, with service.ResumeWith) error {
	if away := d.remote.lastError(); away != nil {
		return &service.RemoteError{Err: away}
	}
	session, _, err := d.service.ReopenSession(ctx, p, service.ResumeRequest{Run: info.ID, Flow: with.Flow})
	if err != nil {
		return err
	}
	err = session.TellRemote(ctx, scheduler.Resumption{Answers: with.Answers, Flow: with.Flow})
	if err == nil {
		d.watchElsewhere(info.ID, info.LastSeq)
	}
	if err == nil && with.Wait > 0 {
		d.awaitGoingOn(ctx, info, with.Wait)
	}
	d.options.Changed(info.ID)
	return err
}

// startedInterval is how often a run that other machines were notified of is checked.
const startedInterval = 50 * time.Millisecond

// awaitGoingOn waits until a run that other machines were notified of has continued, at most so long.
func (d *Dispatcher) awaitGoingOn(ctx context.Context, before *journal.RunInfo, limit time.Duration) {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	for {
		hasGoneOn, err := d.hasGoneOn(ctx, before)
		if hasGoneOn || err != nil { // the next reader finds the error
			return
		}
		select {
		case <-ctx.Done():
			return
		case <-time.After(startedInterval):
		}
	}
}

// hasGoneOn reports whether a run has continued since it was read. Answers alone do not count, nor does a holder
// of a waiting run: it may only record answers.
func (d *Dispatcher) hasGoneOn(ctx context.Context, before *journal.RunInfo) (bool, error) {
	now, err := d.service.Run(ctx, service.Principal{}, before.ID)
	if err != nil || now.LastSeq == before.LastSeq {
		isHeld := err == nil && now.Holder != nil && before.State != journal.RunWaiting
		return isHeld, err
	}
	for e, err := range d.service.Events(ctx, service.Principal{}, before.ID, now.LastSeq) {
		return err == nil && e.Type != journal.StepAnswered, err
	}
	return false, nil
}

// missedMessages counts the messages in a row that a step did not accept since an event of its run. The journal
// only has messages that a model reads.
type missedMessages struct {
	seq int64
	n   int
}

// maxMissed bounds for how many steps messages are counted; they are counted from the beginning after that.
const maxMissed = 10_000

// CountMissed counts a message that a step has not taken, since the last event of its run.
func (d *Dispatcher) CountMissed(step string, seq int64) int {
	d.mu.Lock()
	defer d.mu.Unlock()
	if len(d.missed) >= maxMissed {
		clear(d.missed)
	}
	count := d.missed[step]
	if count.seq != seq {
		count = missedMessages{seq: seq}
	}
	count.n++
	d.missed[step] = count
	return count.n
}

// Fork records a run that keeps the steps of another one, see [service.Service.Fork], and lets it go on in the background. If there is
// no room for it now, it is taken up as an interrupted run is.
func (d *Dispatcher) Fork(ctx context.Context, p service.Principal, r *service.ForkRequest) (run string, plan *scheduler.ForkPlan, err error) {
	if d.IsStopping() {
		return "", nil, ErrStopping
	}
	info, err := d.service.Run(ctx, p, r.Run)
	if err != nil {
		return "", nil, err
	}
	// Like every new run, it has a slot or a place in the queue before it is recorded.
	if user := info.Labels[journal.LabelOwner]; d.slots.tryAcquire(user) {
		d.slots.release(user)
	} else {
		if !d.slots.reserveInQueue() {
			return "", nil, ErrQueueFull
		}
		defer d.slots.cancelReservation()
	}
	run, plan, err = d.service.Fork(ctx, p, r)
	if err != nil {
		return "", nil, err
	}
	err = d.Resume(ctx, p, run, service.ResumeWith{Wait: service.SlotWait})
	isTakenUp := errors.Is(err, ErrAtWork) || errors.Is(err, ErrNoSlot) || errors.As(err, new(*journal.HeldError))
	if isTakenUp {
		err = nil
	}
	return run, plan, err
}
