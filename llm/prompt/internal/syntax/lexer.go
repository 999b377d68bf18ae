package syntax

import (
	"math/big"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/callnode/scheduler/llm/prompt/internal/fault"
	"github.com/callnode/scheduler/llm/prompt/internal/pyvalue"
)

type tokenKind uint8

const (
	tokEnd tokenKind = iota
	tokName
	tokString
	tokInt
	tokFloat
	tokOp
)

// token is a lexical unit of an expression. For tokEnd, text is the end mark: "" at the end of the source, else }}
// or %}.
type token struct {
	kind tokenKind
	text string // the name, the operator or the value of the string
	num  pyvalue.Val
	off  int
	end  int
}

func (t *token) matches(kind tokenKind, text string) bool { return t.kind == kind && t.text == text }

// lexExpr reads the tokens of an expression or statement that begins at start,
// up to closer ("" is the end of the source). A closer inside brackets is not
// one, as {{ {'a': {}}}} demands. next is the offset behind the closer; trim is
// the sign before it, '-', '+' or 0.
func lexExpr(src string, start int, closer string) (toks []token, next int, trim byte, err error) {
	l := exprLexer{src: src, pos: start, closer: closer}
	for {
		l.skipSpace()
		if closer == "" && l.pos >= len(src) {
			return append(l.toks, token{kind: tokEnd, off: len(src), end: len(src)}), l.pos, 0, nil
		}
		if n, t := l.matchCloser(); n > 0 {
			end := token{kind: tokEnd, text: closer, off: l.pos, end: l.pos + n}
			return append(l.toks, end), l.pos + n, t, nil
		}
		if l.pos >= len(src) {
			return nil, 0, 0, fault.SyntaxAt(start, "%s is missing: the template ends inside the tag", closer)
		}
		if err := l.lexToken(); err != nil {
			if closer != "" && !hasCloser(src[start:], closer) {
				err = fault.SyntaxAt(start, "%s is missing: the tag is not closed", closer)
			}
			return nil, 0, 0, err
		}
	}
}

// hasCloser reports whether closer comes in src before another tag begins.
func hasCloser(src, closer string) bool {
	end := strings.Index(src, closer)
	next, _ := nextTag(src, 0)
	return end >= 0 && end <= next
}

// nextTag finds the next tag: its place and its kind.
func nextTag(s string, from int) (at int, kind byte) {
	for {
		i := strings.IndexByte(s[from:], '{')
		if i < 0 || from+i+1 >= len(s) {
			return len(s), 0
		}
		from += i
		switch k := s[from+1]; k {
		case '{', '%', '#':
			return from, k
		}
		from++
	}
}

type exprLexer struct {
	src    string
	pos    int
	closer string
	open   []byte // brackets that are open
	toks   []token
}

func (l *exprLexer) skipSpace() {
	for l.pos < len(l.src) {
		r, n := utf8.DecodeRuneInString(l.src[l.pos:])
		if !pyvalue.IsSpace(r) {
			return
		}
		l.pos += n
	}
}

func (l *exprLexer) matchCloser() (n int, trim byte) {
	if l.closer == "" || len(l.open) > 0 {
		return 0, 0
	}
	rest := l.src[l.pos:]
	if strings.HasPrefix(rest, l.closer) {
		return len(l.closer), 0
	}
	signs := "-+"
	if l.closer == "}}" {
		signs = "-"
	}
	if rest == "" || strings.IndexByte(signs, rest[0]) < 0 || !strings.HasPrefix(rest[1:], l.closer) {
		return 0, 0
	}
	return len(l.closer) + 1, rest[0]
}

func (l *exprLexer) emitToken(t token, length int) {
	t.off, t.end = l.pos, l.pos+length
	l.toks = append(l.toks, t)
	l.pos += length
}

func (l *exprLexer) lexToken() error {
	c := l.src[l.pos]
	switch {
	case c == '"' || c == '\'':
		return l.lexString(c)
	case c >= '0' && c <= '9':
		return l.lexNumber()
	case isNameStart(l.currentRune()):
		n := 0
		for i, r := range l.src[l.pos:] {
			if !isNamePart(r) {
				break
			}
			n = i + utf8.RuneLen(r)
		}
		l.emitToken(token{kind: tokName, text: l.src[l.pos : l.pos+n]}, n)
		return nil
	}
	for _, op := range [...]string{"//", "**", "==", "!=", ">=", "<="} {
		if strings.HasPrefix(l.src[l.pos:], op) {
			l.emitToken(token{kind: tokOp, text: op}, len(op))
			return nil
		}
	}
	if strings.IndexByte("+-/*%~[](){}><=.:|,", c) < 0 {
		return fault.SyntaxAt(l.pos, "unexpected character %q", l.currentRune())
	}
	switch c {
	case '(', '[', '{':
		l.open = append(l.open, c)
	case ')', ']', '}':
		want := map[byte]byte{')': '(', ']': '[', '}': '{'}[c]
		if len(l.open) == 0 || l.open[len(l.open)-1] != want {
			return fault.SyntaxAt(l.pos, "unexpected %q", c)
		}
		l.open = l.open[:len(l.open)-1]
	}
	l.emitToken(token{kind: tokOp, text: l.src[l.pos : l.pos+1]}, 1)
	return nil
}

