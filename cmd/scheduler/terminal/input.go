package terminal

import (
	"io"

	"github.com/callnode/scheduler/calls"
	"github.com/callnode/scheduler/llm/value"
	"github.com/callnode/scheduler/llm/value/wording"
)

// ErrInterrupted is that Ctrl-C came while stdin was read.
var ErrInterrupted = wording.Errorf("interrupted")

// Input is stdin, as commands read it that take - for a file.
func (t *Terminal) Input() io.Reader { return interruptible{t.Stdin, t.Interrupted} }

// interruptible is a reader whose Read fails with [ErrInterrupted] after Ctrl-C.
type interruptible struct {
	in   io.Reader
	done <-chan struct{}
}

// Read discards input after Ctrl-C.
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

// maxFile bounds a file that a flag names, in bytes.
const maxFile = 1 << 30

// maxStdin is the limit of bytes read from stdin: a device or a pipe may never end.
const maxStdin = 256 << 20

// ReadText reads a text, - being stdin. The error of one that is not UTF-8 begins with
// file:line:col.
func (t *Terminal) ReadText(path string) (string, error) {
	data, err := t.ReadFile(path)
	if err != nil {
		return "", err
	}
	text, err := value.DecodeText(data)
	if err != nil {
		return "", wording.Errorf("%s:%w", path, err)
	}
	return text, nil
}

// ReadFile reads a file, - being stdin.
func (t *Terminal) ReadFile(path string) ([]byte, error) {
	if path == "-" {
		data, err := io.ReadAll(io.LimitReader(t.Input(), maxStdin+1))
		if err == nil && len(data) > maxStdin {
			err = calls.Errorf(calls.Invalid, "stdin has more than %d MiB", maxStdin>>20).WithHint("give less, or a file")
		}
		return data, err
	}
	return calls.ReadFile(path, maxFile)
}
