package service

import (
	"cmp"
	"context"
	"errors"
	"iter"
	"time"

	"github.com/callnode/scheduler/calls"
	"github.com/callnode/scheduler/llm/value/wording"
	"github.com/callnode/scheduler/scheduler"
	"github.com/callnode/scheduler/scheduler/journal"
)

// Remote carries runs out on other machines, which share the journal: those with its name as
// the label [journal.LabelRunsOn]. The program makes one; it is safe for concurrent use.
type Remote interface {
	// Start lets a run of the journal begin or go on. One that is under way there stays so, and
	// looks at the journal.
	Start(ctx context.Context, run RemoteRun) error
	// Answer puts answers of a waiting run on record, all or none, and returns them as they
	// are understood; with more the run goes on waiting, for the next ones. The error is of
	// kind Invalid where one does not fit.
	Answer(ctx context.Context, run RemoteRun, answers []scheduler.Answer, more bool) ([]scheduler.Answer, error)
	// Wake lets the run look at the journal, where something has changed. A run that is not
	// under way there is no error.
	Wake(ctx context.Context, run string) error
	// Wait returns when the run is not under way there any more: nil where the journal has
	// its end, else why it was given up. hint is called with what holds it up meanwhile.
	Wait(ctx context.Context, run RemoteRun, hint func(wording.Text)) error
}

// RemoteRun is what a [Remote] gets to know of a run.
type RemoteRun struct {
	ID, Flow string
	// Store is the id of the journal, Seq that of the last event it has.
	Store string
	Seq   int64
	// Hash is that of the text of the flow.
	Hash string
	// Queue is where it waits for a worker; "" leaves that to the [Remote].
	Queue string
	// IsChild is true where another run waits for it: it must find a worker although all are at
	// runs that wait so.
	IsChild bool
}

// ErrDetached ends the events of a run that other machines carry out and whose reader leaves:
// the run goes on.
var ErrDetached = wording.Errorf("the run goes on elsewhere")

// openRemote returns what carries the runs with a label out.
func (s *Service) openRemote(ctx context.Context, name string) (Remote, error) {
	if s.parts.Remote == nil {
		return nil, calls.Errorf(calls.Invalid, "the run is carried out on %s, which this program does not reach", name)
	}
	return s.parts.Remote(ctx, name)
}

// newRemoteSession prepares a new run that other machines carry out.
func (s *Service) newRemoteSession(ctx context.Context, e *scheduler.StepExecutor, r *StartRequest) (*Session, error) {
	if r.Ephemeral || !r.Now.IsZero() {
		return nil, calls.Errorf(calls.Invalid, "a run on other machines needs a record and the clock of those machines").
			WithHint("leave out --ephemeral and --now, or run it here with --on local")
	}
	var err error
	e.Journal, err = s.openJournal(ctx, true)
	if err != nil {
		return nil, err
	}
	session := s.newSession(e, r.Flow, false, r.Now)
	session.StartedBy = r.StartedBy
	if err := s.makeRemote(ctx, session, r.On); err != nil {
		return nil, err
	}
	session.begin = func(yield func(*journal.Event, error) bool) {
		id, err := e.Enqueue(ctx, r.Flow, r.Inputs)
		if err != nil {
			yield(nil, err)
			return
		}
		session.ID = id
		if err := session.remote.Start(ctx, session.remoteRun()); err != nil {
			yield(nil, &NotStartedError{Run: id, Err: err})
			return
		}
		session.followRemote(ctx, yield)
	}
	return session, nil
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
		return s.remote.Start(ctx, s.remoteRun())
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
		return err
	}
	if s.State.State == journal.RunWaiting && !s.State.HasNewAnswers() {
		return &scheduler.Waiting{Run: s.ID, For: s.State.Waiting}
	}
	if s.State.State == journal.RunFinished {
		return calls.Errorf(calls.Invalid, "the run %s is finished: there is nothing to resume", s.ID)
	}
	return s.remote.Start(ctx, s.remoteRun())
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

