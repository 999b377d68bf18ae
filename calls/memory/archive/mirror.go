package archive

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/callnode/scheduler/calls/memory"
	"github.com/callnode/scheduler/llm/value"
)

// Mirror is a store whose content is also kept in a directory, as [Export] writes it.
//
// What is saved is in its file when saving returns. The index follows, at the latest
// when the store is closed: it lists the files that are there, so several processes
// may keep the same directory. That a file cannot be written is logged and made good
// by writing all anew later; what the store has saved is saved.
type Mirror struct {
	memory.Store
	dir  string
	root *os.Root
	log  *slog.Logger

	mu      sync.Mutex
	changed map[string]bool // files whose entry in the index may be wrong
	whole   bool            // everything may be wrong
	timer   *time.Timer     // until the index is written
	pause   time.Duration
	closed  bool
}

// The index is written so long after the first change that it lacks, and takes at
// most a twentieth of the time.
const (
	indexPause = time.Second
	indexShare = 20
)

// NewMirror keeps a directory beside a store. One without an index is filled at once.
func NewMirror(ctx context.Context, store memory.Store, dir string, log *slog.Logger) (*Mirror, error) {
	root, err := openDir(dir)
	if err != nil {
		return nil, err
	}
	m := &Mirror{Store: store, dir: dir, root: root, log: log, changed: map[string]bool{}, pause: indexPause}
	if _, err := root.Stat(indexFile); err != nil {
		m.whole = true
		if err := m.flush(ctx); err != nil {
			return nil, errors.Join(err, root.Close())
		}
	}
	return m, nil
}

// SaveMemories stores the memories, then writes their files.
func (m *Mirror) SaveMemories(ctx context.Context, memories []memory.BaseMemory) ([]memory.Saved, error) {
	saved, err := m.Store.SaveMemories(ctx, memories)
	if err != nil {
		return saved, err
	}
	m.follow(func() error {
		for _, s := range saved {
			if s.State != memory.Created && s.State != memory.Updated {
				continue
			}
			x, err := m.Store.LoadMemory(context.WithoutCancel(ctx), s.ID)
			if err != nil {
				return err
			}
			if x == nil { // deleted meanwhile, by somebody who tidies up
				continue
			}
			if err := m.put(folders[0], s.ID, value.Must(*x)); err != nil {
				return err
			}
		}
		return nil
	})
	return saved, nil
}

// SaveSnapshot stores the snapshot, then writes its file.
func (m *Mirror) SaveSnapshot(ctx context.Context, user string, s memory.MemorySnapshot) error {
	if err := m.Store.SaveSnapshot(ctx, user, s); err != nil {
		return err
	}
	m.follow(func() error { return m.putSnapshot(ctx, user, s.ID) })
	return nil
}

// SaveMetaSnapshot stores the meta snapshot, then writes its file.
func (m *Mirror) SaveMetaSnapshot(ctx context.Context, user string, s memory.MetaSnapshot) error {
	if err := m.Store.SaveMetaSnapshot(ctx, user, s); err != nil {
		return err
	}
	m.follow(func() error { return m.putMeta(ctx, user, s.ID) })
	return nil
}

// Complete settles the job, then writes the file of what it has made.
func (m *Mirror) Complete(ctx context.Context, job *memory.Job) error {
	if err := m.Store.Complete(ctx, job); err != nil {
		return err
	}
	m.follow(func() error {
		if job.Detail != nil {
			return m.putSnapshot(ctx, job.User, job.Detail.ID)
		}
		return m.putMeta(ctx, job.User, job.Meta.ID)
	})
	return nil
}

// Delete deletes, then writes all anew: of what is deleted, no file stays.
func (m *Mirror) Delete(ctx context.Context, which memory.Selection) (memory.Deleted, error) {
	deleted, err := m.Store.Delete(ctx, which)
	if err != nil || which.DryRun {
		return deleted, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.whole = true
	if err := m.flush(context.WithoutCancel(ctx)); err != nil {
		m.warn(err)
	}
	return deleted, nil
}

// Close writes the index and closes the store.
func (m *Mirror) Close() error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.timer != nil {
		m.timer.Stop()
	}
	m.closed = true
	return errors.Join(m.flush(context.Background()), m.root.Close(), m.Store.Close())
}

