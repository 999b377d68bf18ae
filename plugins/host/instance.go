package host

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/callnode/scheduler/llm/value/secret"
	"github.com/callnode/scheduler/llm/value/wording"
	"github.com/callnode/scheduler/plugins/host/process"
	"github.com/callnode/scheduler/plugins/host/services"
	"github.com/callnode/scheduler/plugins/host/session"
	"github.com/callnode/scheduler/plugins/manifest"
	"github.com/callnode/scheduler/plugins/proto"
)

// Instance is a plugin that was started and has described itself: one process, or one in
// this process. A launcher makes it; the host uses it until it fails or is stopped. It is
// safe for concurrent use. Its exported methods are for conformance suites, which talk to
// a plugin without the host's care.
type Instance struct {
	entry    *manifest.Entry // how it described itself
	seal     *manifest.Seal  // the started program; nil in this process
	output   *process.Output
	api      proto.PluginClient
	session  *session.Session // nil if the plugin serves none
	services *services.Server // nil if it was granted none

	// exited is closed when it is gone; status then returns how it ended.
	exited <-chan struct{}
	status func() string
	ping   func(ctx context.Context) error
	// end stops it: gracefully for so long, then by force.
	end func(gracePeriod time.Duration)
	// closeLifePipe lets it believe that the host is gone; nil in this process.
	closeLifePipe func()

	requests requestCounter
	stopping sync.Once
}

// launcher starts a plugin.
type launcher interface {
	launch(ctx context.Context) (*Instance, error)
}

// Alive reports whether it still runs.
func (i *Instance) Alive() bool {
	select {
	case <-i.exited:
		return false
	default:
		return true
	}
}

// Status returns how it ended; "" while it runs.
func (i *Instance) Status() string { return i.status() }

// Stop ends it, gracefully for so long, then by force. It returns when it is gone.
func (i *Instance) Stop(gracePeriod time.Duration) {
	i.stopping.Do(func() {
		if i.session != nil {
			i.session.Close()
		}
		i.end(gracePeriod)
		if i.services != nil {
			i.services.Stop()
		}
	})
}

// CloseLifePipe lets it believe that the host is gone, and reports whether that is
// possible.
func (i *Instance) CloseLifePipe() bool {
	if i.closeLifePipe == nil {
		return false
	}
	i.closeLifePipe()
	return true
}

// AwaitExit reports whether it ends by itself within a time.
func (i *Instance) AwaitExit(timeout time.Duration) bool {
	select {
	case <-i.exited:
		return true
	case <-time.After(timeout):
		return false
	}
}

// Ping returns an error if the health check is not answered.
func (i *Instance) Ping(ctx context.Context) error {
	if err := i.ping(ctx); err != nil {
		return errors.New(statusText(i.output.Hidden, err))
	}
	return nil
}

// Ask sends one request by itself.
func (i *Instance) Ask(ctx context.Context, req *proto.Request) (*proto.Reply, error) {
	return i.api.Ask(ctx, req)
}

// HasSession reports whether it serves [Instance.AskSession].
func (i *Instance) HasSession() bool { return i.session != nil }

// AskSession sends a request through the session.
func (i *Instance) AskSession(ctx context.Context, req *proto.Request, timeout time.Duration) (*proto.Reply, error) {
	return i.session.Ask(ctx, req, 0, timeout)
}

// Exec executes a call.
func (i *Instance) Exec(ctx context.Context, req *proto.ExecRequest) (grpc.ServerStreamingClient[proto.Chunk], error) {
	return i.api.Exec(ctx, req)
}

// exitNotice is how long the end of a process is waited for after its connection broke:
// the notice comes a moment later.
const exitNotice = 2 * time.Second

// ExplainError returns the meaning of a request's error: how the process ended, if it did, else the status of
// gRPC.
func (i *Instance) ExplainError(err error) error {
	if errors.Is(err, session.ErrViolation) {
		return err
	}
	if code := status.Code(err); code == codes.Unavailable || code == codes.Unknown || code == codes.Canceled {
		i.AwaitExit(exitNotice)
	}
	if !i.Alive() {
		return wording.Errorf("its process ended: %s", wording.RecognizeOr(i.status()))
	}
	return errors.New(statusText(i.output.Hidden, err))
}

// Annotate adds the last output of the process to an error.
func (i *Instance) Annotate(err error) error { return i.output.Annotate(err) }

// statusText returns the message of a gRPC status, as one of our errors.
func statusText(hidden *secret.Set, err error) string {
	s, ok := status.FromError(err)
	if !ok {
		return manifest.Message(hidden, err.Error())
	}
	return fmt.Sprintf("%s (%s)", manifest.Message(hidden, s.Message()), s.Code())
}

// permanentError is an error that the next start would meet too.
type permanentError struct{ err error }

func (e permanentError) Error() string { return e.err.Error() }
func (e permanentError) Unwrap() error { return e.err }

// isPermanent reports whether starting again cannot help.
func isPermanent(err error) bool { return errors.As(err, new(permanentError)) }

// requestCounter counts the requests that an instance answers. It is safe for concurrent
// use.
type requestCounter struct {
	mu      sync.Mutex // guards all below
	started int64
	running int
}

func (c *requestCounter) start() (started int64, running int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.started++
	c.running++
	return c.started, c.running
}

func (c *requestCounter) end() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.running--
}

func (c *requestCounter) count() int64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.started
}
