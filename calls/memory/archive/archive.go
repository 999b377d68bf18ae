// Package archive writes memories to files and reads them back: a directory of
// JSON files, or JSON Lines.
//
// The directory has index.json, memories/ID.json, snapshots/ID.json and meta_snapshots/ID.json. The index lists
// memories in the store's order, so that an import keeps the order of memories with the same time. Exporting,
// importing and exporting again gives the same bytes. Reading is lenient: damaged files are reported and the rest
// is stored, for example if one memory is not JSON.
package archive

import (
	"bytes"
	"context"
	"errors"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/callnode/scheduler/calls"
	"github.com/callnode/scheduler/calls/memory"
	"github.com/callnode/scheduler/llm/value"
	"github.com/callnode/scheduler/llm/value/wording"
)

// Report counts memories and snapshots that were written or read.
type Report struct {
	Memories      int `json:"memories"`
	Snapshots     int `json:"snapshots"`
	MetaSnapshots int `json:"meta_snapshots"`
	// New counts the memories that did not exist before, or differed.
	New int `json:"new,omitempty"`
	// Others counts the memories of users who were not selected.
	Others int `json:"others,omitempty"`
	// Problems describe damaged parts, by file.
	Problems []string `json:"problems,omitempty"`
}

// Progress gets the number of finished files or lines now and then; of is 0 if the
// total is unknown.
type Progress func(done, of int)

// folder is a kind of files.
type folder struct {
	name  string // also its member of the index
	kind  memory.Kind
	label string // type in the index
}

var folders = []folder{
	{"memories", memory.MemoryID, "base"}, {"snapshots", memory.SnapshotID, "snapshot"}, {"meta_snapshots", memory.MetaID, "meta"},
}

const indexFile = "index.json"

// maxFile bounds a file, in bytes: the index of some millions of memories.
const maxFile = 1 << 30

// Export writes the memories of users to a directory, and creates it. It removes files of an earlier export whose
// memories are deleted, and writes the index last. For one user, a directory with others' memories is refused,
// because they would be removed.
func Export(ctx context.Context, store memory.Lister, users memory.Users, dir string, progress Progress) (r Report, err error) {
	w, err := newWriter(ctx, dir, progress)
	if err != nil {
		return r, err
	}
	defer func() { err = firstError(err, w.root.Close()) }()
	unlock, err := lockDir(ctx, w.root)
	if err != nil {
		return r, wording.Errorf("exporting memories: %w", err)
	}
	defer func() { err = firstError(err, unlock()) }()
	if err := w.checkOwners(dir, users); err != nil {
		return r, err
	}
	return w.exportAll(store, users)
}

// exportAll writes everything. The caller holds the lock of the directory.
func (w *writer) exportAll(store memory.Lister, users memory.Users) (r Report, err error) {
	ctx, which := w.ctx, memory.Selection{Users: users}
	for m, err := range store.Memories(ctx, which) {
		if err != nil {
			return r, err
		}
		if err := w.addFile(0, m.ID, m.Timestamp, value.Must(m)); err != nil {
			return r, err
		}
		r.Memories++
	}
	for x, err := range store.Snapshots(ctx, which) {
		if err != nil {
			return r, err
		}
		s := x.Snapshot
		if err := w.addFile(1, s.ID, s.Timestamp, withOwner(x.User, value.Must(s), s.MemoryRefs, w.index[folders[0].name])); err != nil {
			return r, err
		}
		r.Snapshots++
	}
	for x, err := range store.MetaSnapshots(ctx, which) {
		if err != nil {
			return r, err
		}
		s := x.Snapshot
		if err := w.addFile(2, s.ID, s.Timestamp, withOwner(x.User, value.Must(s), s.SnapshotRefs, w.index[folders[1].name])); err != nil {
			return r, err
		}
		r.MetaSnapshots++
	}
	return r, w.writeIndex()
}

// firstError returns the error that led to the other, with its kind and hint.
func firstError(first, second error) error {
	if first != nil {
		return first
	}
	return second
}

// checkOwners looks for memories that belong to others than the one user.
func (w *writer) checkOwners(dir string, users memory.Users) error {
	if _, one := users.One(); !one {
		return nil
	}
	entries, err := calls.ReadDirFS(w.root.FS(), folders[0].name)
	if err != nil {
		return wording.Errorf("exporting memories: %w", err)
	}
	for _, e := range entries {
		data, err := calls.ReadFileIn(w.root, folders[0].name+"/"+e.Name(), maxFile)
		if err != nil {
			continue // no file of an export
		}
		v, err := value.ParseJSON(data)
		var m memory.BaseMemory
		if err == nil && m.DecodeValue(v) == nil && !users.Has(m.Context.UserID) {
			return calls.Errorf(calls.Invalid, "%s has memories of the user %q, which this export would remove", dir, m.Context.UserID).
				WithHint("give another directory, or export everybody's memories")
		}
	}
	return nil
}

// withOwner adds the user of a snapshot if none of its references is in files.
func withOwner(user string, v value.Value, refs []string, files *value.Map) value.Value {
	known := func(ref string) bool { _, ok := files.Get(ref); return ok }
	if user == "" || slices.ContainsFunc(refs, known) {
		return v
	}
	m := v.Map().Clone()
	m.Set("user_id", value.OfString(user))
	return value.OfMap(m)
}

