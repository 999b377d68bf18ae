package calls

import (
	"context"
	"io/fs"
	"iter"
	"log/slog"
	"math/rand/v2"
	"net/http"
	"time"

	"github.com/callnode/scheduler/calls/schema"
	"github.com/callnode/scheduler/llm"
	"github.com/callnode/scheduler/llm/value"
	"github.com/callnode/scheduler/llm/value/wording"
	"github.com/callnode/scheduler/plugins"
)

// Env has everything that a call may use, in groups that calls may pass on separately: [Model], [Knowledge],
// [Substeps], [System] and [Files]. Every field has a working value: [NewEnv] sets values that do nothing, the
// engine the real ones, callstest fakes.
//
// The engine makes an Env for each attempt of a step. It and its Vars are the call's
// until the sequence of Exec ends; after that the engine uses them for other steps.
type Env struct {
	// Vars has the step's variables, the same as for Init.
	Vars *Vars
	// Path is the call's place in the run: step, step[3] for an item, outer/inner in a sub-flow, step/name-1 for a
	// part of a call's work inside its step. "" outside of a flow.
	Path string
	// Warner receives warnings for the user: use it by [Env.Warn]. nil: there is no run to show them in.
	Warner Warner

	Model
	Knowledge
	Substeps
	System
	Files
}

// Model is the language model of a step and the counter of its tokens. Both are safe for
// concurrent use.
type Model struct {
	// LLM is the model provider of the flow. The engine meters it: a call's spending counts for its step and against
	// the flow's budget.
	LLM llm.Provider
	// Tokens counts tokens by the vocabulary of the model in use.
	Tokens llm.Counter
}

// Knowledge has the sources in which a call looks things up. All of it may be used concurrently.
type Knowledge struct {
	// Memory is the store of earlier turns, for a flow that names a memory, else [NoMemory].
	Memory Memory
	// Registry finds calls, importance functions and resolvers by name. The engine
	// sets its own, the one that flows are checked with. nil: nothing has a name.
	Registry *Registry
}

// Substeps is work that the engine does for a call inside its step. All of it may be
// used concurrently.
type Substeps struct {
	// Flows runs sub-flows.
	Flows Flows
	// Calls runs other calls, for calls that hand out work.
	Calls Calls
	// Recorder keeps finished parts of the call's work, so that a step that is tried again, or resumed, does not
	// repeat them: use it by [Once]. nil outside of a run.
	Recorder Recorder
	// Approver asks people whether a tool may be used. nil: no run could wait for them.
	Approver Approver
	// Asker asks people for values. nil: no run could wait for them, or the call does not declare that it may ask
	// ([Info] MayAsk).
	Asker Asker
}

// System is the world outside of the run. All of it but Rand may be used concurrently.
type System struct {
	// HTTP sends requests to the hosts that the settings allow.
	HTTP HTTP
	// Tape records requests to the outside, or plays them; calls that use other protocols than HTTP use it through
	// [Exchange]. nil: the run is not recorded.
	Tape Tape
	// Clock is the run's clock; calls use no other clock.
	Clock func() time.Time
	// Rand is seeded by the run and the step, so that a run can be replayed. It is
	// not safe for concurrent use.
	Rand *rand.Rand
	// Log is for developers searching for a fault. Secrets do not belong there.
	Log *slog.Logger
}

