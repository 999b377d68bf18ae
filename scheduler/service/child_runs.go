package service

import (
	"context"
	"errors"
	"maps"
	"time"

	"github.com/callnode/scheduler/calls"
	"github.com/callnode/scheduler/llm"
	"github.com/callnode/scheduler/llm/value"
	"github.com/callnode/scheduler/scheduler"
	"github.com/callnode/scheduler/scheduler/journal"
)

// childRuns carries flows that steps of a run run out as runs of their own, by the [Remote] that
// carries out the run itself. [Service.ReopenSession] makes one for a run of other machines; it
// is safe for concurrent use.
type childRuns struct {
	service *Service
	// executor is the run's executor, header the run's header.
	executor *scheduler.StepExecutor
	header   *journal.RunHeader
	options  runOptions
}

var _ scheduler.Elsewhere = (*childRuns)(nil)

// cancelTimeout limits the time for cancelling a child run: less than a step may take to stop.
const cancelTimeout = 4 * time.Second

// startPoll is how often to check whether a child run to be cancelled has begun.
const startPoll = 20 * time.Millisecond

// RunChild begins the child run or continues it.
func (c *childRuns) RunChild(ctx context.Context, child *scheduler.ChildRun) (*scheduler.ChildEnd, error) {
	if err := c.cancelFormer(ctx, child); err != nil {
		return nil, err
	}
	session, spent, err := c.openChild(ctx, child)
	if err != nil && ctx.Err() != nil {
		err = c.leaveUnopened(ctx, child.ID)
	}
	if err != nil {
		return nil, err
	}
	if session.State.State != journal.RunFinished {
		err = c.followChild(ctx, session, child)
	}
	if err != nil {
		return nil, err
	}
	return &scheduler.ChildEnd{State: session.State, Spent: session.State.Usage.Minus(spent)}, nil
}

// cancelFormer cancels the run that the step waited for before its flow or its inputs changed.
func (c *childRuns) cancelFormer(ctx context.Context, child *scheduler.ChildRun) error {
	if child.Former == "" {
		return nil
	}
	info, err := c.executor.Journal.Run(ctx, child.Former)
	if calls.KindOf(err) == calls.NotFound {
		return nil
	}
	if err != nil || info.State.IsOver() {
		return markUnavailable(err)
	}
	return c.cancelChild(ctx, child.Former)
}

// openChild records the child run if the journal does not have it, and returns it with its spending when it last
// reported to the run around it.
func (c *childRuns) openChild(ctx context.Context, child *scheduler.ChildRun) (*Session, llm.Usage, error) {
	_, err := c.executor.Journal.Run(ctx, child.ID)
	if calls.KindOf(err) == calls.NotFound {
		err = c.enqueueChild(ctx, child)
	}
	if err != nil {
		return nil, llm.Usage{}, markUnavailable(err)
	}
	session := c.service.newSession(&scheduler.StepExecutor{Env: calls.NewEnv(), Journal: c.executor.Journal}, child.Flow, false, time.Time{})
	session.ID, session.queue, session.isChild, session.hint = child.ID, child.Queue, true, child.Hint
	if err := c.service.makeRemote(ctx, session, c.header.Labels[journal.LabelRunsOn]); err != nil {
		return nil, llm.Usage{}, err
	}
	spent, err := readChild(ctx, c.executor.Journal, session)
	return session, spent, err
}

// readChild adds the recorded events to the session. It returns the run's spending when it last ended or began to
// wait: for a finished one, before that.
func readChild(ctx context.Context, j journal.Journal, session *Session) (spent llm.Usage, err error) {
	for e, err := range j.Events(ctx, session.ID, 1) {
		if err != nil {
			return llm.Usage{}, markUnavailable(err)
		}
		session.State.Add(e)
		if e.StopsRun() && e.Type != journal.FlowFinished {
			spent = session.State.Usage
		}
	}
	return spent, nil
}

// enqueueChild records the child run, to begin when a worker takes it up.
func (c *childRuns) enqueueChild(ctx context.Context, child *scheduler.ChildRun) error {
	options := c.options
	options.Language, options.MaxTokens, options.Models = child.Language, child.MaxTokens, child.LLM
	labels := maps.Clone(c.header.Labels)
	labels[journal.LabelChildOf] = c.header.ID
	e := &scheduler.StepExecutor{
		Env: c.executor.Env, Loader: c.executor.Loader, Secrets: c.executor.Secrets, Hidden: c.executor.Hidden, Keys: c.executor.Keys,
		Journal: c.executor.Journal, Durability: c.header.Mode, Labels: labels, Program: c.executor.Program, Root: c.executor.Root,
		Language: child.Language, Conversation: child.Conversation, Owner: c.executor.Owner, Options: value.Must(options),
		NewRunID: func() string { return child.ID },
	}
	_, err := e.Enqueue(ctx, child.Flow, child.Inputs)
	return err
}

