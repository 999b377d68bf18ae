package service

import (
	"context"
	"errors"
	"time"

	"github.com/callnode/scheduler/calls"
	"github.com/callnode/scheduler/llm/value/wording"
	"github.com/callnode/scheduler/scheduler/journal"
)

// Reason is the reason why a run is given up.
type Reason struct{ Text, Hint wording.Text }

// MissingReason is the reason of a run that no machine could carry out for so long; missing is a text of a [MissingError].
func MissingReason(after time.Duration, missing string) Reason {
	return Reason{
		wording.Say("no machine could carry the run out for %s: %s", after, missing),
		wording.Say("give a machine what is missing; then resume the run"),
	}
}

// GiveUp records that a run has failed because it could not be continued. A user may resume it. The event is nil
// if the run has continued since info.
func (s *Service) GiveUp(ctx context.Context, info *journal.RunInfo, why Reason) (e *journal.Event, err error) {
	j, err := s.openJournal(ctx, false)
	if err != nil {
		return nil, err
	}
	log, err := j.Reopen(ctx, info.ID)
	if err != nil {
		return nil, markUnavailable(err)
	}
	defer func() { err = errors.Join(err, markUnavailable(log.Close())) }()
	if now := log.Info(); now.LastSeq != info.LastSeq || now.State != journal.RunRunning {
		return nil, nil
	}
	e = &journal.Event{Run: info.ID, Seq: info.LastSeq + 1, Type: journal.FlowFailed, Time: time.Now(), Data: &journal.Data{Error: &journal.ErrorInfo{
		Kind: calls.Internal, Message: why.Text.En, Hint: why.Hint.En,
	}}}
	return e, markUnavailable(log.Append(ctx, e))
}
