package value

import (
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/callnode/scheduler/llm/value/wording"
)

// maxDepth bounds the nesting of parsed JSON, so that nothing that walks a
// value can run out of stack.
const maxDepth = 1000

// ParseJSON reads exactly one JSON value, by the grammar of RFC 8259. Keys keep
// their order (of a repeated key the last value counts), numbers their spelling. Invalid UTF-8 in a string, and
// the escape of half a surrogate pair, becomes U+FFFD, as with encoding/json. Errors begin with line:column.
//
// It is written out because encoding/json forgets the order of keys, and its
// token stream, which does not, takes five times as long.
func ParseJSON(data []byte) (Value, error) {
	p := parser{text: string(data)}
	return p.parse()
}

// ParseStrictJSON is [ParseJSON] for text that people write: nothing is replaced or left out. A repeated key, half
// a surrogate pair and invalid UTF-8 are errors. A byte-order mark before the text is skipped.
func ParseStrictJSON(data []byte) (Value, error) {
	text, err := DecodeText(data)
	if err != nil {
		return Value{}, err
	}
	p := parser{text: text, isStrict: true}
	return p.parse()
}

// FindHalfPair returns the offset of the first escape in the text of a JSON string that is half a
// surrogate pair, which is not a character, or -1 if it has none.
func FindHalfPair(text string) int {
	for i := 0; i < len(text); i++ {
		if text[i] != '\\' {
			continue
		}
		_, n := unescapeJSON(text[i:])
		if isHalfPair(text[i:], n) {
			return i
		}
		i += max(n, 1) - 1
	}
	return -1
}

// HalfPairMessage describes the fault of the escape at the start of text, half a surrogate pair.
func HalfPairMessage(text string) wording.Text {
	return wording.Say("the escape %.6s is half of a character (write the two escapes of the pair, or the character itself)", text)
}

// parse reads exactly one value.
func (p *parser) parse() (Value, error) {
	v, err := p.parseValue(0)
	if err == nil {
		p.skipSpace()
		if p.pos < len(p.text) {
			err = wording.Errorf("more than one JSON value")
		}
	}
	if err != nil {
		line, col := LineCol(p.text, p.pos)
		return Value{}, wording.Errorf("%d:%d: %w", line, col, err)
	}
	return v, nil
}

// LineCol turns a byte offset in text into a line and a column, both from 1,
// the column counted in characters.
func LineCol(text string, offset int) (line, col int) {
	before := text[:max(0, min(offset, len(text)))]
	line = 1 + strings.Count(before, "\n")
	return line, 1 + utf8.RuneCountInString(before[strings.LastIndexByte(before, '\n')+1:])
}

var errEnds = wording.Errorf("the JSON text ends too early")

// parser reads text from pos on. After an error pos is the place of the fault.
type parser struct {
	text string
	pos  int
	// isStrict reports an error instead of replacing or leaving out text.
	isStrict bool
}

func (p *parser) skipSpace() {
	for p.pos < len(p.text) {
		switch p.text[p.pos] {
		case ' ', '\n', '\r', '\t':
			p.pos++
		default:
			return
		}
	}
}

// peek skips white space and returns the byte after it; 0 at the end.
func (p *parser) peek() byte {
	p.skipSpace()
	if p.pos < len(p.text) {
		return p.text[p.pos]
	}
	return 0
}

// wantedError returns the error for the text at pos.
func (p *parser) wantedError(what string) error {
	if p.pos >= len(p.text) {
		return errEnds
	}
	r, _ := utf8.DecodeRuneInString(p.text[p.pos:])
	return wording.Errorf("want %s, found %q", wording.Of(what), r)
}

func (p *parser) parseValue(depth int) (Value, error) {
	if depth > maxDepth {
		return Value{}, wording.Errorf("nested deeper than %d", maxDepth)
	}
	switch c := p.peek(); {
	case c == '"':
		s, err := p.parseString()
		return Value{s}, err
	case c == '{':
		return p.parseObject(depth)
	case c == '[':
		return p.parseList(depth)
	case strings.IndexByte("-0123456789", c) >= 0:
		return p.parseNumber()
	}
	for _, word := range [...]struct {
		text string
		v    any
	}{{"null", nil}, {"true", true}, {"false", false}} {
		if strings.HasPrefix(p.text[p.pos:], word.text) {
			p.pos += len(word.text)
			return Value{word.v}, nil
		}
	}
	return Value{}, p.wantedError("a JSON value")
}

func (p *parser) parseList(depth int) (Value, error) {
	p.pos++
	if p.peek() == ']' {
		p.pos++
		return OfList(), nil
	}
	items := make([]Value, 0, 4)
	for {
		item, err := p.parseValue(depth + 1)
		if err != nil {
			return Value{}, err
		}
		items = append(items, item)
		switch p.peek() {
		case ',':
			p.pos++
		case ']':
			p.pos++
			return Value{items}, nil
		default:
			return Value{}, p.wantedError("a comma or the end of the array")
		}
	}
}

