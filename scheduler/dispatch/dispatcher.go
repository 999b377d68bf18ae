package dispatch

import (
	"bytes"
	"context"
	"errors"
	"iter"
	"log/slog"
	"sync"
	"time"

	"github.com/callnode/scheduler/calls"
	"github.com/callnode/scheduler/scheduler"
	"github.com/callnode/scheduler/scheduler/journal"
	"github.com/callnode/scheduler/scheduler/service"
)

// Options are the settings of a [Dispatcher].
type Options struct {
	Limits Limits
	// Recover names the interrupted runs to continue: own, all or none.
	Recover string
	// GiveUpAfter is how long a run is continued in vain, without a finished step, before it fails.
	GiveUpAfter time.Duration
	// Clock is the present of recovery; nil is the clock of the machine.
	Clock func() time.Time
	// On names the remote runner for new runs: [service.StartRequest] On. "" is this process.
	On string
	// Log gets the outcome of runs that no caller waits for.
	Log *slog.Logger
	// Changed is called for every change of a run's state; it may be nil. It must not block.
	Changed func(run string)
	// Observe is called for every event of the runs at work here, Ended for each session that is over, with or
	// without a last event, before the next session of the run begins; they may be nil. They run on the goroutine of
	// the session and must not block.
	Observe func(s *service.Session, e *journal.Event)
	Ended   func(run string)
	// EndedElsewhere is called for each run that this process gave other machines and that has ended, or begun to
	// wait, there; it may be nil.
	EndedElsewhere func(*journal.RunInfo, *journal.Event)
}

// Dispatcher carries runs out in the background: it begins them while slots are free, queues the others durably,
// lets any number of readers follow them, continues runs that another process left, and hands over unfinished runs
// when it ends. [New] makes one for the life of a server, [Dispatcher.Close] ends it. It is safe for concurrent
// use.
type Dispatcher struct {
	service *service.Service
	options Options
	hub     hub
	slots   *runSlots
	remote  remoteState
	ctx     context.Context // ends the runs
	end     context.CancelCauseFunc
	runs    sync.WaitGroup

	overdue map[string]waitUntil // by run; belongs to the goroutine of Recover

	mu       sync.Mutex // guards the fields below
	stopping bool
	active   map[string]context.CancelCauseFunc // the runs at work here
	known    map[string]chan struct{}           // runs at work or in the queue here; closed once they are not
	queued   map[string]func() bool             // takes a run out of the queue here
	failures map[string]tries                   // of unheld runs that this process could not continue
	// elsewhere are the runs that other machines carry out for this process, with the last event that was known when they were given.
	elsewhere map[string]int64
	missed    map[string]missedMessages // by run and step
	deaths    map[string]tries          // of unheld runs that were taken over from dead processes too often
}

// New returns a Dispatcher; recovery begins with [Dispatcher.Recover].
func New(s *service.Service, o Options) *Dispatcher {
	if o.Changed == nil {
		o.Changed = func(string) {}
	}
	if o.Observe == nil {
		o.Observe = func(*service.Session, *journal.Event) {}
	}
	if o.Ended == nil {
		o.Ended = func(string) {}
	}
	d := &Dispatcher{
		service: s, options: o, hub: hub{runs: map[string]*liveRun{}}, slots: newRunSlots(o.Limits),
		active: map[string]context.CancelCauseFunc{}, known: map[string]chan struct{}{}, queued: map[string]func() bool{}, failures: map[string]tries{}, deaths: map[string]tries{},
	}
	d.elsewhere, d.missed, d.remote.asked = map[string]int64{}, map[string]missedMessages{}, make(chan struct{})
	if o.EndedElsewhere == nil {
		d.options.EndedElsewhere = func(*journal.RunInfo, *journal.Event) {}
	}
	d.ctx, d.end = context.WithCancelCause(context.Background())
	return d
}

// noteQueued keeps how a run is taken out of the queue, unless its turn has come already.
func (d *Dispatcher) noteQueued(id string, withdraw func() bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.known[id] != nil {
		d.queued[id] = withdraw
	}
}

// withdrawRun takes a run out of the queue here, if it is in it: it has been cancelled.
func (d *Dispatcher) withdrawRun(id string) {
	d.mu.Lock()
	withdraw := d.queued[id]
	d.mu.Unlock()
	if withdraw != nil && withdraw() {
		d.forgetRun(id)
	}
}

// registerRun makes a run known here, so that recovery leaves it alone.
func (d *Dispatcher) registerRun(id string) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.stopping {
		return ErrStopping
	}
	if d.known[id] != nil {
		return ErrAtWork
	}
	d.known[id] = make(chan struct{})
	return nil
}

// endGrace is how long a run may be at work here after its last event.
const endGrace = 5 * time.Second

// registerEnded is [Dispatcher.registerRun] for a resumed run. One whose last event is in the journal already may
// be at work here for a moment longer, which it waits for.
func (d *Dispatcher) registerEnded(ctx context.Context, info *journal.RunInfo) error {
	ctx, cancel := context.WithTimeout(ctx, endGrace)
	defer cancel()
	for {
		err := d.registerRun(info.ID)
		if !errors.Is(err, ErrAtWork) || info.State == journal.RunRunning {
			return err
		}
		d.mu.Lock()
		ended := d.known[info.ID]
		d.mu.Unlock()
		if ended == nil {
			continue
		}
		select {
		case <-ended:
		case <-ctx.Done():
			return err
		}
	}
}

func (d *Dispatcher) isKnown(id string) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.known[id] != nil
}

// forgetRun undoes registerRun: the run has ended here, or does not begin.
func (d *Dispatcher) forgetRun(id string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if known := d.known[id]; known != nil {
		close(known)
	}
	delete(d.known, id)
	delete(d.queued, id)
	delete(d.active, id)
}

