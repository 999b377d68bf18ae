package service

import (
	"context"
	"iter"
	"slices"
	"time"

	"github.com/callnode/scheduler/calls"
	"github.com/callnode/scheduler/calls/memory"
	"github.com/callnode/scheduler/llm/value/wording"
	"github.com/callnode/scheduler/scheduler"
	"github.com/callnode/scheduler/scheduler/flow"
	"github.com/callnode/scheduler/scheduler/journal"
)

// Session is a run that this process carries out, or follows while other machines do. [Service.NewSession] and
// [Service.ReopenSession] make one; [Session.Close] ends it. It is for one goroutine, which
// takes the events; any number of sessions may run at once.
type Session struct {
	Flow *flow.Flow
	// State is the run's state after the events so far.
	State *journal.RunState
	// ID is the run's; "" before its first event.
	ID string
	// StartedBy is the source of the run: its label [journal.LabelOrigin], or "".
	StartedBy string
	// Ephemeral is true if the record of the run is deleted with the session.
	Ephemeral bool

	service  *Service
	executor *scheduler.StepExecutor
	begin    iter.Seq2[*journal.Event, error] // nil for a resumed run
	memories *memory.Lazy                     // of this session alone; nil: the service's
	program  string                           // the version that began the run; "" for a new one
	remote   Remote                           // the remote runner of the run; nil: this process
	store    string                           // the id of the journal, for remote
	queue    string                           // in which it waits for a worker, for remote; "": the flow's queue
	isChild  bool                             // a run of remote waits for it
	// decider is the person who answers the run; zero on a worker, where the answers have theirs.
	decider scheduler.Decider
	// isReopened is true for a resumed run of the journal.
	isReopened bool
	hint       func(wording.Text) // gets the reason why a run of remote is delayed; may be nil
	// isDetached is true if the events of a run of remote are not read.
	isDetached bool
}

func (s *Service) newSession(e *scheduler.StepExecutor, f *flow.Flow, ephemeral bool, now time.Time) *Session {
	e.Question = s.questionText
	session := &Session{Flow: f, State: journal.NewRunState(), Ephemeral: ephemeral, service: s, executor: e}
	memories := s.memories
	if ephemeral || !now.IsZero() { // a store of its own: it has the clock of the run
		memories = s.lazyMemory(MemoryOptions{Clock: e.Env.Clock, Temporary: ephemeral})
		session.memories = memories
	}
	e.Env.Memory = memories
	return session
}

// ToldSession returns the session of a run that no process carries out, to report on it, for example when it is
// given up.
func (s *Service) ToldSession(info *journal.RunInfo) *Session {
	return &Session{Flow: &flow.Flow{Name: info.Flow}, State: journal.NewRunState(), ID: info.ID, StartedBy: info.Labels[journal.LabelOrigin], service: s}
}

// Events begins the run and yields its events. The last error comes from [scheduler.StepExecutor.Run]: for example
// a *[scheduler.Waiting] if it waits for values.
func (s *Session) Events() iter.Seq2[*journal.Event, error] { return s.followEvents(s.begin) }

// Continue continues the run, with answers or an edited flow. A run of another machine is followed until it ends
// or waits; ending ctx leaves it unchanged, with [ErrDetached].
func (s *Session) Continue(ctx context.Context, with scheduler.Resumption) iter.Seq2[*journal.Event, error] {
	with.Answers = s.signAnswers(with.Answers)
	if s.remote != nil {
		return s.followEvents(s.continueRemote(ctx, with))
	}
	return s.followEvents(s.executor.Resume(ctx, s.ID, with))
}

// signAnswers returns answers with the person who gives them.
func (s *Session) signAnswers(answers []scheduler.Answer) []scheduler.Answer {
	answers = slices.Clone(answers)
	for i := range answers {
		if answers[i].By == (scheduler.Decider{}) {
			answers[i].By = s.decider
		}
	}
	return answers
}

// CanContinue reports whether the run can continue after waiting.
func (s *Session) CanContinue() bool { return s.executor.Journal != nil }

