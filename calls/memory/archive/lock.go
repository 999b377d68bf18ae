package archive

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/callnode/scheduler/calls"
	"github.com/callnode/scheduler/calls/memory"
	"github.com/callnode/scheduler/llm/value/wording"
)

// lockPause is how long to wait before a lock is tried again.
const lockPause = 5 * time.Millisecond

// lockDir waits until no other process writes to the directory.
func lockDir(ctx context.Context, root *os.Root) (unlock func() error, err error) {
	dir, err := root.Open(".")
	if err != nil {
		return nil, err
	}
	for !tryLock(dir) {
		select {
		case <-ctx.Done():
			return nil, firstError(ctx.Err(), dir.Close())
		case <-time.After(lockPause):
		}
	}
	return dir.Close, nil
}

// A mark is a file that a process keeps, locked, in the directory as long as files may be behind the store. An
// unlocked mark was left by a process that was killed. A process that makes or reads marks holds the lock of the
// directory.
const markPrefix = ".behind-"

// createMark creates the mark of this process.
func createMark(root *os.Root) (*os.File, error) {
	name := markPrefix + strings.TrimPrefix(memory.NewID(memory.MetaID, time.Now()), string(memory.MetaID)+"_")
	f, err := root.OpenFile(name, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return nil, wording.Errorf("mirroring memories: %w", err)
	}
	tryLock(f) // no other process knows it
	return f, nil
}

// removeMark removes the mark of this process.
func removeMark(root *os.Root, f *os.File) error {
	if f == nil {
		return nil
	}
	return errors.Join(removeMarks(root, filepath.Base(f.Name())), f.Close())
}

// removeMarks removes marks by name.
func removeMarks(root *os.Root, names ...string) error {
	for _, name := range names {
		if err := root.Remove(name); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return wording.Errorf("mirroring memories: %w", err)
		}
	}
	return nil
}

// leftMarks returns the names of marks whose processes have ended.
func leftMarks(root *os.Root) (names []string) {
	entries, err := calls.ReadDirFS(root.FS(), ".")
	if err != nil {
		return nil // it will be met again
	}
	for _, e := range entries {
		if !strings.HasPrefix(e.Name(), markPrefix) {
			continue
		}
		f, err := root.OpenFile(e.Name(), os.O_RDWR, 0)
		if err != nil {
			continue // it has just gone
		}
		if tryLock(f) {
			names = append(names, e.Name())
		}
		_ = f.Close() // it was not written
	}
	return names
}
