package archive

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"os"
	"sync"
	"time"

	"github.com/callnode/scheduler/calls"
	"github.com/callnode/scheduler/calls/memory"
	"github.com/callnode/scheduler/llm/value"
	"github.com/callnode/scheduler/llm/value/wording"
)

// Mirror is a store whose content is also kept in a directory, as [Export] writes it.
// [NewMirror] makes it around a store, which it closes when it is closed. It is safe for
// concurrent use.
//
// A saved memory is in its file when saving returns. The index follows, at the latest when the store is closed: it
// lists the files that are there. Several processes may keep the same directory; one at a time writes. If a file
// cannot be written, for example because the disk is full, that is logged and everything is written again later;
// so is the unfinished work of a killed process. The store itself keeps all it has saved.
type Mirror struct {
	memory.Store
	dir  string
	root *os.Root
	log  *slog.Logger

	mu          sync.Mutex
	mark        *os.File    // says that this process changes something
	indexIsOld  bool        // the index may be wrong
	mustRewrite bool        // everything may be wrong
	timer       *time.Timer // until the index is written
	pause       time.Duration
	closed      bool
}

// The index is written so long after the first change that it lacks. Writing it takes at most a twentieth of the
// time.
const (
	indexPause = time.Second
	indexShare = 20
)

// NewMirror returns a store that also keeps a directory. A directory without an index is filled at once, and so is
// one that a killed process has left behind the store.
func NewMirror(ctx context.Context, store memory.Store, dir string, log *slog.Logger) (*Mirror, error) {
	root, err := openDir(dir)
	if err != nil {
		return nil, err
	}
	m := &Mirror{Store: store, dir: dir, root: root, log: log, pause: indexPause}
	err = m.withLock(ctx, func() error {
		left := leftMarks(root)
		_, missing := root.Stat(indexFile)
		m.mustRewrite = missing != nil || len(left) > 0
		if !m.mustRewrite {
			return nil
		}
		return errors.Join(m.flushLocked(ctx), removeMarks(root, left...))
	})
	if err != nil {
		return nil, firstError(err, root.Close())
	}
	return m, nil
}

// withLock calls f while no other process writes to the directory.
func (m *Mirror) withLock(ctx context.Context, f func() error) error {
	unlock, err := lockDir(ctx, m.root)
	if err != nil {
		return wording.Errorf("mirroring memories: %w", err)
	}
	return firstError(f(), unlock())
}

// markBehind notes, before the store changes, that the files may be behind it.
func (m *Mirror) markBehind(ctx context.Context) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.mark != nil {
		return
	}
	err := m.withLock(ctx, func() (err error) {
		m.mark, err = createMark(m.root)
		return err
	})
	if err != nil && ctx.Err() == nil { // else the store will say so
		m.logBehind(err)
	}
}

// SaveMemories saves the memories, then writes their files.
func (m *Mirror) SaveMemories(ctx context.Context, memories []memory.BaseMemory) ([]memory.Saved, error) {
	m.markBehind(ctx)
	saved, err := m.Store.SaveMemories(ctx, memories)
	if err != nil {
		return saved, err
	}
	m.updateFiles(func() error {
		ids := map[string]bool{}
		for _, s := range saved {
			if s.State == memory.Created || s.State == memory.Updated {
				ids[s.ID] = true
				m.indexIsOld = true
			}
		}
		return forEachConcurrently(ids, func(id string) error {
			x, err := m.Store.LoadMemory(context.WithoutCancel(ctx), id)
			if x == nil { // deleted meanwhile by another process
				return err
			}
			return writeFile(m.root, folders[0].path(id), value.Must(*x), true)
		})
	})
	return saved, nil
}

// maxAtOnce is how many files wait for the disk together.
const maxAtOnce = 16

// forEachConcurrently calls f for all ids, several at once, and returns one of the
// errors.
func forEachConcurrently(ids map[string]bool, f func(id string) error) error {
	next := make(chan string)
	errs := make(chan error, maxAtOnce)
	n := min(len(ids), maxAtOnce)
	for range n {
		go func() {
			var failed error
			for id := range next {
				if failed == nil {
					failed = f(id)
				}
			}
			errs <- failed
		}()
	}
	for id := range ids {
		next <- id
	}
	close(next)
	var err error
	for range n {
		err = cmp.Or(err, <-errs)
	}
	return err
}

// SaveSnapshot saves the snapshot, then writes its file.
func (m *Mirror) SaveSnapshot(ctx context.Context, user string, s memory.MemorySnapshot) error {
	m.markBehind(ctx)
	if err := m.Store.SaveSnapshot(ctx, user, s); err != nil {
		return err
	}
	m.updateFiles(func() error { return m.putSnapshot(ctx, user, s.ID) })
	return nil
}

// SaveMetaSnapshot saves the meta snapshot, then writes its file.
func (m *Mirror) SaveMetaSnapshot(ctx context.Context, user string, s memory.MetaSnapshot) error {
	m.markBehind(ctx)
	if err := m.Store.SaveMetaSnapshot(ctx, user, s); err != nil {
		return err
	}
	m.updateFiles(func() error { return m.putMeta(ctx, user, s.ID) })
	return nil
}

