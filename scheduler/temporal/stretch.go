package temporal

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/temporal"

	"github.com/callnode/scheduler/calls"
	"github.com/callnode/scheduler/scheduler"
	"github.com/callnode/scheduler/scheduler/dispatch"
	"github.com/callnode/scheduler/scheduler/flow"
	"github.com/callnode/scheduler/scheduler/journal"
	"github.com/callnode/scheduler/scheduler/service"
)

// activities are the activities of a worker for runs. It is safe for concurrent use.
type activities struct {
	service *service.Service
	// drain is closed when the worker stops; handOver ends a little later, with the runs that
	// are still at work.
	drain    <-chan struct{}
	handOver context.Context
	// watch gets the current runs of this worker, which wait in queue.
	watch   *watcher
	queue   string
	isChild bool // other runs wait for the runs of this queue
	// quickTries has the value of the constant quickTries; tests set others.
	quickTries int32
	// giveUpAfter is how long a run is taken up in vain before it fails.
	giveUpAfter time.Duration
}

const (
	// quickTries is how often a run that a worker lacks something for is offered to the others at once, quickDelay the time between.
	// Temporal gives a task to the worker that has waited longest, so that the second try seldom meets the same worker.
	quickTries = 6
	quickDelay = 200 * time.Millisecond
)

// stretch carries a run on until it ends or waits.
func (a *activities) stretch(ctx context.Context, in stretchInput) (Outcome, error) {
	p := &counters{}
	defer startHeartbeat(ctx, p.load)()
	defer a.watch.member.Enter(a.queue, a.isChild)()
	isSame, err := a.hasStore(ctx, in.Store)
	if err != nil {
		return Outcome{}, activityError(err)
	}
	if !isSame { // another worker may have it
		return Outcome{State: Unavailable, Seq: in.After, Missing: otherStore}, nil
	}
	info, err := a.service.Run(ctx, service.Principal{}, in.Run)
	if err != nil {
		return Outcome{}, activityError(err)
	}
	if out, ok, err := a.lastOutcome(ctx, info, in.After); ok || err != nil {
		return out, activityError(err)
	}
	if out, ok, err := a.cancelUnwanted(ctx, info); ok || err != nil {
		return out, activityError(err)
	}
	if out, ok, err := a.pauseAfterDeaths(ctx, info, in.Since); ok || err != nil {
		return out, activityError(err)
	}
	if a.isDraining() {
		return Outcome{State: HandedOver, Seq: info.LastSeq, Flow: info.Flow}, nil
	}
	out, err := a.carryOn(ctx, info, p)
	if out.State != Unavailable || err != nil {
		return out, err
	}
	return a.refuse(ctx, info, in, out)
}

// pauseAfterDeaths lets a run wait that has brought down one worker after the other; one that did so for too long fails. ok is false
// if the run may go on.
func (a *activities) pauseAfterDeaths(ctx context.Context, info *journal.RunInfo, since int64) (out Outcome, ok bool, err error) {
	vain, err := dispatch.TakenInVain(ctx, a.service, info, since, a.giveUpAfter)
	if err != nil {
		return Outcome{}, false, err
	}
	pause := time.Until(vain.Next)
	switch {
	case vain.N == 0:
		return Outcome{}, false, nil
	case vain.IsSpent:
		out, err := a.giveUp(ctx, info, vain.Reason)
		return out, true, err
	case pause <= 0:
		return Outcome{}, false, nil
	}
	a.watch.log.Warn("a run was taken over from workers that died, and no step has finished since: it pauses before the next try",
		"run", info.ID, "flow", info.Flow, "tries", vain.N, "next", vain.Next)
	return Outcome{State: Unavailable, Seq: info.LastSeq, Flow: info.Flow, Missing: fmt.Sprintf(pausedMessage, vain.N), Pause: pause}, true, nil
}

// pausedMessage is shown of a run that pauses after deaths.
const pausedMessage = "%d workers died at the run: it pauses before the next try"

// refuse leaves a run to other workers, because this one lacks something: at once a few times, then the workflow does so every few
// seconds. A run that no worker could carry out for too long fails.
func (a *activities) refuse(ctx context.Context, info *journal.RunInfo, in stretchInput, out Outcome) (Outcome, error) {
	switch {
	case activity.GetInfo(ctx).Attempt < a.quickTries:
		return Outcome{}, temporal.NewApplicationErrorWithOptions(out.Missing, typeUnavailable, temporal.ApplicationErrorOptions{
			NextRetryDelay: quickDelay, Category: temporal.ApplicationErrorCategoryBenign, // nothing for the log
		})
	case in.UnavailableFor >= a.giveUpAfter:
		return a.giveUp(ctx, info, service.MissingReason(a.giveUpAfter, out.Missing))
	}
	return out, nil
}

