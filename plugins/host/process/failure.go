package process

import (
	"errors"
	"os"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/callnode/scheduler/llm/value/wording"
	"github.com/callnode/scheduler/plugins/manifest"
	"github.com/callnode/scheduler/plugins/proto"
)

// explainExec explains why the system did not start a program that exists. The system's
// own message misleads: when the interpreter of a script is missing, it reports that the
// script is. The error may come from the reaper, as text.
func explainExec(program string, err error) wording.Text {
	is := func(errno syscall.Errno) bool { return errors.Is(err, errno) || err.Error() == errno.Error() }
	interpreter, _, script := readShebang(program)
	_, missing := os.Lstat(program)
	switch {
	case is(syscall.ENOENT) && script:
		return wording.Say("its interpreter %q, from its first line, does not exist (install it, or name another)", interpreter)
	case is(syscall.ENOENT) && missing == nil:
		return wording.Say("its dynamic loader does not exist here (build it for this system, or without dynamic libraries)")
	case is(syscall.ENOEXEC):
		return wording.Say("it is not a program for %s/%s (build it for that, or begin a script with #! and its interpreter)", runtime.GOOS, runtime.GOARCH)
	}
	return wording.OfError(err)
}

// supportedVersion is the version of the protocol in a handshake line.
var supportedVersion = strconv.Itoa(proto.Version)

// parseHandshake returns the fields of a handshake line, core version, protocol version, network and address
// first; nil if it is not one. For example, "1|1|unix|/tmp/plugin|grpc" is such a line.
func parseHandshake(line string) []string {
	fields := strings.Split(line, "|")
	if len(fields) < 4 || fields[0] != "1" {
		return nil
	}
	return fields
}

// isKillStatus reports whether a process ended by SIGKILL.
func isKillStatus(status string) bool { return strings.HasPrefix(status, "signal: killed") }

// startFailure explains why a process did not become a plugin. err is the library's.
func (r *runner) startFailure(err error, timeout time.Duration) error {
	line := r.firstLine()
	status := r.status()
	r.mu.Lock()
	silent, pid := r.silent, r.pid
	if silent && r.failure != nil { // else it took too long
		err = r.failure
	}
	if r.killed && isKillStatus(status) {
		status = "" // it did not end by itself
	}
	r.mu.Unlock()
	fields := parseHandshake(line)
	switch {
	case pid == 0:
		return wording.Errorf("the program %s cannot be started: %s", r.config.Path, explainExec(r.config.Path, err))
	case line != "" && fields == nil:
		return wording.Errorf("it printed %q to standard output instead of the handshake line (print nothing else there)", manifest.Printable(r.config.Hidden.Line(line, 200)))
	case len(fields) > 1 && fields[1] != supportedVersion:
		return wording.Errorf("it speaks version %s of the protocol, this program version %s (rebuild one of them)", manifest.Printable(r.config.Hidden.Line(fields[1], 20)), supportedVersion)
	case line == "" && status != "":
		return wording.Errorf("it ended before the handshake: %s", status)
	case line == "" && silent:
		return wording.Errorf("it closed standard output before the handshake line")
	case line == "":
		return wording.Errorf("it did not print the handshake line within %s", timeout)
	case status != "":
		return wording.Errorf("it ended after the handshake: %s", status)
	}
	return err
}
