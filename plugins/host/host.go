// Package host finds, trusts, starts and stops plugins: programs of their own that
// offer importance functions, variables and calls. Whatever such a program does, a
// run ends with its answer or with an error that names the plugin and the function.
//
// A folder with a plugin.yaml is a plugin. It is used when the user trusts it:
// [Host.Trust] starts it once and writes what it says of itself, with the SHA-256 of
// its program, to the lock file. Everything that checks, lists or draws flows reads
// only that. A program starts when a flow asks for one of its functions for the
// first time, serves all runs of the host, is started again when it fails, and is
// stopped with the host.
package host

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/callnode/scheduler/calls"
	"github.com/callnode/scheduler/calls/schema"
	"github.com/callnode/scheduler/llm/value"
)

// Options say where plugins are and how they are run. The zero value finds none.
type Options struct {
	// Folders hold a folder per plugin; one that does not exist is empty.
	Folders []string
	// Plugins are further folders of plugins. Each must have a plugin.yaml.
	Plugins []string
	// LockFile is the file of what is trusted; it need not exist.
	LockFile string
	// Taken are names of variables that no plugin can have.
	Taken []string
	// Log takes what plugins write; nil is no log.
	Log *slog.Logger
	// TempDir is where the folder of sockets is made; "" is the system's.
	TempDir string
	// AutoMTLS encrypts and authenticates the connections by certificates. Sockets
	// are in a folder that only this user can enter, so it is rarely needed. A start
	// takes some 30 ms longer.
	AutoMTLS bool
	// Keeper says that this program's main gives its arguments to [Keep] when the first
	// is [KeeperCommand]. Plugins are started through it then, and on Linux nothing that
	// one starts outlives it, also what leaves its group of processes. Without, and on
	// other systems, the group is ended.
	Keeper bool
	// Backoff is the pause before the first restart, doubled with each; 0 is 100 ms.
	Backoff time.Duration
	// Cooldown is how long a plugin that failed too often is not started; 0 is 30 s.
	Cooldown time.Duration
	// StopGrace is how long a plugin has to end by itself; 0 is 2 s.
	StopGrace time.Duration
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
	if o.StopGrace <= 0 {
		o.StopGrace = 2 * time.Second
	}
	return o
}

// Host runs plugins. It is safe for concurrent use; one serves all runs.
type Host struct {
	opts  Options
	spawn spawner
	// folders are where plugins were found, by name; problems what is wrong with
	// folders that are none, wrong the same by the name of the folder.
	folders  map[string]string
	problems []error
	wrong    map[string]error

	// closing ends with the host; users are what Close waits for: see use.
	closing context.Context
	close   context.CancelFunc
	users   sync.WaitGroup

	mu      sync.Mutex
	sockets *socketDir // nil before the first start
	lock    *lock
	plugins map[string]*plugin
	closed  bool
}

// newHost is a host that has found and trusts nothing.
func newHost(opts Options) *Host {
	h := &Host{
		opts: opts.withDefaults(), folders: map[string]string{}, wrong: map[string]error{},
		plugins: map[string]*plugin{}, lock: &lock{Version: lockVersion},
	}
	h.closing, h.close = context.WithCancel(context.Background())
	return h
}

// Open finds plugins and reads the lock file. It starts nothing. A lock file that
// cannot be read is an error; folders that are wrong are problems of [Host.List].
func Open(opts Options) (*Host, error) {
	h := newHost(opts)
	h.find()
	var err error
	if h.lock, err = readLock(opts.LockFile); err != nil {
		return nil, err
	}
	for i := range h.lock.Plugins {
		e := h.lock.Plugins[i]
		h.add(&e, &program{host: h, name: e.Name, dir: h.folders[e.Name], trusted: &e}, h.limitsOf(e.Name))
	}
	return h, nil
}

// find looks through the folders. Of two plugins of one name the first counts.
func (h *Host) find() {
	var dirs []string
	for _, folder := range h.opts.Folders {
		entries, err := os.ReadDir(folder)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			h.problems = append(h.problems, fmt.Errorf("looking for plugins: %w", err))
		}
		for _, e := range entries {
			dir := filepath.Join(folder, e.Name())
			if exists(filepath.Join(dir, ManifestName)) || exists(filepath.Join(dir, misnamed)) {
				dirs = append(dirs, dir)
			}
		}
	}
	for _, dir := range append(dirs, h.opts.Plugins...) {
		abs, err := filepath.Abs(dir)
		var m *Manifest
		if err == nil {
			m, err = ReadManifest(abs)
		}
		if err != nil {
			h.problems = append(h.problems, err)
			h.wrong[filepath.Base(dir)] = err
			continue
		}
		if first, taken := h.folders[m.Name]; taken {
			if first != abs {
				h.problems = append(h.problems, fmt.Errorf("two plugins are called %s: %s is used, %s is not", m.Name, first, abs))
			}
			continue
		}
		h.folders[m.Name] = abs
	}
}

