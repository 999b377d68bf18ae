package value

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"strconv"
	"unicode/utf8"
)

// maxDepth bounds the nesting of parsed JSON, so that nothing that walks a
// value can run out of stack.
const maxDepth = 1000

// ParseJSON reads exactly one JSON value. Keys keep their order (of a repeated
// key the last value counts), numbers their spelling. Errors name line and
// column.
func ParseJSON(data []byte) (Value, error) {
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.UseNumber()
	v, err := decode(dec, 0)
	if err == nil {
		if _, tail := dec.Token(); !errors.Is(tail, io.EOF) {
			err = errors.New("more than one JSON value")
		}
	}
	if err != nil {
		if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
			err = errors.New("the JSON text ends too early")
		}
		offset := dec.InputOffset()
		var syntax *json.SyntaxError
		if errors.As(err, &syntax) {
			offset = max(syntax.Offset-1, 0)
		}
		line, col := LineCol(string(data), int(offset))
		return Value{}, fmt.Errorf("%d:%d: %w", line, col, err)
	}
	return v, nil
}

// LineCol turns a byte offset in text into a line and a column, both from 1,
// the column counted in characters.
func LineCol(text string, offset int) (line, col int) {
	before := text[:min(offset, len(text))]
	line = 1
	for i := range len(before) {
		if before[i] == '\n' {
			line++
		}
	}
	if i := lastNewline(before); i >= 0 {
		before = before[i+1:]
	}
	return line, utf8.RuneCountInString(before) + 1
}

func lastNewline(s string) int {
	for i := len(s) - 1; i >= 0; i-- {
		if s[i] == '\n' {
			return i
		}
	}
	return -1
}

func decode(dec *json.Decoder, depth int) (Value, error) {
	if depth > maxDepth {
		return Value{}, fmt.Errorf("nested deeper than %d", maxDepth)
	}
	tok, err := dec.Token()
	if err != nil {
		return Value{}, err
	}
	switch t := tok.(type) {
	case nil:
		return Value{}, nil
	case bool:
		return OfBool(t), nil
	case string:
		return OfString(t), nil
	case json.Number:
		return number(string(t)), nil
	case json.Delim:
		if t == '[' {
			return decodeList(dec, depth)
		}
		return decodeMap(dec, depth)
	}
	return Value{}, fmt.Errorf("unexpected token %v", tok)
}

func decodeList(dec *json.Decoder, depth int) (Value, error) {
	items := []Value{}
	for dec.More() {
		item, err := decode(dec, depth+1)
		if err != nil {
			return Value{}, err
		}
		items = append(items, item)
	}
	_, err := dec.Token()
	return OfList(items...), err
}

func decodeMap(dec *json.Decoder, depth int) (Value, error) {
	m := NewMap(4)
	for dec.More() {
		key, err := dec.Token()
		if err != nil {
			return Value{}, err
		}
		member, err := decode(dec, depth+1)
		if err != nil {
			return Value{}, err
		}
		m.Set(key.(string), member)
	}
	_, err := dec.Token()
	return OfMap(m), err
}

// UnmarshalJSON reads what [ParseJSON] reads.
func (v *Value) UnmarshalJSON(data []byte) error {
	parsed, err := ParseJSON(data)
	if err == nil {
		*v = parsed
	}
	return err
}

// MarshalJSON writes compact JSON: keys in order, numbers as they were spelt,
// non-ASCII text and <, > and & as they are.
func (v Value) MarshalJSON() ([]byte, error) { return v.AppendJSON(nil), nil }

// JSON is the compact JSON text of the value.
func (v Value) JSON() string { return string(v.AppendJSON(nil)) }

// String is the JSON text, for messages and %v.
func (v Value) String() string { return v.JSON() }

// AppendJSON appends the compact JSON text to b.
func (v Value) AppendJSON(b []byte) []byte { return v.append(b, "", "", 0) }

// AppendIndented appends JSON text with a line per member, each indented by
// indent once per level.
func (v Value) AppendIndented(b []byte, indent string) []byte {
	return v.append(b, "\n", indent, 0)
}

