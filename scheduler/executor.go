package scheduler

import (
	"cmp"
	"context"
	"iter"
	"time"

	"github.com/google/uuid"

	"github.com/callnode/scheduler/calls"
	"github.com/callnode/scheduler/llm"
	"github.com/callnode/scheduler/llm/value"
	"github.com/callnode/scheduler/llm/value/secret"
	"github.com/callnode/scheduler/llm/value/wording"
	"github.com/callnode/scheduler/scheduler/flow"
	"github.com/callnode/scheduler/scheduler/internal/budget"
	"github.com/callnode/scheduler/scheduler/journal"
)

// StepExecutor runs flows. Its zero value works: it has no model, no memory and no functions, and uses the
// machine's clock. Set the fields before the first Run; many runs may share one StepExecutor.
type StepExecutor struct {
	// Env is the template of the calls' environment; nil is [calls.NewEnv]. Every step gets a copy with the Loader's
	// Registry, a metered LLM, the random numbers of its own, its Vars, the directory of its flow file and a runner
	// of sub-flows.
	Env *calls.Env
	// Loader is the loader of the flows. Calls find things by name in its Registry; it loads sub-flows whose path is
	// only known in a run, and the flows of runs that are resumed. nil: there are no names, such sub-flows are
	// refused, and [StepExecutor.Resume] fails.
	Loader *flow.Loader
	// Models finds the model providers of the names that a flow or a step has under llm, in the order in which they
	// are asked; no names mean the default. It is called once for each flow, and for each step with names of its own.
	// nil: Env's provider answers all.
	Models func(names []string) ([]llm.Candidate, error)
	// LLM are the names of the model providers of flows that name none, for a run that another one
	// waits for; empty is the default.
	LLM []string
	// Secrets returns the value of secrets.NAME, and reports whether the configuration
	// allows it. nil allows none. Values never appear in events.
	Secrets func(name string) (string, bool)
	// Keys returns the keys that the program itself signs in with at providers and other servers: an answer may
	// repeat one, and no event shows it. nil: it has none.
	Keys func() []string
	// Hidden receives the secrets that runs use, and values computed from them: for logs and cassettes. It may be
	// nil.
	Hidden *secret.Set
	// Language is the language of flows that name none.
	Language string
	// Zone is the time zone of the clock of flows that name none; nil is the zone of the clock's times.
	Zone *time.Location
	// UserZone returns the time zone of a user, nil for a user without one: it comes before Zone. It may be nil.
	UserZone func(user string) *time.Location
	// Question returns the words in which people are asked for a place: a model that reads their answer gets them
	// too. nil: it does not.
	Question func(language string, place journal.AskedPlace) string
	// NewRunID makes the id of a run; nil makes a UUID of version 7.
	NewRunID func() string
	// Seed, with the step's id and the item's index, seeds the random numbers that a
	// call sees: the same seed gives every run the same numbers. With 0 the run's id
	// is the seed.
	Seed uint64
	// MaxParallel limits the steps and items of one flow that run at once; 0 is 64.
	MaxParallel int
	// MaxSteps limits the number of steps that a run begins in all, including items, the steps of its sub-flows and
	// the parts that steps run inside themselves; 0 is 100,000. A run that needs more fails with an error of kind
	// Budget.
	MaxSteps int
	// MaxOutputBytes limits the outputs that a run holds at once: of its steps, of the items of a for_each, and of a
	// sub-flow until it ends; 0 is 256 MiB.
	MaxOutputBytes int64
	// Until is the step at which a run stops: its path, as outer/inner in a sub-flow or each[3] for an
	// item; without the number it is each of the items. Only the steps before it run, and it stops once its prompt is
	// made, before a model is asked; a step that asks none, when it is over. The run ends with flow.cancelled and
	// [ErrUntil]. "" runs to the end.
	Until string
	// Approvals are those that the settings ask for, in every flow.
	Approvals []flow.CallApproval
	// Elsewhere carries out, as runs of their own, the flows that steps run and that have a queue;
	// nil: this process does.
	Elsewhere Elsewhere
	// Conversation is the list of messages that the caller of a new run sent before the question;
	// null is none. Sub-flows see it too.
	Conversation value.Value
	// MaxTokens bounds a run beside the budget of its flow, 0 by nothing: for a run that another
	// one waits for.
	MaxTokens int
	// Tape records the answers that the run gets from outside, or plays them; nil: neither. It is for one run. Models
	// are recorded by their own providers, which learn by [llm.AskerOf] which step asks.
	Tape Tape
	// Start is how the run begins that Tape records or plays; nil: as the other fields say.
	Start *RecordedStart
	// Interceptor is called between steps and their calls, for tests of flows; nil: nothing does.
	Interceptor Interceptor
	// OnRequest is called with each request to a model before it is sent, also with one that Until holds back; path
	// is the asking call's, as in [calls.Env]. It may be called concurrently and must not change the request; nil: it
	// is not called.
	OnRequest func(path string, req *llm.Request)
	// Strict fails a run at its end if a step has given a warning, or has failed with on_error: continue.
	Strict bool
	// CancelGrace limits the wait for steps that were told to stop; 0 is 5 s. Steps that have not stopped by then are
	// abandoned with a warning in the log.
	CancelGrace time.Duration
	// Drain, once it is closed, makes runs begin no further step of their own: running steps come to their end, then
	// the run is handed over as with [ErrHandOver]. nil: never.
	Drain <-chan struct{}
	// Sleep waits between attempts, or until ctx ends; nil is a timer.
	Sleep func(ctx context.Context, d time.Duration) error
	// Stopwatch is the clock for measuring durations, independent of the run's clock; nil is the machine's.
	Stopwatch func() time.Time
	// Journal records the runs, so that they can be resumed; nil: nothing is kept.
	Journal journal.Journal
	// Durability is the mode of new runs; "" is [journal.Sync].
	Durability journal.Durability
	// Owner is the owner of the runs, new and resumed ones.
	Owner Owner
	// Labels are the labels of new runs in the journal, by which they are found.
	Labels map[string]string
	// Program is the version of the program, kept with every new run.
	Program string
	// Worker is this process if it is a server or a worker: events name it when it begins or continues a run. nil:
	// they name none.
	Worker *journal.Process
	// Root is the folder of the project: the journal keeps paths of flow files in it as relative ones, so that a
	// process on another machine, with another Root, can continue the run. "" keeps absolute paths.
	Root string
	// Options are kept with every new run: see [journal.RunHeader].
	Options value.Value
}

