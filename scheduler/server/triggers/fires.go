package triggers

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/callnode/scheduler/calls"
	"github.com/callnode/scheduler/llm/value/wording"
	"github.com/callnode/scheduler/scheduler/dispatch"
	"github.com/callnode/scheduler/scheduler/server/store"
	"github.com/callnode/scheduler/scheduler/service"
	"github.com/callnode/scheduler/scheduler/trigger"
)

const (
	tickInterval = time.Second
	// reloadInterval is how soon changes of flow files are noticed.
	reloadInterval = 10 * time.Second
	// claimTime is how long a process has to begin the run of a fire before another one takes it over.
	claimTime = 10 * time.Second
	// goneTime is how long a fire whose schedule this process does not have is left to others
	// on the same store, whose files may be newer, or to better files here.
	goneTime = 24 * time.Hour
	// maxQueuedFires bounds the fires of a schedule that wait for the run before.
	maxQueuedFires = 100
	// byHand begins the keys of fires that are started by hand, which cancel no others.
	byHand = "now "
)

// Run carries out the fires of schedules until ctx ends.
func (t *Triggers) Run(ctx context.Context) {
	ticker := time.NewTicker(tickInterval)
	defer ticker.Stop()
	for {
		if err := t.Tick(ctx); err != nil && ctx.Err() == nil {
			t.Log.Error("carrying out schedules", "error", err)
		}
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
	}
}

// Tick carries out the fires that are due, and pending ones.
func (t *Triggers) Tick(ctx context.Context) error {
	t.ticking.Lock()
	defer t.ticking.Unlock()
	now := t.Clock()
	if t.readAt.IsZero() || now.Sub(t.readAt) >= reloadInterval {
		flows, err := t.Library.Flows()
		if err != nil {
			return err
		}
		t.known, t.readAt = schedulesOf(flows), now
		t.warnOfErrorsLocked(ctx, flows)
	}
	var errs []error
	for _, s := range t.known {
		if err := t.fireLocked(ctx, s, now); err != nil {
			errs = append(errs, wording.Errorf("schedule %s: %w", s.ID, err))
		}
	}
	return errors.Join(append(errs, t.carryOutPendingLocked(ctx, now))...)
}

// fireLocked records the fires of a schedule that are due, each with its decision.
func (t *Triggers) fireLocked(ctx context.Context, s *Schedule, now time.Time) error {
	if seen, ok := t.seen[s.ID]; ok {
		if next := s.Plan.Next(seen); next.IsZero() || next.After(now) {
			return nil
		}
	}
	kept, err := t.Store.FindSchedule(ctx, s.ID)
	if err != nil {
		return err
	}
	t.seen[s.ID] = kept.Seen
	if kept.Paused {
		return nil
	}
	due, missed, until := s.Plan.Due(s.ID, kept.Seen, now, s.CatchUp, s.Jitter)
	if missed > 0 && len(due) == 0 {
		return t.addMissed(ctx, s, until, missed)
	}
	for _, at := range due {
		if err := t.addFire(ctx, s, at); err != nil {
			return err
		}
	}
	return nil
}

// say returns a reason in the language of the server.
func (t *Triggers) say(format string, args ...any) string {
	return wording.Say(format, args...).In(t.Language)
}

// addMissed records the last of the fires that are given up, as a record of all.
func (t *Triggers) addMissed(ctx context.Context, s *Schedule, at time.Time, missed int) error {
	f := &store.Fire{
		Schedule: s.ID, Key: s.Plan.Key(at), At: at, State: store.FireSkipped,
		Reason: t.say("no server was there (catch_up: %s, fires missed: %d)", s.CatchUp, missed),
	}
	_, err := t.Store.AddFire(ctx, f, true)
	return err
}

