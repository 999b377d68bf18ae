package stored

import (
	"bytes"
	"errors"
	"os"
	"strconv"
	"strings"
	"syscall"
)

// Process identifies the holder of a run.
type Process struct {
	PID  int
	Host string
	// Identity distinguishes the process from every other that had or will have its pid; "" if the system does not
	// provide enough. It names the boot of the machine, the namespace in which pids are unique, and, after the last
	// space, the start time of the process.
	Identity string
}

// ThisProcess describes the process that asks.
func ThisProcess() Process {
	p := Process{PID: os.Getpid(), Host: "an unknown host"}
	if host, err := os.Hostname(); err == nil {
		p.Host = host
	}
	if place, start := pidSpace(), startOf(p.PID); place != "" && start != "" {
		p.Identity = place + " " + start
	}
	return p
}

// Dead reports whether the process is known to have ended. It is false in doubt, as for
// a process of another machine or another container.
func (p Process) Dead() bool {
	place, start, ok := cutLast(p.Identity)
	if !ok || place != pidSpace() {
		return false
	}
	if now := startOf(p.PID); now != "" {
		return now != start
	}
	other, err := os.FindProcess(p.PID)
	if err != nil {
		return false
	}
	defer other.Release() //nolint:errcheck // there is nothing to release that matters
	return errors.Is(other.Signal(syscall.Signal(0)), os.ErrProcessDone)
}

// Alive reports whether the process is known to be alive. It is false in doubt, as for a process
// of another machine or another container.
func (p Process) Alive() bool {
	place, start, ok := cutLast(p.Identity)
	return ok && place == pidSpace() && start == startOf(p.PID)
}

// cutLast returns the text before and after the last space of an identity.
func cutLast(identity string) (place, start string, ok bool) {
	i := strings.LastIndexByte(identity, ' ')
	if i < 0 {
		return "", "", false
	}
	return identity[:i], identity[i+1:], true
}

// pidSpace names the pid namespace of a machine since it was switched on; "" on
// systems without /proc.
func pidSpace() string {
	boot, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err != nil {
		return ""
	}
	space, err := os.Readlink("/proc/self/ns/pid")
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(boot)) + " " + space
}

// startOf returns the start time of the process, in ticks since the machine was switched on; "" if that cannot be
// read.
func startOf(pid int) string {
	stat, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return ""
	}
	// The name of the program, in parentheses, may hold anything. The fields after
	// it are the state, and 19 further on the start.
	fields := strings.Fields(string(stat[bytes.LastIndexByte(stat, ')')+1:]))
	if len(fields) < 20 {
		return ""
	}
	if fields[0] == "Z" || fields[0] == "X" {
		return "over" // a zombie: its parent has not waited for it
	}
	return fields[19]
}
