package process

import (
	"os"
	"path/filepath"
	"runtime"

	"github.com/callnode/scheduler/llm/value/wording"
)

// socketDirPrefix begins the names of folders of sockets; lockName is the file in each
// that its host holds a lock on.
const (
	socketDirPrefix = "scheduler-plugins-"
	lockName        = "held"
)

// SocketDir is the folder of the sockets of one host, which only its user can enter. When
// a host is killed its reapers or group watchers remove it. A folder that is left over
// all the same is removed by the next host: its lock is free. [NewSocketDir] makes it for the
// life of a host, which removes it once; its path may be read concurrently.
type SocketDir struct {
	path string
	lock *os.File
}

// NewSocketDir makes a folder of sockets below base, or below the system's temporary folder if base is "" or too
// long.
func NewSocketDir(base string) (*SocketDir, error) {
	if base == "" {
		base = os.TempDir()
	}
	base, err := filepath.Abs(base) // a plugin starts in a folder of its own
	if err != nil {
		return nil, wording.Errorf("finding the folder of sockets: %w", err)
	}
	// The path of a socket has at most 103 bytes (107 on Linux); names below base need up to 67.
	if len(base) > 36 && runtime.GOOS != "windows" {
		base = "/tmp"
	}
	removeAbandoned(base)
	d, err := makeSocketDir(base)
	if err != nil {
		return nil, wording.Errorf("making the folder of sockets: %w", err)
	}
	return d, nil
}

// makeSocketDir makes a folder that is locked before it gets its name, so that no other
// host takes it for an abandoned one.
func makeSocketDir(base string) (_ *SocketDir, err error) {
	path, err := os.MkdirTemp(base, "."+socketDirPrefix)
	if err != nil {
		return nil, err
	}
	d := &SocketDir{path: path}
	defer func() {
		if err != nil {
			_ = d.Remove()
		}
	}()
	d.lock, err = os.OpenFile(filepath.Join(path, lockName), os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return d, err
	}
	if !tryLock(d.lock) {
		return d, wording.Errorf("its lock cannot be taken")
	}
	final := filepath.Join(base, filepath.Base(path)[1:])
	if err := os.Rename(path, final); err != nil {
		return d, err
	}
	d.path = final
	return d, nil
}

// Path returns the path of the folder.
func (d *SocketDir) Path() string { return d.path }

// Remove removes the folder.
func (d *SocketDir) Remove() error {
	err := os.RemoveAll(d.path)
	if d.lock != nil {
		_ = d.lock.Close()
	}
	if err != nil {
		return wording.Errorf("removing the folder of sockets: %w", err)
	}
	return nil
}

// removeAbandoned removes the folders of hosts that were killed.
func removeAbandoned(base string) {
	if runtime.GOOS == "windows" {
		return // no locks, and no files either
	}
	dirs, _ := filepath.Glob(filepath.Join(base, socketDirPrefix+"*"))
	for _, dir := range dirs {
		f, err := os.OpenFile(filepath.Join(dir, lockName), os.O_RDWR, 0)
		if err != nil {
			continue // another user's, or being removed
		}
		if tryLock(f) {
			_ = os.RemoveAll(dir)
		}
		_ = f.Close()
	}
}
