// Package archive writes memories to files and reads them back: a directory of
// JSON files, or JSON Lines.
//
// The directory has index.json, memories/ID.json, snapshots/ID.json and
// meta_snapshots/ID.json. Exporting, importing and exporting again gives the same
// bytes. Reading is patient: what is damaged is reported, the rest is stored.
package archive

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/callnode/scheduler/calls"
	"github.com/callnode/scheduler/calls/memory"
	"github.com/callnode/scheduler/llm/value"
)

// Report counts what was written or read.
type Report struct {
	Memories      int `json:"memories"`
	Snapshots     int `json:"snapshots"`
	MetaSnapshots int `json:"meta_snapshots"`
	// New counts the memories that were not there before, or said something else.
	New int `json:"new,omitempty"`
	// Problems are what was damaged, by file.
	Problems []string `json:"problems,omitempty"`
}

// Progress is told now and then how many files or lines are done; of is 0 where it
// is not known how many there are.
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

// Export writes the memories of users to a directory, which is made. Files of an
// earlier export whose memories are gone are removed; the index is written last.
func Export(ctx context.Context, store memory.Lister, users memory.Users, dir string, progress Progress) (r Report, err error) {
	w, err := newWriter(ctx, dir, progress)
	if err != nil {
		return r, err
	}
	defer func() { err = errors.Join(err, w.root.Close()) }()
	which := memory.Selection{Users: users}
	for m, err := range store.Memories(ctx, which) {
		if err != nil {
			return r, err
		}
		if err := w.add(folders[0], m.ID, memory.FormatTime(m.Timestamp), value.Must(m)); err != nil {
			return r, err
		}
		r.Memories++
	}
	for x, err := range store.Snapshots(ctx, which) {
		if err != nil {
			return r, err
		}
		s := x.Snapshot
		if err := w.add(folders[1], s.ID, memory.FormatTime(s.Timestamp), w.owned(folders[0], x.User, value.Must(s), s.MemoryRefs)); err != nil {
			return r, err
		}
		w.categorize(s.Category, "snapshots", s.ID)
		r.Snapshots++
	}
	for x, err := range store.MetaSnapshots(ctx, which) {
		if err != nil {
			return r, err
		}
		s := x.Snapshot
		if err := w.add(folders[2], s.ID, memory.FormatTime(s.Timestamp), w.owned(folders[1], x.User, value.Must(s), s.SnapshotRefs)); err != nil {
			return r, err
		}
		w.categorize(s.Category, "meta_snapshots", s.ID)
		r.MetaSnapshots++
	}
	return r, w.finish()
}

// owned notes whose a snapshot is, where nothing that it refers to can tell.
func (w *writer) owned(f folder, user string, v value.Value, refs []string) value.Value {
	known := func(ref string) bool { _, ok := w.index[f.name].Get(ref); return ok }
	if user == "" || slices.ContainsFunc(refs, known) {
		return v
	}
	m := v.Map().Clone()
	m.Set("user_id", value.OfString(user))
	return value.OfMap(m)
}

type writer struct {
	ctx        context.Context //nolint:containedctx // a writer lives as long as one export
	root       *os.Root
	progress   Progress
	index      map[string]*value.Map
	categories map[string]*category
	done       int
}

// category is where the ids of a category stand in the index.
type category struct {
	shown                    string
	snapshots, metaSnapshots []string
}

func newWriter(ctx context.Context, dir string, progress Progress) (*writer, error) {
	for _, f := range folders {
		if err := os.MkdirAll(filepath.Join(dir, f.name), 0o700); err != nil {
			return nil, calls.Errorf(calls.Invalid, "exporting memories: %w", err)
		}
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, calls.Errorf(calls.Invalid, "exporting memories: %w", err)
	}
	w := &writer{ctx: ctx, root: root, progress: progress, index: map[string]*value.Map{}, categories: map[string]*category{}}
	for _, f := range folders {
		w.index[f.name] = value.NewMap(0)
	}
	return w, nil
}

// add writes a file and notes it for the index.
func (w *writer) add(f folder, id, timestamp string, v value.Value) error {
	if err := w.ctx.Err(); err != nil {
		return err
	}
	file := f.name + "/" + id + ".json"
	w.index[f.name].Set(id, value.OfMap(value.Pairs("path", file, "timestamp", timestamp, "type", f.label)))
	w.done++
	if w.progress != nil && w.done%100 == 0 {
		w.progress(w.done, 0)
	}
	return w.write(file, v, false)
}

// write puts a file into its place whole. What it says already is not written again.
func (w *writer) write(file string, v value.Value, sync bool) (err error) {
	data := append(v.AppendIndented(nil, "    "), '\n')
	if old, err := w.root.ReadFile(file); err == nil && bytes.Equal(old, data) {
		return nil
	}
	temporary := file + ".tmp"
	f, err := w.root.OpenFile(temporary, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return fmt.Errorf("exporting memories: %w", err)
	}
	_, err = f.Write(data)
	if sync && err == nil {
		err = f.Sync()
	}
	if err = errors.Join(err, f.Close()); err == nil {
		err = w.root.Rename(temporary, file)
	}
	if err != nil {
		return fmt.Errorf("exporting memories: %w", err)
	}
	return nil
}

func (w *writer) categorize(name, list, id string) {
	key := memory.CategoryKey(name)
	c := w.categories[key]
	if c == nil {
		c = &category{shown: strings.TrimSpace(name)}
		w.categories[key] = c
	}
	if list == "snapshots" {
		c.snapshots = append(c.snapshots, id)
	} else {
		c.metaSnapshots = append(c.metaSnapshots, id)
	}
}

// finish writes the index and removes what is not in it.
func (w *writer) finish() error {
	index := value.NewMap(4)
	for _, f := range folders {
		entries := w.index[f.name]
		ids := slices.Sorted(slices.Values(entries.Keys()))
		sorted := value.NewMap(len(ids))
		for _, id := range ids {
			entry, _ := entries.Get(id)
			sorted.Set(id, entry)
		}
		index.Set(f.name, value.OfMap(sorted))
	}
	categories := value.NewMap(len(w.categories))
	var keys []string
	for key := range w.categories {
		keys = append(keys, key)
	}
	slices.Sort(keys)
	for _, key := range keys {
		c := w.categories[key]
		categories.Set(c.shown, value.OfMap(value.Pairs("snapshots", append([]string{}, c.snapshots...), "meta_snapshots", append([]string{}, c.metaSnapshots...))))
	}
	index.Set("categories", value.OfMap(categories))
	if err := w.write(indexFile, value.OfMap(index), true); err != nil {
		return err
	}
	return w.sweep()
}

// sweep removes the files of an earlier export that are not in the index.
func (w *writer) sweep() error {
	for _, f := range folders {
		entries, err := fs.ReadDir(w.root.FS(), f.name)
		if err != nil {
			return fmt.Errorf("exporting memories: %w", err)
		}
		for _, e := range entries {
			id, isJSON := strings.CutSuffix(e.Name(), ".json")
			if _, err := memory.UUIDOf(f.kind, id); !isJSON || err != nil {
				continue // not ours
			}
			if _, kept := w.index[f.name].Get(id); !kept {
				if err := w.root.Remove(f.name + "/" + e.Name()); err != nil {
					return fmt.Errorf("exporting memories: %w", err)
				}
			}
		}
	}
	return nil
}