// Tape is a [calls.Tape] of a run. The program makes it, of a cassette. It lives as long as the run: Begin when
// that begins, and each time it continues; exchanges from any goroutine; End when it has ended, waits or was
// stopped.
type Tape interface {
	calls.Tape
	// Begin receives the id of the run, how often it was resumed before, and the time of its clock.
	Begin(id string, part int, now time.Time)
	// End receives whether the run has finished; else it waits, was stopped, or has failed.
	End(isWhole bool) error
}

// RecordedStart is how a run begins that is recorded or played. The program makes it; it does not change.
type RecordedStart struct {
	// ID is the id of a played run; "" for one that is recorded.
	ID string
	// Now is the time at which its clock stands, Seed the seed of its random numbers. StartedAt is the clock's time
	// when the run began, for one that is resumed; it is zero if that is not known.
	Now, StartedAt time.Time
	Seed           uint64
	// Language is the language of flows that name none; "" if not known.
	Language string
}

// Interceptor is called between the steps of runs and their calls. Tests of flows have one, for a run; it is safe
// for concurrent use.
type Interceptor interface {
	// Exec returns the output of a call in place of its work; nil lets it work. It is called when the input is
	// recorded. The output is checked like the call's own.
	Exec(ctx context.Context, use *CallUse) iter.Seq2[calls.Chunk, error]
}

// StepProvider is a model that answers each step by its own: ForStep is given the path that [calls.Env] has.
type StepProvider interface {
	llm.Provider
	ForStep(path string) llm.Provider
}

