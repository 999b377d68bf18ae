package process

import (
	"bytes"
	"context"
	"log/slog"
	"slices"
	"strings"
	"sync"

	"github.com/callnode/scheduler/llm/value"
	"github.com/callnode/scheduler/llm/value/secret"
	"github.com/callnode/scheduler/llm/value/wording"
	"github.com/callnode/scheduler/plugins/manifest"
)

// Bounds on the standard output and error of a process.
const (
	tailBytes    = 4 << 10
	tailKept     = tailBytes + secret.Margin
	maxLogLines  = 1000 // per process
	maxLineBytes = 1 << 10
	maxLineKept  = maxLineBytes + secret.Margin
)

// Output collects a process's output: whole lines go to the log, with the plugin's
// name, and the last few KiB are kept for error messages. It never keeps more, and
// never blocks the process. [NewOutput] makes one for each process; it is safe for
// concurrent use.
type Output struct {
	// Hidden are the secrets that the process may repeat; nil for none.
	Hidden *secret.Set

	log *slog.Logger

	mu      sync.Mutex // guards all below
	written int64      // bytes
	tail    []byte
	line    []byte
	lines   int
	cause   string // the last line by which a Go program begins to explain its crash
	// causeEnd is the number of bytes that were written when it had come.
	causeEnd int64
}

// Beginnings of lines with which a Go program starts to explain its crash. The last is the C library's, when it
// has too little memory to create a thread.
var crashPrefixes = []string{"panic: ", "fatal error: ", "runtime/cgo: "}

// NewOutput returns an output that writes to a log, and shows nothing of hidden, which may be nil.
func NewOutput(log *slog.Logger, hidden *secret.Set) *Output {
	return &Output{log: log, Hidden: hidden}
}

// Write never fails.
func (o *Output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	n := len(p)
	before := o.written
	o.written += int64(n)
	o.appendTailLocked(p)
	for len(p) > 0 && o.lines < maxLogLines {
		end := bytes.IndexByte(p, '\n')
		part := p
		if end >= 0 {
			part, p = p[:end], p[end+1:]
		} else {
			p = nil
		}
		o.line = append(o.line, part[:min(len(part), maxLineKept-len(o.line))]...)
		if end >= 0 {
			o.logLineLocked(before + int64(n-len(p)))
		}
	}
	return n, nil
}

// logLineLocked logs the line that ended when so many bytes were written.
func (o *Output) logLineLocked(end int64) {
	line := string(o.line)
	if len(line) == maxLineKept {
		line = o.Hidden.MaskCut(line)
	}
	line = value.FirstBytes(manifest.Printable(o.Hidden.MaskText(line)), maxLineBytes)
	o.line = o.line[:0]
	if line == "" {
		return
	}
	o.lines++
	if slices.ContainsFunc(crashPrefixes, func(prefix string) bool { return strings.HasPrefix(line, prefix) }) {
		o.cause, o.causeEnd = line, end
	}
	o.log.LogAttrs(context.Background(), slog.LevelInfo, line)
	if o.lines == maxLogLines {
		o.log.LogAttrs(context.Background(), slog.LevelWarn, "the plugin writes too much: nothing more of this process is logged")
	}
}

func (o *Output) appendTailLocked(p []byte) {
	o.tail = append(o.tail, p[max(0, len(p)-tailKept):]...)
	if extra := len(o.tail) - tailKept; extra > 0 {
		o.tail = append(o.tail[:0], o.tail[extra:]...)
	}
}

// Written returns how many bytes were written so far.
func (o *Output) Written() int64 {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.written
}

// Tail returns the end of the output after the first bytes, for a message; "" if there was none. The cause of a
// crash is put before it if the stacks of many goroutines came after.
func (o *Output) Tail(first int64) string {
	o.mu.Lock()
	defer o.mu.Unlock()
	limit := min(int64(tailBytes), o.written-first)
	isCut := o.written > int64(len(o.tail))
	text := strings.TrimSpace(manifest.Printable(o.Hidden.End(string(o.tail), int(limit), isCut)))
	if o.causeEnd > first && !strings.Contains(text, o.cause) {
		text = o.cause + "\n...\n" + text
	}
	return text
}

// Annotate adds the end of the output to an error.
func (o *Output) Annotate(err error) error {
	if text := o.Tail(0); text != "" {
		return wording.Errorf("%w; it wrote:\n%s", err, text)
	}
	return err
}