// Files gives a call access to files. The engine sets it by the flow and the settings; it does not change.
type Files struct {
	// Dir is the directory that relative paths of parameters start from: the flow file's.
	Dir string
	// MediaRoots are directories, beside a call's own workspace, from which media
	// files may be read.
	MediaRoots []string
	// Languages holds texts of calls in further languages, or instead of the
	// built-in ones: LANGUAGE/CALL/NAME.txt. nil for the built-in texts alone.
	Languages fs.FS
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

// Recorder keeps finished pieces of a call's work with the run. Calls use it by
// [Once]. The engine makes one for each attempt of a step; it is safe for concurrent use.
type Recorder interface {
	// Once returns the recorded output of the piece, else work's. params has everything that the piece depends on: an
	// output recorded under other params is not used. name is made of lower-case letters, digits, - and _. Work may
	// fail with a [SurvivedError]: its output is kept, and Once returns it without an error.
	Once(ctx context.Context, name string, params value.Value, work Work) (output value.Value, err error)
}

// Work is a piece of a call's work. env is the call's, except that its Path names the piece; requests to its
// model, and calls it runs, belong to the piece.
type Work func(ctx context.Context, env *Env) (output value.Value, err error)

// Memory is the part of a memory store that calls need; calls/memory has the whole. The program gives one to the
// engine for many runs; it is safe for concurrent use.
type Memory interface {
	// Recent returns the newest utterances of a scope, oldest first, at most limit: of its session, or of all
	// sessions of its user.
	Recent(ctx context.Context, scope Scope, limit int) ([]plugins.Turn, error)
	// Retrieve returns the memories of a scope's user that are relevant to query, best first, at most limit. Those of
	// the session count a little more.
	Retrieve(ctx context.Context, scope Scope, query string, limit int) ([]plugins.Recalled, error)
}

// Flows runs a flow inside a run. The engine makes one for each attempt of a step; it is safe
// for concurrent use.
type Flows interface {
	// RunFlow runs the flow file at path, relative to the running flow, and returns
	// its outputs. Events of its steps belong to the outer run.
	RunFlow(ctx context.Context, path string, inputs value.Value) (outputs value.Value, err error)
}

// FlowInfo describes a flow. It is only data.
type FlowInfo struct {
	Name, Description string
	// Inputs is the schema of its inputs; nil if it declares none.
	Inputs *schema.Schema
}

// FlowDescriber is implemented by [Flows] that can describe a flow without running
// it. It is as safe for concurrent use.
type FlowDescriber interface {
	// DescribeFlow describes the flow file at path, relative to the running flow.
	DescribeFlow(ctx context.Context, path string) (FlowInfo, error)
}

// Calls runs calls by name inside a step. The engine makes one for each attempt of a step; it
// is safe for concurrent use.
type Calls interface {
	// RunCall checks params, which are used unchanged, runs the call of that name to its end and returns its output.
	// Its spending counts for the step; its events belong to the run.
	RunCall(ctx context.Context, name string, params value.Value) (output value.Value, err error)
}

// Asker asks people for values inside a step. The engine makes one for each attempt of a step;
// it is safe for concurrent use.
type Asker interface {
	// Ask returns an object of the schema, which must have required properties. Until people have given these, the
	// run waits, and the error has [ErrWaiting]; once they have, the step runs again. So a call must ask in an order
	// that only depends on its input, the outputs of [Once], and earlier answers. why tells people who asks, and for
	// which purpose.
	Ask(ctx context.Context, why string, wanted value.Value) (value.Value, error)
}

// Approver asks people for their leave inside a step. The engine makes one for each attempt of a step, and for each piece of its work;
// it is safe for concurrent use.
type Approver interface {
	// Approve returns the parameters with which the tool may run: those of the use, with the changes of the person. Until a person has
	// decided, the run waits, and the error has [ErrWaiting]. A denial is an error of kind [Denied]. It is to be called inside the piece
	// of work that runs the tool ([Once]), at most once.
	Approve(ctx context.Context, use ApprovalUse) (params value.Value, err error)
}

// HTTP sends a request and returns the response, as an [*http.Client] does. Which
// hosts may be reached is up to the implementation, which checks redirects too. It is
// safe for concurrent use.
type HTTP interface {
	Do(req *http.Request) (*http.Response, error)
}

// NewEnv returns an Env that has nothing: no model, no memory, no registry, no flows,
// no calls, no network. The clock is the machine's; a token is four bytes.
func NewEnv() *Env {
	return &Env{
		Vars:      &Vars{},
		Model:     Model{LLM: noLLM{}, Tokens: byteCounter{}},
		Knowledge: Knowledge{Memory: NoMemory{}},
		Substeps:  Substeps{Flows: noFlows{}, Calls: noCalls{}},
		System: System{
			HTTP:  noHTTP{},
			Clock: time.Now,
			Rand:  rand.New(rand.NewPCG(0, 0)),
			Log:   slog.New(slog.DiscardHandler),
		},
		Files: Files{Dir: "."},
	}
}

// ErrNoProvider is wrapped by the error of a model that was never configured.
var ErrNoProvider = wording.Errorf("no model provider is configured")

// HasProvider reports whether a model was configured at all. It says nothing of one that fails.
func HasProvider(p llm.Provider) bool {
	_, isNone := p.(noLLM)
	return p != nil && !isNone
}

// Warn gives the user of the run a message, with a code and a text: it becomes an event at once, in the language
// of the run. It may be used concurrently.
func (e *Env) Warn(code, format string, args ...any) {
	e.WarnOf(Warning{Code: code, Text: wording.Say(format, args...).In(e.language())})
}

// Say returns a message in the language of the run.
func (e *Env) Say(format string, args ...any) string {
	return wording.SayIn(e.language(), format, args...)
}

// TextOf returns a message in the language of the run.
func (e *Env) TextOf(message wording.Text) string { return message.In(e.language()) }

// HintOf returns the hint of an error in the language of the run.
func (e *Env) HintOf(err error) string { return HintIn(err, e.language()) }

// MessageOf returns the message of an error in the language of the run.
func (e *Env) MessageOf(err error) string { return MessageIn(err, e.language()) }

// language returns the run's language; "" outside of a run.
func (e *Env) language() string {
	if e.Vars == nil {
		return ""
	}
	return e.Vars.Language
}

// WarnOf is [Env.Warn] for a warning with a source.
func (e *Env) WarnOf(w Warning) {
	if e.Warner != nil {
		e.Warner.Warn(w)
	}
}

type noLLM struct{}

func (noLLM) Chat(context.Context, *llm.Request) iter.Seq2[llm.Delta, error] {
	return func(yield func(llm.Delta, error) bool) {
		yield(llm.Delta{}, &llm.Error{
			Err:  ErrNoProvider,
			Hint: "set llm.providers in scheduler.yaml, or keep a cassette beside the flow",
		})
	}
}

// NoMemory is a memory without a store: the engine gives it to the calls of a flow that names no memory.
type NoMemory struct{}

// Recent returns no utterances.
func (NoMemory) Recent(context.Context, Scope, int) ([]plugins.Turn, error) { return nil, nil }

// Retrieve returns no memories.
func (NoMemory) Retrieve(context.Context, Scope, string, int) ([]plugins.Recalled, error) {
	return nil, nil
}

type noFlows struct{}

func (noFlows) RunFlow(context.Context, string, value.Value) (value.Value, error) {
	return value.Value{}, Errorf(Invalid, "sub-flows run only inside a flow")
}

type noCalls struct{}

func (noCalls) RunCall(_ context.Context, name string, _ value.Value) (value.Value, error) {
	return value.Value{}, Errorf(NotFound, "the call %s cannot be run from here", name)
}

type noHTTP struct{}

func (noHTTP) Do(req *http.Request) (*http.Response, error) {
	return nil, Errorf(Invalid, "no network to reach %s", req.URL.Host)
}

// byteCounter counts four bytes as a token, for any model.
type byteCounter struct{}

func (byteCounter) Count(text string) int { return (len(text) + 3) / 4 }
