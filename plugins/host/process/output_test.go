package process

import (
	"log/slog"
	"strings"
	"testing"
)

func TestOutputIsBounded(t *testing.T) {
	var log strings.Builder
	o := NewOutput(slog.New(slog.NewTextHandler(&log, nil)), nil)
	for _, text := range []string{"first ", "line\nsecond\x1b[31m line\nun", "finished", strings.Repeat("x", 10_000), "\n", "after\n"} {
		if n, err := o.Write([]byte(text)); n != len(text) || err != nil {
			t.Errorf("Write gave %d, %v", n, err)
		}
	}
	for _, want := range []string{`msg="first line"`, `msg="second[31m line"`, "msg=unfinishedxxx", "msg=after"} {
		if !strings.Contains(log.String(), want) {
			t.Errorf("the log lacks %s:\n%.300s", want, log.String())
		}
	}
	if longest := len(log.String()); longest > 2000 {
		t.Errorf("the log has %d bytes", longest)
	}
	for range 3000 {
		_, _ = o.Write([]byte("noise\n"))
	}
	if lines := strings.Count(log.String(), "\n"); lines != maxLogLines+1 {
		t.Errorf("the log has %d lines", lines)
	}
	if last := o.Tail(0); len(last) > tailBytes || !strings.HasSuffix(last, "noise\nnoise") {
		t.Errorf("the end is %d bytes: %.40q", len(last), last)
	}
}

// The cause of a crash is kept even if its trace is long.
func TestCauseOfCrash(t *testing.T) {
	for trace, want := range map[string]string{
		"fatal error: concurrent map writes\n\n":                                                   "fatal error: concurrent map writes\n...\n",
		"runtime/cgo: pthread_create failed: Resource temporarily unavailable\nSIGABRT: abort\n\n": "runtime/cgo: pthread_create failed: Resource temporarily unavailable\n...\n",
		"goroutine 0:\n": "",
	} {
		o := NewOutput(slog.New(slog.DiscardHandler), nil)
		_, _ = o.Write([]byte(trace + strings.Repeat("goroutine\n", 1000) + "last"))
		if got := o.Tail(0); !strings.HasPrefix(got, want) || !strings.HasSuffix(got, "goroutine\nlast") || want == "" && strings.Contains(got, "...") {
			t.Errorf("got %.60q", got)
		}
	}
	o := NewOutput(slog.New(slog.DiscardHandler), nil)
	_, _ = o.Write([]byte("panic: short\ngoroutine 1\n"))
	if got := o.Tail(0); got != "panic: short\ngoroutine 1" {
		t.Errorf("got %q", got)
	}
}

// A process serves many requests; output before this one is not shown.
func TestTailOfOneRequest(t *testing.T) {
	o := NewOutput(slog.New(slog.DiscardHandler), nil)
	_, _ = o.Write([]byte("panic: of another\nbefore\n"))
	first := o.Written()
	if got := o.Tail(first); got != "" {
		t.Errorf("got %q", got)
	}
	_, _ = o.Write([]byte("after\n"))
	if got := o.Tail(first); got != "after" {
		t.Errorf("got %q", got)
	}
	_, _ = o.Write([]byte("panic: of this\n" + strings.Repeat("goroutine\n", 1000) + "last"))
	if got := o.Tail(first); !strings.HasPrefix(got, "panic: of this\n...\n") || !strings.HasSuffix(got, "goroutine\nlast") {
		t.Errorf("got %.60q", got)
	}
}
