package value

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// IsInvisible reports whether a character controls a terminal or cannot be seen: control characters except line
// feed and tab, marks that change the direction of writing, and characters of no width.
func IsInvisible(r rune) bool {
	switch r {
	case '\n', '\t':
		return false
	case '\u061c', '\u180e', '\u2028', '\u2029', '\ufeff':
		return true
	}
	isZeroWidth := r >= '\u200b' && r <= '\u200f'
	isDirection := r >= '\u202a' && r <= '\u202e'
	isMark := isZeroWidth || isDirection
	isFormat := r >= '\u2060' && r <= '\u206f'
	return isMark || isFormat || unicode.IsControl(r)
}

// InvisibleInName returns the first character of a name that is not allowed in one: a hidden character or the end
// of a line; ok is false if there is none.
func InvisibleInName(name string) (r rune, ok bool) {
	for _, r := range name {
		if IsInvisible(r) || unicode.IsControl(r) {
			return r, true
		}
	}
	return 0, false
}

// Visible returns text with everything quoted, as in JSON strings, that would steer a
// terminal or cannot be seen: control characters other than tabs and line breaks, marks of the direction of
// writing, characters without a width. Joiners beside characters that are not ASCII stay, because scripts and
// pictures need them.
func Visible(text string) string {
	if isPlain(text) {
		return text
	}
	var b strings.Builder
	before := rune(-1)
	for i, r := range text {
		size := utf8.RuneLen(r)
		if r == utf8.RuneError { // also a part of a character that was cut in two
			_, size = utf8.DecodeRuneInString(text[i:])
		}
		after, _ := utf8.DecodeRuneInString(text[i+size:])
		isInside := before > unicode.MaxASCII && after > unicode.MaxASCII && after != utf8.RuneError
		joins := isInside && isJoiner(r)
		if IsInvisible(r) && !joins {
			fmt.Fprintf(&b, `\u%04x`, r)
		} else {
			b.WriteString(text[i : i+size])
		}
		before = r
	}
	return b.String()
}

// isPlain reports whether all of text is ASCII that can be seen.
func isPlain(text string) bool {
	for i := range len(text) {
		switch c := text[i]; {
		case c == '\n', c == '\t':
		case c < ' ', c >= 0x7F:
			return false
		}
	}
	return true
}

// isJoiner reports whether r is a zero-width joiner or non-joiner.
func isJoiner(r rune) bool { return r == '\u200c' || r == '\u200d' }