func (p *parser) parseObject(depth int) (Value, error) {
	p.pos++
	if p.peek() == '}' {
		p.pos++
		return OfMap(nil), nil
	}
	m := NewMap(4)
	for {
		if p.peek() != '"' {
			return Value{}, p.wantedError("a key in double quotes")
		}
		start := p.pos
		key, err := p.parseString()
		if err != nil {
			return Value{}, err
		}
		if _, isRepeated := m.Get(key); isRepeated && p.isStrict {
			p.pos = start
			return Value{}, wording.Errorf("duplicate key %q", key)
		}
		if p.peek() != ':' {
			return Value{}, p.wantedError("a colon after the key")
		}
		p.pos++
		member, err := p.parseValue(depth + 1)
		if err != nil {
			return Value{}, err
		}
		m.Set(key, member)
		switch p.peek() {
		case ',':
			p.pos++
		case '}':
			p.pos++
			return Value{m}, nil
		default:
			return Value{}, p.wantedError("a comma or the end of the object")
		}
	}
}

func (p *parser) parseNumber() (Value, error) {
	n := numberLen(p.text[p.pos:])
	if n == 0 {
		p.pos++ // the minus sign, or the zero before a digit
		return Value{}, p.wantedError("a digit")
	}
	text := p.text[p.pos : p.pos+n]
	p.pos += n
	return newNumber(text), nil
}

// parseString reads a string. One without escapes is a piece of the text, not a copy.
func (p *parser) parseString() (string, error) {
	start := p.pos + 1
	ascii := true
	for i := start; i < len(p.text); i++ {
		switch c := p.text[i]; {
		case c == '"':
			p.pos = i + 1
			s := p.text[start:i]
			if !ascii && !p.isStrict {
				return replaceInvalid(s), nil
			}
			return s, nil
		case c == '\\':
			return p.parseEscaped(start, i)
		case c < ' ':
			p.pos = i
			return "", wording.Errorf("the control character %q in a string must be escaped", rune(c))
		case c >= utf8.RuneSelf:
			ascii = false
		}
	}
	p.pos = len(p.text)
	return "", errEnds
}

// parseEscaped reads the string that began at start and has its first escape at i.
func (p *parser) parseEscaped(start, i int) (string, error) {
	b := append(make([]byte, 0, 2*(i-start)+16), p.text[start:i]...)
	for i < len(p.text) {
		c := p.text[i]
		switch {
		case c == '"':
			p.pos = i + 1
			return replaceInvalid(string(b)), nil
		case c < ' ':
			p.pos = i
			return "", wording.Errorf("the control character %q in a string must be escaped", rune(c))
		case c != '\\':
			b = append(b, c)
			i++
			continue
		}
		r, n := unescapeJSON(p.text[i:])
		if n == 0 {
			p.pos = i
			if len(p.text)-i < 6 {
				p.pos = len(p.text)
				return "", errEnds
			}
			return "", wording.Errorf("the escape %.6q does not exist", p.text[i:])
		}
		if p.isStrict && isHalfPair(p.text[i:], n) {
			p.pos = i
			return "", wording.Errorf("%s", HalfPairMessage(p.text[i:]))
		}
		b = utf8.AppendRune(b, r)
		i += n
	}
	p.pos = len(p.text)
	return "", errEnds
}

// unescapeJSON returns the character of the escape at the start of s and the length
// of the escape; 0 for any other text. Half a surrogate pair is
// U+FFFD.
func unescapeJSON(s string) (rune, int) {
	if len(s) < 2 {
		return 0, 0
	}
	const short, meant = `"\/bfnrt`, "\"\\/\b\f\n\r\t"
	if i := strings.IndexByte(short, s[1]); i >= 0 {
		return rune(meant[i]), 2
	}
	r, ok := unicodeEscape(s)
	if !ok {
		return 0, 0
	}
	if utf16.IsSurrogate(r) {
		if low, ok := unicodeEscape(s[6:]); ok {
			if whole := utf16.DecodeRune(r, low); whole != utf8.RuneError {
				return whole, 12
			}
		}
		return utf8.RuneError, 6
	}
	return r, 6
}

// isHalfPair reports whether the escape of n bytes that s begins with is half a surrogate pair.
func isHalfPair(s string, n int) bool {
	r, ok := unicodeEscape(s)
	return ok && n == 6 && utf16.IsSurrogate(r)
}

func unicodeEscape(s string) (rune, bool) {
	if len(s) < 6 || s[0] != '\\' || s[1] != 'u' {
		return 0, false
	}
	n, err := strconv.ParseUint(s[2:6], 16, 16)
	return rune(n), err == nil
}

// replaceInvalid puts U+FFFD in place of every byte that belongs to no character.
func replaceInvalid(s string) string {
	if utf8.ValidString(s) {
		return s
	}
	b := make([]byte, 0, len(s)+8)
	for _, r := range s {
		b = utf8.AppendRune(b, r)
	}
	return string(b)
}