func (l *exprLexer) currentRune() rune {
	r, _ := utf8.DecodeRuneInString(l.src[l.pos:])
	return r
}

func isNameStart(r rune) bool {
	return r == '_' || unicode.IsLetter(r) || unicode.Is(unicode.Nl, r)
}

func isNamePart(r rune) bool {
	return isNameStart(r) || unicode.In(r, unicode.Nd, unicode.Mn, unicode.Mc, unicode.Pc)
}

// lexNumber reads an integer or a float in decimal digits; after a dot (l.0.1)
// only an integer.
func (l *exprLexer) lexNumber() error {
	rest := l.src[l.pos:]
	digits := func(from int) int {
		_, _, after := pyvalue.ReadNumber(rest[from:])
		return len(rest) - len(after)
	}
	whole := digits(0)
	end := whole
	if !l.isAfterDot() {
		if end+1 < len(rest) && rest[end] == '.' && digits(end+1) > end+1 {
			end = digits(end + 1)
		}
		if exponent := strings.TrimLeft(rest[end:], "eE"); len(rest)-len(exponent) == end+1 {
			from := len(rest) - len(strings.TrimPrefix(strings.TrimPrefix(exponent, "+"), "-"))
			if digits(from) > from {
				end = digits(from)
			}
		}
	}
	text := rest[:end]
	if next, _ := utf8.DecodeRuneInString(rest[end:]); isNamePart(next) && !l.isAfterDot() {
		e := fault.SyntaxAt(l.pos, "invalid number %s", pyvalue.QuoteText(text+string(next)))
		e.Hint = "numbers are decimal digits, as in 1000000 or 1.5e6"
		return e
	}
	if end > whole {
		f, _ := strconv.ParseFloat(text, 64) // out of range is an infinity
		l.emitToken(token{kind: tokFloat, text: text, num: pyvalue.OfFloat(f)}, end)
		return nil
	}
	if text[0] == '0' && strings.Trim(text, "0") != "" {
		return fault.SyntaxAt(l.pos, "a number must not begin with 0")
	}
	if len(text) > fault.MaxDigits {
		return fault.SyntaxAt(l.pos, "a number of more than %d digits", fault.MaxDigits)
	}
	i, ok := new(big.Int).SetString(text, 10)
	if !ok {
		return fault.SyntaxAt(l.pos, "invalid number %s", pyvalue.QuoteText(text))
	}
	l.emitToken(token{kind: tokInt, text: text, num: pyvalue.OfBig(i)}, end)
	return nil
}

func (l *exprLexer) isAfterDot() bool {
	n := len(l.toks)
	return n > 0 && l.toks[n-1].matches(tokOp, ".") && l.toks[n-1].end == l.pos
}

// lexString reads a string literal and resolves its escapes as Python does.
func (l *exprLexer) lexString(quote byte) error {
	i := l.pos + 1
	for i < len(l.src) && l.src[i] != quote {
		if l.src[i] == '\\' {
			i++
		}
		i++
	}
	if i >= len(l.src) {
		return fault.SyntaxAt(l.pos, "the string is not closed")
	}
	text, err := unescapeString(l.src[l.pos+1:i], l.pos+1)
	if err != nil {
		return err
	}
	l.emitToken(token{kind: tokString, text: text}, i+1-l.pos)
	return nil
}

var simpleEscapes = map[byte]byte{
	'n': '\n', 't': '\t', 'r': '\r', 'a': '\a', 'b': '\b', 'f': '\f', 'v': '\v', '\\': '\\', '\'': '\'', '"': '"',
}

func unescapeString(s string, offset int) (string, error) {
	if strings.IndexByte(s, '\r') >= 0 {
		s = strings.ReplaceAll(strings.ReplaceAll(s, "\r\n", "\n"), "\r", "\n")
	}
	if strings.IndexByte(s, '\\') < 0 {
		return s, nil
	}
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		if s[i] != '\\' || i+1 >= len(s) {
			b.WriteByte(s[i])
			continue
		}
		i++
		c := s[i]
		width := map[byte]int{'x': 2, 'u': 4, 'U': 8}[c]
		simple, isSimple := simpleEscapes[c]
		switch {
		case isSimple:
			b.WriteByte(simple)
		case c == '\n': // a line that continues
		case strings.IndexByte("01234567N", c) >= 0:
			e := fault.SyntaxAt(offset, `the escape \%c is not supported in a string`, c)
			e.Hint = `write the character itself or its \u form`
			return "", e
		case width > 0:
			digits := s[i+1 : min(i+1+width, len(s))]
			r, err := strconv.ParseUint(digits, 16, 32)
			if err != nil || len(digits) < width || r > unicode.MaxRune {
				return "", fault.SyntaxAt(offset, `\%c in a string wants %d hexadecimal digits of a character`, c, width)
			}
			if !utf8.ValidRune(rune(r)) {
				return "", fault.SyntaxAt(offset, `\%c%s is half of a character: write the whole one`, c, digits)
			}
			b.WriteRune(rune(r))
			i += width
		default:
			b.WriteByte('\\')
			b.WriteByte(c)
		}
	}
	return b.String(), nil
}
