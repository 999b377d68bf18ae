package host

import (
	"context"

	"github.com/callnode/scheduler/calls"
	"github.com/callnode/scheduler/llm/value/wording"
	"github.com/callnode/scheduler/plugins/manifest"
)

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

// readLimits returns the limits of the plugin in a folder. If its manifest cannot be read it will not start.
func readLimits(dir string) manifest.Limits {
	if dir != "" {
		if m, err := manifest.Read(dir); err == nil {
			return m.Limits
		}
	}
	return manifest.DefaultLimits()
}

// Single returns a host of the one plugin in a folder, trusted for as long as the host
// lives. The plugin is started once, to describe itself.
func Single(ctx context.Context, dir string, opts Options) (*Host, error) {
	m, err := manifest.Read(dir)
	if err != nil {
		return nil, err
	}
	h := newHost(opts, manifest.Find(nil, []string{dir}))
	dir = h.catalog.Dir(m.Name)
	instance, err := (&programLauncher{host: h, name: m.Name, dir: dir}).launch(ctx)
	if err != nil {
		if left := h.Close(); left != nil {
			err = wording.Errorf("%w; %w", err, left)
		}
		return nil, calls.Errorf(calls.Plugin, "plugin %s: %w", m.Name, err)
	}
	instance.Stop(h.opts.GracePeriod)
	h.lock.Put(*instance.entry)
	h.addLocked(instance.entry, &programLauncher{host: h, name: m.Name, dir: dir, trusted: instance.entry}, m.Limits)
	return h, nil
}
