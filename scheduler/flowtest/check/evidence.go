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

// Evidence is what one finished repeat of a case has left. The runner makes it when the run has
// ended or was stopped at `until`; from then on it is only read, and checks may be evaluated
// on it concurrently. It must not be copied once a check has seen it.
type Evidence struct {
	// Case is the id of the case with its row and variant: snapshots are kept by it.
	Case string
	// Language is that of messages and of the judge's prompts: zh, en ...
	Language string
	// Flow is the flow that ran, FlowName what the test file calls it among several; "" where it has one.
	Flow     *flow.Flow
	FlowName string
	// Provider is the name of the model provider that the flow asks; "" where it is not known.
	Provider string
	// Record is the run as its events tell it, secrets masked; Events are these, in order.
	Record *journal.RunState
	Events []*journal.Event
	// Requests are what each step, or what it ran inside itself, has sent to models, or was about to send, by its path: without the
	// messages, oldest first; nil where no model was asked.
	Requests map[string][]*llm.Request
	// Inputs are those that the case gave, with the defaults of the flow; Row is the row of the
	// dataset, null without one.
	Inputs value.Value
	Row    value.Value
	// MemoryNames are what the test file calls the memories that it has, by their ids; nil for none.
	MemoryNames map[string]string
	// PriceKnown reports whether the cost in Record.Usage is what it cost, and not 0 for want
	// of a price. MS is how long the run took, or in a replay how long its models took when they were
	// recorded; nil where that is not known.
	PriceKnown bool
	MS         *float64
	// Currency is the unit of costs.
	Currency llm.Currency
	// Other finds what another case, or another flow with the same case, has left: for
	// the needs that [Check.Needs] lists. Its error tells why there is nothing. nil: there are no others.
	Other func(ctx context.Context, need Need) (*Evidence, error)
	// FileName returns what results call a file, so that they do not depend on the working directory; nil leaves the paths of
	// flows as they are.
	FileName func(path string) string
	// Services are what checks may use beyond the evidence; never nil.
	Services *Services

	mu      sync.Mutex
	prompts map[string]explained // guarded by mu
}

// Services are what checks need of the program. The runner makes them for each repeat, since
// answers of models are recorded by repeat; they are safe for concurrent use.
type Services struct {
	// Provider returns the model provider of a name, "" for the judge of the test file or the
	// settings, behind the cassette of the test file.
	Provider func(name string) (llm.Provider, error)
	// Tokens counts tokens as the runs did.
	Tokens llm.Counter
	// Languages has the users' texts, as in [calls.Files]; nil without any.
	Languages fs.FS
	// Snapshots keeps what the matcher snapshot compares with; if it is nil, no snapshot is read
	// or written.
	Snapshots Snapshots
	// Mask hides the secrets of a text that is kept in a file; nil hides none.
	Mask func(text string) string
	// Registry has the checks of plugins; nil without any.
	Registry *calls.Registry
}

// Snapshots are texts by name that a test file keeps. [OpenSnapshots] opens those of a file. They are
// safe for concurrent use.
type Snapshots interface {
	// Load returns the text of a name; ok is false where there is none.
	Load(name string) (text string, ok bool)
	// Save sets the text of a name, for the check at a place, where snapshots are to be updated; saved is false
	// where they are not. It is an error where another text was saved by the name before: one of them would be lost.
	Save(name, text string, at flow.Position) (saved bool, err error)
}

// Need is other evidence that a check compares with: that of another case, or of the same case with another
// flow. Exactly one is set.
type Need struct {
	Case string
	// Flow is the path as the check writes it.
	Flow string
}

// Memory is a memory that a check names, by what the case calls it.
type Memory struct {
	ID string
	// Step is the step that should find it.
	Step string
	Pos  flow.Position
}

// explained is what [explain.Explain] returned for a step.
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

// other finds other evidence; failed is an error where there is none.
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