// follow makes the files follow a change of the store.
func (m *Mirror) follow(write func() error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if err := write(); err != nil {
		m.whole = true
		m.warn(err)
	}
	if m.timer == nil && (m.whole || len(m.changed) > 0) {
		m.timer = time.AfterFunc(m.pause, func() {
			m.mu.Lock()
			defer m.mu.Unlock()
			if m.closed {
				return
			}
			if err := m.flush(context.Background()); err != nil {
				m.warn(err)
			}
		})
	}
}

func (m *Mirror) warn(err error) {
	m.log.Warn("the mirror of the memory store is behind", "directory", m.dir, "error", err)
}

// put writes a file.
func (m *Mirror) put(f folder, id string, v value.Value) error {
	m.changed[f.file(id)] = true
	return write(m.root, f.file(id), v, true)
}

func (m *Mirror) putSnapshot(ctx context.Context, user, id string) error {
	s, err := m.LoadSnapshot(context.WithoutCancel(ctx), id)
	if s == nil || err != nil {
		return err
	}
	return m.put(folders[1], id, owned(user, value.Must(*s), s.MemoryRefs, m.present(folders[0], s.MemoryRefs)))
}

func (m *Mirror) putMeta(ctx context.Context, user, id string) error {
	s, err := m.LoadMetaSnapshot(context.WithoutCancel(ctx), id)
	if s == nil || err != nil {
		return err
	}
	return m.put(folders[2], id, owned(user, value.Must(*s), s.SnapshotRefs, m.present(folders[1], s.SnapshotRefs)))
}

// present are those of the ids that have a file.
func (m *Mirror) present(f folder, ids []string) *value.Map {
	found := value.NewMap(len(ids))
	for _, id := range ids {
		if _, err := memory.UUIDOf(f.kind, id); err != nil {
			continue // it would be the name of a file
		}
		if _, err := m.root.Stat(f.file(id)); err == nil {
			found.Set(id, value.Value{})
		}
	}
	return found
}

// flush brings the index up to date, or everything. The caller has the lock.
func (m *Mirror) flush(ctx context.Context) (err error) {
	started := time.Now()
	m.timer = nil
	switch {
	case m.whole:
		_, err = Export(ctx, m.Store, memory.AllUsers(), m.dir, nil)
	case len(m.changed) > 0:
		err = m.reindex()
	}
	m.pause = max(indexPause, indexShare*time.Since(started))
	if m.whole = err != nil; !m.whole {
		clear(m.changed)
	}
	return err
}

// reindex writes the index of the files that are there. What the old index says of
// them is believed, unless they have changed.
func (m *Mirror) reindex() error {
	var old value.Value
	if data, err := m.root.ReadFile(indexFile); err == nil {
		old, _ = value.ParseJSON(data) // a damaged one says nothing
	}
	said := map[string]string{} // categories by id
	listed, _ := old.Get("categories")
	for name, lists := range listed.Map().All() {
		for _, ids := range lists.Map().All() {
			for _, v := range ids.List() {
				id, _ := v.Str()
				said[id] = name
			}
		}
	}
	entries, all := map[string]*value.Map{}, categories{}
	for i, f := range folders {
		entries[f.name] = value.NewMap(0)
		files, err := fs.ReadDir(m.root.FS(), f.name)
		if err != nil {
			return fmt.Errorf("mirroring memories: %w", err)
		}
		known, _ := old.Get(f.name)
		for _, file := range files {
			id, isJSON := strings.CutSuffix(file.Name(), ".json")
			if _, err := memory.UUIDOf(f.kind, id); !isJSON || err != nil {
				continue // not ours
			}
			entry, ok := known.Get(id)
			name, named := said[id]
			if !ok || m.changed[f.file(id)] || i > 0 && !named {
				data, err := m.root.ReadFile(f.file(id))
				if errors.Is(err, fs.ErrNotExist) {
					continue // gone meanwhile
				}
				v, bad := value.ParseJSON(data)
				if err := errors.Join(err, bad); err != nil {
					return fmt.Errorf("mirroring memories: %w", err)
				}
				timestamp, _ := v.Get("timestamp")
				when, _ := timestamp.Str()
				category, _ := v.Get("category")
				name, _ = category.Str()
				entry = f.entry(id, when)
			}
			entries[f.name].Set(id, entry)
			if i > 0 {
				all.add(name, i-1, id)
			}
		}
	}
	return writeIndex(m.root, entries, all)
}
