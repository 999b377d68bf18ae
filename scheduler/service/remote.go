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

// ErrDetached ends the events of a run that other machines carry out and whose reader leaves: the run continues.
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

// NotStartedError is the error of a run that is recorded and that the other machines do not know: resuming it
// notifies them. A [Service] makes it; it does not change.
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

// OnHint calls f with the reason why a run of other machines is delayed, while its events are read.
func (s *Session) OnHint(f func(wording.Text)) { s.hint = f }

// Detached begins or continues a run of other machines, as the methods with events do, and does not follow it.
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

// continueRemote continues a run of other machines and yields its events.
func (s *Session) continueRemote(ctx context.Context, with scheduler.Resumption) iter.Seq2[*journal.Event, error] {
	return func(yield func(*journal.Event, error) bool) {
		if err := s.TellRemote(ctx, with); err != nil {
			yield(nil, err)
			return
		}
		s.followRemote(ctx, yield)
	}
}

// TellRemote sends the other machines the data with which the run continues.
func (s *Session) TellRemote(ctx context.Context, with scheduler.Resumption) error {
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
		_, err := s.remote.Answer(ctx, s.remoteRun(), s.signAnswers(with.Answers), false)
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
	// retakeInterval is how often a run that other machines have not continued yet is checked.
	retakeInterval = 50 * time.Millisecond
	// lastEventTimeout is how long the end of a run may take to be read from the journal, once the
	// other machines have given it up.
	lastEventTimeout = 2 * time.Second
)

// followRemote yields the events of the run after those of the state, from any machine, until it ends or waits.
// The last error is as for a run of this process.
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

// CheckRemote returns an error if the machines that carry out runs with a label [journal.LabelRunsOn] take none now.
func (s *Service) CheckRemote(ctx context.Context, name string) error {
	remote, err := s.openRemote(ctx, name)
	if err != nil {
		return err
	}
	return markRemote(remote.Check(ctx))
}