// Complete ends the job, then writes the file of its result.
func (m *Mirror) Complete(ctx context.Context, job *memory.Job) error {
	m.markBehind(ctx)
	if err := m.Store.Complete(ctx, job); err != nil {
		return err
	}
	m.updateFiles(func() error {
		if job.Detail != nil {
			return m.putSnapshot(ctx, job.User, job.Detail.ID)
		}
		return m.putMeta(ctx, job.User, job.Meta.ID)
	})
	return nil
}

// Delete deletes, then rewrites everything, so that no file of a deleted memory stays.
func (m *Mirror) Delete(ctx context.Context, which memory.Selection) (memory.Deleted, error) {
	if which.DryRun {
		return m.Store.Delete(ctx, which)
	}
	m.markBehind(ctx)
	deleted, err := m.Store.Delete(ctx, which)
	if err != nil && deleted == (memory.Deleted{}) {
		return deleted, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.mustRewrite = true
	ctx = context.WithoutCancel(ctx)
	if err := m.withLock(ctx, func() error { return m.flushLocked(ctx) }); err != nil {
		m.logBehind(err)
	}
	return deleted, err
}

// Close writes the index and closes the store.
func (m *Mirror) Close() error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.timer != nil {
		m.timer.Stop()
	}
	m.closed = true
	ctx := context.Background()
	var err error
	if m.mustRewrite || m.mark != nil {
		err = m.withLock(ctx, func() error {
			if err := m.flushLocked(ctx); err != nil {
				if m.mark != nil {
					err = errors.Join(err, m.mark.Close()) // the next one sees it
				}
				return err
			}
			return removeMark(m.root, m.mark)
		})
	}
	return errors.Join(err, m.root.Close(), m.Store.Close())
}

// updateFiles calls write to make the files follow a change of the store.
func (m *Mirror) updateFiles(write func() error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if err := m.withLock(context.Background(), write); err != nil {
		m.mustRewrite = true
		m.logBehind(err)
	}
	mustWrite := m.mustRewrite || m.indexIsOld
	if m.timer == nil && mustWrite {
		m.timer = time.AfterFunc(m.pause, func() {
			m.mu.Lock()
			defer m.mu.Unlock()
			if m.closed {
				return
			}
			ctx := context.Background()
			if err := m.withLock(ctx, func() error { return m.flushLocked(ctx) }); err != nil {
				m.logBehind(err)
			}
		})
	}
}

func (m *Mirror) logBehind(err error) {
	m.log.Warn("the mirror of the memory store is behind", "directory", m.dir, "error", err)
}

// writeFile writes a file.
func (m *Mirror) writeFile(f folder, id string, v value.Value) error {
	m.indexIsOld = true
	return writeFile(m.root, f.path(id), v, true)
}

func (m *Mirror) putSnapshot(ctx context.Context, user, id string) error {
	s, err := m.LoadSnapshot(context.WithoutCancel(ctx), id)
	if s == nil || err != nil {
		return err
	}
	return m.writeFile(folders[1], id, withOwner(user, value.Must(*s), s.MemoryRefs, m.existingFiles(folders[0], s.MemoryRefs)))
}

func (m *Mirror) putMeta(ctx context.Context, user, id string) error {
	s, err := m.LoadMetaSnapshot(context.WithoutCancel(ctx), id)
	if s == nil || err != nil {
		return err
	}
	return m.writeFile(folders[2], id, withOwner(user, value.Must(*s), s.SnapshotRefs, m.existingFiles(folders[1], s.SnapshotRefs)))
}

// existingFiles returns the ids that have a file.
func (m *Mirror) existingFiles(f folder, ids []string) *value.Map {
	found := value.NewMap(len(ids))
	for _, id := range ids {
		if _, err := memory.UUIDOf(f.kind, id); err != nil {
			continue // it would be the name of a file
		}
		if _, err := m.root.Stat(f.path(id)); err == nil {
			found.Set(id, value.Value{})
		}
	}
	return found
}

// flushLocked brings the index up to date, or everything. The caller holds mu and the
// lock of the directory.
func (m *Mirror) flushLocked(ctx context.Context) (err error) {
	started := time.Now()
	m.timer = nil
	if m.mustRewrite {
		err = m.exportAll(ctx, nil)
	} else if m.indexIsOld {
		err = m.writeIndex(ctx)
	}
	m.pause = max(indexPause, indexShare*time.Since(started))
	m.mustRewrite, m.indexIsOld = err != nil, false
	return err
}

// exportAll rewrites everything, or only an index of existing files.
func (m *Mirror) exportAll(ctx context.Context, there map[string]bool) error {
	w, err := newWriter(ctx, m.dir, nil)
	if err != nil {
		return err
	}
	w.existing = there
	_, err = w.exportAll(m.Store, memory.AllUsers())
	return firstError(err, w.root.Close())
}

// writeIndex writes the index of the existing files.
func (m *Mirror) writeIndex(ctx context.Context) error {
	there := map[string]bool{}
	for _, f := range folders {
		entries, err := calls.ReadDirFS(m.root.FS(), f.name)
		if err != nil {
			return wording.Errorf("mirroring memories: %w", err)
		}
		for _, e := range entries {
			there[f.name+"/"+e.Name()] = true
		}
	}
	return m.exportAll(ctx, there)
}