// giveUp fails a run in its journal, so that its readers and the notifications of servers report it.
func (a *activities) giveUp(ctx context.Context, info *journal.RunInfo, why service.Reason) (Outcome, error) {
	e, err := a.service.GiveUp(ctx, info, why)
	switch {
	case err != nil:
		return Outcome{}, activityError(err)
	case e == nil: // it has gone on since
		return Outcome{State: HandedOver, Seq: info.LastSeq, Flow: info.Flow}, nil
	}
	a.watch.log.Error("a run was given up", "run", info.ID, "flow", info.Flow, "reason", why.Text.En)
	a.watch.observe(&service.Session{Flow: &flow.Flow{Name: info.Flow}, State: journal.NewRunState(), ID: info.ID, StartedBy: info.Labels[journal.LabelOrigin]}, e)
	a.watch.ended(info.ID)
	return outcomeOf(info.Flow, e), nil
}

// otherStore names the fault of a worker that was started with the wrong store.
const otherStore = "a worker has another journal than the one that the run is in: all machines need the same store"

// hasStore reports whether the journal of this machine is the one with that id.
func (a *activities) hasStore(ctx context.Context, id string) (bool, error) {
	here, err := a.service.StoreID(ctx)
	if err == nil && here != id {
		activity.GetLogger(ctx).Error("a run was left to other workers: " + otherStore)
	}
	return here == id, err
}

// checkStore returns an error that other workers may not have if the journal of this machine is another one.
func (a *activities) checkStore(ctx context.Context, id string) error {
	isSame, err := a.hasStore(ctx, id)
	if err != nil {
		return activityError(err)
	}
	if !isSame {
		return temporal.NewApplicationError(otherStore, typeUnavailable)
	}
	return nil
}

func (a *activities) isDraining() bool {
	select {
	case <-a.drain:
		return true
	default:
		return false
	}
}

// lastOutcome returns how an earlier attempt ended, if its result was lost: the journal has a last event of the
// run that the workflow does not know. A finished run is always over.
func (a *activities) lastOutcome(ctx context.Context, info *journal.RunInfo, after int64) (out Outcome, ok bool, err error) {
	isNew := info.LastSeq > after || info.State == journal.RunFinished
	if info.Holder != nil || !isNew {
		return Outcome{}, false, nil
	}
	for e, err := range a.service.Events(ctx, service.Principal{}, info.ID, info.LastSeq) {
		if err != nil {
			return Outcome{}, false, err
		}
		if e.StopsRun() {
			return outcomeOf(info.Flow, e), true, nil
		}
	}
	return Outcome{}, false, nil
}

// cancelUnwanted ends a run that was cancelled and whose worker died before it could heed that, and a child run
// whose parent run was cancelled before a worker took it up.
func (a *activities) cancelUnwanted(ctx context.Context, info *journal.RunInfo) (out Outcome, ok bool, err error) {
	isOrphan, err := a.service.IsOrphan(ctx, info)
	isUnwanted := isOrphan || info.CancelRequested && info.State == journal.RunRunning
	if err != nil || !isUnwanted || info.Holder != nil {
		return Outcome{}, false, err
	}
	info, err = a.service.CancelInJournal(ctx, info.ID)
	if err != nil {
		return Outcome{}, false, err
	}
	return Outcome{State: State(info.State), Seq: info.LastSeq, Flow: info.Flow}, true, nil
}

// outcomeOf returns the outcome of the last event of a run for its workflow.
func outcomeOf(flow string, e *journal.Event) Outcome {
	out := Outcome{State: State(journal.RunRunning.After(e.Type)), Seq: e.Seq, Flow: flow}
	if e.Data == nil {
		return out
	}
	for _, w := range e.Data.Waiting {
		out.Waiting = append(out.Waiting, w.Step)
	}
	if e.Data.Error != nil {
		out.Kind, out.Step = string(e.Data.Error.Kind), e.Data.Error.Step
	}
	if e.Data.Usage != nil {
		out.Tokens = e.Data.Usage.Total()
	}
	return out
}

// carryOn goes on with the run.
func (a *activities) carryOn(ctx context.Context, info *journal.RunInfo, p *counters) (Outcome, error) {
	session, _, err := a.service.ReopenSession(ctx, service.Principal{}, service.ResumeRequest{Run: info.ID, OnWorker: true, Drain: a.drain})
	if err == nil {
		err = session.CheckMachine()
	}
	err = service.AsMissing(err)
	var missing *service.MissingError
	if errors.As(err, &missing) {
		a.watch.tellRefused(a.queue, info, missing)
		return Outcome{State: Unavailable, Seq: info.LastSeq, Flow: info.Flow, Missing: missing.Error()}, nil
	}
	if err != nil {
		return Outcome{}, activityError(err)
	}
	tellEnd := a.watch.tellTaken(a.queue, info)
	out, err := a.takeEvents(ctx, info, session, p)
	tellEnd(out, err)
	return out, err
}

