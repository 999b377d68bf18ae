package service

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"time"

	"github.com/google/uuid"

	"github.com/callnode/scheduler/calls"
	"github.com/callnode/scheduler/llm/value"
	"github.com/callnode/scheduler/scheduler"
	"github.com/callnode/scheduler/scheduler/flow"
	"github.com/callnode/scheduler/scheduler/journal"
)

// StartRequest is a run that shall begin. Its caller makes one for one start; it is only read.
type StartRequest struct {
	Flow *flow.Flow
	// Inputs has the result of [CheckInputs].
	Inputs value.Value
	// Conversation is the list of messages that the caller sent before the question; null is none.
	Conversation value.Value
	// Provider is the name of a model provider, or of several, as [llm.ParseNames] reads them; "" is the choice of
	// the flow and the settings.
	Provider string
	// Mode replaces the setting llm.mode: whether cassettes are recorded or played; "" is the setting.
	Mode string
	// Now is the fixed time of the run's clock; zero is the clock of the machine.
	Now time.Time
	// Seed seeds the random numbers of the run; 0 is its id.
	Seed uint64
	// Ephemeral leaves no record behind; the memory of the run is empty at the beginning and
	// gone at the end.
	Ephemeral bool
	// Interactive is true if a person is present to answer the questions of an ephemeral run.
	Interactive bool
	// Strict fails the run at its end if a step has given a warning.
	Strict bool
	// Until is the step at which the run stops once its prompt is made: [scheduler.StepExecutor] Until.
	Until string
	// ID is the run's; "" makes a new one. A server that must not start a run twice chooses it before.
	ID string
	// StartedBy is the source of the run: [journal.LabelOrigin]. Session is the session that it belongs to:
	// [journal.LabelSession]. "" is none.
	StartedBy, Session string
	// Labels are the user's own: names that programs agree on are refused.
	Labels map[string]string
	// On names the remote runner for the run, see [Parts] Remote: the label [journal.LabelRunsOn]. "" is this
	// process.
	On string
}

// NewSession prepares a run that this caller follows: [Session.Events] begins it.
func (s *Service) NewSession(ctx context.Context, p Principal, r StartRequest) (*Session, []Note, error) {
	if r.On != "" && (r.Mode == modeRecord || r.Mode == modeReplay) { // the cassette is here, beside the flow
		return nil, nil, calls.Errorf(calls.Invalid, "a run on other machines is neither recorded nor replayed").WithHint("run it here with --on local")
	}
	if r.Ephemeral && !r.Interactive && r.Flow.AsksApproval() {
		return nil, nil, calls.Errorf(calls.Invalid, "the flow %s waits for the approval of a person, and a run without a record cannot wait", r.Flow.Name).
			WithHint("run it on a terminal, or without --ephemeral")
	}
	e, notes, err := s.newExecutor(p, &r, r.On == "")
	if err != nil {
		return nil, notes, err
	}
	if r.On != "" {
		session, err := s.newRemoteSession(ctx, e, &r)
		if err == nil {
			session.decider = p.deciderOf(p.User)
		}
		return session, notes, err
	}
	if !r.Ephemeral {
		e.Journal, err = s.openJournal(ctx, true)
		if err != nil {
			return nil, notes, err
		}
	} else if r.Interactive {
		e.Journal = s.parts.EphemeralJournal()
	}
	if err := s.keepRecordedID(ctx, e); err != nil {
		return nil, notes, err
	}
	session := s.newSession(e, r.Flow, r.Ephemeral, r.Now)
	session.decider = p.deciderOf(p.User)
	session.StartedBy = r.StartedBy
	session.begin = e.Run(ctx, r.Flow, r.Inputs)
	return session, notes, nil
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
		if err := markRemote(session.remote.Start(ctx, session.remoteRun())); err != nil {
			if calls.KindOf(err) == calls.Invalid { // refused, for example for another payload key: no worker will take the run
				if notCancelled := e.Journal.Cancel(context.WithoutCancel(ctx), id); notCancelled != nil {
					err = errors.Join(err, notCancelled)
				}
			}
			yield(nil, &NotStartedError{Run: id, Err: err})
			return
		}
		session.followRemote(ctx, yield)
	}
	return session, nil
}

// Enqueue records a run that has not begun: it is safe when Enqueue returns, and begins when a session reopens it,
// here or in another process. If the memory of the flow is not the principal's, or the inputs are wrong, nothing
// is recorded.
func (s *Service) Enqueue(ctx context.Context, p Principal, r StartRequest) (*journal.RunInfo, []Note, error) {
	e, notes, err := s.newExecutor(p, &r, false)
	if err != nil {
		return nil, notes, err
	}
	e.Journal, err = s.openJournal(ctx, true)
	if err != nil {
		return nil, notes, err
	}
	id, err := e.Enqueue(ctx, r.Flow, r.Inputs)
	if err != nil {
		return nil, notes, err
	}
	info, err := s.Run(ctx, p, id)
	return info, notes, err
}

