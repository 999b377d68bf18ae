package flow

import (
	"slices"
	"strings"
	"time"

	"github.com/callnode/scheduler/calls"
	"github.com/callnode/scheduler/calls/schema"
	"github.com/callnode/scheduler/llm/value"
)

// Flow is a parsed, linted and compiled flow file. It is immutable and safe for
// concurrent runs.
type Flow struct {
	File        string
	Source      []byte
	Name        string
	Description string
	// Language is zh, en, another language, or "" if the flow names none.
	Language string
	// Zone is the time zone of the run's clock, nil if the flow names none; Timezone is the template of its name, for example
	// {{ inputs.timezone }}. At most one is set.
	Zone     *time.Location
	Timezone *Param
	// Inputs is the schema of the inputs, an object; never nil.
	Inputs *schema.Schema
	// User and Session are templates of the memory scope; nil if not given. AllSessions is set by sessions: all. A
	// flow without User has no memory.
	User, Session *Param
	AllSessions   bool
	// Triggers start runs of the flow; a sub-flow's triggers only start runs of the sub-flow.
	Triggers Triggers
	Steps    []*Step
	// Outputs is a map of templates; nil if the flow has none.
	Outputs *Param
	// OnError is the reply template over error; nil if the flow has none.
	OnError *Param
	// Queue is the queue of the workers that carry out runs of the flow on other machines; "" leaves it to the
	// configuration.
	Queue string
	// MaxTokens is the budget; 0 is none.
	MaxTokens int
	// LLM are the names of the model providers, in the order in which they are asked; empty leaves them to the runner
	// of the flow.
	LLM []string
	// ReadsConversation is set if a template, a call or a sub-flow reads the messages that came before
	// the question. A flow that reads none sees the question alone.
	ReadsConversation bool
	// CanWait is set if a run may wait for a person: a step, or one of a sub-flow, asks for values that are missing,
	// or its call asks for some by itself.
	CanWait bool
	// Plugins are the names of the plugins that the flow wants.
	Plugins []string
	// Files are the other files that it needs, by their paths: files named by !file, and sub-flows.
	Files map[string][]byte

	byID     map[string]int
	outputs  value.Value // the schema of Outputs, as far as it is known
	registry *calls.Registry
}

// FindCall returns the definition of a call by its name: a step's call, or one that a step runs inside itself.
func (f *Flow) FindCall(name string) (def calls.Definition, ok bool) { return f.registry.Call(name) }

// OutputSchema returns the JSON Schema of Outputs, as far as it is known; null if the flow has none.
func (f *Flow) OutputSchema() value.Value { return f.outputs }

// Step finds a step by its id.
func (f *Flow) Step(id string) (*Step, bool) {
	i, ok := f.byID[id]
	if !ok {
		return nil, false
	}
	return f.Steps[i], true
}

// Ancestors lists the steps that step must wait for, directly or not, in file order: the steps whose outputs it
// may use.
func (f *Flow) Ancestors(step int) []int {
	seen := make([]bool, len(f.Steps))
	todo, found := []int{step}, []int(nil)
	for len(todo) > 0 {
		at := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		for _, n := range f.Steps[at].Needs {
			if !seen[n] {
				seen[n] = true
				found = append(found, n)
				todo = append(todo, n)
			}
		}
	}
	slices.Sort(found)
	return found
}

