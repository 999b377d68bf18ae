package process

import (
	"bytes"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/callnode/scheduler/calls"
)

// Program is the file of a program for one start: the bytes that are compared with the trusted ones are the bytes
// that are started, even if its path leads to another file by then or somebody writes to it. [OpenProgram] makes
// it.
type Program struct {
	file *os.File
	dir  string // of a private copy; "" if file is the program itself
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

// firstLine returns the text behind #! in the first line of a script, and whether the program is a script.
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

// readShebang returns the interpreter that the first line of a script names, and the text behind it, which is one
// argument; script is false for other programs. For example, "#!/usr/bin/env python3" has the interpreter
// /usr/bin/env and the option python3.
func readShebang(program string) (interpreter, option string, script bool) {
	words, script := firstLine(program)
	// Only the first space or tab ends the name: a carriage return is part of it.
	interpreter = strings.TrimLeft(words, " \t")
	if end := strings.IndexAny(interpreter, " \t"); end >= 0 {
		interpreter, option = interpreter[:end], strings.Trim(interpreter[end:], " \t")
	}
	return interpreter, option, script
}