// addFire records a fire with its decision, and begins its run if it is due now. The row is there before the run
// is; if this process dies in between, another one finds it.
func (t *Triggers) addFire(ctx context.Context, s *Schedule, at time.Time) error {
	open, err := t.openFires(ctx, s.ID)
	if err != nil {
		return err
	}
	f := &store.Fire{Schedule: s.ID, Key: s.Plan.Key(at), At: at, Run: service.NewRunID(), State: store.FireStarting}
	if len(open) > 0 {
		switch s.Overlap {
		case trigger.OverlapSkip:
			f.State, f.Reason, f.Run = store.FireSkipped, t.say("the run %s is not over (overlap: skip)", open[0].Run), ""
		case trigger.OverlapQueue:
			f.State = store.FireQueued
			if len(open) > maxQueuedFires {
				f.State, f.Reason, f.Run = store.FireSkipped, t.say("%d fires wait already (overlap: queue)", maxQueuedFires), ""
			}
		}
	}
	added, err := t.Store.AddFire(ctx, f, true)
	if err != nil || !added {
		return err
	}
	if f.State == store.FireStarting {
		_, err = t.begin(ctx, s, f)
	}
	return err
}

// openFires returns the fires of a schedule whose runs are not over, the oldest first.
func (t *Triggers) openFires(ctx context.Context, schedule string) ([]*store.Fire, error) {
	all, err := t.Store.OpenFires(ctx, schedule)
	if err != nil {
		return nil, err
	}
	var open []*store.Fire
	for _, f := range all {
		if f.State == store.FireStarted {
			info, err := t.Service.LookUpRun(ctx, service.Principal{}, f.Run)
			if err != nil {
				return nil, err
			}
			if info == nil || info.State.IsOver() {
				if err := t.Store.SetFire(ctx, f, store.FireOver, ""); err != nil {
					return nil, err
				}
				continue
			}
		}
		open = append(open, f)
	}
	return open, nil
}

// cancelEarlier ends the runs of the fires before one, and the fires whose runs have not begun; for fires by hand,
// at any time.
func (t *Triggers) cancelEarlier(ctx context.Context, fire *store.Fire) error {
	open, err := t.openFires(ctx, fire.Schedule)
	if err != nil {
		return err
	}
	for _, f := range open {
		isLater := !isByHand(f) && !f.At.Before(fire.At) // or the fire itself
		if isLater {
			continue
		}
		err := t.Dispatcher.Cancel(ctx, service.Principal{}, f.Run)
		switch calls.KindOf(err) { //nolint:exhaustive // the others are failures
		case calls.Invalid: // it is over
			err = nil
		case calls.NotFound:
			err = t.Store.SetFire(ctx, f, store.FireSkipped, t.say("a later fire has come (overlap: cancel)"))
		}
		if err != nil {
			t.Log.Warn("cancelling the run of an earlier fire", "schedule", f.Schedule, "run", f.Run, "error", err)
		}
	}
	return nil
}

// isByHand reports whether a fire was started by hand.
func isByHand(f *store.Fire) bool { return strings.HasPrefix(f.Key, byHand) }

// isKnownLocked reports whether a schedule was there when the flows were last read.
func (t *Triggers) isKnownLocked(id string) bool {
	return slices.ContainsFunc(t.known, func(s *Schedule) bool { return s.ID == id })
}

// carryOutPendingLocked begins the runs of queued fires whose turn has come, and of fires that a process began to
// carry out and left.
func (t *Triggers) carryOutPendingLocked(ctx context.Context, now time.Time) error {
	pending, err := t.Store.PendingFires(ctx)
	if err != nil {
		return err
	}
	blocked := map[string]bool{}
	var errs []error
	for _, f := range pending {
		if !t.isKnownLocked(f.Schedule) && now.Sub(f.At) < goneTime {
			continue
		}
		since := now
		if f.State == store.FireStarting {
			since = now.Add(-claimTime)
		} else if blocked[f.Schedule] {
			continue
		}
		errs = append(errs, t.carryOut(ctx, f, since))
		blocked[f.Schedule] = true
	}
	return errors.Join(errs...)
}

// carryOut begins the run of a pending fire, unless another process has touched the fire
// after since, or an earlier run is not over.
func (t *Triggers) carryOut(ctx context.Context, f *store.Fire, since time.Time) error {
	if f.State == store.FireQueued {
		open, err := t.openFires(ctx, f.Schedule)
		if err != nil {
			return err
		}
		if i := slices.IndexFunc(open, func(o *store.Fire) bool { return o.Key == f.Key }); i != 0 {
			return nil // others are before it
		}
	}
	claimed, err := t.Store.ClaimFire(ctx, f, since)
	if err != nil || !claimed {
		return err
	}
	s, err := t.Schedule(service.Principal{}, f.Schedule)
	if calls.KindOf(err) == calls.NotFound {
		return t.settleGone(ctx, f)
	}
	if err != nil {
		return err
	}
	_, err = t.begin(ctx, s, f)
	return err
}

