package service

import (
	"cmp"
	"context"
	"errors"
	"iter"
	"maps"
	"sync"
	"time"

	"github.com/callnode/scheduler/calls"
	"github.com/callnode/scheduler/llm/value/wording"
	"github.com/callnode/scheduler/scheduler"
	"github.com/callnode/scheduler/scheduler/journal"
)

// ErrDetached ends the events of a run that other machines carry out and whose reader leaves:
// the run goes on.
var ErrDetached = wording.Errorf("the run goes on elsewhere")

// ErrMachinesAway is the error of a [Dispatcher] whose runs are carried out on machines that cannot be reached, or that do not take them.
var ErrMachinesAway = wording.Errorf("the machines that carry runs out cannot be reached")

// RemoteError is the error of a [Remote] that cannot be asked: the request is not at fault. It may name addresses, which
// a [Dispatcher] does not show. A [Service] makes it; it does not change.
type RemoteError struct{ Err error }

// Error is the error of the remote.
func (e *RemoteError) Error() string { return e.Err.Error() }

// Unwrap returns the error of the remote.
func (e *RemoteError) Unwrap() error { return e.Err }

// markRemote marks an error of a [Remote] that is not about the request.
func markRemote(err error) error {
	if calls.KindOf(err) != calls.Provider {
		return err
	}
	return &RemoteError{err}
}

// NotStartedError is the error of a run that is on record and that the other machines were not
// told of: resuming it does that. A [Service] makes it; it does not change.
type NotStartedError struct {
	Run string
	Err error
}

// Error returns why it was not started.
func (e *NotStartedError) Error() string { return e.Err.Error() }

// Unwrap returns why it was not started.
func (e *NotStartedError) Unwrap() error { return e.Err }

// makeRemote lets other machines carry out the run of a session.
func (s *Service) makeRemote(ctx context.Context, session *Session, name string) (err error) {
	session.store, err = s.StoreID(ctx)
	if err != nil {
		return err
	}
	session.remote, err = s.openRemote(ctx, name)
	return err
}

// OnHint lets f hear of what holds a run of other machines up, while its events are taken.
func (s *Session) OnHint(f func(wording.Text)) { s.hint = f }

// Detached begins or goes on with a run of other machines, as the methods with events do, and
// does not follow it.
func (s *Session) Detached(ctx context.Context) error {
	if s.ID != "" {
		return markRemote(s.remote.Start(ctx, s.remoteRun()))
	}
	s.isDetached = true
	for _, err := range s.Events() {
		return err
	}
	return nil
}

func (s *Session) remoteRun() RemoteRun {
	text := journal.FlowText{Source: s.Flow.Source}
	return RemoteRun{
		ID: s.ID, Flow: s.Flow.Name, Store: s.store, Seq: s.State.LastSeq, Hash: text.Hash(), Queue: cmp.Or(s.queue, s.Flow.Queue), IsChild: s.isChild,
	}
}

// continueRemote goes on with a run of other machines and yields its events.
func (s *Session) continueRemote(ctx context.Context, with scheduler.Resumption) iter.Seq2[*journal.Event, error] {
	return func(yield func(*journal.Event, error) bool) {
		if err := s.tellRemote(ctx, with); err != nil {
			yield(nil, err)
			return
		}
		s.followRemote(ctx, yield)
	}
}

// tellRemote tells the other machines what the run goes on with.
func (s *Session) tellRemote(ctx context.Context, with scheduler.Resumption) error {
	if with.Flow != nil {
		if s.State.State == journal.RunWaiting || s.State.State == journal.RunRunning {
			return calls.Errorf(calls.Invalid, "the run %s is under way on other machines, with the flow as it was", s.ID).
				WithHint("cancel it, then resume it with the edited flow")
		}
		if err := s.executor.Revise(ctx, s.ID, with.Flow); err != nil {
			return err
		}
	}
	if len(with.Answers) > 0 {
		_, err := s.remote.Answer(ctx, s.remoteRun(), with.Answers, false)
		return markRemote(err)
	}
	if s.State.State == journal.RunWaiting && !s.State.HasNewAnswers() {
		return &scheduler.Waiting{Run: s.ID, For: s.State.Waiting}
	}
	if s.State.State == journal.RunFinished {
		return calls.Errorf(calls.Invalid, "the run %s is finished: there is nothing to resume", s.ID)
	}
	return markRemote(s.remote.Start(ctx, s.remoteRun()))
}

const (
	// retakeInterval is how often a run is looked at that other machines have not taken up
	// again yet.
	retakeInterval = 50 * time.Millisecond
	// lastEventTimeout is how long the end of a run may take to be read from the journal, once the
	// other machines have given it up.
	lastEventTimeout = 2 * time.Second
)

