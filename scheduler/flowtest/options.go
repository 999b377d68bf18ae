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

// Options are what tests are run with. The program makes them of its parts; they are only read. All functions
// are safe for concurrent use.
type Options struct {
	// Mode is where answers of models come from; "" is [result.Replay]. In mode [result.Live] nothing is denied.
	Mode result.Mode
	// Executor returns a new executor for a flow, with its registry and settings. Its models, memory, journal,
	// clock, ids and seed are those of the case.
	Executor func(f *flow.Flow) (*scheduler.StepExecutor, error)
	// Memory returns a new, empty store of memories, which is gone when it is closed.
	Memory func(ctx context.Context, clock func() time.Time) (*memory.SnapshotProcessor, error)
	// Journal returns a new, empty journal: of runs that wait for answers.
	Journal func() journal.Journal
	// Models are those that flows and judges ask.
	Models Models
	// Recorded returns the run that is recorded beside the flow of a case, with these inputs and the conversation and the user of the case; nil if there is none. Cases take from
	// it what models, servers, tools and the memory answered, unless they mock it; nil: no runs are recorded.
	Recorded func(c *suite.Case, inputs value.Value) (*replay.Run, error)
	// Language is that of messages and judges, Languages the users' own texts; nil without any.
	Language  string
	Languages fs.FS
	// Hidden gets to know the secrets that runs use; it may be nil.
	Hidden *secret.Set
	// Secrets returns the secrets of this machine by name; nil: none have names. SecretOf returns what a run that plays a recorded one
	// sees as a secret; it is there if Recorded is.
	Secrets  func() []replay.Secret
	SecretOf func(run *replay.Run, name string) string
	// Places are the texts that are others on each machine: recordings have their names.
	Places []replay.Place
	// Parallel is how many cases run at a time; 0 is one for each processor.
	Parallel int
	// Repeat is how often cases run, instead of what they say; 0 leaves it to them.
	Repeat int
	// Limits bound all files together, as [suite.Limits] bounds one.
	Limits suite.Limits
	// Select reports whether a case is to run; the others are not in the results. nil: all.
	Select func(s *suite.Suite, c *suite.Case) bool
	// Update lets checks change snapshots, and Prune drops snapshots and takes that nothing has asked for.
	Update, Prune bool
	// Done hears of each case as it ends, one at a time, in any order; it may be nil.
	Done func(s *suite.Suite, c *result.Case)
}

// Models are the providers that a program knows, by name.
type Models struct {
	// Default returns the names of the providers that answer where neither a case nor a flow names one; there may be
	// none.
	Default func() []string
	// Open returns a provider that can be asked: it may need a key.
	Open func(name string) (llm.Provider, error)
	// Model returns the model that a provider asks where a request names none; "" where that is not known.
	Model func(name string) string
	// Tokens returns what counts tokens for a provider.
	Tokens func(name string) llm.Counter
	// Priced reports whether the settings have prices for what a provider is asked. Answers that were recorded tell
	// what they cost themselves.
	Priced func(name string) bool
	// Cost returns what a model of a provider costs by the settings; ok is false where they have no price. Embeddings are
	// counted by it, whose answers tell no cost; nil: none has a price.
	Cost func(name, model string, u llm.Usage) (cost float64, ok bool)
	// Currency is the unit of costs.
	Currency llm.Currency
	// Images reports whether the model of a provider is known to see images; nil: none is.
	Images func(name string) bool
}
