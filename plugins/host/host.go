// Package host runs plugins: programs of their own that offer importance functions, variables and calls. Whatever
// such a program does, a run ends with its answer or with an error that names the plugin and the function. For
// example, if the program crashes, the error says "plugin recency, function is_fresh: its process ended".
//
// The life of a plugin: [Open] finds its folder and reads the lock file (both in package manifest) and starts
// nothing; [Host.Register] enters its functions into a registry, from their descriptions in the lock file; the
// first request for one of them starts the program (package process), after its digest was compared with the
// trusted one; it then serves all runs of the host, one stream of requests for all (package session), and may use
// the services of package services; when it fails it is started again, with growing pauses; [Host.Close] ends it.
// [Host.Trust] starts a program once, to let it describe itself, and writes that to the lock file.
package host

import (
	"context"
	"slices"
	"sync"

	"github.com/callnode/scheduler/plugins/host/process"
	"github.com/callnode/scheduler/plugins/manifest"
)

// Host runs plugins. [Open], [Single] or [InProcess] makes one; it lives until
// [Host.Close], and one serves all runs of a program. It is safe for concurrent use.
type Host struct {
	opts    Options
	catalog *manifest.Catalog
	spawner process.Spawner

	// closing is cancelled by cancelAll when the host is closed; Close waits for the users:
	// see beginUse.
	closing   context.Context
	cancelAll context.CancelFunc
	users     sync.WaitGroup

	mu      sync.Mutex         // guards all below
	sockets *process.SocketDir // nil before the first start
	lock    *manifest.Lock
	plugins map[string]*plugin
	closed  bool
}

// newHost returns a host that trusts nothing.
func newHost(opts Options, catalog *manifest.Catalog) *Host {
	h := &Host{opts: opts.withDefaults(), catalog: catalog, plugins: map[string]*plugin{}, lock: manifest.NewLock()}
	h.closing, h.cancelAll = context.WithCancel(context.Background())
	return h
}

// addLocked adds a trusted plugin; h is not in use yet, or h.mu is held.
func (h *Host) addLocked(e *manifest.Entry, l launcher, limits manifest.Limits) {
	h.plugins[e.Name] = &plugin{opts: h.opts, catalog: h.catalog, entry: e, launcher: l, limits: limits, slots: make(chan struct{}, limits.Concurrency)}
}

// Names lists the trusted plugins, sorted: those that flows may name.
func (h *Host) Names() []string {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.lock.Names()
}

// plugin returns a trusted plugin; nil if it is not trusted.
func (h *Host) plugin(name string) *plugin {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.plugins[name]
}

// beginUse begins a use of the host, which lasts until done is called: Close waits for it. The
// context ends with the host too.
func (h *Host) beginUse(ctx context.Context) (_ context.Context, done func(), err error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.closed {
		return nil, nil, errClosed
	}
	h.users.Add(1)
	ctx, cancel := context.WithCancel(ctx)
	stop := context.AfterFunc(h.closing, cancel)
	return ctx, func() {
		stop()
		cancel()
		h.users.Done()
	}, nil
}

// Close stops all plugins in bounded time: gracefully, then by force. When it
// returns no process and no file of theirs is left.
func (h *Host) Close() error {
	h.mu.Lock()
	if h.closed {
		h.mu.Unlock()
		return nil
	}
	h.closed = true
	all := h.plugins
	h.mu.Unlock()
	h.cancelAll()
	h.users.Wait()
	var stopping sync.WaitGroup
	for _, p := range all {
		stopping.Go(p.close)
	}
	stopping.Wait()
	h.spawner.Close()
	if h.sockets == nil {
		return nil
	}
	return h.sockets.Remove()
}

// socketDir returns the path of the folder of sockets, made when the first plugin starts.
func (h *Host) socketDir() (string, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.sockets == nil {
		d, err := process.NewSocketDir(h.opts.TempDir)
		if err != nil {
			return "", err
		}
		h.sockets = d
	}
	return h.sockets.Path(), nil
}

// List returns all plugins that were found or are trusted, sorted by name, and the
// problems of folders. It starts nothing.
func (h *Host) List() ([]manifest.Status, []error) { return h.catalog.List(h.lockSnapshot()) }

// lockSnapshot returns a copy of the lock, for use without h.mu.
func (h *Host) lockSnapshot() *manifest.Lock {
	h.mu.Lock()
	defer h.mu.Unlock()
	return &manifest.Lock{Version: h.lock.Version, Plugins: slices.Clone(h.lock.Plugins)}
}
