package check

import (
	"context"
	"io/fs"
	"sync"

	"github.com/callnode/scheduler/calls"
	"github.com/callnode/scheduler/llm"
	"github.com/callnode/scheduler/llm/value"
	"github.com/callnode/scheduler/scheduler/explain"
	"github.com/callnode/scheduler/scheduler/flow"
	"github.com/callnode/scheduler/scheduler/journal"
)

// Evidence is the record of one finished repeat of a case. The runner makes it when the run has ended or was
// stopped at `until`; from then on it is only read, and checks may be evaluated on it concurrently. It must not be
// copied once a check has seen it.
type Evidence struct {
	// Case is the id of the case with its row and variant: snapshots are kept by it.
	Case string
	// Language is the language of messages and of the judge's prompts: zh, en ...
	Language string
	// Flow is the flow that ran, FlowName its name in the test file if that has several, else "".
	Flow     *flow.Flow
	FlowName string
	// Provider is the name of the flow's model provider; "" if it is not known.
	Provider string
	// Record is the state of the run after its events, secrets masked; Events are these, in order.
	Record *journal.RunState
	Events []*journal.Event
	// Requests are the requests that each step, or something run inside it, has sent to models, or was about to
	// send, by its path: without the messages, oldest first; nil if no model was asked.
	Requests map[string][]*llm.Request
	// Inputs are those that the case gave, with the defaults of the flow; Row is the row of the
	// dataset, null without one.
	Inputs value.Value
	Row    value.Value
	// MemoryNames are the names of memories in the test file, by their ids; nil for none.
	MemoryNames map[string]string
	// PriceKnown reports whether the cost in Record.Usage is the real cost, not 0 for lack of a price. MS is how
	// long the run took, or in a replay how long its models took when they were recorded; nil if that is not
	// known.
	PriceKnown bool
	MS         *float64
	// Currency is the unit of costs.
	Currency llm.Currency
	// Other returns the evidence of another case, or of another flow with the same case, for the needs that
	// [Check.Needs] lists. Its error says why there is none. nil: there are no others.
	Other func(ctx context.Context, need Need) (*Evidence, error)
	// FileName returns the name of a file in results, so that they do not depend on the working directory; nil
	// leaves the paths of flows as they are.
	FileName func(path string) string
	// Services are the services that checks may use beyond the evidence; never nil.
	Services *Services

	mu      sync.Mutex
	prompts map[string]explained // guarded by mu
}

// Services are the parts of the program that checks need. The runner makes them for each repeat, since answers of
// models are recorded by repeat; they are safe for concurrent use.
type Services struct {
	// Provider returns the model provider of a name, "" for the judge of the test file or the
	// settings, behind the cassette of the test file.
	Provider func(name string) (llm.Provider, error)
	// Tokens counts tokens as the runs did.
	Tokens llm.Counter
	// Languages has the users' texts, as in [calls.Files]; nil without any.
	Languages fs.FS
	// Snapshots keeps the snapshots that the matcher snapshot compares with; if it is nil, no snapshot is read or
	// written.
	Snapshots Snapshots
	// Mask hides the secrets of a text that is kept in a file; nil hides none.
	Mask func(text string) string
	// Registry has the checks of plugins; nil without any.
	Registry *calls.Registry
}

// Snapshots are texts by name that a test file keeps. [OpenSnapshots] opens the snapshots of a file. They are safe
// for concurrent use.
type Snapshots interface {
	// Load returns the text of a name; ok is false if there is none.
	Load(name string) (text string, ok bool)
	// Save sets the text of a name, for the check at a place, if snapshots are to be updated; otherwise saved is
	// false. It is an error if another text was saved by the name before: one of them would be lost.
	Save(name, text string, at flow.Position) (saved bool, err error)
}

// Need names other evidence that a check compares with: of another case, or of the same case with another flow.
// Exactly one is set.
type Need struct {
	Case string
	// Flow is the path as the check writes it.
	Flow string
}

// Memory is a memory that a check names, by its name in the case.
type Memory struct {
	ID string
	// Step is the step that should find it.
	Step string
	Pos  flow.Position
}

// explained is the result of [explain.Explain] for a step.
type explained struct {
	prompts []*explain.Explanation
	err     error
}

// Explain returns the prompts of a step with the source of each piece, as [explain.Explain] does. Each step is
// explained once, for all checks.
func (e *Evidence) Explain(ctx context.Context, step string) ([]*explain.Explanation, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	known, ok := e.prompts[step]
	if ok {
		return known.prompts, known.err
	}
	known.prompts, known.err = explain.Explain(ctx, e.Flow, e.Record, step, e.Services.Tokens)
	if e.FileName != nil {
		for i, p := range known.prompts {
			known.prompts[i] = p.WithFileNames(e.FileName)
		}
	}
	if e.prompts == nil {
		e.prompts = map[string]explained{}
	}
	if ctx.Err() == nil {
		e.prompts[step] = known
	}
	return known.prompts, known.err
}

// other finds other evidence; failed is an error if there is none.
func (e *Evidence) other(ctx context.Context, need Need) (*Evidence, *verdict) {
	name := need.Case + need.Flow
	if e.Other == nil {
		return nil, errorOf(calls.Errorf(calls.Missing, "there is nothing of %q to compare with", name))
	}
	other, err := e.Other(ctx, need)
	if err != nil {
		return nil, errorOf(err)
	}
	return other, nil
}

// mask returns a text without its secrets.
func (s *Services) mask(text string) string {
	if s.Mask == nil {
		return text
	}
	return s.Mask(text)
}
