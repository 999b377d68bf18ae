package process

import (
	"errors"
	"io"
	"os"
	"path/filepath"

	"github.com/callnode/scheduler/calls"
)

// Program is the file of a program for one start: what is read from it, to compare it with
// the trusted one, is what is started, even when its path leads to another file by then or
// somebody writes to it. [OpenProgram] makes it.
type Program struct {
	file *os.File
	dir  string // of a private copy; "" where file is the program itself
}

// copyProgram returns a private copy of a program, in the folder of sockets, which only this
// user can enter.
func copyProgram(path, sockets string) (_ *Program, err error) {
	dir, err := os.MkdirTemp(sockets, "program-")
	if err != nil {
		return nil, err
	}
	p := &Program{dir: dir}
	defer func() {
		if err != nil {
			p.Close()
		}
	}()
	target := filepath.Join(dir, filepath.Base(path))
	if err := copyFile(target, path); err != nil {
		return nil, err
	}
	p.file, err = os.Open(target)
	return p, err
}

func copyFile(to, from string) error {
	source, err := calls.OpenFile(from)
	if err != nil {
		return err
	}
	defer source.Close()
	target, err := os.OpenFile(to, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o500)
	if err != nil {
		return err
	}
	_, err = io.Copy(target, source)
	return errors.Join(err, target.Close())
}

// File returns the open file, to compare it with the trusted one.
func (p *Program) File() *os.File { return p.file }

// Close closes the file, and removes a copy as far as the system lets it; a process that was
// started from it goes on.
func (p *Program) Close() {
	if p.file != nil {
		_ = p.file.Close()
	}
	if p.dir != "" {
		_ = os.RemoveAll(p.dir)
	}
}

// isScript reports whether the system starts an interpreter for the program.
func (p *Program) isScript() bool {
	var start [2]byte
	_, err := p.file.ReadAt(start[:], 0)
	return err == nil && string(start[:]) == "#!"
}