// newExecutor returns an executor for a new run, without a journal; carriesOut is false if another executor will.
func (s *Service) newExecutor(p Principal, r *StartRequest, carriesOut bool) (*scheduler.StepExecutor, []Note, error) {
	labels, err := r.runLabels(p)
	if err != nil {
		return nil, nil, err
	}
	options := ExecutorOptions{Provider: r.Provider, Mode: r.Mode, Now: r.Now}
	if carriesOut {
		options.Run = &RunStart{ID: r.ID, Inputs: r.Inputs, Conversation: r.Conversation, User: p.User, Seed: r.Seed}
	}
	e, notes, err := s.parts.Executor(r.Flow, options)
	if err != nil {
		return nil, notes, err
	}
	e.Strict, e.Until = r.Strict, r.Until
	isRepeatable := r.isRepeatable() && !r.Now.IsZero()
	if e.Start != nil {
		r.Seed, r.Now = e.Start.Seed, e.Start.Now
	}
	e.Seed, e.Language = r.Seed, s.parts.Languages().Default
	if e.Start != nil && e.Start.Language != "" {
		e.Language = e.Start.Language
	}
	id := r.ID
	if id == "" && (e.Start == nil || e.Start.ID == "") {
		id = r.repeatedID()
	}
	if id != "" {
		e.NewRunID = func() string { return id }
	}
	if isRepeatable {
		e.Stopwatch = e.Env.Clock
	}
	e.Conversation = r.Conversation
	e.Owner, e.Labels, e.Root = p.Owner(), labels, s.projectDir()
	e.Options = value.Must(runOptions{
		LLM: r.Provider, Mode: r.Mode, Seed: int64(r.Seed), Language: e.Language, Dir: e.Root, Bound: p.Bound, Strict: r.Strict, Until: r.Until,
		Address: s.remoteAddress(r.On),
	})
	return e, notes, nil
}

// remoteAddress returns the server that distributes the new runs with a label [journal.LabelRunsOn]; "" for runs of this process.
func (s *Service) remoteAddress(label string) string {
	if label == "" || s.parts.RemoteAddress == nil {
		return ""
	}
	return s.parts.RemoteAddress()
}

// keepRecordedID lets a run that is played have the id that it was recorded with, unless the journal has that run.
func (s *Service) keepRecordedID(ctx context.Context, e *scheduler.StepExecutor) error {
	if e.Start == nil || e.Start.ID == "" || e.NewRunID != nil {
		return nil
	}
	id := e.Start.ID
	if e.Journal != nil {
		_, err := e.Journal.Header(ctx, id)
		if err == nil {
			return nil
		}
		if calls.KindOf(err) != calls.NotFound {
			return markUnavailable(err)
		}
	}
	e.NewRunID = func() string { return id }
	return nil
}

// isRepeatable reports whether the run can be repeated to the letter: it has a seed, and
// leaves no record that another one would meet.
func (r *StartRequest) isRepeatable() bool { return r.Seed != 0 && r.Ephemeral }

// repeatedID returns the id that a repeatable run has each time; "" for any other run.
func (r *StartRequest) repeatedID() string {
	if !r.isRepeatable() {
		return ""
	}
	return uuid.NewSHA1(uuid.Nil, fmt.Appendf(nil, "%d %s %s", r.Seed, r.Now.Format(time.RFC3339Nano), r.named())).String()
}

// named returns the inputs, with the conversation if there is one: these distinguish repeatable runs.
func (r *StartRequest) named() value.Value {
	if len(r.Conversation.List()) == 0 {
		return r.Inputs
	}
	return value.OfList(r.Inputs, r.Conversation)
}

// runLabels returns the labels of the run.
func (r *StartRequest) runLabels(p Principal) (map[string]string, error) {
	if err := p.checkUser(); err != nil {
		return nil, err
	}
	for _, reserved := range []string{journal.LabelOwner, journal.LabelOrigin, journal.LabelSession, journal.LabelRunsOn, journal.LabelChildOf, journal.LabelForkedFrom} {
		if _, taken := r.Labels[reserved]; taken {
			return nil, calls.Errorf(calls.Invalid, "the label %q is set by the program (choose another name)", reserved)
		}
	}
	labels := maps.Clone(r.Labels)
	if labels == nil {
		labels = map[string]string{}
	}
	for name, text := range map[string]string{journal.LabelOrigin: r.StartedBy, journal.LabelSession: r.Session, journal.LabelRunsOn: r.On} {
		if text != "" {
			labels[name] = text
		}
	}
	return labels, nil
}
