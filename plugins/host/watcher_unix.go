//go:build unix

package host

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"syscall"
)

// watcher is a process in the group of a plugin, which kills the group when the host
// is gone, and removes the host's folder of sockets. Neither the kernel nor the life
// pipe kills the children of a plugin; and a plugin need not care for the pipe.
type watcher struct {
	cmd *exec.Cmd
	// life is the host's end of its standard input.
	life *os.File
}

// watchGroup starts the watcher of a group. Where there is no shell there is no
// watcher: nil.
func watchGroup(pid int, sockets string) *watcher {
	life, ours, err := os.Pipe()
	if err != nil {
		return nil
	}
	defer func() { _ = life.Close() }() // the watcher has its own
	const script = `read _; rm -rf -- "$0"; kill -9 0`
	cmd := exec.Command("/bin/sh", "-c", script, sockets) //nolint:noctx // it outlives the request that started it
	cmd.Dir, cmd.Env, cmd.Stdin = "/", []string{"PATH=/usr/bin:/bin"}, life
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pgid: pid}
	if cmd.Start() != nil {
		_ = ours.Close()
		return nil
	}
	return &watcher{cmd, ours}
}

// stop ends the watcher, which the end of the group has killed already, or does now.
func (w *watcher) stop() {
	if w == nil {
		return
	}
	_ = w.cmd.Process.Kill()
	_ = w.cmd.Wait()
	_ = w.life.Close()
}

// killGroup ends all processes of a group, stopped ones too.
func killGroup(pid int) { _ = syscall.Kill(-pid, syscall.SIGKILL) }

// inheritNothing keeps the files that this process got from its own parent from the
// programs that it starts. Go's own files are kept from them anyway.
func inheritNothing() {
	const files = "/dev/fd"
	entries, err := os.ReadDir(files)
	if err != nil {
		return
	}
	for _, e := range entries {
		if fd, err := strconv.Atoi(filepath.Base(e.Name())); err == nil && fd > 2 {
			syscall.CloseOnExec(fd)
		}
	}
}

// tryLock takes the lock of a file, which ends with this process. false where
// another holds it.
func tryLock(f *os.File) bool {
	return syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB) == nil
}

// awaitLock takes the lock of a file when no other holds it any more.
func awaitLock(f *os.File) {
	for errors.Is(syscall.Flock(int(f.Fd()), syscall.LOCK_EX), syscall.EINTR) {
	}
}
