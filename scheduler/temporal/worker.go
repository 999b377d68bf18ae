package temporal

import (
	"context"
	"log/slog"
	"slices"
	"sync"
	"time"

	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"

	"github.com/callnode/scheduler/scheduler"
	"github.com/callnode/scheduler/scheduler/fleet"
	"github.com/callnode/scheduler/scheduler/journal"
	"github.com/callnode/scheduler/scheduler/service"
)

// WorkerOptions say which runs a worker takes, and how many.
type WorkerOptions struct {
	// Queues are those it takes runs from.
	Queues []string
	// Slots is how many runs of a queue it is at, at once; and so many that others wait for.
	Slots int
	// Drain is how long steps at work may go on when the worker stops; then the runs are
	// handed over.
	Drain time.Duration
	// Log gets a line for each run that is taken, refused, handed over or over here; nil gets none.
	Log *slog.Logger
	// Observe receives every event of the runs of this worker, Ended each run that the worker lets go of, whether
	// it is over or not; they may be nil. They must not block.
	Observe func(*service.Session, *journal.Event)
	Ended   func(run string)
	// GiveUpAfter is how long a run is tried in vain before it fails: workers die while running it, or lack
	// something for it.
	GiveUpAfter time.Duration
	// Member counts the runs at work here, and names those that were refused; nil counts none.
	Member *fleet.Member
}

// stopGrace is how long the handover of runs may take: the time for steps to stop, and the way to the journal.
const stopGrace = 10 * time.Second

const (
	// stickyTimeout is how long a decision may wait for the worker that made the last one of its
	// run, before any worker makes it.
	stickyTimeout = time.Second
	// settleTime is how long a worker that stops still decides, after its last run has left it: the consequences
	// are on their way to it.
	settleTime = 500 * time.Millisecond
)

// registry registers workflows and activities: a worker, or an environment of tests.
type registry interface {
	RegisterWorkflowWithOptions(w any, options workflow.RegisterOptions)
	RegisterActivityWithOptions(a any, options activity.RegisterOptions)
}

// registerWorkflow registers the workflow.
func registerWorkflow(r registry) {
	r.RegisterWorkflowWithOptions(runWorkflow, workflow.RegisterOptions{Name: Workflow})
}

// registerShort registers the activities that only touch the journal.
func registerShort(r registry, a *activities) {
	r.RegisterActivityWithOptions(a.answer, activity.RegisterOptions{Name: answerActivity})
	r.RegisterActivityWithOptions(a.cancel, activity.RegisterOptions{Name: cancelActivity})
}

// RunWorker takes runs from the queues and carries them out until ctx ends. Then it takes no more, begins no
// further step, and hands over runs that are not over after Drain.
func RunWorker(ctx context.Context, c *Client, s *service.Service, o WorkerOptions) error {
	store, err := s.StoreID(ctx)
	if err != nil {
		return err
	}
	drain := make(chan struct{})
	handOver, giveUp := context.WithCancelCause(context.WithoutCancel(ctx))
	defer giveUp(nil)
	watch := newWatcher(&o)
	failed := make(chan error, 4*len(o.Queues))
	var deciders, doers []worker.Worker
	for _, queue := range o.Queues {
		a := &activities{service: s, drain: drain, handOver: handOver, quickTries: quickTries, giveUpAfter: o.GiveUpAfter, watch: watch, queue: queue}
		onFatal := func(err error) { failed <- err }
		decider := worker.New(c.sdk, queue, worker.Options{
			OnFatalError: onFatal, WorkerStopTimeout: stopGrace, StickyScheduleToStartTimeout: stickyTimeout,
		})
		registerWorkflow(decider)
		short := worker.New(c.sdk, shortQueue(queue, store), worker.Options{DisableWorkflowWorker: true, OnFatalError: onFatal, WorkerStopTimeout: stopGrace})
		registerShort(short, a)
		deciders = append(deciders, decider, short)
		for _, isChild := range []bool{false, true} {
			a := *a
			a.isChild = isChild
			doer := worker.New(c.sdk, stretchQueue(queue, store, isChild), worker.Options{
				DisableWorkflowWorker: true, MaxConcurrentActivityExecutionSize: o.Slots, OnFatalError: onFatal, WorkerStopTimeout: o.Drain + stopGrace,
			})
			doer.RegisterActivityWithOptions(a.stretch, activity.RegisterOptions{Name: Stretch})
			doers = append(doers, doer)
		}
	}
	err = startAll(slices.Concat(deciders, doers))
	if err != nil {
		return c.explain(err)
	}
	select {
	case <-ctx.Done():
	case err = <-failed:
	}
	close(drain)
	timer := time.AfterFunc(o.Drain, func() { giveUp(scheduler.ErrHandOver) })
	defer timer.Stop()
	stopAll(doers) // while the others decide about the runs that they hand over
	time.Sleep(settleTime)
	stopAll(deciders)
	return c.explain(err)
}

// startAll starts workers, which check that the namespace is there: all or none.
func startAll(all []worker.Worker) error {
	for i, w := range all {
		if err := w.Start(); err != nil {
			stopAll(all[:i])
			return err
		}
	}
	return nil
}

// stopAll stops workers side by side, and waits for their current work.
func stopAll(all []worker.Worker) {
	var stopped sync.WaitGroup
	for _, w := range all {
		stopped.Go(w.Stop)
	}
	stopped.Wait()
}
