package process

import (
	"fmt"
	"os"
)

// Program is the open file of a program, which is started even when its path leads to
// another file by then. [OpenProgram] makes it for one start.
type Program struct {
	file *os.File
}

// OpenProgram opens the program of a path. The folder of sockets is not used on Linux.
func OpenProgram(path, _ string) (*Program, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	return &Program{f}, nil
}

// File returns the open file, to compare it with the trusted one.
func (p *Program) File() *os.File { return p.file }

// Close closes the file; a process that was started from it goes on.
func (p *Program) Close() { _ = p.file.Close() }

// execPath returns the path by which a child of this process starts the file. A script is
// started by its own path: its interpreter opens it once more, and finds what stands
// beside it.
func (p *Program) execPath(path string) string {
	if p == nil || p.isScript() {
		return path
	}
	return fmt.Sprintf("/proc/%d/fd/%d", os.Getpid(), p.file.Fd())
}

// isScript reports whether the system starts an interpreter for the program.
func (p *Program) isScript() bool {
	var start [2]byte
	_, err := p.file.ReadAt(start[:], 0)
	return err == nil && string(start[:]) == "#!"
}
