package memory

import (
	"context"
	"sync"

	"github.com/callnode/scheduler/calls"
	"github.com/callnode/scheduler/plugins"
)

// FromEnv gives the memory of a call. The error is an [*calls.Error] that says what is
// missing.
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

// Lazy is a memory whose store is opened by the first call that needs it: a run that
// needs none opens no file. What reads memory unasked, such as the history of a
// prompt, finds nothing in a flow that names neither a user nor a session; the calls
// of this family work there too, for the user without a name.
type Lazy struct {
	open func(context.Context) (*SnapshotProcessor, error)

	mu     sync.Mutex
	opened *SnapshotProcessor
}

var _ calls.Memory = (*Lazy)(nil)

// NewLazy makes a memory that open opens. After an error it is asked again.
func NewLazy(open func(context.Context) (*SnapshotProcessor, error)) *Lazy { return &Lazy{open: open} }

// Open gives the memory, opened.
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

// Opened is the memory if something has opened it, else nil.
func (l *Lazy) Opened() *SnapshotProcessor {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.opened
}

// Recent asks the memory of a scope, if there is one.
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

// Retrieve asks the memory of a scope, if there is one.
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
