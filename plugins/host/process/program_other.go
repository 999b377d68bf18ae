//go:build !linux

package process

import (
	"errors"
	"io"
	"os"
	"path/filepath"
)

// Program is a private copy of a program, which is started even when the original is
// another file by then. [OpenProgram] makes it for one start.
type Program struct {
	file *os.File
	dir  string
}

// OpenProgram copies the program of a path into the folder of sockets, which only this
// user can enter.
func OpenProgram(path, sockets string) (_ *Program, err error) {
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
	if err := copyProgram(filepath.Join(dir, filepath.Base(path)), path); err != nil {
		return nil, err
	}
	p.file, err = os.Open(filepath.Join(dir, filepath.Base(path)))
	return p, err
}

func copyProgram(to, from string) error {
	source, err := os.Open(from)
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

// File returns the open copy, to compare it with the trusted one.
func (p *Program) File() *os.File { return p.file }

// Close removes the copy as far as the system lets it: a running program keeps it.
func (p *Program) Close() {
	if p.file != nil {
		_ = p.file.Close()
	}
	_ = os.RemoveAll(p.dir)
}

// execPath returns the path of the copy. A script is started by its own path: its
// interpreter finds what stands beside it.
func (p *Program) execPath(path string) string {
	if p == nil || p.isScript() {
		return path
	}
	return p.file.Name()
}

// isScript reports whether the system starts an interpreter for the program.
func (p *Program) isScript() bool {
	var start [2]byte
	_, err := p.file.ReadAt(start[:], 0)
	return err == nil && string(start[:]) == "#!"
}
