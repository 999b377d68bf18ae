//go:build unix

package process

import (
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"syscall"
)

// groupWatcher is a process in the group of a plugin, which kills the group when the host
// is gone, and removes the host's folder of sockets. Neither the kernel nor the life
// pipe ends the children of a plugin; and a plugin may ignore the pipe.
type groupWatcher struct {
	cmd *exec.Cmd
	// life is the host's end of its standard input.
	life *os.File
}

// watchGroup starts the watcher of a group. It returns nil, a watcher that does nothing, if there is no shell.
func watchGroup(pid int, sockets string) *groupWatcher {
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
	return &groupWatcher{cmd, ours}
}

// stop ends the watcher, if the end of the group has not killed it already.
func (w *groupWatcher) stop() {
	if w == nil {
		return
	}
	_ = w.cmd.Process.Kill()
	_ = w.cmd.Wait()
	_ = w.life.Close()
}

// killGroup ends all processes of a group, stopped ones too.
func killGroup(pid int) { _ = syscall.Kill(-pid, syscall.SIGKILL) }

// closeInheritedFiles keeps the files that this process got from its own parent from the
// programs that it starts. Files that Go opened are kept from them anyway.
func closeInheritedFiles() {
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

// tryLock takes the lock of a file, which ends with this process. It reports whether no
// other holds it.
func tryLock(f *os.File) bool {
	return syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB) == nil
}
