package service

import (
	"context"
	"time"

	"github.com/callnode/scheduler/calls"
	"github.com/callnode/scheduler/calls/memory"
	"github.com/callnode/scheduler/llm"
	"github.com/callnode/scheduler/llm/value"
	"github.com/callnode/scheduler/llm/value/secret"
	"github.com/callnode/scheduler/llm/value/wording"
	"github.com/callnode/scheduler/scheduler"
	"github.com/callnode/scheduler/scheduler/flow"
	"github.com/callnode/scheduler/scheduler/flowtest"
	"github.com/callnode/scheduler/scheduler/flowtest/compare"
	"github.com/callnode/scheduler/scheduler/flowtest/suite"
	"github.com/callnode/scheduler/scheduler/journal"
)

// Parts has the dependencies from which the program makes a [Service]. All but Loader and Executor may be nil if
// no use case needs them. The functions are safe for concurrent use; they return new values, which the Service may
// change.
type Parts struct {
	// Loader returns a loader of flows.
	Loader func(Surroundings) (*flow.Loader, []Note, error)
	// Viewer returns a loader of flows for display only: their plugins may have changed or be gone.
	Viewer func() (*flow.Loader, error)
	// Executor returns an executor for a flow, without a journal and a memory. One with a Start has its clock
	// already.
	Executor func(f *flow.Flow, options ExecutorOptions) (*scheduler.StepExecutor, []Note, error)
	// Provider opens the model provider of a name, or the providers of several names, as [llm.ParseNames] reads them.
	Provider func(name string) (llm.Provider, error)
	// Counter counts the tokens of a step as the model that answers it does; step is its path in the flow, provider
	// as in [StartRequest].
	Counter func(f *flow.Flow, step, provider string) llm.Counter
	// Journal opens the record of runs. Without create, the error of one that is not there
	// is an [ErrNoJournal].
	Journal func(ctx context.Context, create bool) (journal.Journal, error)
	// EphemeralJournal returns one that is gone with the process.
	EphemeralJournal func() journal.Journal
	// Memory opens the memory.
	Memory func(ctx context.Context, options MemoryOptions) (*memory.SnapshotProcessor, error)
	// Snapshots returns the model that writes snapshots; nil if there is none.
	Snapshots func() (*memory.SnapshotGenerator, error)
	// CallEnv returns the environment of single calls, with the registry but without a memory. asksModel is true for
	// calls that ask the settings' model.
	CallEnv func(asksModel bool) (*calls.Env, error)
	// BoundCalls are the calls, and functions of plugins, that bound principals may use outside of flows although they reach files or other
	// programs: names, or beginnings of names with a * at the end.
	BoundCalls []string
	// Hidden are the secrets that no output of a single call shows; nil for none.
	Hidden *secret.Set
	// Dir is the folder of the project, in which relative paths of plugins start; "" is the
	// working directory. It is kept with a run, and the journal keeps the paths of flow files
	// in it as relative ones.
	Dir string
	// Rooted is true if all runs work in Dir, even if they began in another folder that this machine has too.
	Rooted bool
	// Remote returns the remote runner for a value of the label [journal.LabelRunsOn].
	Remote func(ctx context.Context, name string) (Remote, error)
	// RemoteAddress returns the server that distributes new runs of other machines; it is kept with them. It may be nil.
	RemoteAddress func() string
	// CancelWords are the messages with which a user cancels a run that waits.
	CancelWords []string
	// UserZone returns the time zone of a user, nil if none is known. It may be nil.
	UserZone func(user string) *time.Location
	// Languages returns the languages that have texts.
	Languages func() *flow.Languages
	// Script makes a model of the answers that a [CallRequest] scripts.
	Script func(answers value.Value) (llm.Provider, error)
	// Tests are for tests of flows.
	Tests *TestParts
}

// Surroundings describe the place in which a run began; the zero value is this process.
type Surroundings struct {
	// Dir is the directory in which relative paths of plugins start; "" is the working directory.
	Dir string
	// Language is the language of flows that name none; "" is the setting.
	Language string
	// IsReplay is true if runs are played from a cassette: plugins may have changed, or be gone.
	IsReplay bool
}

// ExecutorOptions say how a flow is run.
type ExecutorOptions struct {
	Surroundings
	// Provider is the name of a model provider, or of several, as [llm.ParseNames] reads them; "" is the choice of
	// the flow and the settings.
	Provider string
	// Mode replaces the setting llm.mode: whether cassettes are recorded or played; "" is the setting.
	Mode string
	// Now is the fixed time of the run's clock; zero is the clock of the machine.
	Now time.Time
	// Run identifies a run that may be recorded or played; nil: the executor carries none out.
	Run *RunStart
}

// RunStart is the beginning of a run, by which a cassette finds it. Its caller makes one for one executor; it is
// only read.
type RunStart struct {
	// ID is the run's; "" for one that begins. Part counts its resumptions.
	ID   string
	Part int
	// Inputs has the inputs with their defaults, Conversation the messages before the question, User the run's owner.
	Inputs       value.Value
	Conversation value.Value
	User         string
	// Seed is the one that was asked for; 0 is any.
	Seed uint64
}

// MemoryOptions say which memory is opened.
type MemoryOptions struct {
	// Clock is the present; nil is the clock of the machine.
	Clock func() time.Time
	// Temporary is one that is empty, and removed when it is closed.
	Temporary bool
}

// Remote carries runs out on other machines, which share the journal: runs with its name as the label
// [journal.LabelRunsOn]. The program makes one; it is safe for concurrent use.
type Remote interface {
	// Start begins or continues a run of the journal. One that is under way there stays so, and reads the journal.
	Start(ctx context.Context, run RemoteRun) error
	// Answer records answers of a waiting run, all or none, and returns them in their final form; with more the run
	// continues to wait for the next ones. The error is of kind Invalid if one does not fit.
	Answer(ctx context.Context, run RemoteRun, answers []scheduler.Answer, more bool) ([]scheduler.Answer, error)
	// Wake makes the run read changes in the journal. It is not an error if the run is not under way there.
	Wake(ctx context.Context, run string) error
	// Check returns an error if runs cannot be given to them now: they cannot be reached, or cannot read them.
	Check(ctx context.Context) error
	// Wait returns when the run is not under way there any more: nil if the journal has its end, else the reason why
	// it was given up. hint is called with the reason for a delay meanwhile.
	Wait(ctx context.Context, run RemoteRun, hint func(wording.Text)) error
}

// RemoteRun is the data about a run that a [Remote] gets.
type RemoteRun struct {
	ID, Flow string
	// Store is the id of the journal, Seq the number of the last event in it.
	Store string
	Seq   int64
	// Hash is the hash of the flow's text.
	Hash string
	// Queue is the queue in which it waits for a worker; "" leaves that to the [Remote].
	Queue string
	// IsChild is true if another run waits for it: it must find a worker even if all workers are busy with such
	// waiting runs.
	IsChild bool
}

// TestParts are the program's dependencies for tests of flows: the same for the command line and a server. The
// functions are safe for concurrent use.
type TestParts struct {
	// Loader returns a loader of test files, with problems in a language.
	Loader func(language string) (*suite.Loader, []Note, error)
	// Options returns the options for running tests, with results in a language. Its caller may change it.
	Options func(language string) *flowtest.Options
	// Files are the files in which the command line keeps runs.
	Files compare.Files
}
