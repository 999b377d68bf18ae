// Package service is the use cases that the command line and a server share: flows are checked, runs started,
// followed, resumed, cancelled and shown, single calls made, memory kept. It knows no flags, prints nothing and
// speaks no HTTP: notes and warnings are returned, and the program passes it everything that has a backend
// ([Parts]).
//
// [Service.Load] reads a flow, [Service.NewSession] makes a [Session] of it, whose events its caller takes one by
// one; [Speech] turns them into the text for a user. A [Principal] accesses a user's data: for a bound one, for
// example, other users' runs do not exist.
//
// The files:
//
//   - service.go, parts.go, principal.go, note.go: the service, the parts that a program passes it, who asks, and notes beside a result
//   - flows.go, library.go, viewed_flows.go, create_flow.go, edited_flow.go, requirements.go: flows are read, found by ids, shown, made,
//     edited, and checked for what this machine lacks
//   - inputs.go, conversation.go: inputs of a flow, and those that a chat fills by itself
//   - start.go, resume.go, fork.go, run_options.go, server_runs.go, session.go: runs begin, go on, and are forked
//   - cancel.go, give_up.go, child_runs.go, remote.go: runs end early, have runs of their own, or are carried out on other machines
//   - runs.go, progress.go, prompts.go, file_uses.go, recording_miss.go: runs are listed and shown
//   - reply.go, speech.go: a person answers a run, and reads its text
//   - call.go, ask.go, call_warnings.go, describe_call.go: one call or one question without a flow, and docs of calls
//   - memory.go, tests.go: the memory, and tests of flows
//   - preview/: prompts before they are sent
//   - wording.go: the messages in Chinese
package service

import (
	"context"
	"errors"
	"sync"

	"github.com/callnode/scheduler/calls"
	"github.com/callnode/scheduler/calls/memory"
	"github.com/callnode/scheduler/llm/value/wording"
	"github.com/callnode/scheduler/scheduler/journal"
)

// Service carries out the use cases. [New] makes one for the life of a process, [Service.Close]
// ends it. Its methods are safe for concurrent use.
type Service struct {
	parts    Parts
	progress progressCache
	viewed   viewedFlows
	texts    chan struct{} // a slot for each text of a flow that is being looked at, see awaitTurn

	mu       sync.Mutex      // guards the fields below
	recorder journal.Journal // nil until it is needed
	memories *memory.Lazy
}

// ErrNoJournal is the error of a state directory without a journal.
var ErrNoJournal = wording.Errorf("there is no journal")

// UnavailableError is the error of a journal or a memory that cannot be opened or read: the
// request is not at fault. A [Service] makes it; it does not change.
type UnavailableError struct{ Err error }

// Error returns the store's error.
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
	s := &Service{parts: parts, texts: make(chan struct{}, maxTexts)}
	s.memories = s.lazyMemory(MemoryOptions{})
	return s
}

// lazyMemory returns a memory that is opened when it is needed.
func (s *Service) lazyMemory(options MemoryOptions) *memory.Lazy {
	return memory.NewLazy(func(ctx context.Context) (*memory.SnapshotProcessor, error) {
		return s.parts.Memory(ctx, options)
	})
}

// Close closes the journal and the memory, if they were opened. Sessions must have ended.
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

// openRemote returns the remote runner for runs with a label.
func (s *Service) openRemote(ctx context.Context, name string) (Remote, error) {
	if s.parts.Remote == nil {
		return nil, calls.Errorf(calls.Invalid, "the run is carried out on %s, which this program does not reach", name)
	}
	remote, err := s.parts.Remote(ctx, name)
	if err != nil {
		return nil, &RemoteError{err}
	}
	return remote, nil
}

// SubscribeToRun is [journal.EventReader] Subscribe; without notice if the journal cannot be opened.
func (s *Service) SubscribeToRun(ctx context.Context, run string) (noticed <-chan struct{}, stop func()) {
	j, err := s.openJournal(ctx, false)
	if err != nil {
		return nil, func() {}
	}
	return j.Subscribe(run)
}

// Ready returns an error if runs cannot be recorded.
func (s *Service) Ready(ctx context.Context) error {
	_, err := s.StoreID(ctx)
	return err
}

// CheckWritable returns an error if no run could be recorded now, for example because the disk is full.
func (s *Service) CheckWritable(ctx context.Context) error {
	j, err := s.openJournal(ctx, true)
	if err != nil {
		return err
	}
	return markUnavailable(j.CheckWritable(ctx))
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
