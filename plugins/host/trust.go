package host

import (
	"context"
	"maps"
	"slices"
	"strings"

	"github.com/callnode/scheduler/calls"
	"github.com/callnode/scheduler/llm/value"
)

// Wants is what a user should know before trusting a plugin.
type Wants struct {
	Manifest *Manifest
	// Dir is its folder, SHA256 that of its program.
	Dir, SHA256 string
	// Program is the path of its command; "" where it is not there.
	Program string
	// Sealed says that the program is a part of SHA256: it is no interpreter.
	Sealed bool
	// Trusted is what is trusted now; nil where nothing is.
	Trusted *Entry
}

// Wants reads what a plugin wants. It starts nothing.
func (h *Host) Wants(name string) (*Wants, error) {
	dir, ok := h.folders[name]
	if err := h.wrong[name]; err != nil && !ok {
		return nil, calls.Errorf(calls.Invalid, "%w", err)
	}
	if !ok {
		return nil, h.unknown(name, slices.Sorted(maps.Keys(h.folders)))
	}
	m, err := ReadManifest(dir)
	if err != nil {
		return nil, err
	}
	sum, sealed, err := seal(dir, m)
	if err != nil {
		return nil, err
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	w := &Wants{Manifest: m, Dir: dir, SHA256: sum, Sealed: sealed}
	if program, err := locate(dir, m); err == nil {
		w.Program = program
	}
	if e := h.lock.find(name); e != nil {
		trusted := *e
		w.Trusted = &trusted
	}
	return w, nil
}

// Trust starts a plugin once, and writes what it says of itself to the lock file.
// Registries that were filled before do not learn of it.
func (h *Host) Trust(ctx context.Context, name string) (*Entry, error) {
	w, err := h.Wants(name)
	if err != nil {
		return nil, err
	}
	return h.TrustAs(ctx, w)
}

// TrustAs is Trust of exactly what the user was shown: a program that changed since
// is refused.
func (h *Host) TrustAs(ctx context.Context, w *Wants) (*Entry, error) {
	name := w.Manifest.Name
	ctx, done, err := h.use(ctx)
	if err != nil {
		return nil, calls.Errorf(calls.Plugin, "plugin %s: %w", name, err)
	}
	defer done()
	proc, err := (&program{host: h, name: name, dir: w.Dir, wanted: w.SHA256}).launch(ctx)
	if err != nil {
		if h.closing.Err() != nil {
			err = errClosed
		}
		return nil, calls.Errorf(calls.Plugin, "plugin %s: %w", name, err)
	}
	proc.stop(h.opts.StopGrace)
	if err := unchanged(w.Dir, w.Manifest, w.SHA256); err != nil {
		return nil, err
	}
	old, err := h.trust(proc.entry, &program{host: h, name: name, dir: w.Dir, trusted: proc.entry}, w.Manifest.Limits)
	if old != nil {
		old.close()
	}
	return proc.entry, err
}

// unchanged wants that a start left the program as it was: the next would be refused.
func unchanged(dir string, m *Manifest, before string) error {
	switch sum, err := digest(dir, m); {
	case err != nil:
		return calls.Errorf(calls.Plugin, "plugin %s: %w", m.Name, err)
	case sum != before:
		return calls.Errorf(calls.Plugin, "plugin %s: its folder changed when it was started, so that it would not be the trusted one next time", m.Name).
			WithHint("what it writes there has to be listed under data in %s, or begin with a dot", ManifestName)
	}
	return nil
}

// trust writes the lock file, and puts the plugin in the place of the old one.
func (h *Host) trust(e *Entry, l launcher, limits Limits) (old *plugin, err error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.closed {
		return nil, errClosed
	}
	defer lockFolder(h.opts.LockFile)()
	fresh, err := readLock(h.opts.LockFile) // another program may have written it
	if err != nil {
		return nil, err
	}
	if err := h.collides(fresh, e); err != nil {
		return nil, err
	}
	fresh.put(*e)
	if err := fresh.write(h.opts.LockFile); err != nil {
		return nil, err
	}
	h.lock = fresh
	old = h.plugins[e.Name]
	h.add(e, l, limits)
	return old, nil
}

// Untrust takes a plugin out of the lock file, ends it, and gives what was trusted.
// Registries that were filled before do not learn of it.
func (h *Host) Untrust(name string) (*Entry, error) {
	_, done, err := h.use(context.Background()) // Close waits until its process has ended
	if err != nil {
		return nil, err
	}
	defer done()
	e, old, err := h.untrust(name)
	if old != nil {
		old.close()
	}
	return e, err
}

func (h *Host) untrust(name string) (*Entry, *plugin, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	defer lockFolder(h.opts.LockFile)()
	fresh, err := readLock(h.opts.LockFile) // another program may have written it
	if err != nil {
		return nil, nil, err
	}
	found := fresh.find(name)
	if found == nil {
		if _, there := h.folders[name]; there || h.wrong[name] != nil {
			return nil, nil, calls.Errorf(calls.NotFound, "the plugin %s is not trusted", name).WithHint("nothing has to be done")
		}
		var names []string
		for i := range fresh.Plugins {
			names = append(names, fresh.Plugins[i].Name)
		}
		return nil, nil, h.unknown(name, names)
	}
	e := *found
	fresh.remove(name)
	if err := fresh.write(h.opts.LockFile); err != nil {
		return nil, nil, err
	}
	old := h.plugins[name]
	delete(h.plugins, name)
	h.lock = fresh
	return &e, old, nil
}

// unknown is the error for a name that is none of those.
func (h *Host) unknown(name string, names []string) error {
	err := calls.Errorf(calls.NotFound, "there is no plugin %q", name)
	if near := value.Nearest(name, names); near != "" {
		return err.WithHint("did you mean %q?", near)
	}
	return err.WithHint("plugins are looked for in %s", strings.Join(slices.Concat(h.opts.Folders, h.opts.Plugins), ", "))
}
