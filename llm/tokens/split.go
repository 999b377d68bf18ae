package tokens

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// nextPiece returns how many bytes the first piece of a text has. A text is split into pieces
// before the bytes of each are merged, for example "It's 2025" into "It's", " ", "202" and "5".
// The code follows the pattern of o200k, which regexp cannot match because of (?!\S):
//
//	[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+(?i:'s|'t|'re|'ve|'m|'ll|'d)?
//	|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*(?i:'s|'t|'re|'ve|'m|'ll|'d)?
//	|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+
func nextPiece(text string) int {
	first, size := classAt(text)
	prefix := 0
	if first&(letter|number|newline) == 0 {
		prefix = size
	}
	for _, word := range []func(string) int{lowerWord, upperWord} {
		if n := word(text[prefix:]); n > 0 {
			return prefix + n
		}
		if n := word(text); n > 0 {
			return n
		}
	}
	switch {
	case first&number != 0:
		return run(text, number, 3)
	case text[0] == ' ':
		if n := symbols(text[1:]); n > 0 {
			return 1 + n
		}
	case first&space == 0:
		return symbols(text)
	}
	return spaces(text)
}

// class is the set of the pattern's classes that a character is in.
type class uint8

const (
	letter  class = 1 << iota // \p{L}
	upper                     // [\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]
	lower                     // [\p{Ll}\p{Lm}\p{Lo}\p{M}]
	number                    // \p{N}
	space                     // \s
	newline                   // [\r\n]
)

// lowerWord returns the length of a word that begins the text and ends in lower case, such as
// "Word" or "camel" of "camelCase"; 0 if there is none. Letters without case count as both.
func lowerWord(text string) int {
	end, n := 0, 0 // end: after the last character so far that may end the word
	for n < len(text) {
		c, size := classAt(text[n:])
		if c&upper == 0 {
			break
		}
		n += size
		if c&lower != 0 {
			end = n
		}
	}
	if more := run(text[n:], lower, len(text)); more > 0 {
		end = n + more
	}
	if end == 0 {
		return 0
	}
	return end + contraction(text[end:])
}

// upperWord returns the length of a word that begins the text in upper case, such as "HTTP"; 0
// if there is none.
func upperWord(text string) int {
	n := run(text, upper, len(text))
	if n == 0 {
		return 0
	}
	n += run(text[n:], lower, len(text))
	return n + contraction(text[n:])
}

// contraction returns the length of an English ending such as 's or 'LL; 0 if there is none.
func contraction(text string) int {
	if text == "" || text[0] != '\'' {
		return 0
	}
	for _, ending := range []string{"s", "ſ", "t", "re", "ve", "m", "ll", "d"} {
		n := 1 + len(ending)
		if len(text) >= n && strings.EqualFold(text[1:n], ending) {
			return n
		}
	}
	return 0
}

// symbols returns the length of [^\s\p{L}\p{N}]+[\r\n/]* at the beginning of the text.
func symbols(text string) int {
	n := 0
	for n < len(text) {
		c, size := classAt(text[n:])
		if c&(letter|number|space) != 0 {
			break
		}
		n += size
	}
	if n > 0 {
		n += len(text[n:]) - len(strings.TrimLeft(text[n:], "\r\n/"))
	}
	return n
}

// spaces returns the length of white space: up to the last newline, else all but the last
// character, which belongs to the word that follows.
func spaces(text string) int {
	lines, last, n := 0, 0, 0
	for n < len(text) {
		c, size := classAt(text[n:])
		if c&space == 0 {
			break
		}
		last, n = n, n+size
		if c&newline != 0 {
			lines = n
		}
	}
	switch {
	case lines > 0:
		return lines
	case n == len(text) || last == 0:
		return n
	}
	return last
}

// run returns the length of up to limit characters of a class at the beginning of the text.
func run(text string, of class, limit int) int {
	n := 0
	for ; n < len(text) && limit > 0; limit-- {
		c, size := classAt(text[n:])
		if c&of == 0 {
			break
		}
		n += size
	}
	return n
}

// classAt returns the class of the first character of a text, and its length in bytes.
func classAt(text string) (of class, size int) {
	if text[0] < utf8.RuneSelf {
		return asciiClass[text[0]], 1
	}
	r, size := utf8.DecodeRuneInString(text)
	return classOf(r), size
}

// asciiClass has the classes of the ASCII characters.
var asciiClass = func() (all [utf8.RuneSelf]class) {
	for i := range all {
		all[i] = classOf(rune(i))
	}
	return all
}()

func classOf(r rune) class {
	const firstHan, lastHan = 0x4e00, 0x9fff // the commonest of those that are not ASCII
	switch {
	case r >= firstHan && r <= lastHan, unicode.In(r, unicode.Lm, unicode.Lo):
		return letter | upper | lower
	case unicode.In(r, unicode.Lu, unicode.Lt):
		return letter | upper
	case unicode.Is(unicode.Ll, r):
		return letter | lower
	case unicode.Is(unicode.M, r):
		return upper | lower
	case unicode.Is(unicode.N, r):
		return number
	case r == '\r', r == '\n':
		return space | newline
	case unicode.IsSpace(r):
		return space
	}
	return 0
}
