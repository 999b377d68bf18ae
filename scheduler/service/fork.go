package service

import (
	"cmp"
	"context"
	"maps"

	"github.com/callnode/scheduler/calls"
	"github.com/callnode/scheduler/llm/value"
	"github.com/callnode/scheduler/scheduler"
	"github.com/callnode/scheduler/scheduler/flow"
	"github.com/callnode/scheduler/scheduler/journal"
)

// ForkRequest describes a run that begins where another one stood. Its caller makes it; it is only read.
type ForkRequest struct {
	scheduler.Fork
	// LLM is the name of the model provider of the new run; "" is the one of the other run.
	LLM string
	// ID is the id of the new run; "" makes one.
	ID string
	// StartedBy is what begins the run: [journal.LabelOrigin].
	StartedBy string
}

// PlanFork tells which steps a fork keeps and which it runs, and records nothing. The error is as with [Service.Fork].
func (s *Service) PlanFork(ctx context.Context, p Principal, r *ForkRequest) (*scheduler.ForkPlan, []Note, error) {
	e, notes, err := s.newForkExecutor(ctx, p, r)
	if err != nil {
		return nil, notes, err
	}
	plan, err := e.PlanFork(ctx, &r.Fork)
	return plan, notes, err
}

// Fork records a run of the same user that keeps the steps of another run which the fork does not touch: a session that
// reopens it runs the rest. A run that the principal does not see is an error of kind NotFound, and a fork that cannot be
// made one of kind Invalid; then nothing was recorded.
func (s *Service) Fork(ctx context.Context, p Principal, r *ForkRequest) (run string, plan *scheduler.ForkPlan, err error) {
	e, _, err := s.newForkExecutor(ctx, p, r)
	if err != nil {
		return "", nil, err
	}
	run, plan, err = e.Fork(ctx, &r.Fork)
	return run, plan, err
}

// newForkExecutor returns what records a fork: with the settings with which the other run began.
func (s *Service) newForkExecutor(ctx context.Context, p Principal, r *ForkRequest) (*scheduler.StepExecutor, []Note, error) {
	j, header, began, err := s.begunRun(ctx, p, r.Run)
	if err != nil {
		return nil, nil, err
	}
	if parent := header.Labels[journal.LabelChildOf]; parent != "" {
		return nil, nil, calls.Errorf(calls.Invalid, "the run %s is a part of the run %s", r.Run, parent).WithHint("fork that one: scheduler fork %s", parent)
	}
	surroundings := Surroundings{Dir: s.localDir(began.Dir), Language: began.Language, IsReplay: began.Mode == modeReplay}
	f := r.Flow
	if f == nil {
		f, err = s.recordedFlow(header, surroundings, false)
		if err != nil {
			return nil, nil, err
		}
	}
	provider := cmp.Or(r.LLM, began.LLM)
	e, notes, err := s.parts.Executor(f, ExecutorOptions{Surroundings: surroundings, Provider: provider})
	if err != nil {
		return nil, notes, err
	}
	e.Journal, e.Seed, e.Language = j, uint64(began.Seed), began.Language
	e.Owner, e.Root, e.Conversation = p.resumedOwner(header.Labels, began.Bound), surroundings.Dir, header.Conversation
	e.Labels = forkLabels(header, r.StartedBy)
	e.NewRunID = func() string { return cmp.Or(r.ID, NewRunID()) }
	mode := began.Mode
	if mode == modeRecord || r.LLM != "" { // a cassette holds whole runs
		mode = ""
	}
	e.Options = value.Must(runOptions{
		LLM: provider, Mode: mode, Seed: began.Seed, Language: began.Language, Dir: surroundings.Dir, Bound: e.Owner.Bound, Strict: began.Strict,
	})
	return e, notes, nil
}

// forkLabels returns the labels of a fork: the user's own and the session of the other run, and that run. A fork runs here, wherever that one ran.
func forkLabels(header *journal.RunHeader, startedBy string) map[string]string {
	labels := maps.Clone(header.Labels)
	if labels == nil {
		labels = map[string]string{}
	}
	delete(labels, journal.LabelRunsOn)
	labels[journal.LabelForkedFrom], labels[journal.LabelOrigin] = header.ID, startedBy
	return labels
}

// RunFlow returns the flow with which a run began or, if it was edited, goes on.
func (s *Service) RunFlow(ctx context.Context, p Principal, run string) (*flow.Flow, error) {
	_, header, began, err := s.begunRun(ctx, p, run)
	if err != nil {
		return nil, err
	}
	return s.recordedFlow(header, Surroundings{Dir: s.localDir(began.Dir), Language: began.Language, IsReplay: began.Mode == modeReplay}, false)
}
