package memory

import (
	"context"
	"sync"

	"github.com/callnode/scheduler/calls"
	"github.com/callnode/scheduler/plugins"
)

// FromEnv returns the memory of a call. If the settings or the flow lack something, the error is an [*calls.Error]
// that names it.
func FromEnv(ctx context.Context, env *calls.Env) (*SnapshotProcessor, error) {
	switch m := env.Memory.(type) {
	case *SnapshotProcessor:
		return m, nil
	case *Lazy:
		return m.Open(ctx)
	}
	return nil, calls.Errorf(calls.Invalid, "there is no memory store here").
		WithHint("run it with a state directory; --ephemeral keeps memories only for the run")
}

// Lazy is a memory whose store is opened by the first call that needs it: a run without such a call opens no file.
// The program creates one for each run. Readers that were not asked for, such as the history of a prompt, find
// nothing in a single call that names neither a user nor a session. It is safe for concurrent use.
type Lazy struct {
	open func(context.Context) (*SnapshotProcessor, error)

	mu     sync.Mutex
	opened *SnapshotProcessor
}

var _ calls.Memory = (*Lazy)(nil)

// NewLazy returns a memory that calls open when it is needed, and again after an error.
func NewLazy(open func(context.Context) (*SnapshotProcessor, error)) *Lazy { return &Lazy{open: open} }

// Open returns the memory and opens it if necessary.
func (l *Lazy) Open(ctx context.Context) (*SnapshotProcessor, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.opened != nil {
		return l.opened, nil
	}
	p, err := l.open(ctx)
	if err != nil {
		return nil, err
	}
	l.opened = p
	return p, nil
}

// Opened returns the memory if it is open, else nil.
func (l *Lazy) Opened() *SnapshotProcessor {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.opened
}

// Recent returns the newest utterances of a scope, none without a scope.
func (l *Lazy) Recent(ctx context.Context, scope calls.Scope, limit int) ([]plugins.Turn, error) {
	if scope == (calls.Scope{}) {
		return nil, nil
	}
	p, err := l.Open(ctx)
	if err != nil {
		return nil, err
	}
	return p.Recent(ctx, scope, limit)
}

// Retrieve returns the memories of a scope that match a query, none without a scope.
func (l *Lazy) Retrieve(ctx context.Context, scope calls.Scope, query string, limit int) ([]plugins.Recalled, error) {
	if scope == (calls.Scope{}) {
		return nil, nil
	}
	p, err := l.Open(ctx)
	if err != nil {
		return nil, err
	}
	return p.Retrieve(ctx, scope, query, limit)
}
