package value

import "unicode"

// IsInvisible reports whether a character steers a terminal or cannot be seen: control
// characters but for line feed and tab, marks that turn the direction of writing, and
// those of no width.
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

// InvisibleInName returns the first character of a name that must not stand in one, be it
// hidden or the end of a line; ok is false where there is none.
func InvisibleInName(name string) (r rune, ok bool) {
	for _, r := range name {
		if IsInvisible(r) || unicode.IsControl(r) {
			return r, true
		}
	}
	return 0, false
}
