package extract

import (
	"fmt"
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/callnode/scheduler/llm/value"
	"github.com/callnode/scheduler/llm/value/wording"
)

// closing is the quote that ends a string, by the one that begins it.
var closing = map[rune]rune{'"': '"', '\'': '\'', '“': '”', '‘': '’'}

// marks are the signs between values, by how they may be written.
var marks = map[rune]byte{'{': '{', '}': '}', '[': '[', ']': ']', ',': ',', '，': ',', ':': ':', '：': ':'}

// words are the values that are words, by how they may be written.
var words = map[string]string{
	"true": "true", "True": "true", "false": "false", "False": "false",
	"null": "null", "None": "null", "undefined": "null",
}

var (
	word       = value.CompileLater(`^[\pL\pN_$+\-.]+`)
	identifier = value.CompileLater(`^[\pL_$][\pL\pN_$-]*$`)
	named      = value.CompileLater(`^[\s\pZ]*[:：]`)
	hex2       = regexp.MustCompile(`^x[0-9a-fA-F]{2}`)
	hex4       = regexp.MustCompile(`^u[0-9a-fA-F]{4}`)
)

var errBeyond = wording.Errorf("the text is not another notation of JSON")

// rewriteStrict writes JSON in the notation of the standard: strings in double quotes, names too, the words of
// Python, no comments, no commas after the last. The content of strings stays. It adds nothing that is missing:
// the result may still not be JSON.
func rewriteStrict(text string) (string, error) {
	var b strings.Builder
	comma := false // one is pending: none is written before a bracket that closes
	for len(text) > 0 {
		r, n := utf8.DecodeRuneInString(text)
		if unicode.IsSpace(r) {
			text = text[n:]
			continue
		}
		if n := commentLength(text); n > 0 {
			text = text[n:]
			continue
		}
		mark := marks[r]
		if comma && mark != '}' && mark != ']' {
			b.WriteByte(',')
		}
		comma = mark == ','
		switch {
		case comma:
		case mark != 0:
			b.WriteByte(mark)
		case closing[r] != 0:
			rest, err := text[n:], error(nil)
			n, err = writeString(&b, rest, closing[r])
			if err != nil {
				return "", err
			}
			text = rest
		default:
			token := word().FindString(text)
			n = len(token)
			value, known := words[token]
			switch {
			case n == 0:
				return "", errBeyond
			case identifier().MatchString(token) && named().MatchString(text[n:]):
				fmt.Fprintf(&b, "%q", token)
			case known:
				b.WriteString(value)
			case token[0] == '-', '0' <= token[0] && token[0] <= '9':
				b.WriteString(token + " ")
			default:
				return "", errBeyond
			}
		}
		text = text[n:]
	}
	return b.String(), nil
}

// writeString writes the string that text begins with, up to its closing quote, and
// returns its length.
func writeString(b *strings.Builder, text string, end rune) (n int, err error) {
	b.WriteByte('"')
	for i := 0; i < len(text); {
		r, size := utf8.DecodeRuneInString(text[i:])
		i += size
		switch {
		case r == end:
			b.WriteByte('"')
			return i, nil
		case r == '\\':
			i += writeEscape(b, text[i:])
		case r == '"':
			b.WriteString(`\"`)
		case r < ' ':
			fmt.Fprintf(b, `\u%04x`, r)
		default:
			b.WriteRune(r)
		}
	}
	return 0, errBeyond
}

// writeEscape writes the escape after a backslash, and returns its length in text. A backslash that escapes
// nothing is kept as it is.
func writeEscape(b *strings.Builder, text string) (n int) {
	switch {
	case text == "":
		return 0
	case strings.IndexByte(`"\/bfnrt`, text[0]) >= 0:
		b.WriteString(`\` + text[:1])
		return 1
	case text[0] == '\'':
		b.WriteByte('\'')
		return 1
	case hex4.MatchString(text):
		b.WriteString(`\` + text[:5])
		return 5
	case hex2.MatchString(text):
		b.WriteString(`\u00` + text[1:3])
		return 3
	}
	b.WriteString(`\\`)
	return 0
}
