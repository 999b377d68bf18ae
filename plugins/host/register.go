package host

import (
	"errors"
	"strings"
	"sync"

	"github.com/callnode/scheduler/calls"
	"github.com/callnode/scheduler/calls/schema"
	"github.com/callnode/scheduler/llm/value/wording"
	"github.com/callnode/scheduler/plugins/manifest"
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

// pluginOf returns the plugin that a name of a flow belongs to; "" if it is a variable of no plugin. For example,
// recency.is_fresh belongs to recency, and vars.weather to the plugin with that variable.
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

// Register enters the functions of all trusted plugins into a registry, as the lock file describes them. A name
// that is taken is an error. From then on the registry knows why a plugin cannot be used: see
// [calls.Registry.CheckPlugin].
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
