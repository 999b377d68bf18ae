package yamltext

import (
	"bytes"
	"regexp"
	"strings"
	"unicode/utf8"

	"github.com/callnode/scheduler/llm/value/yaml"
)

// scalarTrace reads a scalar again, along its known text. The YAML library has checked the scalar, so its parts
// are only located, not verified: if source and text differ, the trace ends.
type scalarTrace struct {
	src  []byte
	pos  int
	want string // the decoded text
	at   []int  // the source offset of each byte of want so far
}

func (s *scalarTrace) isDone() bool { return len(s.at) >= len(s.want) }

func (s *scalarTrace) peek() byte {
	if s.pos < len(s.src) {
		return s.src[s.pos]
	}
	return 0
}

// emit reports whether text comes next in the decoded text and is at offset.
func (s *scalarTrace) emit(text string, offset int) bool {
	if !strings.HasPrefix(s.want[len(s.at):], text) {
		return false
	}
	for range len(text) {
		s.at = append(s.at, offset)
	}
	return true
}

// traceChar copies one character of the source.
func (s *scalarTrace) traceChar() bool {
	_, size := utf8.DecodeRune(s.src[s.pos:])
	ok := size > 0 && s.emit(string(s.src[s.pos:s.pos+size]), s.pos)
	s.pos += size
	return ok
}

// lineBreakAt reads a line break and returns its meaning in a text.
func (s *scalarTrace) lineBreakAt() (text string, n int) {
	n = yaml.LineBreak(s.src[s.pos:])
	if n == 3 { // the Unicode separators stay unchanged
		return string(s.src[s.pos : s.pos+n]), n
	}
	return "\n", n
}

// traceFlow reads a plain scalar (quote 0) or the inside of a quoted one.
func (s *scalarTrace) traceFlow(quote byte) bool {
	for !s.isDone() {
		c, ok := s.peek(), false
		switch {
		case s.pos >= len(s.src):
			return false
		case isBlank(c) || yaml.LineBreak(s.src[s.pos:]) > 0:
			ok = s.traceWhite(false)
		case c == '\\' && quote == '"':
			ok = s.traceEscape()
		case c == '\'' && quote == '\'':
			ok = s.emit("'", s.pos)
			s.pos += 2
		default:
			ok = s.traceChar()
		}
		if !ok {
			return false
		}
	}
	return true
}

// traceWhite reads blanks and line breaks between two characters of a flow scalar:
// blanks on one line count, one line break is a space, more are one newline less.
// After an escaped line break every further one counts.
func (s *scalarTrace) traceWhite(escaped bool) bool {
	type piece struct {
		text   string
		offset int
	}
	var blanks, breaks []piece
	for s.pos < len(s.src) {
		if text, n := s.lineBreakAt(); n > 0 {
			breaks = append(breaks, piece{text, s.pos})
			s.pos += n
			continue
		}
		if !isBlank(s.src[s.pos]) {
			break
		}
		blanks = append(blanks, piece{string(s.src[s.pos]), s.pos})
		s.pos++
	}
	pieces := blanks
	switch {
	case escaped:
		pieces = breaks
	case len(breaks) == 1 && breaks[0].text == "\n":
		pieces = []piece{{" ", breaks[0].offset}}
	case len(breaks) > 0 && breaks[0].text == "\n":
		pieces = breaks[1:]
	case len(breaks) > 0:
		pieces = breaks
	}
	for _, p := range pieces {
		if !s.emit(p.text, p.offset) {
			return s.isDone()
		}
	}
	return true
}

var surrogatePair = regexp.MustCompile(`^\\u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}`)

// traceEscape reads an escape sequence of a double-quoted scalar.
func (s *scalarTrace) traceEscape() bool {
	start := s.pos
	s.pos++
	if n := yaml.LineBreak(s.src[s.pos:]); n > 0 {
		s.pos += n
		return s.traceWhite(true)
	}
	size := map[byte]int{'x': 2, 'u': 4, 'U': 8}[s.peek()]
	s.pos += 1 + size
	if surrogatePair.Match(s.src[start:min(start+12, len(s.src))]) { // JSON writes one character as two
		s.pos = start + 12
	}
	// One escape is one character of the text, whatever it is.
	_, n := utf8.DecodeRuneInString(s.want[len(s.at):])
	return s.emit(s.want[len(s.at):len(s.at)+n], start)
}

// traceBlock reads a literal or folded block scalar.
func (s *scalarTrace) traceBlock(folded bool) bool {
	s.pos += RestOfLine(s.src[s.pos:]) // the header
	_, n := s.lineBreakAt()
	s.pos += n
	indent := s.blockIndent()
	wasBlank, first := false, true // the line before began with a blank
	for !s.isDone() {
		var breaks []int // the starts of line breaks since the last content
		if !first {
			breaks = append(breaks, s.pos)
			if _, n := s.lineBreakAt(); n == 0 {
				return false
			}
			s.pos += yaml.LineBreak(s.src[s.pos:])
		}
		for { // empty lines, indented at most as the text is
			i := s.pos
			for i < len(s.src) && i-s.pos < indent && s.src[i] == ' ' {
				i++
			}
			n := yaml.LineBreak(s.src[min(i, len(s.src)):])
			if n == 0 {
				s.pos = i
				break
			}
			breaks = append(breaks, i)
			s.pos = i + n
		}
		afterText := !first && !wasBlank
		if !s.traceBreaks(breaks, folded && afterText && !isBlank(s.peek())) {
			return s.isDone()
		}
		wasBlank, first = isBlank(s.peek()), false
		for end := s.pos + RestOfLine(s.src[s.pos:]); s.pos < end && !s.isDone(); {
			if !s.traceChar() {
				return false
			}
		}
	}
	return true
}

// traceBreaks puts the line breaks between two lines of a block scalar; a fold makes one
// of them a space, and swallows the first of more.
func (s *scalarTrace) traceBreaks(breaks []int, fold bool) bool {
	for i, offset := range breaks {
		text := "\n"
		if yaml.LineBreak(s.src[offset:]) == 3 {
			text = string(s.src[offset : offset+3])
		}
		isSpace := fold && i == 0 && text == "\n"
		if isSpace && !s.endsHere(len(breaks)) {
			if len(breaks) > 1 {
				continue
			}
			text = " "
		}
		if !s.emit(text, offset) {
			return false
		}
	}
	return true
}

// endsHere reports whether nothing but the n line breaks at hand is left of the
// text: the last ones are never folded.
func (s *scalarTrace) endsHere(n int) bool {
	rest := s.want[len(s.at):]
	return utf8.RuneCountInString(rest) <= n && strings.Trim(rest, "\n\u2028\u2029") == ""
}

// blockIndent finds the indentation of the text of a block scalar: the extra white space in the file before the
// first line of the text that is not empty. A text of only line breaks has the largest possible indentation.
func (s *scalarTrace) blockIndent() int {
	empty := 0
	text := []byte(s.want)
	for n := yaml.LineBreak(text); n > 0; n = yaml.LineBreak(text) {
		text = text[n:]
		empty++
	}
	if len(text) == 0 {
		return len(s.src)
	}
	line := s.src[s.pos:]
	for range empty {
		line = line[RestOfLine(line):]
		line = line[yaml.LineBreak(line):]
	}
	return max(LeadingSpaces(line)-LeadingSpaces(text), 0)
}

// LeadingSpaces returns the number of spaces that a line begins with.
func LeadingSpaces(s []byte) int { return len(s) - len(bytes.TrimLeft(s, " ")) }
