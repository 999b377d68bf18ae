package process

import (
	"errors"
	"fmt"
	"os"
	"syscall"

	"github.com/callnode/scheduler/calls"
	"github.com/callnode/scheduler/llm/value/wording"
)

// OpenProgram opens the program of a path, and keeps others from writing to it until the Program is closed; a
// program that runs cannot be written to either. If the system does not allow that (it is another user's file, or
// on a network), it makes a copy in the folder of sockets.
func OpenProgram(path, sockets string) (*Program, error) {
	f, err := calls.OpenFile(path)
	if err != nil {
		return nil, err
	}
	err = holdUnwritten(f)
	if err == nil {
		return &Program{file: f}, nil
	}
	_ = f.Close()
	if errors.Is(err, syscall.EAGAIN) {
		return nil, wording.Errorf("its program %s is open for writing (wait until it is built)", path)
	}
	return copyProgram(path, sockets)
}

// holdUnwritten takes a lease: a process that opens the file to write waits until it is closed, or until the
// system's lease-break-time, 45 s by default, which is longer than a start takes.
func holdUnwritten(f *os.File) error {
	const setLease = 1024
	_, _, errno := syscall.Syscall(syscall.SYS_FCNTL, f.Fd(), setLease, syscall.F_RDLCK)
	if errno != 0 {
		return errno
	}
	return nil
}

// execPath returns the path by which a child of this process starts the file. A script is started by its own path:
// its interpreter opens it once more, and finds the files beside it.
func (p *Program) execPath(path string) string {
	if p == nil || p.isScript() {
		return path
	}
	return fmt.Sprintf("/proc/%d/fd/%d", os.Getpid(), p.file.Fd())
}