func (v Value) append(b []byte, newline, indent string, depth int) []byte {
	space := func(d int) {
		if newline != "" {
			b = append(b, newline...)
			for range d {
				b = append(b, indent...)
			}
		}
	}
	switch x := v.v.(type) {
	case nil:
		return append(b, "null"...)
	case bool:
		return strconv.AppendBool(b, x)
	case int64:
		return strconv.AppendInt(b, x, 10)
	case float64:
		return appendFloat(b, x)
	case raw:
		return append(b, x...)
	case string:
		return AppendQuoted(b, x)
	case []Value:
		b = append(b, '[')
		for i, item := range x {
			if i > 0 {
				b = append(b, ',')
			}
			space(depth + 1)
			b = item.append(b, newline, indent, depth+1)
		}
		if len(x) > 0 {
			space(depth)
		}
		return append(b, ']')
	case *Map:
		b = append(b, '{')
		for i, k := range x.keys {
			if i > 0 {
				b = append(b, ',')
			}
			space(depth + 1)
			b = append(AppendQuoted(b, k), ':')
			if newline != "" {
				b = append(b, ' ')
			}
			b = x.vals[i].append(b, newline, indent, depth+1)
		}
		if x.Len() > 0 {
			space(depth)
		}
		return append(b, '}')
	}
	return b
}

// appendFloat writes a float as Python's repr does, so that it reads back as a
// float: 3.0, 0.1, 1e+16.
func appendFloat(b []byte, f float64) []byte {
	format := byte('f')
	if abs := math.Abs(f); abs != 0 && (abs < 1e-4 || abs >= 1e16) {
		format = 'e'
	}
	n := len(b)
	b = strconv.AppendFloat(b, f, format, -1, 64)
	if format == 'f' && bytes.IndexByte(b[n:], '.') < 0 {
		b = append(b, ".0"...)
	}
	return b
}

// AppendQuoted appends s as a JSON string. Only what JSON demands is escaped;
// bytes that are not UTF-8 become U+FFFD.
func AppendQuoted(b []byte, s string) []byte {
	const hex = "0123456789abcdef"
	b = append(b, '"')
	start := 0
	for i := 0; i < len(s); {
		c := s[i]
		if c < utf8.RuneSelf {
			if c >= ' ' && c != '"' && c != '\\' {
				i++
				continue
			}
			b = append(b, s[start:i]...)
			switch c {
			case '"', '\\':
				b = append(b, '\\', c)
			case '\n':
				b = append(b, '\\', 'n')
			case '\r':
				b = append(b, '\\', 'r')
			case '\t':
				b = append(b, '\\', 't')
			default:
				b = append(b, '\\', 'u', '0', '0', hex[c>>4], hex[c&15])
			}
			i++
			start = i
			continue
		}
		r, size := utf8.DecodeRuneInString(s[i:])
		if r == utf8.RuneError && size == 1 {
			b = append(append(b, s[start:i]...), "\uFFFD"...)
			start = i + 1
		}
		i += size
	}
	return append(append(b, s[start:]...), '"')
}

// isNumber says whether s is a number by the grammar of RFC 8259.
func isNumber(s string) bool {
	digits := func() bool {
		n := 0
		for n < len(s) && s[n] >= '0' && s[n] <= '9' {
			n++
		}
		s = s[n:]
		return n > 0
	}
	if s != "" && s[0] == '-' {
		s = s[1:]
	}
	if s != "" && s[0] == '0' {
		s = s[1:]
	} else if !digits() {
		return false
	}
	if s != "" && s[0] == '.' {
		s = s[1:]
		if !digits() {
			return false
		}
	}
	if s != "" && (s[0] == 'e' || s[0] == 'E') {
		s = s[1:]
		if s != "" && (s[0] == '+' || s[0] == '-') {
			s = s[1:]
		}
		if !digits() {
			return false
		}
	}
	return s == ""
}
