package calls

import (
	"context"
	"errors"
	"io/fs"
	"iter"
	"log/slog"
	"math/rand/v2"
	"net/http"
	"time"

	"github.com/callnode/scheduler/calls/schema"
	"github.com/callnode/scheduler/llm"
	"github.com/callnode/scheduler/llm/value"
	"github.com/callnode/scheduler/plugins"
)

// Env is what a call may use. Every field has a working value: [NewEnv] gives
// the quiet ones, the engine the real ones, callstest the fakes. An Env and its
// Vars are the call's until the sequence of Exec ends: after that the engine gives
// them to other steps.
type Env struct {
	// LLM is the model provider of the flow. The engine meters it: what a call
	// spends is counted for its step and against the flow's budget.
	LLM llm.Provider
	// Memory is the store of what was said before.
	Memory Memory
	// Functions finds importance functions and resolvers by name.
	Functions Functions
	// Flows runs sub-flows.
	Flows Flows
	// Calls runs other calls, for calls that hand out work.
	Calls Calls
	// Recorder keeps finished pieces of the call's work, so that a step that is tried
	// again, or resumed, does not do them again: use it by [Once]. nil: there is no
	// run to keep them with.
	Recorder Recorder
	// HTTP sends requests to the hosts that the settings allow.
	HTTP HTTP
	// Clock is the run's clock; nothing else tells the time.
	Clock func() time.Time
	// Rand is seeded by the run and the step, so that a run can be replayed. It is
	// not safe for concurrent use.
	Rand *rand.Rand
	// Tokens counts tokens by the vocabulary of the model in use.
	Tokens llm.Counter
	// Log is for people who look for a fault. Secrets do not belong there.
	Log *slog.Logger
	// Dir is the directory that relative paths of parameters start from: that of
	// the flow file.
	Dir string
	// MediaRoots are directories, beside a call's own workspace, from which media
	// files may be read.
	MediaRoots []string
	// Languages holds texts of calls in further languages, or instead of the
	// built-in ones: LANGUAGE/CALL/NAME.txt. nil: there are none.
	Languages fs.FS
	// Path is where in the run the call is: step, step[3] for an item, outer/inner in
	// a sub-flow, step/name-1 for what a call does inside its step. "" outside of a
	// flow.
	Path string
	// Vars is what the step sees, the same as Init got.
	Vars *Vars
}

// IdempotencyKey names this use of the call in this run. It is the same when the
// step is tried again, by the same process or by one that resumes the run: a
// service that knows such keys does the work once. "" outside of a flow.
func (e *Env) IdempotencyKey() string {
	if e.Path == "" {
		return ""
	}
	return e.Vars.Run.ID + "/" + e.Path
}

// Memory is what calls need of a memory store; calls/memory has the whole.
type Memory interface {
	// Recent is the newest utterances of a scope, oldest first, at most limit.
	Recent(ctx context.Context, scope Scope, limit int) ([]plugins.Turn, error)
	// Retrieve is the memories of a scope that matter for query, best first, at
	// most limit.
	Retrieve(ctx context.Context, scope Scope, query string, limit int) ([]plugins.Recalled, error)
}

// Functions finds what is registered by name: a built-in one has a plain name,
// that of a plugin is plugin.function.
type Functions interface {
	Importance(name string) (plugins.Importance, bool)
	// Resolver is the one that gives values to that variable name.
	Resolver(variable string) (plugins.Resolver, bool)
	// Names lists what exists, sorted, for messages.
	ImportanceNames() []string
	VariableNames() []string
}

// Flows runs a flow inside a run.
type Flows interface {
	// RunFlow runs the flow file at path, relative to the running flow, and gives
	// its outputs. Events of its steps belong to the outer run.
	RunFlow(ctx context.Context, path string, inputs value.Value) (outputs value.Value, err error)
}

// FlowInfo is what a flow says about itself.
type FlowInfo struct {
	Name, Description string
	// Inputs is the schema of its inputs, nil where nothing is known.
	Inputs *schema.Schema
}

// FlowDescriber is implemented by [Flows] that can describe a flow without running
// it.
type FlowDescriber interface {
	// DescribeFlow reads the flow file at path, relative to the running flow.
	DescribeFlow(ctx context.Context, path string) (FlowInfo, error)
}

// Calls runs calls by name inside a step.
type Calls interface {
	// Find gives a call by name.
	Find(name string) (Definition, bool)
	// RunCall checks params, which are taken as they are, runs the call to its end
	// and gives its output. What it spends counts for the step; its events belong
	// to the run.
	RunCall(ctx context.Context, name string, params value.Value) (output value.Value, err error)
}

// HTTP sends a request and gives the answer, as an [*http.Client] does. Which
// hosts may be reached is up to the implementation, and it looks at redirects too.
type HTTP interface {
	Do(req *http.Request) (*http.Response, error)
}

// NewEnv gives an Env in which nothing is there: no model, no memory, no
// functions, no flows, no calls, no network. The clock is the machine's, tokens are a quarter of the
// bytes.
func NewEnv() *Env {
	return &Env{
		LLM:       noLLM{},
		Memory:    noMemory{},
		Functions: (*Registry)(nil),
		Flows:     noFlows{},
		Calls:     noCalls{},
		HTTP:      noHTTP{},
		Clock:     time.Now,
		Rand:      rand.New(rand.NewPCG(0, 0)),
		Tokens:    byteCounter{},
		Log:       slog.New(slog.DiscardHandler),
		Dir:       ".",
		Vars:      &Vars{},
	}
}

// ErrNoProvider is the error below that of a model that was never set up.
var ErrNoProvider = errors.New("no model provider is configured")

type noLLM struct{}

func (noLLM) Chat(context.Context, *llm.Request) iter.Seq2[llm.Delta, error] {
	return func(yield func(llm.Delta, error) bool) {
		yield(llm.Delta{}, &llm.Error{
			Err:  ErrNoProvider,
			Hint: "set llm.providers in scheduler.yaml, or keep a cassette beside the flow",
		})
	}
}

type noMemory struct{}

func (noMemory) Recent(context.Context, Scope, int) ([]plugins.Turn, error) { return nil, nil }
func (noMemory) Retrieve(context.Context, Scope, string, int) ([]plugins.Recalled, error) {
	return nil, nil
}

type noFlows struct{}

func (noFlows) RunFlow(context.Context, string, value.Value) (value.Value, error) {
	return value.Value{}, Errorf(Invalid, "sub-flows run only inside a flow")
}

type noCalls struct{}

func (noCalls) Find(string) (Definition, bool) { return Definition{}, false }

func (noCalls) RunCall(_ context.Context, name string, _ value.Value) (value.Value, error) {
	return value.Value{}, Errorf(NotFound, "the call %s cannot be run from here", name)
}

type noHTTP struct{}

func (noHTTP) Do(req *http.Request) (*http.Response, error) {
	return nil, Errorf(Invalid, "there is no network here to reach %s", req.URL.Host)
}

// byteCounter over-estimates nothing and knows nothing: four bytes a token.
type byteCounter struct{}

func (byteCounter) Count(text string) int { return (len(text) + 3) / 4 }