type writer struct {
	ctx      context.Context //nolint:containedctx // a writer lives as long as one export
	root     *os.Root
	progress Progress
	// existing are the files to list in the index; nil writes all files and lists them.
	existing   map[string]bool
	index      map[string]*value.Map
	categories categories
	done       int
}

// categories are the lists of the index, by the key of their category.
type categories map[string]*category

// category is the ids of its snapshots and of its meta snapshots.
type category struct {
	shown string
	ids   [2][]string
}

// addID adds an id: kind 0 is a snapshot, 1 a meta snapshot.
func (all categories) addID(name string, kind int, id string) {
	key := memory.CategoryKey(name)
	c := all[key]
	if c == nil {
		c = &category{shown: strings.TrimSpace(name)}
		all[key] = c
	}
	c.ids[kind] = append(c.ids[kind], id)
}

// encode returns the member categories of the index.
func (all categories) encode() value.Value {
	list := value.NewMap(len(all))
	for _, key := range slices.Sorted(maps.Keys(all)) {
		c := all[key]
		list.Set(c.shown, value.OfMap(value.Pairs("snapshots", append([]string{}, c.ids[0]...), "meta_snapshots", append([]string{}, c.ids[1]...))))
	}
	return value.OfMap(list)
}

func newWriter(ctx context.Context, dir string, progress Progress) (*writer, error) {
	root, err := openDir(dir)
	if err != nil {
		return nil, err
	}
	w := &writer{ctx: ctx, root: root, progress: progress, index: map[string]*value.Map{}, categories: categories{}}
	for _, f := range folders {
		w.index[f.name] = value.NewMap(0)
	}
	return w, nil
}

// openDir opens a directory with its folders, and creates missing ones.
func openDir(dir string) (*os.Root, error) {
	for _, f := range folders {
		if err := os.MkdirAll(filepath.Join(dir, f.name), 0o700); err != nil {
			return nil, calls.Errorf(calls.Invalid, "exporting memories: %w", err)
		}
	}
	root, err := calls.OpenRoot(dir)
	if err != nil {
		return nil, calls.Errorf(calls.Invalid, "exporting memories: %w", err)
	}
	return root, nil
}

// addFile writes a file and adds it to the index.
func (w *writer) addFile(in int, id string, at time.Time, v value.Value) error {
	if err := w.ctx.Err(); err != nil {
		return err
	}
	f := folders[in]
	if w.existing != nil && !w.existing[f.path(id)] {
		return nil
	}
	w.index[f.name].Set(id, f.indexEntry(id, memory.FormatTime(at)))
	if in > 0 {
		category, _ := v.Get("category")
		name, _ := category.Str()
		w.categories.addID(name, in-1, id)
	}
	w.done++
	if w.progress != nil && w.done%100 == 0 {
		w.progress(w.done, 0)
	}
	if w.existing != nil {
		return nil
	}
	return writeFile(w.root, f.path(id), v, false)
}

// path returns the path of a file.
func (f *folder) path(id string) string { return f.name + "/" + id + ".json" }

// indexEntry returns the entry of the index for a file.
func (f *folder) indexEntry(id, timestamp string) value.Value {
	return value.OfMap(value.Pairs("path", f.path(id), "timestamp", timestamp, "type", f.label))
}

// temporary ends the name of a file until it is complete. A process that was killed may
// leave one.
const temporary = ".tmp"

// writeFile writes a file atomically. Unchanged files are not written.
func writeFile(root *os.Root, file string, v value.Value, sync bool) (err error) {
	data := append(v.AppendIndented(nil, "    "), '\n')
	if old, err := calls.ReadFileIn(root, file, maxFile); err == nil && bytes.Equal(old, data) {
		return nil
	}
	if err := root.Remove(file + temporary); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return wording.Errorf("exporting memories: %w", err)
	}
	f, err := root.OpenFile(file+temporary, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600) // a pipe would be waited for
	if err != nil {
		return wording.Errorf("exporting memories: %w", err)
	}
	_, err = f.Write(data)
	if sync && err == nil {
		err = f.Sync()
	}
	err = firstError(err, f.Close())
	if err == nil {
		err = root.Rename(file+temporary, file)
	}
	if err != nil {
		return wording.Errorf("exporting memories: %w", err)
	}
	return nil
}

// writeIndex writes the index and removes files that are not in it.
func (w *writer) writeIndex() error {
	index := value.NewMap(4)
	for _, f := range folders {
		index.Set(f.name, value.OfMap(w.index[f.name]))
	}
	index.Set("categories", w.categories.encode())
	if err := writeFile(w.root, indexFile, value.OfMap(index), true); err != nil || w.existing != nil {
		return err
	}
	return w.removeOldFiles()
}

// removeOldFiles removes the files of an earlier export that are not in the index or
// not complete.
func (w *writer) removeOldFiles() error {
	for _, f := range folders {
		entries, err := calls.ReadDirFS(w.root.FS(), f.name)
		if err != nil {
			return wording.Errorf("exporting memories: %w", err)
		}
		for _, e := range entries {
			name, unfinished := strings.CutSuffix(e.Name(), temporary)
			id, isJSON := strings.CutSuffix(name, ".json")
			if _, err := memory.UUIDOf(f.kind, id); !isJSON || err != nil {
				continue // not ours
			}
			if _, kept := w.index[f.name].Get(id); !kept || unfinished {
				if err := w.root.Remove(f.name + "/" + e.Name()); err != nil {
					return wording.Errorf("exporting memories: %w", err)
				}
			}
		}
	}
	return nil
}
