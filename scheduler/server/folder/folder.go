// Package folder takes the paths of a server's folders out of texts for its clients: for example, a problem in
// /srv/app/flows/shop/order.yaml is shown as one in shop/order.yaml. Clients name flows and should not learn the
// layout of the machine.
package folder

import (
	"cmp"
	"path/filepath"
	"slices"
	"strings"
	"unicode/utf8"
)

// Hider knows the folders of a server. [NewHider] makes one; it does not change. The zero value and nil hide none.
type Hider struct{ folders []string } // absolute, the longest first

// NewHider returns a Hider of these folders, and of the targets of links among them.
func NewHider(folders ...string) *Hider {
	h := &Hider{}
	for _, dir := range folders {
		if dir == "" {
			continue
		}
		whole, err := filepath.Abs(dir)
		if err != nil {
			continue
		}
		h.add(whole)
		if target, err := filepath.EvalSymlinks(whole); err == nil {
			h.add(target)
		}
	}
	slices.SortFunc(h.folders, func(a, b string) int { return cmp.Or(cmp.Compare(len(b), len(a)), strings.Compare(a, b)) })
	h.folders = slices.Compact(h.folders)
	return h
}

// add adds a folder that is not the root of a disk.
func (h *Hider) add(dir string) {
	if filepath.Dir(dir) != dir {
		h.folders = append(h.folders, dir)
	}
}

// Hide returns a text without the folders: a path in one becomes relative to it, and a folder itself its last
// name.
func (h *Hider) Hide(text string) string {
	if h == nil {
		return text
	}
	for _, dir := range h.folders {
		text = hideFolder(text, dir)
	}
	return text
}

// HidePath returns the path of a file without the folders. If isWhole is set, a file elsewhere has its last name
// alone, for readers who must not learn about the machine.
func (h *Hider) HidePath(path string, isWhole bool) string {
	shown := h.Hide(path)
	if isWhole && filepath.IsAbs(shown) {
		return filepath.Base(shown)
	}
	return shown
}

// hideFolder hides one folder.
func hideFolder(text, dir string) string {
	var b strings.Builder
	for {
		before, after, found := strings.Cut(text, dir)
		b.WriteString(before)
		if !found {
			return b.String()
		}
		last, _ := utf8.DecodeLastRuneInString(before)
		next, size := utf8.DecodeRuneInString(after)
		switch {
		case before != "" && isOfPath(last): // the end of a longer path
			b.WriteString(dir)
		case after != "" && (next == '/' || next == filepath.Separator):
			after = after[size:]
		case after != "" && isOfPath(next): // the beginning of another name, as /srv/app in /srv/apple
			b.WriteString(dir)
		default:
			b.WriteString(filepath.Base(dir))
		}
		text = after
	}
}

// isOfPath reports whether a character next to a folder belongs to a longer path. Letters that are not ASCII are taken for words
// around it, as in 读取/srv/app.
func isOfPath(r rune) bool {
	return 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' || '0' <= r && r <= '9' || strings.ContainsRune("/\\_-", r)
}
