package secret

import (
	"html"
	"slices"
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/callnode/scheduler/llm/value"
)

// maxLevels limits the levels of escapes that are undone: JSON in JSON in HTML has three levels.
const maxLevels = 5

// minWrapped is the least length of a line of base64 that continues in the next one: MIME breaks after 76
// characters, PEM after 64.
const minWrapped = 56

// maxEntity bounds the name of a character of HTML, & and ; included.
const maxEntity = 12

// escape is one place of a text in which a character is written by others, for example
// \u0068 or &#104; or %68 for h.
type escape struct {
	size int // of the text; 0: not an escape
	char string
	// isOpen is set if the text ends before the escape does.
	isOpen bool
}

// unescaped is a text with one level of escapes undone.
type unescaped struct {
	text string
	// at has the offsets of the bytes of text in the source, and then the offset of its end; nil unless requested.
	at []int32
	// open is the offset in text of an escape that the source ends in; len(text) without one.
	open      int
	isChanged bool
}

// unescape undoes the escapes of JSON, HTML and URLs, and joins the lines of base64.
func unescape(source string, withOffsets bool) unescaped {
	u := unescaped{}
	var b strings.Builder
	b.Grow(len(source))
	open, line := -1, 0 // line is the length of the run of base64 before i
	for i := 0; i < len(source); {
		e := escapeAt(source[i:], line >= minWrapped)
		if e.isOpen && open < 0 {
			open = b.Len()
		}
		size, char := e.size, e.char
		if size == 0 {
			size, char = 1, source[i:i+1]
		} else {
			u.isChanged = true
		}
		if withOffsets {
			for range len(char) {
				u.at = append(u.at, int32(i))
			}
		}
		b.WriteString(char)
		line++
		if size > 1 || char == "" || !isBase64(source[i]) {
			line = 0
		}
		i += size
	}
	u.text, u.open = b.String(), open
	if open < 0 {
		u.open = len(u.text)
	}
	if withOffsets {
		u.at = append(u.at, int32(len(source)))
	}
	return u
}

// hasEscapes reports whether a text may have something that unescape undoes.
func hasEscapes(text string) bool { return strings.ContainsAny(text, `\&%`) || hasWrapped(text) }

// hasWrapped reports whether a line of a text ends like base64 that continues in the next one.
func hasWrapped(text string) bool {
	for start := 0; ; {
		i := strings.IndexByte(text[start:], '\n')
		if i < 0 {
			return false
		}
		line := strings.TrimSuffix(text[start:start+i], "\r")
		if len(line) >= minWrapped && isBase64Text(line[len(line)-minWrapped:]) {
			return true
		}
		start += i + 1
	}
}

func isBase64Text(text string) bool {
	for i := range len(text) {
		if !isBase64(text[i]) {
			return false
		}
	}
	return true
}

// escapeAt returns the escape that a text begins with.
func escapeAt(text string, isWrapped bool) escape {
	switch text[0] {
	case '\\':
		return backslashAt(text)
	case '&':
		return entityAt(text)
	case '%':
		if code, isOpen, ok := hexAt(text[1:], 2); ok {
			return escape{size: 3, char: string([]byte{byte(code)})}
		} else if isOpen {
			return escape{isOpen: true}
		}
	case '\r', '\n':
		if !isWrapped {
			return escape{}
		}
		rest := strings.TrimLeft(text, "\r\n \t")
		if rest == "" {
			return escape{isOpen: true}
		}
		if isBase64(rest[0]) {
			return escape{size: len(text) - len(rest)}
		}
	}
	return escape{}
}

// backslashAt returns the escape of JSON or JavaScript that a text begins with.
func backslashAt(text string) escape {
	if len(text) == 1 {
		return escape{isOpen: true}
	}
	const letters, chars = `"\/'bfnrt`, "\"\\/'\b\f\n\r\t"
	if i := strings.IndexByte(letters, text[1]); i >= 0 {
		return escape{size: 2, char: chars[i : i+1]}
	}
	switch text[1] {
	case 'x':
		code, isOpen, ok := hexAt(text[2:], 2)
		return escape{size: sizeIf(ok, 4), char: charIf(ok, rune(code)), isOpen: isOpen}
	case 'u':
		return unicodeAt(text)
	}
	return escape{}
}

// unicodeAt returns the escape \uXXXX that a text begins with; two that are halves of one character are one.
func unicodeAt(text string) escape {
	code, isOpen, ok := hexAt(text[2:], 4)
	if !ok {
		return escape{isOpen: isOpen}
	}
	if !utf16.IsSurrogate(rune(code)) {
		return escape{size: 6, char: string(rune(code))}
	}
	rest := text[6:]
	if len(rest) < 2 && strings.HasPrefix(`\u`, rest) {
		return escape{size: 6, char: "\uFFFD", isOpen: true}
	}
	if strings.HasPrefix(rest, `\u`) {
		low, isOpen, ok := hexAt(rest[2:], 4)
		if r := utf16.DecodeRune(rune(code), rune(low)); ok && r != utf8.RuneError {
			return escape{size: 12, char: string(r)}
		}
		return escape{size: 6, char: "\uFFFD", isOpen: isOpen}
	}
	return escape{size: 6, char: "\uFFFD"}
}

func sizeIf(ok bool, size int) int {
	if !ok {
		return 0
	}
	return size
}

func charIf(ok bool, r rune) string {
	if !ok {
		return ""
	}
	return string(r)
}