// Step is one use of a call in a flow. A [Loader] makes it; it belongs to its [Flow] and is
// as immutable.
type Step struct {
	// Index is the position in Flow.Steps.
	Index       int
	Pos         Position
	ID          string
	Call        string
	Name        string
	Description string
	Def         calls.Definition
	// Needs are the steps that must be over before this one; Implicit is set if the flow did not write them: then it
	// is the step before.
	Needs    []int
	Implicit bool
	// Next are the steps that need this one.
	Next []int
	When *Param // nil: always
	With *Param // nil: no parameters
	// ForEach is the list of items; nil: the step runs once.
	ForEach *Param
	// MaxParallel is how many items run at a time; 0 leaves it to the executor.
	MaxParallel int
	// Queue is the queue in which a flow that the step runs waits for a worker, in a run on other machines; "" is
	// [Flow] Queue of that flow.
	Queue string
	// MentionsRun is set if the templates of the step mention run.
	MentionsRun bool
	// Resolve are the names of the variables (vars.NAME) that the step mentions.
	Resolve []string
	// LLM names the model providers that the step asks; empty: the flow's.
	LLM           []string
	EnableFilling bool
	OverrideInput value.Value
	OnMissing     string // ask, fail, return
	// Approve asks a person before the call runs; nil: it runs at once. ToolApprovals does so for the tools that the call uses, by the JSON
	// pointers of their parameters approve.
	Approve       *Approval
	ToolApprovals map[string]*Approval
	ToUser        bool
	Timeout       time.Duration // 0: none
	Retry         Retry
	// Continue: a failure becomes the output {error: ...}.
	Continue bool
	// Output is the JSON Schema of the step's output for other steps: of the call's output or of the sub-flow's
	// outputs, of a list of such for a step with for_each, with error among the members for one that continues after
	// a failure.
	Output value.Value
	// Tools are the names of the tools of the steps that get the messages of this one, as far as the flow writes them
	// out: for a prompt that lists them for the model.
	Tools []string
	// Sub is the flow that a step of call flow runs, when its path is literal.
	Sub *Flow
	// Inner are the flows that its call may run inside itself, such as the tools of an agent, as far as the parameters
	// name them and the loader reads them.
	Inner []*Flow
}

// Retry is how often and when a failed step is tried again. It is part of a [Step].
type Retry struct {
	// MaxAttempts counts the first; at least 1.
	MaxAttempts     int
	InitialInterval time.Duration
	Multiplier      float64
	MaxInterval     time.Duration
}

// FindStep finds the step that an id of a run's record means, also one of a
// sub-flow: outer/inner, outer[1]/inner[2].
func (f *Flow) FindStep(id string) (*Step, bool) {
	for {
		segment, rest, inner := strings.Cut(id, "/")
		name, _, _ := strings.Cut(segment, "[")
		s, ok := f.Step(name)
		if !inner || !ok {
			return s, ok
		}
		if s.Sub == nil {
			return nil, false
		}
		f, id = s.Sub, rest
	}
}

// missingAsk is the default of on_missing: the run waits for the values.
const missingAsk = "ask"

// CallFlow and CallSlot are the calls that the engine itself looks up by name.
const (
	CallFlow = "flow"
	CallSlot = "slot"
)

// Canonical returns all of a step that decides about its output, without positions.
func (s *Step) Canonical(f *Flow) value.Value {
	needs := make([]string, len(s.Needs))
	for i, n := range s.Needs {
		needs[i] = f.Steps[n].ID
	}
	slices.Sort(needs)
	return value.OfMap(value.Pairs(
		"id", s.ID, "call", s.Call, "needs", needs, "implicit", s.Implicit,
		"when", s.When.Canonical(), "with", s.With.Canonical(), "for_each", s.ForEach.Canonical(),
		"filling", s.EnableFilling, "override", s.OverrideInput, "missing", s.OnMissing, "continue", s.Continue,
		"approve", s.Approve.canonical(), "tools", canonicalTools(s.ToolApprovals),
	))
}

// Canonical returns all of a flow that decides about its outputs.
func (f *Flow) Canonical() value.Value {
	if f == nil {
		return value.Value{}
	}
	steps := make([]value.Value, len(f.Steps))
	for i, s := range f.Steps {
		steps[i] = value.OfList(s.Canonical(f), s.Sub.Canonical())
	}
	return value.OfMap(value.Pairs(
		"inputs", f.Inputs.Doc(), "steps", value.OfList(steps...), "outputs", f.Outputs.Canonical(),
		"user", f.User.Canonical(), "session", f.Session.Canonical(), "all_sessions", f.AllSessions, "language", f.Language, "llm", f.LLM,
	))
}