// Record records an answer in its final form, before the run continues. The error is of kind Invalid if it does
// not fit.
func (s *Session) Record(ctx context.Context, answer scheduler.Answer) (scheduler.Answer, error) {
	taken, err := s.RecordAll(ctx, []scheduler.Answer{answer})
	if err != nil {
		return scheduler.Answer{}, err
	}
	return taken[0], nil
}

// RecordAll is [Session.Record] for several answers: all are taken, or none.
func (s *Session) RecordAll(ctx context.Context, answers []scheduler.Answer) ([]scheduler.Answer, error) {
	answers = s.signAnswers(answers)
	if s.remote != nil {
		taken, err := s.remote.Answer(ctx, s.remoteRun(), answers, true)
		return taken, markRemote(err)
	}
	taken, err := s.executor.Answer(ctx, s.ID, answers...)
	if err != nil {
		return nil, err
	}
	return taken, s.addRecorded(ctx)
}

// RecordFields is [Session.Record] for the fields of a form: fitting ones are accepted, and the others refused.
func (s *Session) RecordFields(ctx context.Context, fields []scheduler.Answer) (taken, refused []scheduler.Answer, err error) {
	if len(fields) == 0 {
		return nil, nil, nil
	}
	taken, err = s.RecordAll(ctx, fields)
	if calls.KindOf(err) != calls.Invalid {
		return taken, nil, err
	}
	var words []scheduler.Answer
	for _, one := range fields {
		read, err := s.Record(ctx, one)
		switch {
		case calls.KindOf(err) == calls.Invalid:
			refused = append(refused, one)
			continue
		case err != nil:
			return nil, nil, err
		case read.Message != "":
			words = append(words, one)
		}
		taken = append(taken, read)
	}
	if len(words) == 0 {
		return taken, refused, nil
	}
	_, err = s.RecordAll(ctx, words) // once more, at the end: an answer with a value takes the place of words
	return taken, refused, err
}

// addRecorded adds to the state the answers that were recorded while the run waits: it continues after them, and
// does not yield them.
func (s *Session) addRecorded(ctx context.Context) error {
	for event, err := range s.executor.Journal.Events(ctx, s.ID, s.State.LastSeq+1) {
		if err != nil {
			return markUnavailable(err)
		}
		s.State.Add(event)
	}
	return nil
}

// Waiting returns the waiting steps of the run, in the order of the flow.
func (s *Session) Waiting() []journal.WaitingFor {
	return scheduler.InFileOrder(s.Flow, s.State.Waiting)
}

// Prompts explains the prompts of a step; "" is the last step that built one.
func (s *Session) Prompts(ctx context.Context, step string) (*Prompts, error) {
	run := recordedRun{journal: s.executor.Journal, id: s.ID, flow: s.Flow, state: s.State}
	if s.isReopened { // the flow may have been edited
		header, err := run.journal.Header(ctx, s.ID)
		if err != nil {
			return nil, markUnavailable(err)
		}
		details := &RunDetails{}
		if err := s.service.addFlow(details, header); err != nil {
			return nil, err
		}
		run.flow, run.earlier = details.Flow, details.earlier
	}
	return promptsOf(ctx, run, step, s.executor.Env.Tokens)
}

// Close ends the session. A run without a record loses its memory; with drain, the
// snapshots that are due are made first, as long as that takes at most.
func (s *Session) Close(ctx context.Context, drain Drain) ([]Note, error) {
	memories := s.memories
	if memories == nil {
		memories = s.service.memories
	}
	p := memories.Opened()
	if p == nil {
		return nil, nil
	}
	var notes []Note
	if !s.Ephemeral && ctx.Err() == nil {
		notes = s.service.drainSnapshots(ctx, p, drain)
	}
	if s.memories == nil {
		return notes, nil
	}
	return notes, p.Store.Close()
}

// followEvents yields events after it has added them to the state.
func (s *Session) followEvents(events iter.Seq2[*journal.Event, error]) iter.Seq2[*journal.Event, error] {
	return func(yield func(*journal.Event, error) bool) {
		for event, err := range events {
			if err == nil {
				s.State.Add(event)
				s.ID = event.Run
			}
			if !yield(event, err) {
				return
			}
		}
	}
}
