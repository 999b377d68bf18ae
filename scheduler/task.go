package scheduler

import (
	"context"
	"hash/fnv"
	"math/rand/v2"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/callnode/scheduler/calls"
	"github.com/callnode/scheduler/llm/value"
	"github.com/callnode/scheduler/llm/value/span"
	"github.com/callnode/scheduler/scheduler/flow"
	"github.com/callnode/scheduler/scheduler/internal/budget"
	"github.com/callnode/scheduler/scheduler/internal/order"
	"github.com/callnode/scheduler/scheduler/journal"
)

// task is one step, or one item of it, being run. A worker takes an idle one for each job, and gives it back when
// its outcome was handled; newSubstep makes the tasks of pseudo-steps, which are not reused. It is also the call's
// interface to the engine: [calls.Substeps], [calls.Warner]. While the call runs, the task belongs to the
// goroutine that runs it: other goroutines may only use fields that have their own lock, are atomic, or are marked
// as guarded.
type task struct {
	run         *run
	step        *flow.Step
	item        int // -1: the step itself
	id          string
	activeIndex int // the place in run.active
	vars        calls.Vars
	env         calls.Env
	// models is env.LLM, rand with its source env.Rand, upstream vars.Upstream; they live
	// here, as collector does, to save allocations.
	models    taskModels
	rand      rand.Rand
	random    randomSource
	upstream  upstream
	collector outputCollector
	meter     budget.Meter
	held      budget.Holder // the memory it holds until its end
	requests  requests
	names     scope
	began     time.Time // by the stopwatch
	events    *taskEvents

	params   value.Value
	traced   tracedValue // params as rendered
	prepared bool        // params are rendered and checked
	// flowSpans are the spans of the outputs of the flow that the call flow has run.
	flowSpans  span.Record
	leave      string // the call that a person was asked about, in a piece of work that runs it as a tool
	input      value.Value
	shown      bool // step.input was emitted
	leftBehind bool // guarded by run.mu
	// around is the step that runs this one inside itself, substeps has the ones that this one runs; filled means
	// that one of them was for its parameters.
	around   *task
	substeps substeps
	filled   bool
	// isShared means that a flow or a piece of work inside this step refers to the task; abandoned ones may do so for
	// long.
	isShared atomic.Bool
	// suspended: a flow that the call runs waits for values.
	suspended atomic.Bool
	// atUntil: it has stopped at [StepExecutor] Until, before its model was asked.
	atUntil atomic.Bool
	warned  atomic.Int32 // how many warnings this attempt has given
}

// newTaskLocked returns the task of a job. It does little: the rest is for fillIn.
func (r *run) newTaskLocked(j order.Job) *task {
	step := r.flow.Steps[j.Step]
	var t *task
	if last := len(r.idle) - 1; last < 0 {
		t = &task{}
	} else {
		t = r.idle[last]
		r.idle = r.idle[:last]
	}
	t.events = r.events.take()
	t.run, t.step, t.item, t.id = r, step, j.Item, step.ID
	if r.prefix != "" {
		t.id = r.prefix + step.ID
	}
	outer := &r.meter
	t.began = r.exec.elapsed()
	if j.Item >= 0 {
		e := r.states[j.Step].each
		outer = &e.meter
		t.vars.Resolved = e.resolved
		t.names.item = &e.items[j.Item]
	}
	t.meter.SetOuter(outer)
	t.held.SetUp(r.bounds, &r.held)
	return t
}

// recycleLocked keeps a task whose outcome was handled for another job, unless something may still refer to it:
// work that it ran inside itself, or an abandoned call.
func (r *run) recycleLocked(t *task, status order.Status) {
	if status == order.Finished && !t.leftBehind && !t.isShared.Load() {
		*t = task{}
		r.idle = append(r.idle, t)
	}
}

// mustDecide reports whether the step has a condition or a list of items to find out before
// it starts.
func (t *task) mustDecide() bool {
	hasQuestion := t.step.When != nil || t.step.ForEach != nil
	return t.item < 0 && hasQuestion
}

// emitStartedLocked records that the step, or an item of it, starts.
func (t *task) emitStartedLocked() {
	n := &t.events.started
	n.event.Type, n.event.Data = journal.StepStarted, t.run.events.startedData(t.step.Call, t.toUser())
	n.setPlace(t.id, t.item)
	t.run.emitLocked(&n.event)
	t.vars.Now = n.event.Time
	if t.run.exec.Start != nil { // events do not use the clock
		t.vars.Now = t.run.env.Clock()
	}
}

// toUser reports whether the task's text is for the user: a sub-flow's text is only if the step around it talks to
// the user too.
func (t *task) toUser() bool {
	return t.step.ToUser && (t.run.outer == nil || t.run.outer.toUser())
}

