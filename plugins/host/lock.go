package host

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/callnode/scheduler/calls/schema"
	"github.com/callnode/scheduler/llm/value"
)

// LockName is the usual name of the lock file.
const LockName = "plugins.lock.json"

// lockVersion is the version of the lock file's form.
const lockVersion = 1

// lock is the lock file: the plugins that the user trusts, sorted by name.
type lock struct {
	Version int     `json:"version"`
	Plugins []Entry `json:"plugins"`
}

// readLock reads a lock file; one that does not exist is empty.
func readLock(path string) (*lock, error) {
	l := &lock{Version: lockVersion}
	text, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) || path == "" {
		return l, nil
	}
	if err != nil {
		return nil, fmt.Errorf("reading the lock file of plugins: %w", err)
	}
	if err := l.parse(text); err != nil {
		return nil, fmt.Errorf("reading the lock file of plugins: %s: %w; remove the file and trust its plugins anew: scheduler plugins trust NAME", path, err)
	}
	return l, nil
}

func (l *lock) parse(text []byte) error {
	doc, err := value.ParseJSON(text)
	if err != nil {
		return err
	}
	if err := errors.Join(readable(doc), value.Decode(doc, l)); err != nil {
		return err
	}
	if l.Version != lockVersion {
		return fmt.Errorf("it has version %d, this program reads version %d", l.Version, lockVersion)
	}
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
