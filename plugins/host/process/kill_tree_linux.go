package process

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// killTree kills the children of this process and waits for them until there are
// none: when one ends, its children become this process's own.
func killTree() {
	for end := time.Now().Add(killTimeout); time.Now().Before(end); time.Sleep(time.Millisecond) {
		if !hasChildren() {
			return
		}
		for _, pid := range listChildren() {
			killGroup(pid) // a whole group at once has no time to fork
			_ = syscall.Kill(pid, syscall.SIGKILL)
		}
	}
}

// hasChildren collects the children that ended and reports whether there are others.
func hasChildren() bool {
	for {
		pid, err := syscall.Wait4(-1, nil, syscall.WNOHANG, nil)
		if errors.Is(err, syscall.ECHILD) {
			return false
		}
		if pid <= 0 {
			return true
		}
	}
}

// listChildren returns the child processes of this one.
func listChildren() (pids []int) {
	files, _ := filepath.Glob("/proc/[0-9]*/stat")
	self := strconv.Itoa(os.Getpid())
	for _, file := range files {
		stat, err := os.ReadFile(file)
		if err != nil {
			continue // it ended
		}
		// PID (NAME) STATE PARENT ..., and the name may hold anything.
		end := strings.LastIndex(string(stat), ") ")
		fields := strings.Fields(string(stat[end+1:]))
		if pid, err := strconv.Atoi(filepath.Base(filepath.Dir(file))); err == nil && len(fields) > 1 && fields[1] == self {
			pids = append(pids, pid)
		}
	}
	return pids
}

// killMarked kills the processes that were started with a variable, KEY=VALUE, in their environment, until there are none: those
// that a plugin leaves behind that has killed its reaper. A process that has replaced its environment is not found.
func killMarked(variable string) {
	for end := time.Now().Add(killTimeout); time.Now().Before(end); time.Sleep(time.Millisecond) {
		isFound := false
		files, _ := filepath.Glob("/proc/[0-9]*/environ")
		for _, file := range files {
			environ, err := os.ReadFile(file) // empty for a process that has ended
			if err != nil || !slices.Contains(strings.Split(string(environ), "\x00"), variable) {
				continue
			}
			if pid, err := strconv.Atoi(filepath.Base(filepath.Dir(file))); err == nil && pid != os.Getpid() {
				isFound = true
				_ = syscall.Kill(pid, syscall.SIGKILL)
			}
		}
		if !isFound {
			return
		}
	}
}
