package archive

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/callnode/scheduler/calls"
	"github.com/callnode/scheduler/calls/memory"
	"github.com/callnode/scheduler/llm/value"
	"github.com/callnode/scheduler/llm/value/wording"
)

// Options narrow an import.
type Options struct {
	// Users selects the users whose memories are stored; others are left out.
	Users memory.Users
	// Session is the session of lines that name none.
	Session string
	// OwnIDs is set if the importer sees only the one user's memories: see [memory.OwnID].
	OwnIDs bool
	// Progress may be nil.
	Progress Progress
}

// batchSize is the number of memories that are stored in one change, and bytesTogether the size of text from which
// fewer are stored.
const (
	batchSize  = 1000
	batchBytes = 4 << 20
)

// Destination is the part of a [memory.Store] that an import needs.
type Destination interface {
	memory.Saver
	memory.Loader
}

// Import saves the content of a directory. The files count, not the index, which may be missing or wrong.
// Unreadable files are reported.
func Import(ctx context.Context, store Destination, dir string, options Options) (r Report, err error) {
	if err := options.Users.Check(); err != nil {
		return r, err
	}
	root, err := calls.OpenRoot(dir)
	if err != nil {
		return r, calls.Errorf(calls.NotFound, "importing memories: %w", err)
	}
	defer func() { err = firstError(err, root.Close()) }()
	in := &importer{ctx: ctx, store: store, files: root.FS(), options: options, owners: map[string]string{}}
	if err := in.listFiles(); err != nil {
		return r, err
	}
	if in.total == 0 {
		return r, calls.Errorf(calls.NotFound, "there are no memories in %s", dir).WithHint("give a directory with memories/, as `memory export` writes it")
	}
	for _, step := range []func() error{in.importMemories, in.importSnapshots, in.importMetas} {
		if err := step(); err != nil {
			return in.Report, err
		}
	}
	return in.Report, nil
}

type importer struct {
	Report
	ctx     context.Context //nolint:containedctx // an importer lives as long as one import
	store   Destination
	files   fs.FS
	options Options
	names   [3][]string       // files by folder
	owners  map[string]string // users by the ids of memories and snapshots
	total   int
	done    int
}

func (in *importer) addProblem(file, format string, args ...any) {
	in.Problems = append(in.Problems, file+": "+fmt.Sprintf(format, args...))
}

// listFiles finds the files: first the files in the index, in its order, then the others in the folders.
func (in *importer) listFiles() error {
	index := in.readIndex()
	for i, f := range folders {
		entries, err := calls.ReadDirFS(in.files, f.name)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return wording.Errorf("importing memories: %w", err)
		}
		there := make(map[string]bool, len(entries))
		for _, e := range entries {
			if !e.IsDir() && strings.HasSuffix(e.Name(), ".json") {
				there[f.name+"/"+e.Name()] = true
			}
		}
		taken := make(map[string]bool, len(entries))
		take := func(file string) {
			if !taken[file] {
				taken[file] = true
				in.names[i] = append(in.names[i], file)
			}
		}
		listed, _ := index.Get(f.name)
		for id, entry := range listed.Map().All() {
			where, _ := entry.Get("path")
			file, _ := where.Str()
			if there[file] {
				take(file)
			} else if !fs.ValidPath(file) {
				in.addProblem(indexFile, "%s: the path %q is outside", id, file)
			} else if _, err := fs.Stat(in.files, file); err != nil {
				in.addProblem(indexFile, "%s: there is no file %s", id, file)
			} else {
				take(file)
			}
		}
		for _, file := range slices.Sorted(maps.Keys(there)) {
			take(file)
		}
		in.total += len(in.names[i])
	}
	return nil
}

func (in *importer) readIndex() value.Value {
	data, err := calls.ReadFileFS(in.files, indexFile, maxFile)
	if err != nil {
		in.addProblem(indexFile, "it cannot be read; the files are taken as they are")
		return value.Value{}
	}
	v, err := value.ParseStrictJSON(data)
	if err != nil {
		in.addProblem(indexFile, "%v", err)
	}
	return v
}

// readFolder reads the files of a folder.
func (in *importer) readFolder(folder int, use func(file string, v value.Value) error) error {
	for _, file := range in.names[folder] {
		if err := in.ctx.Err(); err != nil {
			return err
		}
		in.done++
		if in.options.Progress != nil && in.done%100 == 0 {
			in.options.Progress(in.done, in.total)
		}
		data, err := calls.ReadFileFS(in.files, file, maxFile)
		if err != nil {
			in.addProblem(file, "%v", err)
			continue
		}
		v, err := value.ParseStrictJSON(data)
		if err != nil {
			in.addProblem(file, "%v", err)
			continue
		}
		if err := use(file, v); err != nil {
			return err
		}
	}
	return nil
}

