package process

import (
	"bytes"
	"errors"
	"io"
	"os"
	"runtime"
	"strconv"
	"strings"
	"syscall"

	"github.com/callnode/scheduler/calls"
	"github.com/callnode/scheduler/llm/value/wording"
	"github.com/callnode/scheduler/plugins/proto"
)

// explainExec explains why the system did not start a program that exists. The system's
// own message misleads: when the interpreter of a script is missing, it reports that the
// script is. The error may come from the reaper, as text.
func explainExec(program string, err error) wording.Text {
	is := func(errno syscall.Errno) bool { return errors.Is(err, errno) || err.Error() == errno.Error() }
	interpreter, _, script := readShebang(program)
	switch {
	case is(syscall.ENOENT) && script:
		return wording.Say("its interpreter %q, from its first line, does not exist (install it, or name another)", interpreter)
	case is(syscall.ENOENT) && exists(program):
		return wording.Say("its dynamic loader does not exist here (build it for this system, or without dynamic libraries)")
	case is(syscall.ENOEXEC):
		return wording.Say("it is not a program for %s/%s (build it for that, or begin a script with #! and its interpreter)", runtime.GOOS, runtime.GOARCH)
	}
	return wording.OfError(err)
}

// exists reports whether there is a file of that name.
func exists(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}

// supportedVersion is the version of the protocol in a handshake line.
var supportedVersion = strconv.Itoa(proto.Version)

// parseHandshake returns the fields of a handshake line, core version, protocol version,
// network and address first; nil where it is not one.
func parseHandshake(line string) []string {
	fields := strings.Split(line, "|")
	if len(fields) < 4 || fields[0] != "1" {
		return nil
	}
	return fields
}

// isKillStatus reports whether a process ended by SIGKILL.
func isKillStatus(status string) bool { return strings.HasPrefix(status, "signal: killed") }

// firstLine returns what the first line of a script has behind #!, and whether the program is a
// script.
func firstLine(program string) (words string, script bool) {
	f, err := calls.OpenFile(program)
	if err != nil {
		return "", false
	}
	defer f.Close()
	start, _ := io.ReadAll(io.LimitReader(f, 256)) // the system does not read more either
	line, _, _ := bytes.Cut(start, []byte("\n"))
	rest, script := bytes.CutPrefix(line, []byte("#!"))
	if !script {
		return "", false
	}
	return string(rest), true
}

// readShebang returns the interpreter that the first line of a script names, and what is behind it,
// which is one argument; script is false for other programs.
func readShebang(program string) (interpreter, option string, script bool) {
	words, script := firstLine(program)
	// Only the first space or tab ends the name: a carriage return is part of it.
	interpreter = strings.TrimLeft(words, " \t")
	if end := strings.IndexAny(interpreter, " \t"); end >= 0 {
		interpreter, option = interpreter[:end], strings.Trim(interpreter[end:], " \t")
	}
	return interpreter, option, script
}
