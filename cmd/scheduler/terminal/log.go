package terminal

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"strings"
	"sync"
)

// NewWarningLog prints the warnings of a log to w, in a language. Errors are left to the callers that get them.
func NewWarningLog(w io.Writer, language Language) *slog.Logger {
	return slog.New(&warnings{out: w, language: language, said: &said{texts: map[string]bool{}}})
}

// warnings is a log for a user at a terminal: a line per record, and the same failure once, even if many things
// failed.
type warnings struct {
	out      io.Writer
	language Language
	attrs    []slog.Attr
	said     *said
}

var _ slog.Handler = (*warnings)(nil)

// said is the state that logs with different attributes share.
type said struct {
	mu    sync.Mutex
	texts map[string]bool
}

// Enabled is for warnings.
func (w *warnings) Enabled(_ context.Context, level slog.Level) bool { return level == slog.LevelWarn }

// Handle prints "warning: MESSAGE (ATTRIBUTE VALUE, ...): ERROR".
func (w *warnings) Handle(_ context.Context, r slog.Record) error {
	var about []string
	failure := ""
	add := func(attr slog.Attr) bool {
		text := attr.Value.String()
		if err, ok := attr.Value.Any().(error); ok {
			text = w.language.sayOf(err)
		}
		if attr.Key == "error" {
			failure = ": " + text
		} else if text != "" {
			about = append(about, w.language.Say(attr.Key)+" "+text)
		}
		return true
	}
	for _, attr := range w.attrs {
		add(attr)
	}
	r.Attrs(add)
	text := w.language.Say(r.Message)
	if len(about) > 0 {
		text += " (" + strings.Join(about, ", ") + ")"
	}
	text += failure
	key := text
	if failure != "" {
		key = w.language.Say(r.Message) + failure
	}
	w.said.mu.Lock()
	defer w.said.mu.Unlock()
	if w.said.texts[key] {
		return nil
	}
	w.said.texts[key] = true
	_, err := fmt.Fprintln(w.out, w.language.Say("warning: %s", Visible(text)))
	return err
}

// WithAttrs adds attributes to all records.
func (w *warnings) WithAttrs(attrs []slog.Attr) slog.Handler {
	more := *w
	more.attrs = append(append([]slog.Attr{}, w.attrs...), attrs...)
	return &more
}

// WithGroup changes nothing: no part of the memory groups its attributes.
func (w *warnings) WithGroup(string) slog.Handler { return w }
