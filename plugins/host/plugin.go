package host

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/callnode/scheduler/calls"
)

// plugin is one trusted plugin: its process, when it has one, and the starts and
// restarts of that.
type plugin struct {
	host     *Host
	entry    *Entry
	limits   Limits // the manifest's, the defaults before it was read
	launcher launcher
	slots    chan struct{}

	mu      sync.Mutex
	current *process
	// starting and checking are closed when a start, or a look at a process that
	// did not answer in time, is over; nil where none is under way.
	starting, checking chan struct{}
	cancelStart        context.CancelFunc
	failures           int // in a row
	failedAt           time.Time
	failure            error // the last
	closed             bool
	stops              sync.WaitGroup // processes that are being stopped
}

// errClosed is what a plugin says when its host was closed.
var errClosed = errors.New("plugins are shut down")

// maxBackoff is the longest pause before a restart.
const maxBackoff = 5 * time.Second

// acquire gives the running process, and starts it where there is none. After a
// failure it waits before the next start, and after too many in a row it refuses for
// a while.
func (p *plugin) acquire(ctx context.Context) (*process, error) {
	for {
		p.mu.Lock()
		if p.closed {
			p.mu.Unlock()
			return nil, errClosed
		}
		wait := p.checking
		if wait == nil {
			if proc := p.current; proc != nil {
				if proc.alive() {
					p.mu.Unlock()
					return proc, nil
				}
				p.lose(proc, fmt.Errorf("it ended by itself: %s", proc.status()))
			}
			if p.starting == nil {
				if p.exhausted() {
					err := fmt.Errorf("it failed %d times in a row and is not started again for %s; the last time: %w",
						p.failures, p.host.opts.Cooldown, p.failure)
					p.mu.Unlock()
					return nil, err
				}
				p.begin()
			}
			wait = p.starting
		}
		p.mu.Unlock()
		select {
		case <-wait:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
		p.mu.Lock()
		if err := p.failure; p.current == nil && p.starting == nil && errors.As(err, new(permanent)) {
			p.mu.Unlock()
			return nil, err
		}
		p.mu.Unlock()
	}
}

// exhausted says that the plugin failed too often; after the cooldown it gets one
// more chance. p.mu is held.
func (p *plugin) exhausted() bool {
	return p.failures > p.limits.Restarts && time.Since(p.failedAt) < p.host.opts.Cooldown
}

// begin starts the process in the background: whoever waits may leave. p.mu is held.
func (p *plugin) begin() {
	ctx, cancel := context.WithCancel(context.Background())
	p.starting, p.cancelStart = make(chan struct{}), cancel
	pause := time.Duration(0)
	if p.failures > 0 {
		pause = min(p.host.opts.Backoff<<min(p.failures-1, 16), maxBackoff)
	}
	p.stops.Go(func() {
		defer cancel()
		var proc *process
		var err error
		select {
		case <-time.After(pause):
			proc, err = p.launcher.launch(ctx)
		case <-ctx.Done():
			err = ctx.Err()
		}
		p.mu.Lock()
		defer p.mu.Unlock()
		switch {
		case err != nil:
			p.note(err)
		case p.closed:
			p.stops.Go(func() { proc.stop(p.host.opts.StopGrace) })
		default:
			p.current, p.failure = proc, nil
		}
		close(p.starting)
		p.starting = nil
	})
}

// note counts a failure; permanent ones are not: the next request tries anew. p.mu
// is held.
func (p *plugin) note(err error) {
	p.failure = err
	if !errors.As(err, new(permanent)) {
		p.failures++
		p.failedAt = time.Now()
	}
}

// lose gives a process up and counts the failure. p.mu is held.
func (p *plugin) lose(proc *process, err error) {
	if p.current != proc {
		return
	}
	p.current = nil
	p.note(err)
	p.stops.Go(func() { proc.stop(0) })
}

// drop is lose for callers without the lock.
func (p *plugin) drop(proc *process, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.lose(proc, err)
}

// succeeded forgets failures.
func (p *plugin) succeeded() {
	p.mu.Lock()
	p.failures = 0
	p.mu.Unlock()
}

// pingTimeout is how long a process that did not answer in time has to say that it
// is alive.
const pingTimeout = 2 * time.Second

// suspect looks whether a process that did not answer a request in time is alive at
// all. Requests that come meanwhile wait for the result.
func (p *plugin) suspect(proc *process) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.checking != nil || p.current != proc || p.closed {
		return
	}
	checking := make(chan struct{})
	p.checking = checking
	p.stops.Go(func() {
		ctx, cancel := context.WithTimeout(context.Background(), min(pingTimeout, time.Duration(p.limits.Timeout)))
		err := proc.ping(ctx)
		cancel()
		p.mu.Lock()
		defer p.mu.Unlock()
		if err != nil {
			p.lose(proc, errors.New("it hung, and was killed"))
		}
		p.checking = nil
		close(checking)
	})
}

// close stops the plugin and waits until its processes are gone.
func (p *plugin) close() {
	p.mu.Lock()
	p.closed = true
	if p.starting != nil {
		p.cancelStart()
	}
	if proc := p.current; proc != nil {
		p.current = nil
		p.stops.Go(func() { proc.stop(p.host.opts.StopGrace) })
	}
	p.mu.Unlock()
	p.stops.Wait()
}

// errorf is an error of the plugin; what names the function or what was wanted.
func (p *plugin) errorf(kind calls.Kind, what, format string, args ...any) *calls.Error {
	if what != "" {
		what = ", " + what
	}
	return calls.Errorf(kind, "plugin %s%s: %w", p.entry.Name, what, fmt.Errorf(format, args...))
}

// fault is an error of the plugin's own making, with the way to look for it.
func (p *plugin) fault(what, format string, args ...any) *calls.Error {
	err := p.errorf(calls.Plugin, what, format, args...)
	if dir := p.host.folders[p.entry.Name]; dir != "" { // else it runs inside this process
		return err.WithHint("look for the fault in the plugin: scheduler plugins verify --log %q", dir)
	}
	return err
}