// wakeRemote lets the machines that carry cancelled runs out look at the journal.
func (s *Service) wakeRemote(ctx context.Context, runs ...*journal.RunInfo) error {
	for _, info := range runs {
		name := info.Labels[journal.LabelRunsOn]
		if name == "" {
			continue
		}
		remote, err := s.openRemote(ctx, name)
		if err == nil {
			err = remote.Wake(ctx, info.ID)
		}
		if err != nil {
			return markUnavailable(wording.Errorf("the run %s is cancelled in the journal, but %s was not told of it: %w", info.ID, name, err))
		}
	}
	return nil
}

// startElsewhere records a run and lets other machines carry it out.
func (d *Dispatcher) startElsewhere(ctx context.Context, p Principal, r StartRequest) ([]Note, error) {
	if d.IsStopping() {
		return nil, ErrStopping
	}
	r.On = d.options.On
	session, notes, err := d.service.NewSession(ctx, p, r)
	if err != nil {
		return notes, err
	}
	err = session.Detached(ctx)
	d.options.Changed(r.ID)
	return notes, err
}

// resumeElsewhere goes on with a run that other machines carry out. As with a run of this process, who follows it
// next is to find that it goes on: it waits for that as long as for a slot.
func (d *Dispatcher) resumeElsewhere(ctx context.Context, p Principal, info *journal.RunInfo, with ResumeWith) error {
	session, _, err := d.service.ReopenSession(ctx, p, ResumeRequest{Run: info.ID, Flow: with.Flow})
	if err != nil {
		return err
	}
	err = session.tellRemote(ctx, scheduler.Resumption{Answers: with.Answers, Flow: with.Flow})
	if err == nil && with.Wait > 0 {
		d.awaitGoingOn(ctx, info, with.Wait)
	}
	d.options.Changed(info.ID)
	return err
}

// awaitGoingOn waits until a run that other machines were told of has gone on, at most so long.
func (d *Dispatcher) awaitGoingOn(ctx context.Context, before *journal.RunInfo, limit time.Duration) {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	for {
		hasGoneOn, err := d.hasGoneOn(ctx, before)
		if hasGoneOn || err != nil { // whoever looks next finds the error
			return
		}
		select {
		case <-ctx.Done():
			return
		case <-time.After(retakeInterval):
		}
	}
}

// hasGoneOn reports whether a run has gone on since it was looked at. Answers alone do not count, nor that a run that
// waited has a holder: it may be one that records answers.
func (d *Dispatcher) hasGoneOn(ctx context.Context, before *journal.RunInfo) (bool, error) {
	now, err := d.service.Run(ctx, Principal{}, before.ID)
	if err != nil || now.LastSeq == before.LastSeq {
		isHeld := err == nil && now.Holder != nil && before.State != journal.RunWaiting
		return isHeld, err
	}
	for e, err := range d.service.Events(ctx, Principal{}, before.ID, now.LastSeq) {
		return err == nil && e.Type != journal.StepAnswered, err
	}
	return false, nil
}

// StartQueued tells the other machines of a run that is theirs and has not begun: the request that has
// recorded it may not have come so far. One that they know of stays as it is.
func (d *Dispatcher) StartQueued(ctx context.Context, p Principal, info *journal.RunInfo) error {
	isTheirs := info.Labels[journal.LabelRunsOn] != ""
	if !isTheirs || !info.Queued() {
		return nil
	}
	err := d.Resume(ctx, p, info.ID, ResumeWith{})
	if err == nil {
		return nil
	}
	now, lookUp := d.service.Run(ctx, p, info.ID)
	if lookUp == nil && !now.Queued() {
		return nil // it has begun meanwhile
	}
	return err
}

// CancelInJournal cancels a run whose carrier asks for it, which therefore is not told, and returns how
// the run stands then. One that is over stays as it is.
func (s *Service) CancelInJournal(ctx context.Context, id string) (*journal.RunInfo, error) {
	j, info, err := s.visibleRun(ctx, Principal{}, id)
	if err != nil {
		return nil, err
	}
	if info.State.IsOver() {
		return info, nil
	}
	if err := j.Cancel(ctx, id); err != nil && calls.KindOf(err) != calls.Invalid {
		return nil, markUnavailable(err)
	}
	children, err := s.cancelChildren(ctx, j, info)
	if err != nil {
		return nil, err
	}
	if err := s.wakeRemote(ctx, children...); err != nil {
		return nil, err
	}
	return s.Run(ctx, Principal{}, id)
}
