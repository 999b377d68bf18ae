package stored

import "strings"

// base64Mark is between the type of a data: URL and its bytes.
const base64Mark = ";base64,"

// isImage reports whether s is only the base64 text of an image, which APIs answer, and some accept, in place of a
// data: URL.
func isImage(s string) bool {
	const least = 64
	if len(s) < least || base64Len(s) != len(s) {
		return false
	}
	// "?" is any letter: the first bytes of PNG, JPEG, GIF, WebP, TIFF, and of HEIC and
	// AVIF, which begin with the length of a box of the type ftyp.
	for _, start := range []string{"iVBORw0KGgo", "/9j/", "R0lGOD", "UklGR", "SUkqA", "TU0AK", "AAAA??Z0eX"} {
		match := true
		for i := range start {
			isSame := start[i] == '?' || start[i] == s[i]
			match = match && isSame
		}
		if match {
			return true
		}
	}
	return false
}

// FindMedia finds the base64 text of the first data: URL in s; end is 0 if there is none.
func FindMedia(s string) (start, end int) {
	for from := 0; ; {
		at := strings.Index(s[from:], "64,") // the same in upper and lower case
		if at < 0 {
			return 0, 0
		}
		start = from + at + len("64,")
		from = start
		mark := start - len(base64Mark)
		if mark < 0 || !strings.EqualFold(s[mark:start], base64Mark) || !endsInMediaType(s[:mark]) {
			continue
		}
		end = start + base64Len(s[start:])
		if end > start {
			return start, end
		}
	}
}

// endsInMediaType reports whether s ends in data:TYPE with its parameters.
func endsInMediaType(s string) bool {
	s = s[max(0, len(s)-256):]
	for i := len(s) - 1; i >= 0; i-- {
		c := s[i]
		if c <= ' ' || strings.IndexByte(",(<", c) >= 0 {
			return false
		}
		if c == ':' && i >= 4 && strings.EqualFold(s[i-4:i], "data") {
			return true
		}
	}
	return false
}

// base64Len returns how much of the beginning of s is base64 text: of either alphabet,
// with slashes that JSON has escaped, broken into long lines or not.
func base64Len(s string) int {
	const longLine = 40
	run := func(s string) (n int) {
		for ; n < len(s); n++ {
			c := s[n]
			switch {
			case 'a' <= c && c <= 'z', 'A' <= c && c <= 'Z':
			case '0' <= c && c <= '9':
			case c == '+', c == '/', c == '=', c == '-', c == '_', c == '%':
			case c == '\\' && n+1 < len(s) && s[n+1] == '/':
			default:
				return n
			}
		}
		return n
	}
	n := run(s)
	for n < len(s) {
		next := s[n:]
		line := strings.TrimLeft(next, "\r\n")
		more := run(line)
		if len(line) == len(next) || more < longLine {
			break
		}
		n += len(next) - len(line) + more
	}
	return n
}