// hexAt reads n hexadecimal digits. isOpen is set if the text ends before it has them.
func hexAt(text string, n int) (code uint64, isOpen, ok bool) {
	end := 0
	for end < min(n, len(text)) && isHex(text[end]) {
		end++
	}
	if end < n {
		return 0, end == len(text), false
	}
	code, err := strconv.ParseUint(text[:n], 16, 32)
	return code, false, err == nil
}

// entityAt returns the character of HTML that a text begins with, such as &amp; or &#38;.
func entityAt(text string) escape {
	end := 1
	for end < min(len(text), maxEntity) && isEntityByte(text[end]) {
		end++
	}
	switch {
	case end == len(text):
		return escape{isOpen: true}
	case text[end] != ';':
		return escape{}
	}
	whole := text[:end+1]
	char := html.UnescapeString(whole)
	if char == whole {
		return escape{}
	}
	return escape{size: len(whole), char: char}
}

func isHex(c byte) bool {
	return isDigit(c) || c >= 'a' && c <= 'f' || c >= 'A' && c <= 'F'
}

func isDigit(c byte) bool  { return c >= '0' && c <= '9' }
func isLetter(c byte) bool { return c|0x20 >= 'a' && c|0x20 <= 'z' }

func isEntityByte(c byte) bool { return c == '#' || isDigit(c) || isLetter(c) }

func isBase64(c byte) bool {
	return isDigit(c) || isLetter(c) || strings.IndexByte("+/-_=", c) >= 0
}

// hasEscaped reports whether a text has one of the forms in escapes.
func (f *forms) hasEscaped(text string) bool {
	for range maxLevels {
		if !hasEscapes(text) {
			return false
		}
		u := unescape(text, false)
		if !u.isChanged {
			return false
		}
		if f.replacer.Replace(u.text) != u.text {
			return true
		}
		text = u.text
	}
	return false
}

// findAll returns the stretches of a text that are secrets, plain or escaped, in order and apart.
func (f *forms) findAll(text string) []value.ByteRange {
	ranges := f.appendPlain(nil, text, nil)
	var at []int32 // the offsets of level in text
	level := text
	for range maxLevels {
		if !hasEscapes(level) {
			break
		}
		u := unescape(level, true)
		if !u.isChanged {
			break
		}
		level, at = u.text, composeOffsets(u.at, at)
		ranges = f.appendPlain(ranges, level, at)
	}
	return mergeRanges(ranges)
}

// composeOffsets returns the offsets of a first text in a third: inner has the offsets of the first in the second,
// outer those of the second in the third, nil if these two are the same.
func composeOffsets(inner, outer []int32) []int32 {
	if outer == nil {
		return inner
	}
	for i, o := range inner {
		inner[i] = outer[o]
	}
	return inner
}

// appendPlain adds the places of the forms in a text, by its offsets in another; nil offsets are its own.
func (f *forms) appendPlain(ranges []value.ByteRange, text string, at []int32) []value.ByteRange {
	if f.replacer.Replace(text) == text {
		return ranges
	}
	offset := func(i int) int {
		if at == nil {
			return i
		}
		return int(at[i])
	}
	for _, form := range f.list {
		for start := 0; ; {
			i := strings.Index(text[start:], form)
			if i < 0 {
				break
			}
			begin := start + i
			ranges = append(ranges, value.ByteRange{Start: offset(begin), End: offset(begin + len(form))})
			start = begin + 1
		}
	}
	return ranges
}

// mergeRanges sorts ranges and joins overlapping ones.
func mergeRanges(ranges []value.ByteRange) []value.ByteRange {
	slices.SortFunc(ranges, func(a, b value.ByteRange) int { return a.Start - b.Start })
	merged := ranges[:0]
	for _, r := range ranges {
		if last := len(merged) - 1; last >= 0 && r.Start <= merged[last].End {
			merged[last].End = max(merged[last].End, r.End)
			continue
		}
		merged = append(merged, r)
	}
	return merged
}

// openEnd returns the offset of the end of a text that may be the beginning of a secret, with or without escapes;
// len(text) if there is none.
func (f *forms) openEnd(text string) int {
	base := max(len(text)-f.reach(), 0)
	level := text[base:]
	open := len(level) - f.longestOpen(level)
	var at []int32
	for range maxLevels {
		if !hasEscapes(level) {
			break
		}
		u := unescape(level, true)
		isChanged := u.isChanged || u.open < len(level)
		level = u.text[:u.open]
		at = composeOffsets(u.at, at)[:u.open+1]
		open = min(open, int(at[u.open-f.longestOpen(level)]))
		if !isChanged {
			break
		}
	}
	return base + open
}

// maxReach limits the part of the end of a text that is searched for the beginning of a secret.
const maxReach = 256 << 10

// reach returns how long the beginning of a secret may be that is written in three levels of
// escapes: h is \u0068, which has 6 characters, and each of these may have 6 again.
func (f *forms) reach() int {
	if len(f.list) == 0 {
		return 0
	}
	return min(6*6*6*len(f.list[0]), maxReach)
}

// longestOpen returns the length of the longest end of a text that is the beginning of a form.
func (f *forms) longestOpen(text string) (keep int) {
	for _, form := range f.list {
		for n := min(len(form)-1, len(text)); n > keep; n-- {
			if strings.HasPrefix(form, text[len(text)-n:]) {
				keep = n
			}
		}
	}
	return keep
}
