package host

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"
	"strings"
	"syscall"
)

// unstarted says why the system did not start a program that is there. Its own words
// are misleading: of a program whose interpreter is missing it says that there is no
// such file. The error may come from a keeper, as text.
func unstarted(program string, err error) string {
	is := func(errno syscall.Errno) bool { return errors.Is(err, errno) || err.Error() == errno.Error() }
	interpreter, script := shebang(program)
	switch {
	case is(syscall.ENOENT) && script:
		return fmt.Sprintf("its first line wants %q, which is not there; install that, or name another", interpreter)
	case is(syscall.ENOENT) && exists(program):
		return "a part of the system that it was built with is not there; build it for this one, or without dynamic libraries"
	case is(syscall.ENOEXEC):
		return fmt.Sprintf("it is no program for %s/%s; build it for that, or begin a script with #! and its interpreter", runtime.GOOS, runtime.GOARCH)
	}
	return err.Error()
}

// shebang is the interpreter that the first line of a script names.
func shebang(program string) (interpreter string, script bool) {
	f, err := os.Open(program)
	if err != nil {
		return "", false
	}
	defer f.Close()
	start, _ := io.ReadAll(io.LimitReader(f, 256)) // more the system does not read either
	line, _, _ := bytes.Cut(start, []byte("\n"))
	words, script := bytes.CutPrefix(line, []byte("#!"))
	// Only the first space or tab ends the name: a carriage return is part of it.
	name := strings.TrimLeft(string(words), " \t")
	if end := strings.IndexAny(name, " \t"); end >= 0 {
		name = name[:end]
	}
	return name, script
}