// CallUse is a use of a call that an [Interceptor] gets. The engine makes it for each attempt; it is only data.
type CallUse struct {
	// Path is its place in the run, as in [calls.Env], and Item the index of an item, else -1.
	Path string
	Item int
	// Inside is set for a part that a call runs inside its step: STEP/NAME-N.
	Inside bool
	Info   *calls.Info
	Params value.Value
	Input  value.Value
}

// Elsewhere carries flows that have a queue, and that steps run, out as runs of their own on other
// machines. The program makes one for each run; it is safe for concurrent use.
type Elsewhere interface {
	// RunChild begins the run, or continues it if the journal has it, and returns its end, or its state when it
	// waits. One that failed before is tried again. When ctx ends the run is cancelled, unless the cause is
	// [ErrHandOver]: then it continues, and a later RunChild finds it.
	RunChild(ctx context.Context, child *ChildRun) (*ChildEnd, error)
}

// ChildRun is a flow that a step runs as a run of its own. The engine makes one for each
// attempt of the step; it is only data.
type ChildRun struct {
	// ID is the run's: the same for each attempt of the step, in each process, as long as the flow and its inputs are
	// the same. Former is the id of the run that the step waited for before these changed; "" for none.
	ID, Former string
	// Queue is the queue in which it waits for a worker.
	Queue  string
	Flow   *flow.Flow
	Inputs value.Value
	// Language and LLM are the step's, used for a flow that names none.
	Language string
	LLM      []string
	// Conversation is the conversation of the run around it.
	Conversation value.Value
	// MaxTokens is the rest of the budgets around it; 0 is no limit.
	MaxTokens int
	// Answers are for steps of the child that wait. Some may have reached it already.
	Answers []Answer
	// Hint receives the reason why the run is delayed; after RunChild has returned it does nothing.
	Hint func(wording.Text)
}

// ChildEnd is the end of a child run, or its state when it waits. An [Elsewhere] makes it; it is only data.
type ChildEnd struct {
	State *journal.RunState
	// Spent is its usage since it last ended or began to wait.
	Spent llm.Usage
}

const (
	defaultParallel       = 64
	defaultMaxSteps       = 100_000
	defaultMaxOutputBytes = 256 << 20
	defaultGrace          = 5 * time.Second
)

// Owner is the user whose run it is: run.user in templates, and the label owner in the
// journal.
type Owner struct {
	User string
	// Bound is true if the user must not use other users' memories: a flow that works in the memory of another user,
	// or runs one that does, is refused before its first step with an error of kind Invalid.
	Bound bool
}

// registry returns the registry in which flows and calls find names; nil: they find none.
func (e *StepExecutor) registry() *calls.Registry {
	if e.Loader == nil {
		return nil
	}
	return e.Loader.Registry
}

func (e *StepExecutor) maxParallel() int {
	if e.MaxParallel > 0 {
		return e.MaxParallel
	}
	return defaultParallel
}

// newBounds returns the bounds of a run.
func (e *StepExecutor) newBounds() *budget.Bounds {
	return budget.NewBounds(cmp.Or(int64(e.MaxSteps), defaultMaxSteps), cmp.Or(e.MaxOutputBytes, defaultMaxOutputBytes))
}

func (e *StepExecutor) gracePeriod() time.Duration {
	if e.CancelGrace > 0 {
		return e.CancelGrace
	}
	return defaultGrace
}

// elapsed returns the time by the stopwatch.
func (e *StepExecutor) elapsed() time.Time {
	if e.Stopwatch != nil {
		return e.Stopwatch()
	}
	return time.Now()
}

func (e *StepExecutor) runID() string {
	if e.NewRunID != nil {
		return e.NewRunID()
	}
	return uuid.Must(uuid.NewV7()).String()
}

func (e *StepExecutor) sleep(ctx context.Context, d time.Duration) error {
	if e.Sleep != nil {
		return e.Sleep(ctx, d)
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