// scope returns the scope of the step's templates.
func (t *task) scope(ctx context.Context) *scope {
	t.names.ctx = ctx
	if t.names.params == nil {
		t.names.params = []*flow.Param{t.step.When, t.step.ForEach, t.step.With}
		if t.step.Approve != nil {
			t.names.params = append(t.names.params, t.step.Approve.Params()...)
		}
	}
	return &t.names
}

// orBound returns the error of a bound of the run that was met inside the task, whatever its
// call made of it, and else err.
func (t *task) orBound(err error) error {
	bound := t.held.Exceeded()
	if bound == nil || budget.IsExceeded(err) {
		return err
	}
	return bound
}

// emit appends an event of the task to the log, unless the task was left behind.
func (t *task) emit(n *pendingEvent) {
	t.run.lockWithRoom()
	defer t.run.mu.Unlock()
	t.emitLocked(n)
}

func (t *task) emitLocked(n *pendingEvent) {
	if !t.isLeftBehindLocked() && t.run.phase < ending {
		n.setPlace(t.id, t.item)
		t.run.emitLocked(&n.event)
	}
}

// isLeftBehindLocked reports whether the task, or one around it, was left behind.
func (t *task) isLeftBehindLocked() bool {
	return t.leftBehind || t.around != nil && t.around.isLeftBehindLocked()
}

// path returns the step in messages: outer[3]/inner.
func (t *task) path() string {
	if t.item < 0 {
		return t.id
	}
	return t.id + "[" + strconv.Itoa(t.item) + "]"
}

// outermostTask returns the step of the flow that the task is a part of.
func (t *task) outermostTask() *task {
	for t.around != nil {
		t = t.around
	}
	return t
}

// suspendAll makes the task and the tasks around it wait.
func (t *task) suspendAll() {
	for around := t; around != nil; around = around.around {
		around.suspended.Store(true)
	}
}

// recordedState returns the state of the task from earlier processes; nil if they did nothing.
func (t *task) recordedState() *journal.StepState {
	if t.run.earlier.state == nil {
		return nil
	}
	return t.run.earlier.state.Step(t.path())
}

// addCosts adds the cost and the prompts to models to the event of a task's end.
func (t *task) addCosts(n *pendingEvent) {
	n.setUsage(t.meter.Usage())
	given := t
	for given.params.IsNull() && given.around != nil { // a piece of a call's work has its parameters
		given = given.around
	}
	t.requests.addTo(n, partsMask{t.run.secrets, given.params})
}

// substeps has the pseudo-steps inside a task.
type substeps struct {
	mu sync.Mutex
	// counts has the number of uses of each name by this attempt.
	counts map[string]int
	// finished has the results that later attempts may use, by id; nil if there are none. The outermost task has it
	// for all inside.
	finished map[string]substep
}

// substep is something that has finished.
type substep struct {
	name           string
	params, output value.Value
}

// nextNumber returns the number of the next piece of that name.
func (p *substeps) nextNumber(name string) int {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.counts == nil {
		p.counts = map[string]int{}
	}
	p.counts[name]++
	return p.counts[name]
}

// startAttempt restarts the count for an attempt: after slot's number, if slot has filled the parameters before.
// keep reports that there may be further attempts.
func (p *substeps) startAttempt(filled, keep bool) {
	p.mu.Lock()
	p.counts = nil
	if p.finished == nil && keep {
		p.finished = map[string]substep{}
	}
	p.mu.Unlock()
	if filled {
		p.nextNumber(flow.CallSlot)
	}
}

// keepFinished keeps a finished result for later attempts, and reports whether there may be one.
func (p *substeps) keepFinished(id string, one substep) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.finished == nil {
		return false
	}
	p.finished[id] = one
	return true
}

func (p *substeps) findFinished(id string) (one substep, ok bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	one, ok = p.finished[id]
	return one, ok
}

// randomSource is a source of the random numbers of a step or an item, seeded when the
// first is wanted. It is not safe for concurrent use.
type randomSource struct {
	task *task
	pcg  *rand.PCG
}

// Uint64 returns the next number.
func (s *randomSource) Uint64() uint64 {
	if s.pcg == nil {
		h, seed := fnv.New64a(), s.task.run.exec.Seed
		if seed == 0 { // every run has numbers of its own
			_, _ = h.Write([]byte(s.task.run.vars.Run.ID))
		}
		_, _ = h.Write([]byte("\x00" + s.task.path()))
		s.pcg = rand.NewPCG(seed, h.Sum64())
	}
	return s.pcg.Uint64()
}