// defaultLimits are those of a manifest that gives none.
func defaultLimits() Limits {
	var l Limits
	doc := schema.MustFor[Limits]().ApplyDefaults(value.OfMap(nil))
	if err := value.Decode(doc, &l); err != nil {
		panic(err) // the defaults are literals of this package
	}
	return l
}

// limitsOf are the limits of a plugin. Where its manifest cannot be read it will not
// start.
func (h *Host) limitsOf(name string) Limits {
	if dir := h.folders[name]; dir != "" {
		if m, err := ReadManifest(dir); err == nil {
			return m.Limits
		}
	}
	return defaultLimits()
}

func (h *Host) add(e *Entry, l launcher, limits Limits) *plugin {
	p := &plugin{host: h, entry: e, launcher: l, limits: limits, slots: make(chan struct{}, limits.Concurrency)}
	h.plugins[e.Name] = p
	return p
}

// Names lists the trusted plugins, sorted: those that flows may name.
func (h *Host) Names() []string {
	h.mu.Lock()
	defer h.mu.Unlock()
	names := make([]string, len(h.lock.Plugins))
	for i := range h.lock.Plugins {
		names[i] = h.lock.Plugins[i].Name
	}
	return names
}

// Register enters the functions of all trusted plugins into a registry, by what the
// lock file says of them. A name that is taken is an error. From then on the registry
// knows why a plugin cannot be used: see [calls.Registry.CheckPlugin].
func (h *Host) Register(r *calls.Registry) error {
	r.SetPluginCheck(h.checker())
	var problems []error
	for _, name := range h.Names() {
		h.mu.Lock()
		p := h.plugins[name]
		h.mu.Unlock()
		if err := p.register(r); err != nil {
			problems = append(problems, fmt.Errorf("plugin %s: %w", name, err))
		}
	}
	return errors.Join(problems...)
}

func (p *plugin) register(r *calls.Registry) error {
	var problems []error
	variables := &resolver{plugin: p, schemas: map[string]*schema.Schema{}}
	for i := range p.entry.Functions {
		f := &p.entry.Functions[i]
		var err error
		switch f.Kind {
		case Importance:
			err = r.AddImportance(f.Title(p.entry.Name), &importance{plugin: p, function: f})
		case Variable:
			if variables.schemas[f.Name], err = schema.Parse(f.Output); err == nil {
				err = r.AddResolver(variables, f.Name)
			}
		case Call:
			var def calls.Definition
			if def, err = p.definition(f); err == nil {
				err = r.AddCall(def)
			}
		}
		problems = append(problems, err)
	}
	return errors.Join(problems...)
}

// use says that something of the host is used till done is called, for which Close
// waits. The context ends with the host too.
func (h *Host) use(ctx context.Context) (_ context.Context, done func(), err error) {
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
	h.close()
	h.users.Wait()
	var stopping sync.WaitGroup
	for _, p := range all {
		stopping.Go(p.close)
	}
	stopping.Wait()
	h.spawn.close()
	if h.sockets == nil {
		return nil
	}
	return h.sockets.remove()
}

// Status is one line of a list of plugins.
type Status struct {
	Name, Version, Description string
	// Dir is the plugin's folder; "" where it is missing.
	Dir   string
	State State
	// Entry is what is trusted; nil where nothing is.
	Entry *Entry
}

// List gives all plugins that were found or are trusted, sorted by name, and the
// problems of folders that are none. It starts nothing.
func (h *Host) List() ([]Status, []error) {
	h.mu.Lock()
	trusted := map[string]*Entry{}
	for i := range h.lock.Plugins {
		e := h.lock.Plugins[i]
		trusted[e.Name] = &e
	}
	h.mu.Unlock()
	var all []Status
	problems := slices.Clone(h.problems)
	for name, dir := range h.folders {
		m, err := ReadManifest(dir)
		if err != nil {
			problems = append(problems, err)
			continue
		}
		all = append(all, Status{
			Name: name, Version: m.Version, Description: m.Description, Dir: dir,
			State: state(dir, m, trusted[name]), Entry: trusted[name],
		})
	}
	for name, e := range trusted {
		if h.folders[name] == "" {
			all = append(all, Status{Name: name, Version: e.Version, Description: e.Description, State: Missing, Entry: e})
		}
	}
	slices.SortFunc(all, func(a, b Status) int { return strings.Compare(a.Name, b.Name) })
	return all, problems
}
