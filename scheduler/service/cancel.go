package service

import (
	"context"
	"slices"

	"github.com/callnode/scheduler/calls"
	"github.com/callnode/scheduler/llm/value/wording"
	"github.com/callnode/scheduler/scheduler/journal"
)

// Cancel cancels a run, and returns its state then: if a process carries it out, that process stops it a little
// later. A run that is over is an error of kind Invalid.
func (s *Service) Cancel(ctx context.Context, p Principal, id string) (*journal.RunInfo, error) {
	j, info, err := s.visibleRun(ctx, p, id)
	if err != nil {
		return nil, err
	}
	if err := j.Cancel(ctx, id); err != nil {
		if calls.KindOf(err) == calls.Invalid {
			return nil, err
		}
		return nil, markUnavailable(err)
	}
	return s.cancelParts(ctx, p, j, info, info)
}

// CancelInJournal cancels a run whose carrier asks for it, which therefore is not notified, and returns the run's
// state then. A run that is over stays unchanged.
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
	return s.cancelParts(ctx, Principal{}, j, info)
}

// cancelParts cancels the runs that a cancelled run waits for. It then has the machines that carry out these and
// the told runs read the journal, and returns the state of the run.
func (s *Service) cancelParts(ctx context.Context, p Principal, j journal.Journal, info *journal.RunInfo, told ...*journal.RunInfo) (*journal.RunInfo, error) {
	children, err := s.cancelChildren(ctx, j, info)
	if err != nil {
		return nil, err
	}
	if err := s.wakeRemote(ctx, append(children, told...)...); err != nil {
		return nil, err
	}
	return s.Run(ctx, p, info.ID)
}

// cancelChildren cancels the runs that a run waits for, which would wait for ever, in the journal, and
// returns them. Only runs of other machines have some.
func (s *Service) cancelChildren(ctx context.Context, j journal.Journal, info *journal.RunInfo) (cancelled []*journal.RunInfo, err error) {
	if info.Labels[journal.LabelRunsOn] == "" {
		return nil, nil
	}
	filter := journal.RunFilter{
		States: []journal.RunStatus{journal.RunRunning, journal.RunWaiting}, Labels: map[string]string{journal.LabelChildOf: info.ID},
	}
	for child, err := range j.Runs(ctx, filter) {
		if err == nil {
			err = j.Cancel(ctx, child.ID)
		}
		if calls.KindOf(err) == calls.Invalid { // it is over
			continue
		}
		if err != nil {
			return nil, markUnavailable(err)
		}
		cancelled = append(cancelled, child)
	}
	for _, child := range slices.Clone(cancelled) {
		inner, err := s.cancelChildren(ctx, j, child)
		if err != nil {
			return nil, err
		}
		cancelled = append(cancelled, inner...)
	}
	return cancelled, nil
}

// wakeRemote makes the machines that carry out cancelled runs read the journal.
func (s *Service) wakeRemote(ctx context.Context, runs ...*journal.RunInfo) error {
	for _, info := range runs {
		name := info.Labels[journal.LabelRunsOn]
		if name == "" {
			continue
		}
		remote, err := s.openRemote(ctx, name)
		if err == nil {
			err = markRemote(remote.Wake(ctx, info.ID))
		}
		if err != nil {
			return markUnavailable(wording.Errorf("the run %s is cancelled in the journal, but %s was not told of it: %w", info.ID, name, err))
		}
	}
	return nil
}
