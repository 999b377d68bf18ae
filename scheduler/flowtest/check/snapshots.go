package check

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"sync"

	"github.com/callnode/scheduler/calls"
	"github.com/callnode/scheduler/llm/value"
	"github.com/callnode/scheduler/llm/value/wording"
	"github.com/callnode/scheduler/llm/value/yaml"
	"github.com/callnode/scheduler/scheduler/flow"
)

// SnapshotFile keeps the snapshots of a test file in one YAML file beside it. [OpenSnapshots] makes it, for one
// run of the test file; it is safe for concurrent use.
type SnapshotFile struct {
	path   string
	update bool

	mu      sync.Mutex
	texts   *value.Map               // guarded by mu
	asked   map[string]bool          // guarded by mu
	saved   map[string]flow.Position // by whom each name was saved in this run; guarded by mu
	changed bool                     // guarded by mu
}

var _ Snapshots = (*SnapshotFile)(nil)

// OpenSnapshots reads the snapshots at a path; a file that does not exist has none. update lets checks
// change them.
func OpenSnapshots(path string, update bool) (*SnapshotFile, error) {
	f := &SnapshotFile{path: path, update: update, texts: value.NewMap(0), asked: map[string]bool{}, saved: map[string]flow.Position{}}
	text, err := calls.ReadFile(path, yaml.MaxBytes)
	if errors.Is(err, fs.ErrNotExist) {
		return f, nil
	}
	if err != nil {
		return nil, wording.Errorf("reading the snapshots: %w", err)
	}
	v, err := yaml.ParseValue(text)
	if err != nil {
		return nil, wording.Errorf("reading the snapshots: %s:%w", path, err)
	}
	for name, text := range v.Map().All() {
		if text.Kind() != value.String {
			return nil, wording.Errorf("reading the snapshots: %s: %q is not a text", path, name)
		}
		f.texts.Set(name, text)
	}
	return f, nil
}

// Load returns the text of a name.
func (f *SnapshotFile) Load(name string) (text string, ok bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.asked[name] = true
	v, ok := f.texts.Get(name)
	text, _ = v.Str()
	return text, ok
}

// Save sets the text of a name, if snapshots are to be updated. [SnapshotFile.Close] writes it.
func (f *SnapshotFile) Save(name, text string, at flow.Position) (saved bool, err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if !f.update {
		return false, nil
	}
	f.asked[name] = true
	old, ok := f.texts.Get(name)
	isSame := ok && value.Equal(old, value.OfString(text))
	before, isSaved := f.saved[name]
	if isSaved && !isSame {
		return false, errTwice(name, before, at)
	}
	f.saved[name] = at
	if isSame {
		return true, nil
	}
	f.texts.Set(name, value.OfString(text))
	f.changed = true
	return true, nil
}

// errTwice returns the error of two texts by one name.
func errTwice(name string, before, at flow.Position) error {
	if before == at {
		return calls.Errorf(calls.Invalid, "the snapshot %q at %s has another text in another repeat", name, at).
			WithHint("keep a snapshot only of what is the same in every repeat")
	}
	return calls.Errorf(calls.Invalid, "the snapshot %q has one text at %s and another at %s", name, before, at).
		WithHint("give one of them a name of its own: snapshot: NAME")
}

// Unused lists the names that no check has asked for, sorted.
func (f *SnapshotFile) Unused() (names []string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, name := range f.texts.Keys() {
		if !f.asked[name] {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

// Close writes the changes, sorted by name. With prune, it drops snapshots that no check has asked for.
func (f *SnapshotFile) Close(prune bool) error {
	unused := f.Unused()
	f.mu.Lock()
	defer f.mu.Unlock()
	if prune && f.update && len(unused) > 0 {
		f.changed = true
		for _, name := range unused {
			f.texts.Delete(name)
		}
	}
	if !f.changed {
		return nil
	}
	sorted := value.NewMap(f.texts.Len())
	for _, name := range slices.Sorted(slices.Values(f.texts.Keys())) {
		v, _ := f.texts.Get(name)
		sorted.Set(name, v)
	}
	var file bytes.Buffer
	fmt.Fprintln(&file, "# Snapshots of scheduler test; --update writes them.")
	file.Write(yaml.Append(nil, value.OfMap(sorted)))
	if err := calls.WriteFile(f.path, file.Bytes(), 0o644); err != nil {
		return wording.Errorf("writing the snapshots: %w", err)
	}
	f.changed = false
	return nil
}