// settleGone ends a fire whose schedule is gone, or whose flow has errors now.
func (t *Triggers) settleGone(ctx context.Context, f *store.Fire) error {
	info, err := t.Service.LookUpRun(ctx, service.Principal{}, f.Run)
	if err != nil {
		return err
	}
	if info != nil {
		return t.Store.SetFire(ctx, f, store.FireStarted, "")
	}
	reason := t.say("the schedule is gone, or its flow has errors")
	t.Log.Error("a schedule could not start its run", "schedule", f.Schedule, "error", reason)
	flowID, _, _ := strings.Cut(f.Schedule, ":")
	t.Announce(ctx, Failure{Trigger: f.Schedule, Flow: flowID, Reason: reason, Key: f.Key})
	return t.Store.SetFire(ctx, f, store.FireFailed, reason)
}

// begin begins the run of a fire that this process has recorded or claimed. A run of that id that exists was begun
// by a process that died, or was slower than claimTime, or could not notify other machines of it. refused is the
// reason why no run can begin, which is recorded with the fire.
func (t *Triggers) begin(ctx context.Context, s *Schedule, f *store.Fire) (refused, err error) {
	if s.Overlap == trigger.OverlapCancel && !isByHand(f) {
		if err := t.cancelEarlier(ctx, f); err != nil {
			return nil, err
		}
	}
	return t.startRun(ctx, s, f)
}

// startRun starts the run of a fire, or sees that it was started.
func (t *Triggers) startRun(ctx context.Context, s *Schedule, f *store.Fire) (refused, err error) {
	info, err := t.Service.LookUpRun(ctx, service.Principal{}, f.Run)
	if err != nil {
		return nil, err
	}
	if info != nil {
		if err := t.Dispatcher.StartQueued(ctx, s.Principal(), info); err != nil {
			return nil, err // the fire is retried after claimTime
		}
		return nil, t.Store.SetFire(ctx, f, store.FireStarted, "")
	}
	known := trigger.ScheduleScope(s.Schedule.ID, f.At, s.Plan.Zone())
	inputs, err := renderInputs(ctx, s.Flow.Flow, s.Inputs, "schedule", known)
	if err == nil {
		_, err = t.Dispatcher.Start(ctx, s.Principal(), service.StartRequest{
			ID: f.Run, Flow: s.Flow.Flow, Inputs: inputs, StartedBy: service.StartedByTrigger, Labels: map[string]string{"schedule": s.ID},
		}, 0)
	}
	if err == nil {
		return nil, t.Store.SetFire(ctx, f, store.FireStarted, "")
	}
	began, lookUp := t.Service.LookUpRun(ctx, service.Principal{}, f.Run)
	if lookUp != nil {
		return nil, lookUp
	}
	if began != nil {
		return nil, t.Store.SetFire(ctx, f, store.FireStarted, "")
	}
	var unavailable *service.UnavailableError
	isLater := errors.Is(err, dispatch.ErrQueueFull) || errors.Is(err, dispatch.ErrStopping) || errors.Is(err, dispatch.ErrAtWork)
	if isLater || errors.As(err, &unavailable) || ctx.Err() != nil {
		return nil, nil //nolint:nilerr // the fire is taken up again after claimTime
	}
	t.Log.Error("a schedule could not start its run", "schedule", s.ID, "error", err)
	t.Announce(ctx, Failure{Trigger: s.ID, Flow: s.Flow.ID, User: s.User, Reason: wording.OfError(err).In(t.Language), Key: f.Key})
	return err, t.Store.SetFire(ctx, f, store.FireFailed, err.Error())
}

// FireNow starts a run of a schedule at once, whether or not an earlier one is over, and
// returns its id.
func (t *Triggers) FireNow(ctx context.Context, s *Schedule) (string, error) {
	run := service.NewRunID()
	f := &store.Fire{Schedule: s.ID, Key: byHand + run, At: t.Clock(), Run: run, State: store.FireStarting}
	if _, err := t.Store.AddFire(ctx, f, false); err != nil {
		return "", err
	}
	refused, err := t.begin(ctx, s, f)
	return run, cmp.Or(err, refused)
}
