package scheduler

import (
	"context"
	"sync"
	"time"

	"github.com/callnode/scheduler/calls"
	"github.com/callnode/scheduler/llm/value"
	"github.com/callnode/scheduler/llm/value/span"
	"github.com/callnode/scheduler/scheduler/flow"
	"github.com/callnode/scheduler/scheduler/internal/budget"
	"github.com/callnode/scheduler/scheduler/internal/eventlog"
	"github.com/callnode/scheduler/scheduler/internal/order"
	"github.com/callnode/scheduler/scheduler/journal"
)

// run is one flow being run: the whole run, or a sub-flow inside it. It lives from its start until done is closed;
// an abandoned step may still refer to it. Its lock is taken before the event log's, never after, and never
// together with the lock of another run.
type run struct {
	exec *StepExecutor
	flow *flow.Flow
	// outer is the step that runs this flow as a sub-flow; nil for the whole run.
	outer *task
	// prefix precedes the ids of steps in events: "" or "outer/".
	prefix string
	depth  int
	*shared
	env     calls.Env
	vars    calls.Vars
	models  runModels
	meter   budget.Meter
	earlier earlier
	life    lifetime
	isChild bool // another run waits for its outputs
	// isZoneNamed is set if the flow, or one around it, names the time zone.
	isZoneNamed bool
	began       time.Time     // by the stopwatch
	held        budget.Holder // the outputs in states
	until       *stopPoint    // nil if it runs to its end
	done        chan struct{}

	mu sync.Mutex

	// The following fields are guarded by mu.

	// now is when the lock was taken, the time of the events that are emitted under it.
	now     time.Time
	states  []state
	order   *order.Machine
	workers int
	active  []*task
	idle    []*task // that can be used again
	events  eventPool
	// unsavedSteps counts the steps whose end the journal does not have yet.
	unsavedSteps int
	phase        phase
	result       result
}

// shared is the state that the whole run and its sub-flows share.
type shared struct {
	log     *eventlog.Log
	secrets *secrets
	bounds  *budget.Bounds
	flows   *subflowLoader
	memory  calls.Memory // of flows that name one
	waits   waitingSteps
	warned  warnedSteps
	part    int // how often the run was resumed
}

// warnedSteps are the steps of a whole run that have given a warning, or have failed with
// on_error: continue.
type warnedSteps struct {
	mu    sync.Mutex
	paths map[string]bool
}

func (w *warnedSteps) add(path string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.paths == nil {
		w.paths = map[string]bool{}
	}
	w.paths[path] = true
}

func (w *warnedSteps) remove(path string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	delete(w.paths, path)
}

// lifetime is how long a run may take: until parent ends, and the steps have stopped.
type lifetime struct {
	parent context.Context
	// handOver ends parent with [ErrHandOver].
	handOver context.CancelCauseFunc
	// ctx is the context of the steps.
	ctx    context.Context
	cancel context.CancelCauseFunc
	// unwatch ends the journal's watch over the run, nil without one; ignore that over
	// parent.
	unwatch context.CancelFunc
	ignore  func() bool
	// gracePeriod is how long steps may take to stop, shorter in a sub-flow so that it
	// is over before the step around it is left behind.
	gracePeriod time.Duration
	grace       *time.Timer // guarded by run.mu
}

// phase is the progress of a run.
type phase uint8

const (
	running  phase = iota
	stopping       // no further step starts
	ending         // the last worker is at the end of the flow, or its steps are left behind
	over           // done is closed
)

// result is how a run ended. Once it is ending, only its last worker writes it.
type result struct {
	failure   *Failure
	cancelled bool
	// suspended means that a step waits for values; the whole run then ends with waiting.
	suspended bool
	waiting   *Waiting
	outputs   value.Value
	spans     span.Record // of the outputs
}

// state is a run's data about a step, besides its place in the order.
type state struct {
	input  value.Value
	output value.Value
	reason string // why it was skipped
	each   *fanOut
}

// fanOut is the data about the items of a step that runs once per item of a list; the items are jobs like any
// other. The engine makes one when the step fans out, for as long as an item is left. The lock of its run guards
// it.
type fanOut struct {
	items    []value.Value
	inputs   []value.Value
	outputs  []value.Value
	resolved map[string]value.Value
	masked   []string // the masked values in them: see earlier.masked
	meter    budget.Meter
	began    time.Time // by the stopwatch
}

// earlier is the work of earlier processes on a run.
type earlier struct {
	// read has the answers with which the run continues, including values read from messages of the user.
	read []Answer
	// state is nil for a new run, and for a sub-flow whose inputs are others than then.
	state *journal.RunState
	// interrupted means that the last of them died while carrying it out.
	interrupted bool
	// masked has the places in the outputs of steps from which secrets were removed, by step; guarded by run.mu. lost
	// has the places in the inputs.
	masked map[int][]string
	lost   []string
	// answers are the answers with which the run begins.
	answers []*pendingEvent
}

// lockWithRoom locks the run, to emit events, once the event log has room.
func (r *run) lockWithRoom() {
	r.log.WaitForRoom()
	r.lockToEmit()
}

// lockToEmit locks the run, to emit events, and reads the clock once for all of them.
func (r *run) lockToEmit() {
	r.mu.Lock()
	r.now = r.eventTime()
}

// eventTime returns the time that events carry: the time of the run's clock. That clock is stopped in a run that
// is recorded or played; the events of such a run carry the real time.
func (r *run) eventTime() time.Time {
	if r.exec.Start != nil {
		return r.exec.elapsed()
	}
	return r.env.Clock()
}

// emitLocked appends an event to the log.
func (r *run) emitLocked(ev *journal.Event) {
	ev.Run, ev.Time = r.vars.Run.ID, r.now
	r.log.Append(ev)
}

// holdOutput counts an output that the run holds until its end. The error is one of an exceeded limit.
func (r *run) holdOutput(output value.Value) error { return r.held.Hold(budget.SizeOf(output)) }