// followRemote yields the events of the run after those of the state, from whichever machine,
// until it ends or waits. The last error is as with a run of this process.
func (s *Session) followRemote(parent context.Context, yield func(*journal.Event, error) bool) {
	if s.isDetached {
		return
	}
	ctx, cancel := context.WithCancelCause(parent)
	defer cancel(nil)
	go s.awaitRemote(ctx, s.remoteRun(), cancel)
	after := s.State.LastSeq
	for {
		for event, err := range s.executor.Journal.Follow(ctx, s.ID, after) {
			if err != nil {
				yield(nil, s.followError(parent, ctx, err))
				return
			}
			after = event.Seq
			if !yield(event, nil) {
				return
			}
			if event.StopsRun() {
				if err := stopError(event); err != nil {
					yield(nil, err)
				}
				return
			}
		}
		timer := time.NewTimer(retakeInterval) // it waited, and an answer has come
		select {
		case <-ctx.Done():
		case <-timer.C:
		}
		timer.Stop()
	}
}

// awaitRemote ends ctx when the other machines have given the run up.
func (s *Session) awaitRemote(ctx context.Context, run RemoteRun, cancel context.CancelCauseFunc) {
	hint := s.hint
	if hint == nil {
		hint = func(wording.Text) {}
	}
	err := s.remote.Wait(ctx, run, hint)
	if ctx.Err() != nil {
		return
	}
	if err == nil {
		err = calls.Errorf(calls.Internal, "the run %s ended on other machines, and the journal does not have its end", run.ID)
	}
	select {
	case <-ctx.Done():
	case <-time.After(lastEventTimeout):
		cancel(&gaveUpError{err})
	}
}

// gaveUpError is why other machines have given a run up, as the cause of a context's end.
type gaveUpError struct{ error }

// Unwrap returns the error of the other machines.
func (e *gaveUpError) Unwrap() error { return e.error }

// followError returns why the events of a run of other machines end before the run does.
func (s *Session) followError(parent, ctx context.Context, err error) error {
	var gaveUp *gaveUpError
	if parent.Err() != nil {
		return ErrDetached
	}
	if errors.As(context.Cause(ctx), &gaveUp) {
		return gaveUp.error
	}
	return &scheduler.JournalError{Run: s.ID, Err: err}
}

// stopError returns the error that the events of a run end with after its last one.
func stopError(e *journal.Event) error {
	switch e.Type { //nolint:exhaustive // the others are not last
	case journal.FlowWaiting:
		return &scheduler.Waiting{Run: e.Run, For: e.Data.Waiting}
	case journal.FlowFailed:
		return &scheduler.Failure{Info: *e.Data.Error, Err: calls.Errorf(e.Data.Error.Kind, "%s", e.Data.Error.Message)}
	case journal.FlowCancelled:
		return &scheduler.Failure{
			Info: journal.ErrorInfo{Kind: calls.Canceled, Message: journal.ErrCancelRequested.Error()}, Err: journal.ErrCancelRequested,
		}
	}
	return nil
}

const (
	// remoteCheckInterval is how often a server asks whether the other machines take runs, remoteCheckTimeout how long it waits for the answer.
	remoteCheckInterval = 3 * time.Second
	remoteCheckTimeout  = 5 * time.Second
)

// remoteState is whether the other machines take runs, as they were last asked. Its zero value is that they were not; it is safe for
// concurrent use.
type remoteState struct {
	asked chan struct{} // closed once they were

	mu       sync.Mutex // guards what follows
	err      error
	isUntold bool // they may not have heard of some runs
}

// lastError returns why they took no runs when they were last asked.
func (r *remoteState) lastError() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.err
}

// setUntold notes whether the machines may not have heard of some runs.
func (r *remoteState) setUntold(isUntold bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.isUntold = isUntold
}

// takeUntold reports whether the machines have to be told of runs now, and forgets it.
func (r *remoteState) takeUntold() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	isUntold := r.isUntold && r.err == nil
	if isUntold {
		r.isUntold = false
	}
	return isUntold
}

// CheckRemote returns an error if the machines that carry out runs with a label [journal.LabelRunsOn] take none now.
func (s *Service) CheckRemote(ctx context.Context, name string) error {
	remote, err := s.openRemote(ctx, name)
	if err != nil {
		return err
	}
	return markRemote(remote.Check(ctx))
}

// WatchRemote asks every few seconds whether the machines that carry the new runs out take some, until ctx ends, and logs when that
// changes. Once they do, they are told of the runs that they may not have heard of.
func (d *Dispatcher) WatchRemote(ctx context.Context) {
	if d.options.On == "" {
		return
	}
	ticker := time.NewTicker(remoteCheckInterval)
	defer ticker.Stop()
	d.remote.setUntold(true) // a server that died may not have come so far
	for {
		asked, cancel := context.WithTimeout(ctx, remoteCheckTimeout)
		err := d.service.CheckRemote(asked, d.options.On)
		cancel()
		if ctx.Err() != nil {
			return
		}
		d.noteRemote(err)
		if d.remote.takeUntold() {
			if err := d.startAllQueued(ctx); err != nil {
				d.options.Log.Warn("looking for runs that other machines were not told of", "error", err)
				d.remote.setUntold(true)
			}
		}
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
	}
}