// followChild continues the child run until it ends or waits.
func (c *childRuns) followChild(ctx context.Context, session *Session, child *scheduler.ChildRun) error {
	var last error
	for _, err := range session.Continue(ctx, scheduler.Resumption{Answers: freshAnswers(session.State, child.Answers)}) {
		last = err
	}
	var waiting *scheduler.Waiting
	var failure *scheduler.Failure
	isTold := errors.As(last, &waiting) || errors.As(last, &failure) // by the state
	if ctx.Err() != nil {
		return c.leaveChild(ctx, session)
	}
	if last == nil || isTold {
		return nil
	}
	return last
}

// freshAnswers returns the answers that the child run waits for and does not have.
func freshAnswers(state *journal.RunState, answers []scheduler.Answer) (fresh []scheduler.Answer) {
	for _, w := range state.Waiting {
		for _, a := range answers {
			known, has := state.Step(w.Step).Answers.Get(a.Pointer)
			isKnown := has && value.Equal(known, a.Value)
			if a.Step == w.Step && !isKnown {
				fresh = append(fresh, a)
			}
		}
	}
	return fresh
}

// leaveChild cancels the child run, unless the run around it continues in another process. If only the step has
// ended, it waits for the end of the child: a further attempt starts it again.
func (c *childRuns) leaveChild(ctx context.Context, session *Session) error {
	why := context.Cause(ctx)
	var held *journal.HeldError
	if errors.Is(why, scheduler.ErrHandOver) || errors.As(why, &held) {
		return why
	}
	free, cancel := context.WithTimeout(context.WithoutCancel(ctx), cancelTimeout)
	defer cancel()
	if err := c.cancelStarted(free, session); err != nil {
		return err
	}
	if !errors.Is(why, journal.ErrCancelRequested) {
		for _, err := range c.executor.Journal.Follow(free, session.ID, session.State.LastSeq) {
			if err != nil {
				break // it may still be at work: a further attempt finds it so
			}
		}
	}
	return why
}

// leaveUnopened cancels a child run that may be recorded and that no worker knows, unless the run around it
// continues in another process.
func (c *childRuns) leaveUnopened(ctx context.Context, id string) error {
	why := context.Cause(ctx)
	var held *journal.HeldError
	if errors.Is(why, scheduler.ErrHandOver) || errors.As(why, &held) {
		return why
	}
	free, cancel := context.WithTimeout(context.WithoutCancel(ctx), cancelTimeout)
	defer cancel()
	if err := c.cancelChild(free, id); err != nil && calls.KindOf(err) != calls.NotFound {
		return err
	}
	return why
}

// cancelStarted cancels the child run. One that was cancelled before, and that was asked to begin
// again, is cancelled once it has: until then there is nothing to cancel.
func (c *childRuns) cancelStarted(ctx context.Context, session *Session) error {
	for {
		if err := c.cancelChild(ctx, session.ID); err != nil {
			return err
		}
		info, err := c.executor.Journal.Run(ctx, session.ID)
		isStarting := err == nil && info.State == journal.RunCancelled && info.LastSeq == session.State.LastSeq
		if !isStarting {
			return markUnavailable(err)
		}
		select {
		case <-ctx.Done():
			return nil // no worker has taken it up: the one that does asks IsOrphan
		case <-time.After(startPoll):
		}
	}
}

// cancelChild cancels a child run that is not over.
func (c *childRuns) cancelChild(ctx context.Context, id string) error {
	_, err := c.service.Cancel(ctx, Principal{}, id)
	if calls.KindOf(err) == calls.Invalid { // it is over
		return nil
	}
	return err
}

// IsOrphan reports whether a run is a part of another one that is over or was deleted: it has no reason to begin.
// Another one that is resumed is at work before it attaches its parts.
func (s *Service) IsOrphan(ctx context.Context, info *journal.RunInfo) (bool, error) {
	parent := info.Labels[journal.LabelChildOf]
	if parent == "" {
		return false, nil
	}
	around, err := s.Run(ctx, Principal{}, parent)
	if calls.KindOf(err) == calls.NotFound {
		return true, nil
	}
	return err == nil && around.State.IsOver(), err
}

// RootRun returns the run that a run is a part of, directly or through others, and that continues it: the run
// itself if it is a part of none. It is nil if one between was deleted.
func (s *Service) RootRun(ctx context.Context, p Principal, info *journal.RunInfo) (*journal.RunInfo, error) {
	for info != nil && info.Labels[journal.LabelChildOf] != "" {
		around, err := s.LookUpRun(ctx, p, info.Labels[journal.LabelChildOf])
		if err != nil {
			return nil, err
		}
		info = around
	}
	return info, nil
}
