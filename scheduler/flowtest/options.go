package flowtest

import (
	"context"
	"io/fs"
	"time"

	"github.com/callnode/scheduler/calls/memory"
	"github.com/callnode/scheduler/llm"
	"github.com/callnode/scheduler/llm/replay"
	"github.com/callnode/scheduler/llm/value"
	"github.com/callnode/scheduler/llm/value/secret"
	"github.com/callnode/scheduler/scheduler"
	"github.com/callnode/scheduler/scheduler/flow"
	"github.com/callnode/scheduler/scheduler/flowtest/result"
	"github.com/callnode/scheduler/scheduler/flowtest/suite"
	"github.com/callnode/scheduler/scheduler/journal"
)

// Options are the settings and parts that tests run with. The program creates them; they are only read. All
// functions are safe for concurrent use.
type Options struct {
	// Mode selects the source of model answers; "" is [result.Replay]. In mode [result.Live] nothing is denied.
	Mode result.Mode
	// Executor returns a new executor for a flow, with its registry and settings. The case provides its models,
	// memory, journal, clock, ids and seed.
	Executor func(f *flow.Flow) (*scheduler.StepExecutor, error)
	// Memory returns a new, empty store of memories, which is gone when it is closed.
	Memory func(ctx context.Context, clock func() time.Time) (*memory.SnapshotProcessor, error)
	// Journal returns a new, empty journal: of runs that wait for answers.
	Journal func() journal.Journal
	// Models are those that flows and judges ask.
	Models Models
	// Recorded returns the run that is recorded beside the flow of a case, with these inputs and the conversation
	// and the user of the case; nil if there is none. Cases take the answers of models, servers, tools and the
	// memory from it, unless they mock them. If Recorded is nil, no runs are recorded.
	Recorded func(c *suite.Case, inputs value.Value) (*replay.Run, error)
	// Language is the language of messages and judges, Languages holds the users' own texts; nil without any.
	Language  string
	Languages fs.FS
	// Hidden gets to know the secrets that runs use; it may be nil.
	Hidden *secret.Set
	// Secrets returns the secrets of this machine by name; nil if none have names. SecretOf returns the text
	// that a replayed run sees as a secret; it is set if Recorded is.
	Secrets  func() []replay.Secret
	SecretOf func(run *replay.Run, name string) string
	// Places are the texts that are others on each machine: recordings have their names.
	Places []replay.Place
	// Parallel is how many cases run at a time; 0 is one for each processor.
	Parallel int
	// Repeat is how often each case runs, in place of its own number; 0 leaves it to the case.
	Repeat int
	// Limits bound all files together, as [suite.Limits] bounds one.
	Limits suite.Limits
	// Select reports whether a case is to run; the others are not in the results. nil: all.
	Select func(s *suite.Suite, c *suite.Case) bool
	// Update lets checks change snapshots, and Prune drops snapshots and takes that nothing has asked for.
	Update, Prune bool
	// Done is called with each case as it ends, one at a time, in any order; it may be nil.
	Done func(s *suite.Suite, c *result.Case)
}

// Models are the providers that a program knows, by name.
type Models struct {
	// Default returns the names of the default providers, used if neither a case nor a flow names one; it may be
	// empty.
	Default func() []string
	// Open returns a provider that can be asked: it may need a key.
	Open func(name string) (llm.Provider, error)
	// Model returns the default model of a provider, or "" if it is not known.
	Model func(name string) string
	// Tokens returns the token counter of a provider.
	Tokens func(name string) llm.Counter
	// Priced reports whether the settings have prices for requests to a provider. Recorded answers carry their own
	// cost.
	Priced func(name string) bool
	// Cost returns the cost of a usage by the prices of the settings; ok is false if they have no price. It prices
	// embeddings, whose answers report no cost; nil: none has a price.
	Cost func(name, model string, u llm.Usage) (cost float64, ok bool)
	// Currency is the unit of costs.
	Currency llm.Currency
	// Images reports whether the model of a provider is known to see images; nil: none is.
	Images func(name string) bool
}
