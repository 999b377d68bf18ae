package terminal

import (
	"io"
	"os"
	"slices"
	"sync"
	"unicode/utf8"

	"golang.org/x/term"

	"github.com/callnode/scheduler/llm/value"
)

// A door is the only way by which text reaches a person: it quotes characters that would control a terminal or
// hide in a line, whatever their source. Output to a program, a file or a pipe on stdout passes unchanged. The
// program's own colours and cursor moves go past it ([rawWriter]).
//
// [newDoor] makes one for each stream of the program; it is safe for concurrent use.
type door struct {
	quotes bool

	out io.Writer // written to with the lock

	mu   sync.Mutex
	held []byte // guarded by mu: the beginning of a character whose rest has not come yet
}

// newDoor returns the door to out; with always, it quotes on its way to a file too.
func newDoor(out io.Writer, always bool) io.Writer {
	return &door{out: out, quotes: always || IsTerminal(out)}
}

// Write quotes p. It reports len(p) if all of it was written. If p ends in the middle of a character, that part is
// held back until the rest comes.
func (d *door) Write(p []byte) (int, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if !d.quotes {
		return d.out.Write(p)
	}
	text := slices.Concat(d.held, p)
	whole := len(text) - partOfRune(text)
	d.held = slices.Clone(text[whole:])
	if _, err := io.WriteString(d.out, Visible(string(text[:whole]))); err != nil {
		return 0, err
	}
	return len(p), nil
}

// partOfRune returns the length of a character at the end of text whose rest is missing.
func partOfRune(text []byte) int {
	for n := 1; n < utf8.UTFMax && n <= len(text); n++ {
		if end := text[len(text)-n:]; utf8.RuneStart(end[0]) {
			if utf8.FullRune(end) {
				return 0
			}
			return n
		}
	}
	return 0
}

// bypass writes past a door to its stream, but never during a write through the door.
type bypass struct{ *door }

func (b bypass) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.out.Write(p)
}

// rawWriter returns the way past the door of w, for the program's own control sequences. All other text written
// there must be [Visible].
func rawWriter(w io.Writer) io.Writer {
	if d, ok := w.(*door); ok {
		return bypass{d}
	}
	return w
}

// fileBehind returns the file that is written to in the end.
func fileBehind(w io.Writer) (f *os.File, ok bool) {
	switch way := w.(type) {
	case *door:
		w = way.out
	case bypass:
		w = way.out
	}
	f, ok = w.(*os.File)
	return f, ok
}

// IsTerminal reports whether w is a terminal.
func IsTerminal(w io.Writer) bool {
	f, ok := fileBehind(w)
	return ok && term.IsTerminal(int(f.Fd()))
}

// Visible returns text as a person may see it: see [value.Visible].
func Visible(text string) string { return value.Visible(text) }
