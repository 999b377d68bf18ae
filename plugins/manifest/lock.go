package manifest

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/callnode/scheduler/calls"
	"github.com/callnode/scheduler/calls/schema"
	"github.com/callnode/scheduler/llm/value"
	"github.com/callnode/scheduler/llm/value/atomicfile"
	"github.com/callnode/scheduler/llm/value/wording"
	"github.com/callnode/scheduler/llm/value/yaml"
)

// LockFileName is the usual name of the lock file.
const LockFileName = "plugins.lock.json"

// lockVersion is the version of the lock file's format.
const lockVersion = 1

// maxLockBytes bounds the lock file; a thousand plugins with many functions fit.
const maxLockBytes = 64 << 20

// Lock is the content of a lock file: the plugins that the user trusts, sorted by name.
// [NewLock] or [ReadLock] makes one. It is not safe for concurrent use: its owner guards
// it.
type Lock struct {
	Version int     `json:"version"`
	Plugins []Entry `json:"plugins"`
}

// NewLock returns a lock that trusts nothing.
func NewLock() *Lock { return &Lock{Version: lockVersion} }

// ReadLock reads a lock file; one that does not exist is empty.
func ReadLock(path string) (*Lock, error) {
	l := NewLock()
	content, err := calls.ReadFile(path, maxLockBytes)
	if errors.Is(err, fs.ErrNotExist) || path == "" {
		return l, nil
	}
	if err != nil {
		return nil, wording.Errorf("reading the lock file of plugins: %w", err)
	}
	if err := l.parse(path, content); err != nil {
		return nil, calls.Errorf(calls.Invalid, "reading the lock file of plugins: %w", err).
			WithHint("restore the file, or remove it and trust its plugins again: scheduler plugins trust NAME")
	}
	return l, nil
}

// parse reads the text of the file. Only the output of this program is accepted: an unknown key would have been
// meant for something.
func (l *Lock) parse(path string, content []byte) error {
	doc, err := value.ParseJSON(content)
	if err != nil {
		return wording.Errorf("%s:%w", path, err)
	}
	from := document{file: path}
	from.root, _ = yaml.Parse(content) // nearly all JSON is YAML
	var header struct {
		Version *int `json:"version"`
	}
	if err := value.Decode(doc, &header); err == nil && header.Version != nil && *header.Version != lockVersion {
		return from.errorAt(schema.Problem{Pointer: "/version"}.
			WithMessage("the file has version %d, this program reads version %d", *header.Version, lockVersion))
	}
	form := schema.MustFor[Lock]()
	if problems := slices.Concat(findDeceptive(doc, ""), form.Check(doc)); len(problems) > 0 {
		return from.joinProblems(form, problems)
	}
	if err := value.Decode(doc, l); err != nil {
		return wording.Errorf("%s: %w", path, err)
	}
	if err := l.check(); err != nil {
		return wording.Errorf("%s: %w", path, err)
	}
	return nil
}

// check checks that the entries are as [NewEntry] makes them.
func (l *Lock) check() error {
	for i := range l.Plugins {
		e := &l.Plugins[i]
		if !kebabCase.MatchString(e.Name) {
			return wording.Errorf("%q cannot be the name of a plugin (use kebab-case)", e.Name)
		}
		if l.Find(e.Name) != e {
			return wording.Errorf("duplicate plugin %q", e.Name)
		}
		for j := range e.Functions {
			if err := e.Functions[j].check(); err != nil {
				return wording.Errorf("the plugin %q, function %q: %w", e.Name, e.Functions[j].Name, err)
			}
		}
	}
	return nil
}

// check checks that a function of the lock file is as [newFunction] makes it.
func (f *Function) check() error {
	if !slices.Contains([]Kind{Importance, Variable, Call, Check}, f.Kind) {
		return wording.Errorf("unknown kind %q (there are importance, variable, call and check)", f.Kind)
	}
	for _, doc := range []value.Value{f.Params, f.Input, f.Output} {
		if doc.IsNull() {
			continue
		}
		if _, err := schema.Parse(doc); err != nil {
			return err
		}
	}
	return nil
}

// Names lists the trusted plugins, sorted.
func (l *Lock) Names() []string {
	names := make([]string, len(l.Plugins))
	for i := range l.Plugins {
		names[i] = l.Plugins[i].Name
	}
	return names
}

// Find returns the entry of a plugin; nil if it is not trusted.
func (l *Lock) Find(name string) *Entry {
	for i := range l.Plugins {
		if l.Plugins[i].Name == name {
			return &l.Plugins[i]
		}
	}
	return nil
}

// OwnerOf returns the plugin that has a variable; "" if none has. Flows name variables without their plugin.
func (l *Lock) OwnerOf(variable string) string {
	for i := range l.Plugins {
		if f := l.Plugins[i].Function(variable); f != nil && f.Kind == Variable {
			return l.Plugins[i].Name
		}
	}
	return ""
}

// CheckVariables refuses an entry with a variable that the host itself (builtIn) or another plugin already has.
// For example, two plugins cannot both have the variable weather.
func (l *Lock) CheckVariables(e *Entry, builtIn []string) error {
	for i := range e.Functions {
		f := &e.Functions[i]
		if f.Kind != Variable {
			continue
		}
		owner := l.OwnerOf(f.Name)
		if slices.Contains(builtIn, f.Name) {
			owner = "scheduler"
		}
		if owner != "" && owner != e.Name {
			return calls.Errorf(calls.Plugin, "plugin %s: the variable %q belongs to %s already", e.Name, f.Name, owner).
				WithHint("its author should rename it, for example to %s_%s", strings.ReplaceAll(e.Name, "-", "_"), f.Name)
		}
	}
	return nil
}

// Put enters a plugin, in place of its old entry or by its name.
func (l *Lock) Put(e Entry) {
	if old := l.Find(e.Name); old != nil {
		*old = e
		return
	}
	i, _ := slices.BinarySearchFunc(l.Plugins, e.Name, func(e Entry, name string) int { return strings.Compare(e.Name, name) })
	l.Plugins = slices.Insert(l.Plugins, i, e)
}

// Remove removes a plugin.
func (l *Lock) Remove(name string) {
	l.Plugins = slices.DeleteFunc(l.Plugins, func(e Entry) bool { return e.Name == name })
}

// Update reads a lock file, changes it and writes it. Other programs that update it wait
// meanwhile; on file systems without locks the last one wins. It returns the new lock.
func Update(path string, change func(*Lock) error) (*Lock, error) {
	defer atomicfile.LockFolder(path)()
	l, err := ReadLock(path)
	if err != nil {
		return nil, err
	}
	if err := change(l); err != nil {
		return nil, err
	}
	return l, l.write(path)
}

// write replaces the file as a whole, so that a reader never sees half of it.
func (l *Lock) write(path string) error {
	doc, err := value.Of(l)
	if err != nil {
		return wording.Errorf("writing the lock file of plugins: %w", err)
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return wording.Errorf("writing the lock file of plugins: %w", err)
	}
	if err := atomicfile.Write(path, append(doc.AppendIndented(nil, "  "), '\n'), 0o644); err != nil {
		return wording.Errorf("writing the lock file of plugins: %w", err)
	}
	return nil
}