// noteRemote keeps whether the other machines take runs, and logs it if it has changed.
func (d *Dispatcher) noteRemote(err error) {
	r := &d.remote
	r.mu.Lock()
	before := r.err
	r.err = err
	r.mu.Unlock()
	select {
	case <-r.asked:
	default:
		close(r.asked)
	}
	switch {
	case err != nil && (before == nil || before.Error() != err.Error()):
		d.options.Log.Error("no runs can be given to other machines: this server is not ready", "on", d.options.On, "error", err, "hint", calls.HintOf(err))
	case err == nil && before != nil:
		d.options.Log.Info("runs can be given to other machines again", "on", d.options.On)
	}
}

// RemoteError returns why the machines that carry new runs out take none; nil if they do, or if this process carries them out. The first
// answer of [Dispatcher.WatchRemote] is waited for until ctx ends.
func (d *Dispatcher) RemoteError(ctx context.Context) error {
	if d.options.On == "" {
		return nil
	}
	select {
	case <-d.remote.asked:
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	d.remote.mu.Lock()
	defer d.remote.mu.Unlock()
	return d.remote.err
}

// startAllQueued tells the other machines of the servers' runs that have not begun: those that were recorded while the machines could not be
// reached do not begin by themselves.
func (d *Dispatcher) startAllQueued(ctx context.Context) error {
	filter := journal.RunFilter{States: []journal.RunStatus{journal.RunRunning}, Labels: map[string]string{journal.LabelRunsOn: d.options.On}}
	for info, err := range d.service.Runs(ctx, Principal{}, filter) {
		if err != nil {
			return err
		}
		isChild := info.Labels[journal.LabelChildOf] != "" // the run around it tells of it
		if isChild || !info.Queued() || !IsServerRun(info) {
			continue
		}
		err := d.StartQueued(ctx, Principal{}, info)
		switch {
		case errors.Is(err, ErrMachinesAway):
			return err
		case err != nil:
			d.options.Log.Warn("telling other machines of a run", "run", info.ID, "error", err)
		}
	}
	return nil
}

// elsewhereInterval is how often runs are looked at that other machines carry out.
const elsewhereInterval = time.Second

// watchElsewhere notes that other machines go on with a run after an event.
func (d *Dispatcher) watchElsewhere(id string, seq int64) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.elsewhere[id] = seq
}

// FollowElsewhere tells of the ends of the runs that this process gave other machines, until ctx ends.
func (d *Dispatcher) FollowElsewhere(ctx context.Context) {
	ticker := time.NewTicker(elsewhereInterval)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
			if err := d.lookElsewhere(ctx); err != nil && ctx.Err() == nil {
				d.options.Log.Warn("looking for the ends of runs of other machines", "error", err)
			}
		}
	}
}

// lookElsewhere tells of the runs that are not running any more: one look at the journal finds those that are.
func (d *Dispatcher) lookElsewhere(ctx context.Context) error {
	d.mu.Lock()
	watched := maps.Clone(d.elsewhere)
	d.mu.Unlock()
	if len(watched) == 0 {
		return nil
	}
	left := maps.Clone(watched)
	for info, err := range d.service.Runs(ctx, Principal{}, journal.RunFilter{States: []journal.RunStatus{journal.RunRunning}}) {
		if err != nil {
			return err
		}
		delete(left, info.ID)
	}
	for id, seq := range left {
		isOver, err := d.tellElsewhere(ctx, id, seq)
		if err != nil {
			return err
		}
		d.mu.Lock()
		if isOver && d.elsewhere[id] == seq { // it was not given to them again meanwhile
			delete(d.elsewhere, id)
		}
		d.mu.Unlock()
	}
	return nil
}

// tellElsewhere tells of the end of a run after an event, and reports whether it is not to be watched any more. Of a run that was
// resumed, and not taken up yet, the last event is an old one.
func (d *Dispatcher) tellElsewhere(ctx context.Context, id string, seq int64) (isOver bool, err error) {
	info, err := d.service.Run(ctx, Principal{}, id)
	if calls.KindOf(err) == calls.NotFound {
		return true, nil
	}
	if err != nil || info.LastSeq <= seq {
		return false, err
	}
	for e, err := range d.service.Events(ctx, Principal{}, id, info.LastSeq) {
		if err != nil || !e.StopsRun() {
			return false, err
		}
		d.options.EndedElsewhere(info, e)
		d.options.Changed(id)
		return true, nil
	}
	return false, nil
}
