package yaml

import (
	"regexp"
	"strings"

	"github.com/callnode/scheduler/llm/value/wording"
)

// bracketScan goes through a value in { } or [ ].
type bracketScan struct {
	*diagnosis
	line, at int
	open     []place // the brackets that are not closed
	// colon reports whether the member of the innermost map has its colon, ended whether a
	// whole value was read.
	colon, ended bool
}

type place struct{ line, at int }

// scan returns the first fault; nil if there is none.
func (s *bracketScan) scan() *finding {
	outer := indentOf(s.lines[s.line])
	for ; s.line < len(s.lines); s.line, s.at = s.line+1, 0 {
		text := s.lines[s.line]
		isNextKey := s.line > s.diagnosis.line && indentOf(text) <= outer && !isBlankLine(text)
		if isNextKey && strings.IndexByte("]}", strings.TrimSpace(text)[0]) < 0 {
			break
		}
		for s.at < len(text) {
			f, done := s.scanPiece(text)
			if f != nil || done {
				return f
			}
		}
	}
	if len(s.open) == 0 {
		return nil
	}
	first := s.open[len(s.open)-1]
	bracket := s.lines[first.line][first.at : first.at+1]
	return newFinding(first.line, first.at, wording.Say("the %s that opens here is not closed", bracket), wording.Say("close it with %s", closing[bracket]))
}

var closing = map[string]string{"{": "}", "[": "]"}

func isOpening(c byte) bool { return c == '{' || c == '[' }

func isQuote(c byte) bool { return c == '"' || c == '\'' }

// scanPiece reads one piece of a line.
func (s *bracketScan) scanPiece(text string) (f *finding, done bool) {
	switch c := text[s.at]; {
	case c == '#' && (s.at == 0 || text[s.at-1] == ' '):
		s.at = len(text)
	case c == ' ' || c == '\t':
		s.at++
	case isQuote(c):
		return s.scanQuotes(text), false
	case isOpening(c):
		if s.ended {
			return s.missingComma(s.line, s.at), false
		}
		s.open = append(s.open, place{s.line, s.at})
		s.colon, s.ended = false, false
		s.at++
	case c == '}' || c == ']':
		return s.scanClosing(text)
	case c == ',':
		s.colon, s.ended = false, false
		s.at++
	case c == ':' && s.isEndOfKey(text):
		s.colon, s.ended = true, false
		s.at++
	default:
		return s.scanPlain(text), false
	}
	return nil, false
}

func (s *bracketScan) missingComma(line, at int) *finding {
	return newFinding(line, at, wording.Say("a comma is missing before this"), wording.Say(`inside { } and [ ] a comma separates the entries, and a value with ": " in it needs quotes`))
}

// scanQuotes reads a text in quotes.
func (s *bracketScan) scanQuotes(text string) *finding {
	if s.ended {
		quote := text[s.at]
		if s.at > 0 && text[s.at-1] != ' ' {
			return newFinding(s.line, s.at, wording.Say("a text in quotes ends before this, and more follows"), quoteHint(quote))
		}
		return s.missingComma(s.line, s.at)
	}
	end := endOfQuotes(text, s.at)
	if end < 0 {
		return newFinding(s.line, s.at, wording.Say("the quote that opens here is not closed"), wording.Say("close it at the end of the text"))
	}
	if text[s.at] == '"' {
		if f := s.findEscape(s.line, s.at, text[s.at:end]); f != nil {
			return f
		}
	}
	s.at, s.ended = end, true
	return nil
}

// isEndOfKey reports whether the colon at the scan's place ends a key.
func (s *bracketScan) isEndOfKey(text string) bool {
	return s.ended || s.at+1 == len(text) || strings.IndexByte(" \t,", text[s.at+1]) >= 0
}

var secondKey = regexp.MustCompile(`\s([\w-]+):(?:\s|$)`)

// scanPlain reads a text without quotes.
func (s *bracketScan) scanPlain(text string) *finding {
	end := s.at
	for end < len(text) && strings.IndexByte(",[]{}", text[end]) < 0 {
		if text[end] == ':' && (end+1 == len(text) || text[end+1] == ' ') && !s.colon {
			break
		}
		end++
	}
	word := text[s.at:end]
	if !s.ended && strings.IndexByte("@`%:", text[s.at]) >= 0 {
		return mustBeQuoted(s.line, s.at, word)
	}
	if s.ended {
		if s.at > 0 && isQuote(text[s.at-1]) {
			return newFinding(s.line, s.at-1, wording.Say("the text in quotes ends here, and more follows"), quoteHint(text[s.at-1]))
		}
		return s.missingComma(s.line, s.at)
	}
	if f := s.findMark(word); f != nil {
		return f
	}
	s.at, s.ended = end, s.colon || end == len(text) || text[end] != ':'
	if end < len(text) && text[end] == ':' {
		s.ended = true // the colon that follows begins the value
	}
	return nil
}

// findMark finds a ? or a colon inside a text without quotes, which means something else there.
func (s *bracketScan) findMark(word string) *finding {
	if at := strings.IndexByte(word, '?'); at >= 0 {
		return newFinding(s.line, s.at+at, wording.Say("a ? inside a text without quotes"), wording.Say("put the text in quotes: inside { } and [ ] a ? does not belong to it"))
	}
	m := secondKey.FindStringSubmatchIndex(" " + word)
	if m == nil || !s.colon {
		return nil
	}
	colon := m[3] - 1
	rest := strings.TrimSpace(word[colon+1:])
	if isKey := rest == "" || isQuote(rest[0]); isKey {
		return s.missingComma(s.line, s.at+m[2]-1)
	}
	return newFinding(s.line, s.at+colon, wording.Say("a colon inside a text without quotes"),
		wording.Say("put the text in quotes, or a comma before %s if that is a key", word[m[2]-1:colon]))
}

// scanClosing reads a closing bracket.
func (s *bracketScan) scanClosing(text string) (f *finding, done bool) {
	bracket := text[s.at : s.at+1]
	last := s.open[len(s.open)-1]
	opened := s.lines[last.line][last.at : last.at+1]
	if closing[opened] != bracket {
		return newFinding(s.line, s.at, wording.Say("this %s closes a %s", bracket, opened), wording.Say("the %s at line %d, column %d is closed with %s", opened, last.line+1, last.at+1, closing[opened])), true
	}
	s.open = s.open[:len(s.open)-1]
	s.at++
	s.colon, s.ended = true, true
	if len(s.open) > 0 {
		return nil, false
	}
	rest := strings.TrimSpace(text[s.at:])
	if strings.HasPrefix(rest, "#") && text[s.at] == '#' {
		return newFinding(s.line, s.at, wording.Say("a space is missing before the comment"), wording.Say("write a space before #")), true
	}
	if rest != "" && rest[0] != '#' {
		return newFinding(s.line, s.at+indentOf(text[s.at:]), wording.Say("the value ends before this, and more follows"), wording.Say("take it out, or put the whole value in quotes")), true
	}
	return nil, true
}
