package yaml

import (
	"bytes"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/callnode/scheduler/llm/value"
)

// step is the indentation of each level.
const step = 2

// maxPlainKey keeps keys, as written with their escapes, below the length that YAML allows in front of a colon
// (1024 characters); longer ones are written behind a question mark.
const maxPlainKey = 200

// Append appends v as one YAML document that people can read and compare: a line per member and element, keys in
// their order, numbers with their spelling, text of several lines as a block. [ParseValue] reads back an equal
// value, as long as it keeps within its limits; bytes that are not UTF-8 become U+FFFD.
func Append(b []byte, v value.Value) []byte {
	w := writer{b: b}
	if isCollection(v) {
		w.writeCollection(v, 0)
	} else {
		w.writeScalar(v, step)
		w.b = append(w.b, '\n')
	}
	return w.b
}

type writer struct{ b []byte }

func (w *writer) writeText(s string) { w.b = append(w.b, s...) }

func (w *writer) writeIndent(n int) {
	for range n {
		w.b = append(w.b, ' ')
	}
}

// isCollection reports whether v takes lines of its own.
func isCollection(v value.Value) bool { return len(v.List()) > 0 || v.Map().Len() > 0 }

// writeCollection writes a list or an object that is not empty, every entry in column indent; the first begins at
// the end of the text.
func (w *writer) writeCollection(v value.Value, indent int) {
	for i, item := range v.List() {
		if i > 0 {
			w.writeIndent(indent)
		}
		w.writeText("-")
		w.writeEntry(item, indent, true)
	}
	for i := range v.Map().Len() {
		if i > 0 {
			w.writeIndent(indent)
		}
		key, member := v.Map().Entry(i)
		w.writeKey(key, indent)
		w.writeText(":")
		w.writeEntry(member, indent, false)
	}
}

// writeKey writes the text before the colon of an entry in column indent.
func (w *writer) writeKey(key string, indent int) {
	start := len(w.b)
	w.writeLine(key)
	if len(w.b)-start > maxPlainKey {
		w.b = slices.Insert(w.b, start, '?', ' ')
		w.writeText("\n")
		w.writeIndent(indent)
	}
}

// writeEntry writes the value after a dash or a colon in column indent.
func (w *writer) writeEntry(v value.Value, indent int, dash bool) {
	switch {
	case isCollection(v) && dash:
		w.writeText(" ")
		w.writeCollection(v, indent+step)
	case isCollection(v):
		w.writeText("\n")
		w.writeIndent(indent + step)
		w.writeCollection(v, indent+step)
	default:
		w.writeText(" ")
		w.writeScalar(v, indent+step)
		w.writeText("\n")
	}
}

// writeScalar writes any other value, the lines of a block in column indent.
func (w *writer) writeScalar(v value.Value, indent int) {
	s, isString := v.Str()
	switch {
	case isString && fitsBlock(s):
		w.writeBlock(s, indent)
	case isString:
		w.writeLine(s)
	case v.Kind() == value.Int || v.Kind() == value.Float:
		// YAML reads a number beyond float64 as a string, unless it is tagged.
		if f, _ := v.Float(); math.IsInf(f, 0) {
			w.writeText("!!float ")
		}
		w.b = v.AppendJSON(w.b)
	default:
		w.b = v.AppendJSON(w.b)
	}
}

// fitsBlock reports whether s has several lines that a block keeps unchanged.
func fitsBlock(s string) bool {
	return strings.Contains(s, "\n") && strings.Trim(s, " \t\n") != "" &&
		isPrintable(strings.ReplaceAll(s, "\n", ""))
}

// writeBlock writes a literal block. A block that begins with white space states its indentation.
func (w *writer) writeBlock(s string, indent int) {
	w.writeText("|")
	if strings.ContainsRune(" \t\n", rune(s[0])) {
		w.b = strconv.AppendInt(w.b, step, 10)
	}
	body := strings.TrimSuffix(s, "\n")
	if body == s {
		w.writeText("-")
	} else if strings.HasSuffix(body, "\n") {
		w.writeText("+")
	}
	for line := range strings.SplitSeq(body, "\n") {
		w.writeText("\n")
		if line != "" {
			w.writeIndent(indent)
			w.writeText(line)
		}
	}
}

// writeLine writes s on one line: plain if that is safe, else in the quotes that need fewer escapes.
func (w *writer) writeLine(s string) {
	switch {
	case isPlain(s):
		w.writeText(s)
	case isPrintable(s) && strings.ContainsAny(s, `"\`):
		w.writeText("'")
		w.writeText(strings.ReplaceAll(s, "'", "''"))
		w.writeText("'")
	default:
		w.doubleQuoted(s)
	}
}

// doubleQuoted writes a JSON string, in which YAML wants some more characters
// escaped than JSON does.
func (w *writer) doubleQuoted(s string) {
	quoted := value.AppendQuoted(nil, s)
	for len(quoted) > 0 {
		r, size := utf8.DecodeRune(quoted)
		if isPrintableRune(r) {
			w.b = append(w.b, quoted[:size]...)
		} else {
			w.writeText(`\u`)
			hex := strconv.FormatInt(int64(r), 16)
			w.b = append(append(w.b, bytes.Repeat([]byte("0"), 4-len(hex))...), hex...)
		}
		quoted = quoted[size:]
	}
}

// isPrintable reports whether s may be written in YAML without escapes, on one line.
func isPrintable(s string) bool {
	if !utf8.ValidString(s) {
		return false
	}
	for _, r := range s {
		if !isPrintableRune(r) {
			return false
		}
	}
	return true
}

func isPrintableRune(r rune) bool {
	switch r {
	case '\t':
		return true
	case 0x2028, 0x2029, 0xfeff, 0xfffe, 0xffff:
		return false
	}
	return !unicode.IsControl(r)
}

// words are plain scalars that some reader of YAML takes for something else than
// a string.
var words = map[string]bool{
	"true": true, "false": true, "null": true, "yes": true, "no": true,
	"on": true, "off": true, "y": true, "n": true,
}

// isPlain reports whether s reads as a string without quotes. It errs on the side of quotes: a plain text begins
// with a letter and has no special character of YAML.
func isPlain(s string) bool {
	first, _ := utf8.DecodeRuneInString(s)
	isFirst := unicode.IsLetter(first) || first == '_' || first == '/'
	if !isFirst || words[strings.ToLower(s)] {
		return false
	}
	if strings.HasSuffix(s, " ") || strings.HasSuffix(s, ":") {
		return false
	}
	hasMark := strings.Contains(s, ": ") || strings.Contains(s, " #") || strings.Contains(s, "\t")
	return !hasMark && isPrintable(s)
}
