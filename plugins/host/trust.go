package host

import (
	"context"

	"github.com/callnode/scheduler/calls"
	"github.com/callnode/scheduler/plugins/manifest"
)

// Review reads the facts that a user should know before trusting a plugin. It starts nothing.
func (h *Host) Review(name string) (*manifest.Review, error) {
	return h.catalog.Review(name, h.lockSnapshot())
}

// Dir returns the folder of a plugin that was found.
func (h *Host) Dir(name string) (string, error) { return h.catalog.Lookup(name) }

// Trust starts a plugin once, and writes how it describes itself to the lock file.
// Registries that were filled before do not learn of it.
func (h *Host) Trust(ctx context.Context, name string) (*manifest.Entry, error) {
	reviewed, err := h.Review(name)
	if err != nil {
		return nil, err
	}
	return h.TrustReviewed(ctx, reviewed)
}

// TrustReviewed is Trust for exactly the program that the user was shown: one that changed since is refused.
func (h *Host) TrustReviewed(ctx context.Context, reviewed *manifest.Review) (*manifest.Entry, error) {
	m := reviewed.Manifest
	ctx, done, err := h.beginUse(ctx)
	if err != nil {
		return nil, calls.Errorf(calls.Plugin, "plugin %s: %w", m.Name, err)
	}
	defer done()
	instance, err := (&programLauncher{host: h, name: m.Name, dir: reviewed.Dir, reviewedSHA256: reviewed.SHA256}).launch(ctx)
	if err != nil {
		if h.closing.Err() != nil {
			err = errClosed
		}
		return nil, calls.Errorf(calls.Plugin, "plugin %s: %w", m.Name, err)
	}
	instance.Stop(h.opts.GracePeriod)
	if err := instance.seal.CheckUnmodified(); err != nil { // it may write at its end, too
		return nil, calls.Errorf(calls.Plugin, "plugin %s: %w", m.Name, err)
	}
	e := instance.entry
	old, err := h.replacePlugin(e, &programLauncher{host: h, name: m.Name, dir: reviewed.Dir, trusted: e}, m.Limits)
	if old != nil {
		old.close()
	}
	return e, err
}

// replacePlugin writes the entry to the lock file, and replaces the old plugin, which it returns.
func (h *Host) replacePlugin(e *manifest.Entry, l launcher, limits manifest.Limits) (old *plugin, err error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.closed {
		return nil, errClosed
	}
	fresh, err := manifest.Update(h.opts.LockFile, func(l *manifest.Lock) error {
		if err := l.CheckVariables(e, h.opts.BuiltInVariables); err != nil {
			return err
		}
		l.Put(*e)
		return nil
	})
	if err != nil {
		return nil, err
	}
	h.lock = fresh
	old = h.plugins[e.Name]
	h.addLocked(e, l, limits)
	return old, nil
}

// Untrust takes a plugin out of the lock file, ends it, and returns its entry. Registries that were filled before
// do not learn of it.
func (h *Host) Untrust(name string) (*manifest.Entry, error) {
	_, done, err := h.beginUse(context.Background()) // Close waits until its process has ended
	if err != nil {
		return nil, err
	}
	defer done()
	e, old, err := h.removePlugin(name)
	if old != nil {
		old.close()
	}
	return e, err
}

// removePlugin takes a plugin out of the lock file and of the host, and returns both.
func (h *Host) removePlugin(name string) (e *manifest.Entry, old *plugin, err error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	fresh, err := manifest.Update(h.opts.LockFile, func(l *manifest.Lock) error {
		found := l.Find(name)
		if found == nil {
			return h.catalog.NotTrusted(name, l)
		}
		trusted := *found
		e = &trusted
		l.Remove(name)
		return nil
	})
	if err != nil {
		return nil, nil, err
	}
	old = h.plugins[name]
	delete(h.plugins, name)
	h.lock = fresh
	return e, old, nil
}