// takeEvents goes on with the run of a session until it ends or waits.
func (a *activities) takeEvents(ctx context.Context, info *journal.RunInfo, session *service.Session, p *counters) (Outcome, error) {
	defer a.watch.ended(info.ID)
	defer func() {
		if _, err := session.Close(context.WithoutCancel(ctx), 0); err != nil {
			activity.GetLogger(ctx).Warn("closing a run", "run", info.ID, "error", err)
		}
	}()
	runCtx, cancel := a.runContext(ctx)
	defer cancel()
	p.seq.Store(info.LastSeq)
	out := Outcome{State: HandedOver, Seq: info.LastSeq, Flow: info.Flow}
	for e, err := range session.Continue(runCtx, scheduler.Resumption{Seen: &info.LastSeq}) {
		if err != nil {
			return outcomeOfError(out, err)
		}
		a.watch.observe(session, e)
		p.seq.Store(e.Seq)
		out.Seq = e.Seq
		if e.Type == journal.StepFinished {
			p.finished.Add(1)
		}
		if e.StopsRun() {
			out = outcomeOf(info.Flow, e)
		}
	}
	return out, nil
}

// outcomeOfError returns the outcome of an error after the events of a run; out is the outcome of its last event.
func outcomeOfError(out Outcome, err error) (Outcome, error) {
	var waiting *scheduler.Waiting
	var failure *scheduler.Failure
	switch {
	case errors.As(err, &waiting):
		out.State, out.Waiting = Waiting, nil
		for _, w := range waiting.For {
			out.Waiting = append(out.Waiting, w.Step)
		}
		return out, nil
	case errors.Is(err, scheduler.ErrHandOver), errors.Is(err, scheduler.ErrCancelledSince): // the next stretch finds it so
		out.State = HandedOver
		return out, nil
	case errors.As(err, &failure) && out.State != HandedOver:
		return out, nil // its last event is in the journal
	}
	return Outcome{}, activityError(err)
}

// runContext returns the context of a run: it ends when the activity is cancelled, which
// cancels the run, and when the activity or the worker ends otherwise, which hands it over.
func (a *activities) runContext(ctx context.Context) (context.Context, context.CancelFunc) {
	run, cancel := context.WithCancelCause(context.WithoutCancel(ctx))
	ignoreActivity := context.AfterFunc(ctx, func() {
		var cancelled *temporal.CanceledError
		if errors.As(context.Cause(ctx), &cancelled) {
			cancel(journal.ErrCancelRequested)
			return
		}
		cancel(scheduler.ErrHandOver)
	})
	ignoreWorker := context.AfterFunc(a.handOver, func() { cancel(scheduler.ErrHandOver) })
	return run, func() {
		ignoreActivity()
		ignoreWorker()
		cancel(nil)
	}
}

// counters count the progress of a stretch. They are safe for concurrent use.
type counters struct{ seq, finished atomic.Int64 }

func (c *counters) load() progress { return progress{c.seq.Load(), c.finished.Load()} }

// heartbeatInterval is how often a stretch reports that it is alive; the SDK sends fewer reports.
const heartbeatInterval = time.Second

// startHeartbeat reports the progress of a run to Temporal every now and then, until the returned function is
// called.
func startHeartbeat(ctx context.Context, look func() progress) (stop func()) {
	done := make(chan struct{})
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		ticker := time.NewTicker(heartbeatInterval)
		defer ticker.Stop()
		for {
			select {
			case <-done:
				return
			case <-ticker.C:
				activity.RecordHeartbeat(ctx, look())
			}
		}
	}()
	return func() {
		close(done)
		<-ended
	}
}

// answer puts answers on record.
func (a *activities) answer(ctx context.Context, request answerRequest) ([]answer, error) {
	if err := a.checkStore(ctx, request.Store); err != nil {
		return nil, err
	}
	answers, err := parseAnswers(request.Answers)
	if err != nil {
		return nil, activityError(err)
	}
	session, _, err := a.service.ReopenSession(ctx, service.Principal{}, service.ResumeRequest{Run: request.Run, OnWorker: true})
	if err != nil {
		if err := service.AsMissing(err); errors.As(err, new(*service.MissingError)) { // another worker may have it
			return nil, temporal.NewApplicationError(err.Error(), typeUnavailable)
		}
		return nil, activityError(err)
	}
	taken, err := session.RecordAll(ctx, answers)
	if err != nil {
		return nil, activityError(err)
	}
	return formatAnswers(taken), nil
}

// cancel cancels a run that no stretch has taken.
func (a *activities) cancel(ctx context.Context, request cancelRequest) (Outcome, error) {
	if err := a.checkStore(ctx, request.Store); err != nil {
		return Outcome{}, err
	}
	info, err := a.service.CancelInJournal(ctx, request.Run)
	if err != nil {
		return Outcome{}, activityError(err)
	}
	return Outcome{State: State(info.State), Seq: info.LastSeq, Flow: info.Flow}, nil
}

// activityError converts an error of the use cases for Temporal: if the journal fails or another process has the
// run, it tries again.
func activityError(err error) error {
	if err == nil {
		return nil
	}
	var held *journal.HeldError
	var broken *scheduler.JournalError
	var unavailable *service.UnavailableError
	var own *temporal.ApplicationError
	switch {
	case errors.As(err, &own):
		return err
	case errors.As(err, &held):
		return temporal.NewApplicationError(err.Error(), typeHeld)
	case errors.As(err, &broken), errors.As(err, &unavailable):
		return temporal.NewApplicationError(err.Error(), typeJournal)
	}
	return temporal.NewNonRetryableApplicationError(err.Error(), string(calls.KindOf(err)), nil, calls.HintOf(err))
}
