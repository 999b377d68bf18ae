package host

import (
	"bytes"
	"context"
	"log/slog"
	"strings"
	"sync"
)

// Bounds of what a process writes to standard output and error.
const (
	tailBytes    = 4 << 10
	maxLogLines  = 1000 // per process
	maxLineBytes = 1 << 10
)

// output takes what a process writes: whole lines go to the log, with the plugin's
// name, and the last few KiB are kept for error messages. It never keeps more, and
// never blocks the process.
type output struct {
	log *slog.Logger

	mu    sync.Mutex
	tail  []byte
	line  []byte
	lines int
	cause string // the last line by which a program in Go begins to say why it crashes
}

// Write never fails.
func (o *output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	n := len(p)
	o.keep(p)
	for len(p) > 0 && o.lines < maxLogLines {
		end := bytes.IndexByte(p, '\n')
		piece := p
		if end >= 0 {
			piece, p = p[:end], p[end+1:]
		} else {
			p = nil
		}
		o.line = append(o.line, piece[:min(len(piece), maxLineBytes-len(o.line))]...)
		if end >= 0 {
			o.flush()
		}
	}
	return n, nil
}

func (o *output) flush() {
	if line := printable(string(o.line)); line != "" {
		o.lines++
		if strings.HasPrefix(line, "panic: ") || strings.HasPrefix(line, "fatal error: ") {
			o.cause = line
		}
		o.log.LogAttrs(context.Background(), slog.LevelInfo, line)
		if o.lines == maxLogLines {
			o.log.LogAttrs(context.Background(), slog.LevelWarn, "the plugin writes too much: nothing more of this process is logged")
		}
	}
	o.line = o.line[:0]
}

func (o *output) keep(p []byte) {
	o.tail = append(o.tail, p[max(0, len(p)-tailBytes):]...)
	if extra := len(o.tail) - tailBytes; extra > 0 {
		o.tail = append(o.tail[:0], o.tail[extra:]...)
	}
}

// last is the end of what was written, for a message; "" where nothing was. The cause of
// a crash stands before it where the stacks of many goroutines came after.
func (o *output) last() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	text := strings.TrimSpace(printable(string(o.tail)))
	if !strings.Contains(text, o.cause) {
		text = o.cause + "\n...\n" + text
	}
	return text
}
