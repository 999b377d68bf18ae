package host

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
)

// socketPrefix begins the names of folders of sockets, held the name of the file in
// one that its host holds a lock on.
const (
	socketPrefix = "scheduler-plugins-"
	held         = "held"
)

// socketDir is the folder of the sockets of one host. Nobody else can look into it.
// When a host is killed the watchers of its plugins remove it. What is left all the
// same, the next host removes, which it knows by the lock that nobody holds any more.
type socketDir struct {
	path string
	lock *os.File
}

// socketDir gives the host's folder of sockets, made when the first plugin starts.
func (h *Host) socketDir() (string, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.sockets != nil {
		return h.sockets.path, nil
	}
	base := h.opts.TempDir
	if base == "" {
		base = os.TempDir()
	}
	base, err := filepath.Abs(base) // a plugin starts in a folder of its own
	if err != nil {
		return "", fmt.Errorf("finding the folder of sockets: %w", err)
	}
	// The path of a socket has at most 103 bytes (107 on Linux), of which names below
	// base take up to 67.
	if len(base) > 36 && runtime.GOOS != "windows" {
		base = "/tmp"
	}
	removeLeft(base)
	d, err := newSocketDir(base)
	if err != nil {
		return "", fmt.Errorf("making the folder of sockets: %w", err)
	}
	h.sockets = d
	return d.path, nil
}

// newSocketDir makes a folder that is locked before it has its name: no other host
// can take it for one that was left.
func newSocketDir(base string) (_ *socketDir, err error) {
	path, err := os.MkdirTemp(base, "."+socketPrefix)
	if err != nil {
		return nil, err
	}
	d := &socketDir{path: path}
	defer func() {
		if err != nil {
			_ = d.remove()
		}
	}()
	if d.lock, err = os.OpenFile(filepath.Join(path, held), os.O_CREATE|os.O_RDWR, 0o600); err != nil {
		return d, err
	}
	if !tryLock(d.lock) {
		return d, errors.New("its lock cannot be taken")
	}
	final := filepath.Join(base, filepath.Base(path)[1:])
	if err = os.Rename(path, final); err == nil {
		d.path = final
	}
	return d, err
}

func (d *socketDir) remove() error {
	err := os.RemoveAll(d.path)
	if d.lock != nil {
		_ = d.lock.Close()
	}
	if err != nil {
		return fmt.Errorf("removing the folder of sockets: %w", err)
	}
	return nil
}

// removeLeft removes the folders of hosts that were killed.
func removeLeft(base string) {
	if runtime.GOOS == "windows" {
		return // no locks, and no files either
	}
	dirs, _ := filepath.Glob(filepath.Join(base, socketPrefix+"*"))
	for _, dir := range dirs {
		f, err := os.OpenFile(filepath.Join(dir, held), os.O_RDWR, 0)
		if err != nil {
			continue // another user's, or being removed
		}
		if tryLock(f) {
			_ = os.RemoveAll(dir)
		}
		_ = f.Close()
	}
}
