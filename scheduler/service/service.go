// Package service is the use cases that the command line and a server share: flows are
// checked, runs started, followed, resumed, cancelled and looked at, single calls made,
// memory kept. It knows no flags, prints nothing and speaks no HTTP: notes and warnings are
// returned, and the program passes it everything that has a backend ([Parts]).
//
// [Service.Load] reads a flow, [Service.NewSession] makes a [Session] of it, whose events its
// caller takes one by one; [Speech] makes the text for a user of them. What belongs to a user
// is asked for by a [Principal]: one that is bound finds the runs of others as little as runs
// that do not exist.
package service

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/callnode/scheduler/calls"
	"github.com/callnode/scheduler/calls/memory"
	"github.com/callnode/scheduler/llm"
	"github.com/callnode/scheduler/llm/value"
	"github.com/callnode/scheduler/llm/value/wording"
	"github.com/callnode/scheduler/scheduler"
	"github.com/callnode/scheduler/scheduler/flow"
	"github.com/callnode/scheduler/scheduler/journal"
)

// Service carries out the use cases. [New] makes one for the life of a process, [Service.Close]
// ends it. Its methods are safe for concurrent use.
type Service struct {
	parts    Parts
	progress progressCache
	viewed   viewedFlows

	mu       sync.Mutex      // guards what follows
	recorder journal.Journal // nil until it is needed
	memories *memory.Lazy
}

// Parts are what the program puts a [Service] together from. All but Loader and Executor
// may be nil where no use case needs them. The functions are safe for concurrent use; they
// return new values, which the Service may change.
type Parts struct {
	// Loader returns what reads flows.
	Loader func(Surroundings) (*flow.Loader, []Note, error)
	// Viewer returns what reads flows only to be looked at: their plugins may have changed,
	// or be gone.
	Viewer func() (*flow.Loader, error)
	// Executor returns what runs a flow, without a journal and a memory.
	Executor func(f *flow.Flow, options ExecutorOptions) (*scheduler.StepExecutor, []Note, error)
	// Provider opens the model provider of a name.
	Provider func(name string) (llm.Provider, error)
	// Counter counts the tokens of a flow as the model does that answers it; provider is
	// that of [StartRequest].
	Counter func(f *flow.Flow, provider string) llm.Counter
	// Journal opens the record of runs. Without create, the error of one that is not there
	// is an [ErrNoJournal].
	Journal func(ctx context.Context, create bool) (journal.Journal, error)
	// EphemeralJournal returns one that is gone with the process.
	EphemeralJournal func() journal.Journal
	// Memory opens the memory.
	Memory func(ctx context.Context, options MemoryOptions) (*memory.SnapshotProcessor, error)
	// Snapshots returns the model that writes snapshots; nil where there is none.
	Snapshots func() (*memory.SnapshotGenerator, error)
	// CallEnv returns what single calls may use, and the registry with them: without a memory.
	// asksModel is true for those that ask the model of the settings.
	CallEnv func(asksModel bool) (*calls.Env, error)
	// Dir is the folder of the project, in which relative paths of plugins start; "" is the
	// working directory. It is kept with a run, and the journal keeps the paths of flow files
	// in it as relative ones.
	Dir string
	// Rooted is true where all runs work in Dir, also those that began in another folder
	// which this machine has too.
	Rooted bool
	// Remote returns what carries runs out on other machines, by the value of the label
	// [journal.LabelRunsOn].
	Remote func(ctx context.Context, name string) (Remote, error)
	// Languages are those that there are texts for.
	Languages func() *flow.Languages
	// Script makes a model of the answers that a [CallRequest] scripts.
	Script func(answers value.Value) (llm.Provider, error)
	// Tests are for tests of flows.
	Tests *TestParts
}

// Surroundings are where a run began; the zero value is here.
type Surroundings struct {
	// Dir is the directory in which relative paths of plugins start; "" is the working directory.
	Dir string
	// Language is that of flows that name none; "" is the setting.
	Language string
}

