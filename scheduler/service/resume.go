package service

import (
	"context"
	"time"

	"github.com/callnode/scheduler/calls"
	"github.com/callnode/scheduler/scheduler"
	"github.com/callnode/scheduler/scheduler/flow"
	"github.com/callnode/scheduler/scheduler/journal"
)

// ResumeRequest is a request to resume a run. Its caller makes it; it is only read.
type ResumeRequest struct {
	// Run is its id.
	Run string
	// Flow is an edited flow; nil is the journal's flow.
	Flow *flow.Flow
	// Now is the fixed time of the run's clock; zero is the clock of the machine.
	Now time.Time
	// Strict makes the run strict, as [StartRequest] Strict does; one that began so stays it.
	Strict bool
	// OnWorker is true if this machine carries the run out for others.
	OnWorker bool
	// Drain is [scheduler.StepExecutor] Drain.
	Drain <-chan struct{}
}

// ReopenSession prepares a run of the journal to continue as it began: in the same language and with the same
// provider, for the user who started it, and if it was bound, in that user's memory alone. [Session.Continue]
// continues it. A run that the principal does not see is an error of kind NotFound.
func (s *Service) ReopenSession(ctx context.Context, p Principal, r ResumeRequest) (*Session, []Note, error) {
	j, header, began, err := s.begunRun(ctx, p, r.Run)
	if err != nil {
		return nil, nil, err
	}
	surroundings := Surroundings{Dir: s.localDir(began.Dir), Language: began.Language, IsReplay: began.Mode == modeReplay}
	on, parent := header.Labels[journal.LabelRunsOn], header.Labels[journal.LabelChildOf]
	queuedElsewhere := r.OnWorker && on != "" && parent == "" // flows that have a queue are runs of their own
	f := r.Flow
	if f == nil {
		f, err = s.recordedFlow(header, surroundings, queuedElsewhere)
		if err != nil {
			return nil, nil, err
		}
	}
	if f.Language == "" && began.Language != "" {
		if err := s.parts.Languages().Check(began.Language); err != nil {
			return nil, nil, calls.Errorf(calls.Invalid, "the run began in another language: %w", err)
		}
	}
	state, err := journal.Fold(j.Events(ctx, r.Run, 1))
	if err != nil {
		return nil, nil, markUnavailable(err)
	}
	options := ExecutorOptions{Surroundings: surroundings, Provider: began.LLM, Mode: began.Mode, Now: r.Now}
	if on == "" || r.OnWorker {
		options.Run = startOf(header, state, f, uint64(began.Seed))
	}
	e, notes, err := s.parts.Executor(f, options)
	if err != nil {
		return nil, notes, err
	}
	e.Seed = uint64(began.Seed)
	if e.Start != nil {
		e.Seed, r.Now = e.Start.Seed, e.Start.Now
	}
	e.Language, e.Journal = began.Language, j
	e.Strict, e.Until, e.Drain = r.Strict || began.Strict, began.Until, r.Drain
	if e.Loader != nil {
		e.Loader.QueuedElsewhere = queuedElsewhere
	}
	e.Owner, e.Root = p.resumedOwner(header.Labels, began.Bound), surroundings.Dir
	e.MaxTokens, e.LLM = began.MaxTokens, began.Models
	session := s.newSession(e, f, false, r.Now)
	if !r.OnWorker {
		session.decider = p.deciderOf(header.Labels[journal.LabelOwner])
	}
	session.State, session.ID, session.StartedBy = state, r.Run, header.Labels[journal.LabelOrigin]
	session.program, session.isReopened = header.Program, true
	switch {
	case parent != "" && !r.OnWorker:
		return nil, notes, s.partError(ctx, p, r.Run, parent)
	case on != "" && !r.OnWorker:
		err = s.makeRemote(ctx, session, on)
	case queuedElsewhere:
		e.Elsewhere = &childRuns{service: s, executor: e, header: header, options: began}
	}
	return session, notes, err
}

// partError returns the error of a run that cannot be resumed alone, with the command that continues it.
func (s *Service) partError(ctx context.Context, p Principal, run, parent string) error {
	err := calls.Errorf(calls.Invalid, "the run %s is a part of the run %s, which goes on with it", run, parent)
	around, lookUp := s.LookUpRun(ctx, p, parent)
	if lookUp == nil && around != nil {
		around, lookUp = s.RootRun(ctx, p, around)
	}
	if lookUp != nil || around == nil {
		return err
	}
	return err.WithHint("go on with: scheduler resume %s", around.ID)
}

// The modes of runs that are recorded in a cassette, and played from one: [StartRequest] Mode.
const (
	modeRecord = "record"
	modeReplay = "replay"
)

// startOf returns the beginning of a run of the journal.
func startOf(header *journal.RunHeader, state *journal.RunState, f *flow.Flow, seed uint64) *RunStart {
	start := &RunStart{ID: header.ID, Inputs: header.Inputs, Conversation: header.Conversation, User: header.Labels[journal.LabelOwner], Seed: seed}
	if f.Inputs != nil {
		start.Inputs = f.Inputs.ApplyDefaults(header.Inputs)
	}
	if state.LastSeq > 0 {
		start.Part = state.Resumed + 1
	}
	return start
}

// LoadEdited reads an edited flow for a run, in the language in which that began.
func (s *Service) LoadEdited(ctx context.Context, p Principal, run, file string) (*flow.Flow, flow.Problems, []Note, error) {
	_, _, began, err := s.begunRun(ctx, p, run)
	if err != nil {
		return nil, nil, nil, err
	}
	loader, notes, err := s.parts.Loader(Surroundings{Dir: s.localDir(began.Dir), Language: began.Language})
	if err != nil {
		return nil, nil, notes, err
	}
	f, problems := loader.Load(file)
	return f, problems, notes, nil
}

// begunRun returns the journal, and the header and options of a run in it that the principal may see.
func (s *Service) begunRun(ctx context.Context, p Principal, run string) (journal.Journal, *journal.RunHeader, runOptions, error) {
	j, _, err := s.visibleRun(ctx, p, run)
	if err != nil {
		return nil, nil, runOptions{}, err
	}
	header, err := j.Header(ctx, run)
	if err != nil {
		return nil, nil, runOptions{}, markUnavailable(err)
	}
	began, err := optionsOf(header)
	return j, header, began, err
}

// recordedFlow reads the flow that the journal kept.
func (s *Service) recordedFlow(h *journal.RunHeader, from Surroundings, queuedElsewhere bool) (*flow.Flow, error) {
	loader, _, err := s.parts.Loader(from)
	if err != nil {
		return nil, err
	}
	loader.QueuedElsewhere = queuedElsewhere
	loader.Providers, loader.Secrets = nil, nil // the settings may have lost names that the run knows
	file, files := scheduler.LocalFiles(from.Dir, h.File, h.Text)
	f, problems := loader.LoadText(file, h.Text.Source, files)
	if problems.HasErrors() {
		return nil, calls.Errorf(calls.Invalid, "the flow of the run does not load with this program: %w", problems.Err())
	}
	return f, nil
}
