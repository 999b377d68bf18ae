package host

import (
	"context"
	"sync"
	"time"

	"github.com/callnode/scheduler/calls"
	"github.com/callnode/scheduler/llm/value/wording"
	"github.com/callnode/scheduler/plugins/manifest"
)

// plugin is one trusted plugin: its running instance, when it has one, with its starts and restarts.
// [Host.addLocked] makes it; it lives until it is untrusted, trusted again, or its host is closed. It is safe for
// concurrent use.
type plugin struct {
	opts     Options // of its host
	catalog  *manifest.Catalog
	entry    *manifest.Entry
	limits   manifest.Limits // the manifest's
	launcher launcher
	slots    chan struct{}  // holds one value for each request that runs
	stops    sync.WaitGroup // starts, checks and stops that run in the background

	mu      sync.Mutex // guards all below
	current *Instance  // nil if none runs
	// starting and checking are closed when a start, or a check of an instance that did not answer in time, is
	// over; nil if none runs.
	starting, checking chan struct{}
	cancelStart        context.CancelFunc
	failures           int // in a row
	failedAt           time.Time
	failure            error // the last
	closed             bool
}

// errClosed is the error of every request after its host was closed.
var errClosed = wording.Errorf("plugins are shut down")

// maxBackoff is how far the pause before a restart grows; one that is longer from the start
// does not grow.
const maxBackoff = 5 * time.Second

// acquireInstance returns the running instance, and starts one if there is none. After a failure it waits before
// the next start, and after too many in a row it refuses for a while.
func (p *plugin) acquireInstance(ctx context.Context) (*Instance, error) {
	for {
		instance, wait, err := p.findOrStart()
		if instance != nil || err != nil {
			return instance, err
		}
		select {
		case <-wait:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
		if err := p.permanentFailure(); err != nil {
			return nil, err
		}
	}
}

// findOrStart returns the running instance, or a channel that is closed when it makes sense to look again; it
// starts an instance if needed.
func (p *plugin) findOrStart() (instance *Instance, wait <-chan struct{}, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		return nil, nil, errClosed
	}
	if p.checking != nil {
		return nil, p.checking, nil
	}
	if p.current != nil {
		if p.current.Alive() {
			return p.current, nil, nil
		}
		p.dropLocked(p.current, wording.Errorf("it ended by itself: %s", p.current.Status()))
	}
	if p.starting == nil {
		if p.isExhaustedLocked() {
			return nil, nil, wording.Errorf("it failed %d times in a row and is not started again for %s; the last time: %w",
				p.failures, p.opts.Cooldown, p.failure)
		}
		p.startLocked()
	}
	return nil, p.starting, nil
}

// permanentFailure returns the error of a start that failed and would fail again; nil if there is none.
func (p *plugin) permanentFailure() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.current == nil && p.starting == nil && isPermanent(p.failure) {
		return p.failure
	}
	return nil
}

// isExhaustedLocked reports whether the plugin failed too often; after the cooldown it
// gets one more chance.
func (p *plugin) isExhaustedLocked() bool {
	return p.failures > p.limits.Restarts && time.Since(p.failedAt) < p.opts.Cooldown
}

// startLocked starts an instance in the background: a request that waits for it may end.
func (p *plugin) startLocked() {
	ctx, cancel := context.WithCancel(context.Background())
	p.starting, p.cancelStart = make(chan struct{}), cancel
	pause := time.Duration(0)
	if p.failures > 0 {
		first := p.opts.Backoff
		pause = max(first, min(first<<min(p.failures-1, 16), maxBackoff))
	}
	p.stops.Go(func() {
		defer cancel()
		instance, err := p.launchAfter(ctx, pause)
		p.mu.Lock()
		defer p.mu.Unlock()
		switch {
		case err != nil:
			p.recordFailureLocked(err)
		case p.closed:
			p.stops.Go(func() { instance.Stop(p.opts.GracePeriod) })
		default:
			p.current, p.failure = instance, nil
		}
		close(p.starting)
		p.starting = nil
	})
}

func (p *plugin) launchAfter(ctx context.Context, pause time.Duration) (*Instance, error) {
	select {
	case <-time.After(pause):
		return p.launcher.launch(ctx)
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// recordFailureLocked counts a failure. A permanent one does not count: the next request
// tries again at once.
func (p *plugin) recordFailureLocked(err error) {
	p.failure = err
	if !isPermanent(err) {
		p.failures++
		p.failedAt = time.Now()
	}
}

// dropLocked abandons an instance and counts the failure.
func (p *plugin) dropLocked(instance *Instance, err error) {
	if p.current != instance {
		return
	}
	p.current = nil
	p.recordFailureLocked(err)
	p.stops.Go(func() { instance.Stop(0) })
}

// dropInstance abandons an instance and counts the failure.
func (p *plugin) dropInstance(instance *Instance, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.dropLocked(instance, err)
}

// resetFailures forgets failures, after a success.
func (p *plugin) resetFailures() {
	p.mu.Lock()
	p.failures = 0
	p.mu.Unlock()
}

// pingTimeout is how long an instance that did not answer in time has to answer the
// health check.
const pingTimeout = 2 * time.Second

// checkAlive checks whether an instance that did not answer a request in time is alive at all, and drops it if it
// is not. Requests that come meanwhile wait for the result.
func (p *plugin) checkAlive(instance *Instance) {
	p.mu.Lock()
	defer p.mu.Unlock()
	underway := p.checking != nil
	if underway || p.current != instance || p.closed {
		return
	}
	checking := make(chan struct{})
	p.checking = checking
	p.stops.Go(func() {
		ctx, cancel := context.WithTimeout(context.Background(), min(pingTimeout, time.Duration(p.limits.Timeout)))
		err := instance.Ping(ctx)
		cancel()
		p.mu.Lock()
		defer p.mu.Unlock()
		if err != nil {
			p.dropLocked(instance, wording.Errorf("it hung, and was killed"))
		}
		p.checking = nil
		close(checking)
	})
}

// takeInstance returns the running instance and forgets it: the next request starts another.
func (p *plugin) takeInstance(ctx context.Context) (*Instance, error) {
	instance, err := p.acquireInstance(ctx)
	if err != nil {
		return nil, err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.current == instance {
		p.current = nil
	}
	return instance, nil
}

// close stops the plugin and waits until its processes are gone.
func (p *plugin) close() {
	p.mu.Lock()
	p.closed = true
	if p.starting != nil {
		p.cancelStart()
	}
	if instance := p.current; instance != nil {
		p.current = nil
		p.stops.Go(func() { instance.Stop(p.opts.GracePeriod) })
	}
	p.mu.Unlock()
	p.stops.Wait()
}

// errorf returns an error of the plugin; the argument what names the function.
func (p *plugin) errorf(kind calls.Kind, what wording.Text, format string, args ...any) *calls.Error {
	err := wording.Errorf(format, args...)
	if what.En == "" {
		return calls.Errorf(kind, "plugin %s: %w", p.entry.Name, err)
	}
	return calls.Errorf(kind, "plugin %s, %s: %w", p.entry.Name, what, err)
}

// faultf returns an error that the plugin itself caused, with the way to look for it.
func (p *plugin) faultf(what wording.Text, format string, args ...any) *calls.Error {
	err := p.errorf(calls.Plugin, what, format, args...)
	if dir := p.catalog.Dir(p.entry.Name); dir != "" { // else it runs inside this process
		return err.WithHint("look for the fault in the plugin: scheduler plugins verify --log %q", dir)
	}
	return err
}
