package value

import (
	"bytes"
	"math"
	"strconv"
	"unicode/utf8"
)

// UnmarshalJSON accepts the same text as [ParseJSON].
func (v *Value) UnmarshalJSON(data []byte) error {
	parsed, err := ParseJSON(data)
	if err == nil {
		*v = parsed
	}
	return err
}

// MarshalJSON writes compact JSON: keys in order, numbers with their spelling, non-ASCII text and <, > and &
// unescaped.
func (v Value) MarshalJSON() ([]byte, error) { return v.AppendJSON(nil), nil }

// JSON returns the compact JSON text of the value.
func (v Value) JSON() string { return string(v.AppendJSON(nil)) }

// PlainText returns a text without quotes, and any other value as JSON.
func (v Value) PlainText() string {
	if s, ok := v.Str(); ok {
		return s
	}
	return v.JSON()
}

// String returns the JSON text, for messages and %v.
func (v Value) String() string { return v.JSON() }

// AppendJSON appends the compact JSON text to b.
func (v Value) AppendJSON(b []byte) []byte { return v.appendFormatted(b, "", "", 0) }

// AppendIndented appends JSON text with a line per member, each indented by
// indent once per level.
func (v Value) AppendIndented(b []byte, indent string) []byte {
	return v.appendFormatted(b, "\n", indent, 0)
}

func (v Value) appendFormatted(b []byte, newline, indent string, depth int) []byte {
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
			b = item.appendFormatted(b, newline, indent, depth+1)
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
			b = x.vals[i].appendFormatted(b, newline, indent, depth+1)
		}
		if x.Len() > 0 {
			space(depth)
		}
		return append(b, '}')
	case *hidden:
		return v.unhide().AppendJSON(b)
	}
	return b
}

// appendFloat writes a float as Python's repr does, so that it reads back as a
// float: 3.0, 0.1, 1e+16.
func appendFloat(b []byte, f float64) []byte {
	format := byte('f')
	abs := math.Abs(f)
	isShort := 1e-4 <= abs && abs < 1e16
	if abs != 0 && !isShort {
		format = 'e'
	}
	n := len(b)
	b = strconv.AppendFloat(b, f, format, -1, 64)
	if format == 'f' && bytes.IndexByte(b[n:], '.') < 0 {
		b = append(b, ".0"...)
	}
	return b
}

// AppendQuoted appends s as a JSON string. Only characters that JSON requires to be escaped are; bytes that are
// not UTF-8 become U+FFFD.
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
