package terminal

import (
	"io"

	"github.com/callnode/scheduler/llm/value/wording"
)

// ErrInterrupted is that Ctrl-C came while stdin was read.
var ErrInterrupted = wording.Errorf("interrupted")

// Input is stdin, as commands read it that take - for a file.
func (t *Terminal) Input() io.Reader { return t.Interruptible(t.Stdin) }

// Interruptible returns in as a reader that fails with [ErrInterrupted] after Ctrl-C.
func (t *Terminal) Interruptible(in io.Reader) io.Reader { return interruptible{in, t.Interrupted} }

// interruptible is a reader whose Read returns once it is interrupted.
type interruptible struct {
	in   io.Reader
	done <-chan struct{}
}

// Read fails with ErrInterrupted where it is; what comes after that is lost.
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
		return 0, ErrInterrupted
	}
}
