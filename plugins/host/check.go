package host

import (
	"strings"
	"sync"
)

// newCheck returns the check of a registry: why a name of a flow cannot be used. It looks
// at the files of a plugin once, when it is first asked about it.
func (h *Host) newCheck() func(name string) error {
	var mu sync.Mutex
	known := map[string]error{}
	return func(name string) error {
		plugin := h.pluginOf(name)
		if plugin == "" {
			return nil
		}
		mu.Lock()
		defer mu.Unlock()
		err, ok := known[plugin]
		if !ok {
			err = h.checkUsable(plugin)
			known[plugin] = err
		}
		return err
	}
}

// pluginOf returns the plugin that a name of a flow belongs to; "" where it is a variable
// of no plugin.
func (h *Host) pluginOf(name string) string {
	plugin, function, _ := strings.Cut(name, ".")
	if plugin != "vars" {
		return plugin
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.lock.OwnerOf(function)
}

// checkUsable returns why flows cannot use a plugin; nil for one that they can, and for an
// unknown name.
func (h *Host) checkUsable(name string) error {
	if p := h.plugin(name); p != nil {
		if _, ok := p.launcher.(*programLauncher); !ok { // it has no files: it runs inside this process
			return nil
		}
	}
	return h.catalog.CheckUsable(name, h.lockSnapshot().Find(name))
}
