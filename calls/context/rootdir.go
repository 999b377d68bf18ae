package context

import (
	"bytes"
	"io"
	"os"
	"path"
	"path/filepath"
	"unicode/utf8"

	"github.com/callnode/scheduler/calls"
	"github.com/callnode/scheduler/calls/internal/userpath"
	"github.com/callnode/scheduler/llm/value"
	"github.com/callnode/scheduler/llm/value/wording"
)

// maxText is how much of a text file is read, in bytes.
const maxText = 1 << 20

// rootDir is a directory whose files may be read, and no others: symbolic links that lead out are refused. For
// example, a link to /etc/passwd in a workspace is refused.
type rootDir struct {
	root *os.Root
	// shown is the path as the user gave it, cleaned, with slashes: the model's text must not depend on the
	// machine.
	shown string
	// path is the real path.
	path string
}

// openDir opens a directory; a relative one starts at dir, ~ is the home directory.
func openDir(dir, given string) (*rootDir, error) {
	path, err := userpath.Resolve(dir, given)
	if err != nil {
		return nil, err
	}
	root, err := calls.OpenRoot(path)
	if err != nil {
		return nil, userpath.WithoutPath(err)
	}
	return &rootDir{root: root, shown: shownPath(given), path: path}, nil
}

// shownPath returns a path as messages and sources name it.
func shownPath(given string) string { return filepath.ToSlash(filepath.Clean(given)) }

// shownPath returns the path of a folder of the parameters as the model gets to see it.
func (b *builder) shownPath(given string) string {
	if b.params.ShownWorkspace != "absolute" {
		return shownPath(given)
	}
	full, err := userpath.Resolve(b.env.Dir, given)
	if err != nil {
		return shownPath(given)
	}
	if target, err := filepath.EvalSymlinks(full); err == nil {
		full = target
	}
	return filepath.ToSlash(full)
}

// readText reads a text file: UTF-8, without a byte-order mark, with CRLF and CR as LF. A file larger than
// [maxText] is cut after a line, which note reports.
func (p *rootDir) readText(name string) (text calls.Traced, note wording.Text, err error) {
	data, size, err := p.readFile(name, maxText)
	if err != nil {
		return text, note, err
	}
	if size > int64(len(data)) {
		if i := bytes.LastIndexByte(data, '\n'); i >= 0 {
			data = data[:i+1]
		} else {
			data = data[:len(data)-len(splitRune(data))]
		}
		note = wording.Say("only the first %d of %d bytes are used", len(data), size)
	}
	if wrong := value.FindEncodingError(data); wrong != nil {
		return text, note, wrong
	}
	return calls.TracedFile(path.Join(p.shown, name), string(data)), note, nil
}

// splitRune returns the beginning of a character that ends the data.
func splitRune(data []byte) []byte {
	for n := 1; n < utf8.UTFMax && n <= len(data); n++ {
		if tail := data[len(data)-n:]; utf8.RuneStart(tail[0]) && !utf8.FullRune(tail) {
			return tail
		}
	}
	return nil
}

// readFile reads at most limit bytes of a regular file and returns its size. Other
// files are not opened: opening a named pipe would wait for its other end.
func (p *rootDir) readFile(name string, limit int64) (data []byte, size int64, err error) {
	info, err := p.root.Stat(name)
	switch {
	case err != nil:
		return nil, 0, userpath.WithoutPath(err)
	case info.IsDir():
		return nil, 0, wording.Errorf("it is a directory")
	case !info.Mode().IsRegular():
		return nil, 0, wording.Errorf("it is not a regular file")
	}
	f, err := p.root.Open(name)
	if err != nil {
		return nil, 0, userpath.WithoutPath(err)
	}
	defer f.Close()
	data, err = io.ReadAll(io.LimitReader(f, limit))
	if err != nil {
		return nil, 0, userpath.WithoutPath(err)
	}
	return data, max(info.Size(), int64(len(data))), nil
}

// relativePath returns the path of a file relative to the place, if it lies below it.
func (p *rootDir) relativePath(file string) (string, bool) {
	bases := []string{p.path}
	if resolved, err := filepath.EvalSymlinks(p.path); err == nil && resolved != p.path {
		bases = append(bases, resolved)
	}
	for _, base := range bases {
		if rel, err := filepath.Rel(base, file); err == nil && filepath.IsLocal(rel) {
			return rel, true
		}
	}
	return "", false
}

func (p *rootDir) close() {
	if p != nil {
		_ = p.root.Close() // it was only read
	}
}
