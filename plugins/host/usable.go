package host

import (
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/callnode/scheduler/calls"
)

// State is whether a plugin can be used.
type State string

// The states of plugins.
const (
	Trusted   State = "trusted"
	Untrusted State = "untrusted"  // never trusted
	Changed   State = "changed"    // its program is not the trusted one
	Missing   State = "missing"    // trusted, but in no folder
	NoProgram State = "no-program" // its command is not there: not built, not installed
)

// state looks at the files of a plugin. e is what is trusted; nil where nothing is.
func state(dir string, m *Manifest, e *Entry) State {
	if _, err := locate(dir, m); err != nil {
		return NoProgram
	}
	if e == nil {
		return Untrusted
	}
	if sum, err := digest(dir, m); err != nil || sum != e.SHA256 {
		return Changed
	}
	return Trusted
}

// locate finds the program of a plugin.
func locate(dir string, m *Manifest) (path string, err error) {
	path = m.Command
	if isPath(path) {
		path = inFolder(dir, path)
	}
	if path, err = exec.LookPath(path); err != nil {
		return "", err
	}
	return filepath.Abs(path)
}

// inFolder is the path of a command that is relative to the plugin's folder.
func inFolder(dir, command string) string {
	if filepath.IsAbs(command) {
		return command
	}
	return filepath.Join(dir, filepath.FromSlash(command))
}

// checker makes the check of a registry: it looks at a plugin when it is first asked
// about it.
func (h *Host) checker() func(name string) error {
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
			err = h.unusable(plugin)
			known[plugin] = err
		}
		return err
	}
}

// pluginOf is the plugin that a name of a flow belongs to; "" where that is none.
func (h *Host) pluginOf(name string) string {
	plugin, function, _ := strings.Cut(name, ".")
	if plugin != "vars" {
		return plugin
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	for i := range h.lock.Plugins {
		if f := h.lock.Plugins[i].function(function); f != nil && f.Kind == Variable {
			return h.lock.Plugins[i].Name
		}
	}
	return ""
}

// unusable says why a plugin cannot be used; nil for one that can, and for one that
// nobody knows.
func (h *Host) unusable(name string) error {
	h.mu.Lock()
	e, p := h.lock.find(name), h.plugins[name]
	h.mu.Unlock()
	if p != nil {
		if _, ok := p.launcher.(*program); !ok { // it has no files: it runs inside this process
			return nil
		}
	}
	dir := h.folders[name]
	switch {
	case dir == "" && e == nil:
		return nil
	case dir == "":
		return calls.Errorf(calls.Plugin, "the plugin %s is trusted, but in no folder of plugins", name).
			WithHint("put it back: plugins are looked for in %s", strings.Join(slices.Concat(h.opts.Folders, h.opts.Plugins), ", "))
	}
	m, err := ReadManifest(dir)
	if err != nil {
		return calls.Errorf(calls.Plugin, "the plugin %s is wrong: %s", name, strings.ReplaceAll(err.Error(), "\n", "; "))
	}
	switch state(dir, m, e) {
	case NoProgram:
		return notBuilt(dir, m)
	case Untrusted:
		return calls.Errorf(calls.Plugin, "the plugin %s is not trusted", name).
			WithHint("look at what it wants, then trust it: scheduler plugins trust %s", name)
	case Changed:
		return calls.Errorf(calls.Plugin, "the plugin %s changed since it was trusted", name).
			WithHint("if you know why, trust it again: scheduler plugins trust %s", name)
	case Trusted, Missing:
	}
	return nil
}

// notBuilt says why there is no program to start.
func notBuilt(dir string, m *Manifest) error {
	wrong := func(what, hint string, args ...any) error {
		return calls.Errorf(calls.Plugin, "the program of the plugin %s is %s: %s", m.Name, what, m.Command).WithHint(hint, args...)
	}
	_, err := locate(dir, m)
	info, statErr := os.Stat(inFolder(dir, m.Command))
	switch found := statErr == nil; {
	case found && isPath(m.Command) && info.IsDir():
		return wrong("a folder", "command in %s names a file, which is started", filepath.Join(dir, ManifestName))
	case found && !isPath(m.Command) && !info.IsDir():
		return wrong("not in PATH", "for the file in %s write command: ./%s", dir, m.Command)
	case errors.Is(err, fs.ErrPermission):
		return wrong("not executable", "chmod +x %s, in %s", m.Command, dir)
	}
	return wrong("not there", "build or install it, in %s", dir)
}

// Ready says why the plugin cannot be started: its program is not there.
func (w *Wants) Ready() error {
	if w.Program == "" {
		return notBuilt(w.Dir, w.Manifest)
	}
	return nil
}

// collides refuses a plugin with a variable whose name another has: flows name
// variables without their plugin.
func (h *Host) collides(l *lock, e *Entry) error {
	for i := range e.Functions {
		f := &e.Functions[i]
		if f.Kind != Variable {
			continue
		}
		owner := ""
		if slices.Contains(h.opts.Taken, f.Name) {
			owner = "scheduler"
		}
		for j := range l.Plugins {
			if other := &l.Plugins[j]; other.Name != e.Name {
				if g := other.function(f.Name); g != nil && g.Kind == Variable {
					owner = "the plugin " + other.Name
				}
			}
		}
		if owner != "" {
			return calls.Errorf(calls.Plugin, "plugin %s: %s has a variable %q already", e.Name, owner, f.Name).
				WithHint("its author should rename it, to %s_%s say", strings.ReplaceAll(e.Name, "-", "_"), f.Name)
		}
	}
	return nil
}
