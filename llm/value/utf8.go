package value

import "unicode/utf8"

// FindInvalidUTF8 returns where a text stops being UTF-8, in bytes; -1 where all of it is.
func FindInvalidUTF8(text []byte) int {
	if utf8.Valid(text) {
		return -1
	}
	i := 0
	for {
		r, size := utf8.DecodeRune(text[i:])
		if r == utf8.RuneError && size <= 1 {
			return i
		}
		i += size
	}
}