// dropRun forgets a registered run that does not begin here, and releases the slot that its user has for it.
func (d *Dispatcher) dropRun(id, user string) {
	d.forgetRun(id)
	d.slots.release(user)
}

// launchRun carries a run out in a goroutine, which releases the user's slot at its end. It returns once the run
// has begun, or continued with all of its answers, and that is durable, or with the error that came instead.
func (d *Dispatcher) launchRun(id, user string, session *service.Session, cancel context.CancelCauseFunc, events iter.Seq2[*journal.Event, error]) error {
	d.mu.Lock()
	isStopping := d.stopping
	if !isStopping {
		d.active[id] = cancel
		d.runs.Add(1)
	}
	d.mu.Unlock()
	if isStopping {
		d.dropRun(id, user)
		cancel(nil)
		return ErrStopping
	}
	begun := make(chan error, 1)
	go func() {
		defer d.runs.Done()
		defer d.slots.release(user)
		defer cancel(nil)
		d.carryOut(id, session, events, begun)
	}()
	return <-begun // soon, even if the caller leaves: then it can cancel the run
}

// carryOut publishes the events of a session. begun gets nil with the first of them after the answers,
// or the error that came instead.
func (d *Dispatcher) carryOut(id string, session *service.Session, events iter.Seq2[*journal.Event, error], begun chan<- error) {
	live := d.hub.acquireRun(id)
	defer d.hub.releaseRun(id, live)
	// A reader that has seen the last event may continue the run at once, but not earlier: the frames of two sessions
	// must not mix.
	releaseRun := sync.OnceFunc(func() {
		d.options.Ended(id)
		live.setLocal(false)
		d.forgetRun(id)
	})
	defer d.options.Changed(id)
	defer releaseRun()
	ctx := context.WithoutCancel(d.ctx)
	isShown, hasBegun, hasFailed := false, false, false
	for event, err := range events {
		if err != nil {
			hasFailed = true
			if hasBegun {
				d.logEnd(id, err)
			} else {
				begun <- err // the caller reports it; the run is unchanged
			}
			break
		}
		if !isShown {
			isShown = true
			live.setLocal(true)
		}
		d.options.Observe(session, event)
		d.publishEvent(live, event)
		if event.StopsRun() {
			releaseRun()
		}
		if !hasBegun && event.Type != journal.StepAnswered { // the last of the answers is safe too
			hasBegun = true
			d.clearFailures(id)
			d.options.Changed(id)
			begun <- nil
		}
	}
	if !hasBegun && !hasFailed {
		begun <- calls.Errorf(calls.Internal, "the run %s ended without an event", id)
	}
	if _, err := session.Close(ctx, 0); err != nil {
		d.options.Log.Warn("closing a run", "run", id, "error", err)
	}
}

// clearFailures resets the count of failed recoveries of a run: it has continued.
func (d *Dispatcher) clearFailures(id string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	delete(d.failures, id)
}

// publishEvent shows an event to the readers of a run. The journal hides the bytes of images from
// readers, so they find an event that may have some there.
func (d *Dispatcher) publishEvent(live *liveRun, e *journal.Event) {
	frame, err := EncodeEvent(e)
	if err != nil {
		d.options.Log.Error("event could not be encoded", "run", e.Run, "error", err)
		live.setLocal(false) // readers find it in the journal, or the same error
		return
	}
	if bytes.Contains(frame.JSON, []byte(";base64,")) {
		live.skipEvent()
		return
	}
	live.publishFrame(frame)
}

// logEnd logs the end of a run if its journal does not have it.
func (d *Dispatcher) logEnd(id string, err error) {
	var failure *scheduler.Failure
	var waiting *scheduler.Waiting
	var held *journal.HeldError // the one that holds it carries it out
	if errors.As(err, &failure) || errors.As(err, &waiting) || errors.As(err, &held) {
		return
	}
	d.options.Log.Error("run failed", "run", id, "error", err)
}

// continuation is [service.ResumeWith] with the reasons of the dispatcher itself.
type continuation struct {
	service.ResumeWith
	seen       *int64 // [scheduler.Resumption] Seen
	isRecovery bool   // by the server itself: a lack of this machine is a *[service.MissingError], not an error of the run
}

// continueRun continues a registered run that has a slot.
func (d *Dispatcher) continueRun(ctx context.Context, p service.Principal, id, user string, with continuation) error {
	session, _, err := d.service.ReopenSession(ctx, p, service.ResumeRequest{Run: id, Flow: with.Flow})
	if with.isRecovery {
		if err == nil {
			err = session.CheckParts()
		}
		err = service.AsMissing(err)
	}
	if err != nil {
		d.dropRun(id, user)
		return err
	}
	runCtx, cancel := context.WithCancelCause(d.ctx)
	events := session.Continue(runCtx, scheduler.Resumption{Answers: with.Answers, Flow: with.Flow, Seen: with.seen})
	return d.launchRun(id, user, session, cancel, events)
}

// Load returns how many runs are at work and how many wait for their turn.
func (d *Dispatcher) Load() (active, queued int) { return d.slots.counts() }

// IsStopping reports whether [Dispatcher.Close] was called.
func (d *Dispatcher) IsStopping() bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.stopping
}

// Close accepts no more runs, waits for those at work until ctx ends, and hands over the rest: the next process
// continues them.
func (d *Dispatcher) Close(ctx context.Context) {
	d.mu.Lock()
	d.stopping = true
	d.mu.Unlock()
	done := make(chan struct{})
	go func() {
		d.runs.Wait()
		close(done)
	}()
	select {
	case <-done:
	case <-ctx.Done():
	}
	d.end(scheduler.ErrHandOver)
	<-done
}
