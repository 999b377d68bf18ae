package tokens

import (
	"context"
	"strings"
	"testing"

	"github.com/callnode/scheduler/llm"
)

// TestCountStops: a counter with an ended context counts no more than a piece of any text, and estimates the rest
// by its length; before that, the numbers are the same as without a context.
func TestCountStops(t *testing.T) {
	for name, text := range map[string]string{
		"a long word":   strings.Repeat("longword", 10<<10),
		"many words":    strings.Repeat("a few words, ", 10<<10),
		"symbols":       strings.Repeat("=+", 20<<10),
		"a short text":  "hello, world",
		"invalid UTF-8": strings.Repeat("\xff", 64<<10),
	} {
		ctx, cancel := context.WithCancel(t.Context())
		bound := llm.BindCounter(ctx, For("gpt-4o"))
		want := For("gpt-4o").Count(text)
		if got := bound.Count(text); got != want {
			t.Errorf("%s: %d tokens with a context, want %d", name, got, want)
		}
		cancel()
		if got, atMost := bound.Count(text), len(text); got < 1 || got > atMost {
			t.Errorf("%s: %d tokens after the end", name, got)
		}
	}
}

// TestCountStopsEarly counts the pieces that are merged after the end: none of a text that is as long as one likes.
func TestCountStopsEarly(t *testing.T) {
	done := make(chan struct{})
	close(done)
	for _, size := range []int{1 << 20, 4 << 20} {
		c := stoppable{done: done}
		text := strings.Repeat("a", size)
		c.addPiece(text)
		if !c.isStopped || c.n < size/bytesPerToken || c.n > size/bytesPerToken+size/longPiece {
			t.Errorf("%d bytes after the end: %d tokens, stopped: %v", size, c.n, c.isStopped)
		}
	}
}
