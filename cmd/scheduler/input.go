package main

import (
	"errors"
	"io"
)

// errInterrupted is that Ctrl-C came while stdin was read.
var errInterrupted = errors.New("interrupted")

// input is stdin, as commands read it that take - for a file.
func (a *app) input() io.Reader { return interruptible{a.stdin, a.interrupted} }

// interruptible is a reader that nobody waits for once it is interrupted.
type interruptible struct {
	in   io.Reader
	done <-chan struct{}
}

// Read fails with errInterrupted where it is; what comes after that is lost.
func (r interruptible) Read(p []byte) (int, error) {
	type result struct {
		data []byte
		err  error
	}
	read := make(chan result, 1)
	go func() {
		buffer := make([]byte, len(p))
		n, err := r.in.Read(buffer)
		read <- result{buffer[:n], err}
	}()
	select {
	case got := <-read:
		return copy(p, got.data), got.err
	case <-r.done:
		return 0, errInterrupted
	}
}
