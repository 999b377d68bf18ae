// Package host runs plugins: programs of their own that offer importance functions,
// variables and calls. Whatever such a program does, a run ends with its answer or with
// an error that names the plugin and the function.
//
// The life of a plugin: [Open] finds its folder and reads the lock file (both in package
// manifest) and starts nothing; [Host.Register] enters its functions into a registry, by
// what the lock file has of them; the first request for one of them starts the program
// (package process), after its digest was compared with the trusted one; it then serves
// all runs of the host, one stream of requests for all (package session), and may use
// what package services offers it; when it fails it is started again, with growing
// pauses; [Host.Close] ends it. [Host.Trust] starts a program once, to let it describe
// itself, and writes that to the lock file.
package host

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"sync"
	"time"

	"github.com/callnode/scheduler/calls"
	"github.com/callnode/scheduler/calls/schema"
	"github.com/callnode/scheduler/llm/value/wording"
	"github.com/callnode/scheduler/plugins/host/process"
	"github.com/callnode/scheduler/plugins/manifest"
)

// Options say where plugins are and how they are run. The zero value finds none.
type Options struct {
	// Folders hold a folder per plugin; one that does not exist is empty.
	Folders []string
	// Plugins are further folders of plugins. Each must have a plugin.yaml.
	Plugins []string
	// LockFile is the file of what is trusted; it need not exist.
	LockFile string
	// BuiltInVariables are names of variables that no plugin can have.
	BuiltInVariables []string
	// Log takes what plugins write; nil is no log.
	Log *slog.Logger
	// TempDir is where the folder of sockets is made; "" is the system's.
	TempDir string
	// AutoMTLS encrypts and authenticates the connections by certificates. Sockets
	// are in a folder that only this user can enter, so it is rarely needed. A start
	// takes some 30 ms longer.
	AutoMTLS bool
	// Reaper reports whether this program's main passes its arguments to [process.Reap] when
	// the first is [process.ReaperCommand]. Plugins are started through it then, and on
	// Linux nothing that one starts outlives it, not even what leaves its process group.
	// Without, and on other systems, the process group is ended.
	Reaper bool
	// Backoff is the pause before the first restart, doubled with each up to 5 s; 0 is
	// 100 ms.
	Backoff time.Duration
	// Cooldown is how long a plugin that failed too often is not started; 0 is 30 s.
	Cooldown time.Duration
	// GracePeriod is how long a plugin has to end by itself; 0 is 2 s.
	GracePeriod time.Duration
}

func (o Options) withDefaults() Options {
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if o.Backoff <= 0 {
		o.Backoff = 100 * time.Millisecond
	}
	if o.Cooldown <= 0 {
		o.Cooldown = 30 * time.Second
	}
	if o.GracePeriod <= 0 {
		o.GracePeriod = 2 * time.Second
	}
	return o
}

// Host runs plugins. [Open], [Single] or [InProcess] makes one; it lives until
// [Host.Close], and one serves all runs of a program. It is safe for concurrent use.
type Host struct {
	opts    Options
	catalog *manifest.Catalog
	spawner process.Spawner

	// closing is cancelled by cancelAll when the host is closed; Close waits for the users:
	// see use.
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

// Open finds plugins and reads the lock file. It starts nothing. A lock file that cannot
// be read is an error; folders that are wrong are problems of [Host.List].
func Open(opts Options) (*Host, error) {
	h := newHost(opts, manifest.Find(opts.Folders, opts.Plugins))
	lock, err := manifest.ReadLock(opts.LockFile)
	if err != nil {
		return nil, err
	}
	h.lock = lock
	for i := range lock.Plugins {
		e := lock.Plugins[i]
		dir := h.catalog.Dir(e.Name)
		h.addLocked(&e, &programLauncher{host: h, name: e.Name, dir: dir, trusted: &e}, readLimits(dir))
	}
	return h, nil
}

// readLimits returns the limits of the plugin in a folder. Where its manifest cannot be
// read it will not start.
func readLimits(dir string) manifest.Limits {
	if dir != "" {
		if m, err := manifest.Read(dir); err == nil {
			return m.Limits
		}
	}
	return manifest.DefaultLimits()
}

// addLocked adds a trusted plugin; h is not in use yet, or h.mu is held.
func (h *Host) addLocked(e *manifest.Entry, l launcher, limits manifest.Limits) {
	h.plugins[e.Name] = &plugin{host: h, entry: e, launcher: l, limits: limits, slots: make(chan struct{}, limits.Concurrency)}
}

// Names lists the trusted plugins, sorted: those that flows may name.
func (h *Host) Names() []string {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.lock.Names()
}

// plugin returns a trusted plugin; nil where it is not.
func (h *Host) plugin(name string) *plugin {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.plugins[name]
}

// Register enters the functions of all trusted plugins into a registry, by what the lock
// file says of them. A name that is taken is an error. From then on the registry knows
// why a plugin cannot be used: see [calls.Registry.CheckPlugin].
func (h *Host) Register(r *calls.Registry) error {
	r.AddCheck(h.newCheck())
	var problems []error
	for _, name := range h.Names() {
		if err := h.plugin(name).registerFunctions(r); err != nil {
			problems = append(problems, wording.Errorf("plugin %s: %w", name, err))
		}
	}
	return errors.Join(problems...)
}

func (p *plugin) registerFunctions(r *calls.Registry) error {
	var problems []error
	variables := &resolver{plugin: p, schemas: map[string]*schema.Schema{}}
	for i := range p.entry.Functions {
		f := &p.entry.Functions[i]
		var err error
		switch f.Kind {
		case manifest.Importance:
			err = r.AddImportance(f.Title(p.entry.Name), &importance{plugin: p, function: f})
		case manifest.Check:
			err = r.AddTestCheck(f.Title(p.entry.Name), &importance{plugin: p, function: f})
		case manifest.Variable:
			variables.schemas[f.Name], err = schema.Parse(f.Output)
			if err == nil {
				err = r.AddResolver(variables, f.Name)
			}
		case manifest.Call:
			var def calls.Definition
			def, err = p.newDefinition(f)
			if err == nil {
				err = r.AddCall(def)
			}
		}
		problems = append(problems, err)
	}
	return errors.Join(problems...)
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