// ExecutorOptions say how a flow is run.
type ExecutorOptions struct {
	Surroundings
	// Provider is the name of a model provider; "" is the choice of the flow and the settings.
	Provider string
	// Mode is what becomes of cassettes, as the setting llm.mode does; "" is the setting.
	Mode string
	// Now is the fixed time of the run's clock; zero is the clock of the machine.
	Now time.Time
}

// MemoryOptions say which memory is opened.
type MemoryOptions struct {
	// Clock is the present; nil is the clock of the machine.
	Clock func() time.Time
	// Temporary is one that is empty, and removed when it is closed.
	Temporary bool
}

// Note is what a user should know beside a result, with which it is returned.
type Note struct {
	// Level is "note", "warning" where something may be wrong, or "" for what was done.
	Level string
	Text  wording.Text
	// Code and Source are those of the [calls.Warning] that the note comes from.
	Code, Source string
}

// The levels of a [Note].
const (
	LevelNote    = "note"
	LevelWarning = "warning"
)

// newWarning returns a [Note] of what may be wrong.
func newWarning(format string, args ...any) Note {
	return Note{Level: LevelWarning, Text: wording.Say(format, args...)}
}

// In returns the note as a line, in a language.
func (n Note) In(language string) string {
	text := n.Text
	if n.Source != "" {
		text = wording.Text{En: n.Source + ": " + text.En, Zh: n.Source + "：" + text.Zh}
	}
	switch n.Level {
	case LevelNote:
		text = wording.Say("note: %s", text)
	case LevelWarning:
		text = wording.Say("warning: %s", text)
	}
	return text.In(language)
}

// ErrNoJournal is the error of a state directory without a journal.
var ErrNoJournal = wording.Errorf("there is no journal")

// UnavailableError is the error of a journal or a memory that cannot be opened or read: the
// request is not at fault. A [Service] makes it; it does not change.
type UnavailableError struct{ Err error }

// Error is that of the store.
func (e *UnavailableError) Error() string { return e.Err.Error() }

// Unwrap returns the error of the store.
func (e *UnavailableError) Unwrap() error { return e.Err }

// markUnavailable marks the error of a store.
func markUnavailable(err error) error {
	if err == nil {
		return nil
	}
	return &UnavailableError{err}
}

// New returns a Service of these parts. Nothing is opened before it is needed.
func New(parts Parts) *Service {
	s := &Service{parts: parts}
	s.memories = s.lazyMemory(MemoryOptions{})
	return s
}

// Close closes the journal and the memory, where they were opened. Sessions must have
// ended.
func (s *Service) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	var err error
	if s.recorder != nil {
		err = s.recorder.Close()
	}
	if p := s.memories.Opened(); p != nil {
		err = errors.Join(err, p.Store.Close())
	}
	return err
}

// openJournal returns the journal, opened once.
func (s *Service) openJournal(ctx context.Context, create bool) (journal.Journal, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.recorder != nil {
		return s.recorder, nil
	}
	j, err := s.parts.Journal(ctx, create)
	if errors.Is(err, ErrNoJournal) {
		return nil, err
	}
	if err != nil {
		return nil, markUnavailable(err)
	}
	s.recorder = j
	return j, nil
}

// subscribeToRun is [journal.EventReader] Subscribe; without notice where the journal cannot be opened.
func (s *Service) subscribeToRun(ctx context.Context, run string) (noticed <-chan struct{}, stop func()) {
	j, err := s.openJournal(ctx, false)
	if err != nil {
		return nil, func() {}
	}
	return j.Subscribe(run)
}

// Ready returns an error where runs cannot be recorded.
func (s *Service) Ready(ctx context.Context) error {
	_, err := s.StoreID(ctx)
	return err
}

// StoreID returns the id of the journal, the same for all processes that share it. A journal
// that is not there is made.
func (s *Service) StoreID(ctx context.Context) (string, error) {
	j, err := s.openJournal(ctx, true)
	if err != nil {
		return "", err
	}
	id, err := j.ID(ctx)
	if err != nil {
		return "", markUnavailable(wording.Errorf("reading the journal: %w", err))
	}
	return id, nil
}