// importMemories stores the memories.
func (in *importer) importMemories() error {
	var batch []memory.BaseMemory
	var from []string
	size := 0
	flush := func() error {
		err := in.saveBatch(batch, from)
		batch, from, size = batch[:0], from[:0], 0
		return err
	}
	err := in.readFolder(0, func(file string, v value.Value) error {
		var m memory.BaseMemory
		if err := m.DecodeValue(v); err != nil {
			in.addProblem(file, "%v", err)
			return nil
		}
		if !in.options.Users.Has(m.Context.UserID) {
			in.Others++
			return nil
		}
		if m.ID == "" {
			m.ID = strings.TrimSuffix(path.Base(file), ".json")
		}
		normal := m
		if err := normal.Normalize(time.Now()); err != nil {
			in.addProblem(file, "%v", err)
			return nil
		}
		m.ID = normal.ID
		in.owners[m.ID] = m.Context.UserID
		batch, from = append(batch, m), append(from, file)
		size += len(m.Content)
		if len(batch) < batchSize && size < batchBytes {
			return nil
		}
		return flush()
	})
	if err != nil {
		return err
	}
	return flush()
}

// saveBatch saves a batch; if the store refuses it, one memory at a time, so that only
// the invalid one is left out.
func (in *importer) saveBatch(batch []memory.BaseMemory, from []string) error {
	if len(batch) == 0 {
		return nil
	}
	saved, err := in.store.SaveMemories(in.ctx, batch)
	if err == nil {
		in.addSaved(saved)
		return nil
	}
	if calls.KindOf(err) != calls.Invalid {
		return err
	}
	for i := range batch {
		saved, err := in.store.SaveMemories(in.ctx, batch[i:i+1])
		switch {
		case err == nil:
			in.addSaved(saved)
		case calls.KindOf(err) == calls.Invalid:
			in.addProblem(from[i], "%v", err)
			delete(in.owners, batch[i].ID)
		default:
			return err
		}
	}
	return nil
}

func (r *Report) addSaved(saved []memory.Saved) {
	for _, s := range saved {
		r.Memories++
		if s.State == memory.Created || s.State == memory.Updated {
			r.New++
		}
	}
}

func (in *importer) importSnapshots() error {
	return in.readFolder(1, func(file string, v value.Value) error {
		var s memory.MemorySnapshot
		owner, mine := in.readSnapshot(file, v, &s, &s.MemoryRefs)
		if !mine {
			return nil
		}
		in.owners[s.ID] = owner
		return in.countOrReport(file, in.store.SaveSnapshot(in.ctx, owner, s), &in.Snapshots)
	})
}

func (in *importer) importMetas() error {
	return in.readFolder(2, func(file string, v value.Value) error {
		var s memory.MetaSnapshot
		owner, mine := in.readSnapshot(file, v, &s, &s.SnapshotRefs)
		if !mine {
			return nil
		}
		return in.countOrReport(file, in.store.SaveMetaSnapshot(in.ctx, owner, s), &in.MetaSnapshots)
	})
}

// readSnapshot reads a snapshot of either kind and determines its owner. mine is false if it is invalid, which is
// reported, or not selected. refs are its references.
func (in *importer) readSnapshot(file string, v value.Value, s snapshot, refs *[]string) (owner string, mine bool) {
	v, owner, owned := takeOwner(v)
	err := s.DecodeValue(v)
	if err == nil {
		err = s.Normalize(time.Time{})
	}
	if err != nil {
		in.addProblem(file, "%v", err)
		return "", false
	}
	owner, owned = in.findOwner(file, *refs, owner, owned)
	return owner, owned && in.options.Users.Has(owner)
}

// snapshot is one of either kind.
type snapshot interface {
	DecodeValue(v value.Value) error
	Normalize(now time.Time) error
}

// countOrReport counts a saved snapshot. If the store refused it, the error is reported.
func (in *importer) countOrReport(file string, err error, n *int) error {
	if err == nil {
		*n++
		return nil
	}
	if calls.KindOf(err) != calls.Invalid {
		return err
	}
	in.addProblem(file, "%v", err)
	return nil
}

// takeOwner removes the member that withOwner has added.
func takeOwner(v value.Value) (_ value.Value, owner string, owned bool) {
	user, ok := v.Get("user_id")
	if !ok {
		return v, "", false
	}
	owner, owned = user.Str()
	m := v.Map().Clone()
	m.Delete("user_id")
	return value.OfMap(m), owner, owned
}

// findOwner returns the user of a snapshot, according to the file or to its references. Dangling references are
// reported.
func (in *importer) findOwner(file string, refs []string, said string, isSaid bool) (owner string, ok bool) {
	owner, ok = said, isSaid
	for _, ref := range refs {
		user, known := in.owners[ref]
		if !known {
			if m, err := in.store.LoadMemory(in.ctx, ref); err == nil && m != nil {
				user, known = m.Context.UserID, true
			}
		}
		if !known {
			in.addProblem(file, "it refers to %s, which is not there", ref)
		} else if !ok {
			owner, ok = user, true
		}
	}
	// Without any clue it is kept, for the user without a name.
	return owner, ok || in.options.Users.Has("")
}
