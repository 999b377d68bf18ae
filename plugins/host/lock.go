package host

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/callnode/scheduler/calls"
	"github.com/callnode/scheduler/calls/schema"
	"github.com/callnode/scheduler/llm/value"
	"github.com/callnode/scheduler/llm/value/yaml"
)

// LockName is the usual name of the lock file.
const LockName = "plugins.lock.json"

// lockVersion is the version of the lock file's form.
const lockVersion = 1

// maxLock bounds the lock file: it may hold a thousand plugins that say much.
const maxLock = 64 << 20

// lock is the lock file: the plugins that the user trusts, sorted by name.
type lock struct {
	Version int     `json:"version"`
	Plugins []Entry `json:"plugins"`
}

// readLock reads a lock file; one that does not exist is empty.
func readLock(path string) (*lock, error) {
	l := &lock{Version: lockVersion}
	content, err := calls.ReadFile(path, maxLock)
	if errors.Is(err, fs.ErrNotExist) || path == "" {
		return l, nil
	}
	if err != nil {
		return nil, fmt.Errorf("reading the lock file of plugins: %w", err)
	}
	if err := l.parse(path, content); err != nil {
		return nil, calls.Errorf(calls.Invalid, "reading the lock file of plugins: %w", err).
			WithHint("put it back as it was, or remove the file and trust its plugins anew: scheduler plugins trust NAME")
	}
	return l, nil
}

// parse reads the text of the file. Only what this program writes is taken: a key that
// it does not know would have been meant for something.
func (l *lock) parse(path string, content []byte) error {
	doc, err := value.ParseJSON(content)
	if err != nil {
		return fmt.Errorf("%s:%w", path, err)
	}
	from := text{file: path}
	from.root, _ = yaml.Parse(content) // nearly all JSON is YAML
	var of struct {
		Version *int `json:"version"`
	}
	if err := value.Decode(doc, &of); err == nil && of.Version != nil && *of.Version != lockVersion {
		return from.errorAt(schema.Problem{Pointer: "/version", Message: fmt.Sprintf("it has version %d, this program reads version %d", *of.Version, lockVersion)})
	}
	form := schema.MustFor[lock]()
	if problems := slices.Concat(unreadable(doc, ""), form.Check(doc)); len(problems) > 0 {
		return from.errors(form, problems)
	}
	if err := value.Decode(doc, l); err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	if err := l.check(); err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	return nil
}

// check holds the entries to what [newEntry] guarantees.
func (l *lock) check() error {
	for i := range l.Plugins {
		e := &l.Plugins[i]
		if !callForm.MatchString(e.Name) {
			return fmt.Errorf("%q is no name of a plugin", e.Name)
		}
		if l.find(e.Name) != e {
			return fmt.Errorf("the plugin %q is there twice", e.Name)
		}
		for j := range e.Functions {
			if err := e.Functions[j].check(); err != nil {
				return fmt.Errorf("the plugin %q, function %q: %w", e.Name, e.Functions[j].Name, err)
			}
		}
	}
	return nil
}

// check holds a function of the lock file to what [newFunction] guarantees.
func (f *Function) check() error {
	if !slices.Contains([]Kind{Importance, Variable, Call}, f.Kind) {
		return fmt.Errorf("the kind %q is not known", f.Kind)
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

func (l *lock) find(name string) *Entry {
	for i := range l.Plugins {
		if l.Plugins[i].Name == name {
			return &l.Plugins[i]
		}
	}
	return nil
}

// put enters a plugin in its place by name.
func (l *lock) put(e Entry) {
	if old := l.find(e.Name); old != nil {
		*old = e
		return
	}
	i, _ := slices.BinarySearchFunc(l.Plugins, e.Name, func(e Entry, name string) int { return strings.Compare(e.Name, name) })
	l.Plugins = slices.Insert(l.Plugins, i, e)
}

// remove takes a plugin out.
func (l *lock) remove(name string) {
	l.Plugins = slices.DeleteFunc(l.Plugins, func(e Entry) bool { return e.Name == name })
}

// lockFolder keeps other programs that do the same from changing the lock file, until
// unlock. Where a file system has no such locks, the last one wins.
func lockFolder(path string) (unlock func()) {
	f, err := os.Open(filepath.Dir(path))
	if err != nil {
		return func() {} // there is nothing to change yet
	}
	awaitLock(f)
	return func() { _ = f.Close() }
}

// write replaces the file as a whole, so that nobody reads half of it.
func (l *lock) write(path string) (err error) {
	defer func() {
		if err != nil {
			err = fmt.Errorf("writing the lock file of plugins: %w", err)
		}
	}()
	doc, err := value.Of(l)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	f, err := os.CreateTemp(filepath.Dir(path), ".plugins-*.json")
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			_ = os.Remove(f.Name())
		}
	}()
	_, err = f.Write(append(doc.AppendIndented(nil, "  "), '\n'))
	if err = errors.Join(err, f.Chmod(0o644), f.Sync(), f.Close()); err != nil {
		return err
	}
	return os.Rename(f.Name(), path)
}
