package scheduler

import "strings"

// wholeImages keeps the data: URLs of images in one piece in text that comes in
// pieces: the journal seals the bytes of an image, but cannot know them by a fragment.
type wholeImages struct {
	// head may be the beginning of a URL, body is one whose bytes have begun.
	head string
	body strings.Builder
}

// addPiece returns the text that can be shown after piece.
func (w *wholeImages) addPiece(piece string) string {
	if w.body.Len() > 0 {
		n := base64Run(piece)
		w.body.WriteString(piece[:n])
		if n == len(piece) {
			return ""
		}
		whole := w.body.String()
		w.body.Reset()
		return whole + w.addPiece(piece[n:])
	}
	text := w.head + piece
	at, begun := openImage(text)
	w.head = text[at:]
	if begun {
		w.body.WriteString(w.head)
		w.head = ""
	}
	return text[:at]
}

// flushText returns the held-back part of a text that is over, if more text may follow. The bytes of an image
// stay: they are not over.
func (w *wholeImages) flushText() string {
	head := w.head
	w.head = ""
	return head
}

// flushAll returns the held-back text, at the end.
func (w *wholeImages) flushAll() string {
	held := w.head + w.body.String()
	*w = wholeImages{}
	return held
}

// maxMediaType limits the text between data: and the bytes.
const maxMediaType = 256

// openImage finds the data: URL, or the possible beginning of one, at the end of the text: its place, or the
// length of the text if there is none. begun reports whether its bytes have begun.
func openImage(text string) (at int, begun bool) {
	const scheme = "data:"
	for from := 0; ; {
		colon := strings.IndexByte(text[from:], ':')
		if colon < 0 {
			break
		}
		from += colon + 1
		at := from - len(scheme)
		if at < 0 || !strings.EqualFold(text[at:from], scheme) {
			continue
		}
		end := strings.IndexFunc(text[from:], func(r rune) bool { return r <= ' ' || r > '~' || strings.ContainsRune(",(<", r) })
		if end < 0 {
			if len(text)-from <= maxMediaType {
				return at, false
			}
			continue
		}
		end += from
		if text[end] != ',' || !strings.HasSuffix(strings.ToLower(text[from:end]), ";base64") {
			continue
		}
		from = end + 1 + base64Run(text[end+1:])
		if from == len(text) {
			return at, true
		}
	}
	for n := len(scheme) - 1; n > 0; n-- {
		if at := len(text) - n; at >= 0 && strings.EqualFold(text[at:], scheme[:n]) {
			return at, false
		}
	}
	return len(text), false
}

// base64Run returns how much of the beginning of the text may be base64 text: of either
// alphabet, escaped or not, in lines or not. It may well be more than is.
func base64Run(text string) int {
	isBetween := func(first, r, last rune) bool { return first <= r && r <= last }
	n := strings.IndexFunc(text, func(r rune) bool {
		isLetter := isBetween('a', r, 'z') || isBetween('A', r, 'Z')
		return !isLetter && !isBetween('0', r, '9') && !strings.ContainsRune("+/=-_%\\\r\n", r)
	})
	if n < 0 {
		return len(text)
	}
	return n
}
