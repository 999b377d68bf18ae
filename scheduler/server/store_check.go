package server

import (
	"context"
	"errors"
	"net/http"
	"sync"
	"time"

	"github.com/callnode/scheduler/calls"
	"github.com/callnode/scheduler/llm/value/wording"
)

const (
	// storeTimeout limits the time that a request waits for a store that does not answer.
	storeTimeout = 3 * time.Second
	// storeMemory is how long a store that has answered is not asked again.
	storeMemory = 250 * time.Millisecond
)

// withStoreTimeout calls do with a context that ends after storeTimeout. A store that has not answered by then is
// status 503.
func withStoreTimeout(ctx context.Context, do func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(ctx, storeTimeout)
	defer cancel()
	err := do(ctx)
	if errors.Is(err, context.DeadlineExceeded) {
		p := newProblem(http.StatusServiceUnavailable, string(calls.Internal), wording.Say("the store of the server does not answer"), wording.Say("try again later"))
		p.cause = err
		return p.retryAfter(5)
	}
	return err
}

// storeCheck asks the store whether it answers, before a handler begins that needs it: one that has begun
// waits longer, as work that is half done should not be lost. [New] makes one; it is safe for concurrent use.
type storeCheck struct {
	ping func(context.Context) error

	mu       sync.Mutex // guards the fields below
	answered time.Time  // when the store last did
	pending  *storePing // nil: the store is not being asked
}

// storePing is a question that several requests wait for. err is set before done is closed.
type storePing struct {
	done chan struct{}
	err  error
}

// await returns once the store answers. The error is the problem with status 503 if it does not; errors from the
// store itself are left to the handlers.
func (c *storeCheck) await(ctx context.Context) error {
	c.mu.Lock()
	if time.Since(c.answered) < storeMemory {
		c.mu.Unlock()
		return nil
	}
	p := c.pending
	if p == nil {
		p = &storePing{done: make(chan struct{})}
		c.pending = p
		go c.ask(p)
	}
	c.mu.Unlock()
	select {
	case <-p.done:
	case <-ctx.Done():
		return ctx.Err()
	}
	if unavailable := (*Problem)(nil); errors.As(p.err, &unavailable) {
		return p.err
	}
	return nil
}

// ask asks the store. It does not end with the request that began it, as others wait too.
func (c *storeCheck) ask(p *storePing) {
	p.err = withStoreTimeout(context.Background(), c.ping)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.pending = nil
	if p.err == nil {
		c.answered = time.Now()
	}
	close(p.done)
}
