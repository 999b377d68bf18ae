package terminal

import (
	"fmt"
	"io"
	"strings"
	"time"
)

// Bar shows progress on stderr: a live line on a terminal, else a count now and then. [NewBar] makes one for one
// operation, [Bar.Close] ends it; it is not safe for concurrent use.
type Bar struct {
	out      io.Writer
	what     string
	live     bool
	next     time.Time
	language Language
}

// Without a terminal, a count is printed that often.
const barInterval = 5 * time.Second

// NewBar shows on t the progress of the task that what names.
func NewBar(t *Terminal, what string) *Bar {
	return &Bar{out: rawWriter(t.Stderr), what: what, live: IsTerminal(t.Stderr), language: t.Language, next: time.Now().Add(barInterval)}
}

// Show is an [archive.Progress], and makes a [memory.Progress] of the bar.
func (b *Bar) Show(done, of int) {
	const width = 30
	switch now := time.Now(); {
	case b.live && of > 0:
		full := min(width, width*done/of)
		fmt.Fprintf(b.out, "\r%s [%s%s] %s", b.what, strings.Repeat("#", full), strings.Repeat("-", width-full), b.language.Say("%d of %d", done, of))
	case b.live:
		fmt.Fprintf(b.out, "\r%s %d", b.what, done)
	case now.After(b.next):
		b.next = now.Add(barInterval)
		if of > 0 {
			fmt.Fprintf(b.out, "%s: %s\n", b.what, b.language.Say("%d of %d", done, of))
		} else {
			fmt.Fprintf(b.out, "%s: %d\n", b.what, done)
		}
	}
}

// Close takes the line away.
func (b *Bar) Close() {
	if b.live {
		fmt.Fprint(b.out, "\r\x1b[K")
	}
}
