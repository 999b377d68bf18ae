package macro

import (
	"math"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/callnode/scheduler/llm/prompt"
	"github.com/callnode/scheduler/llm/value"
	"github.com/callnode/scheduler/llm/value/wording"
)

// hole is the placeholder in code for the text of a macro.
const hole = "\x00"

// token is a piece of code. kind is n (a name), k (a constant), o (an operator),
// l (the end of a line; indent is how far the next is moved in) or 0 (the end).
type token struct {
	kind   byte
	text   string
	val    value.Value
	indent int
}

var errCode = wording.Errorf("only expressions, assignments and if are supported")

// operators, longest first. Other operators of Python are refused.
var pyOperators = []string{
	"**", "//", "<=", ">=", "==", "!=", "+", "-", "*", "/", "%", "^", "<", ">", "(", ")", "[", "]", "{", "}", ",", ":", ".", "=", ";",
}

// lexPython takes code apart.
func lexPython(code string, holes []string) ([]token, error) {
	var out []token
	nesting := 0
	for i := 0; i < len(code); {
		rest := code[i:]
		c := rest[0]
		r, _ := utf8.DecodeRuneInString(rest)
		switch {
		case c == '\n':
			i++
			if line := strings.TrimLeft(code[i:], " \t"); nesting == 0 && line != "" && strings.IndexByte("\r\n#", line[0]) < 0 {
				out = append(out, token{kind: 'l', indent: len(code) - i - len(line)})
			}
		case c == ' ' || c == '\t' || c == '\r':
			i++
		case c == '#':
			comment, _, _ := strings.Cut(rest, "\n")
			holes = holes[strings.Count(comment, hole):]
			i += len(comment)
		case c == hole[0]:
			out = append(out, token{kind: 'k', val: holeValue(holes[0])})
			holes = holes[1:]
			i++
		case c == '"' || c == '\'':
			s, n, left, err := lexString(rest, holes)
			if err != nil {
				return nil, err
			}
			holes = left
			i += n
			out = append(out, token{kind: 'k', val: value.OfString(s), text: "string"})
		case beginsNumber(rest):
			v, n, err := lexNumber(rest)
			if err != nil {
				return nil, err
			}
			i += n
			out = append(out, token{kind: 'k', val: v})
		case r == '_' || unicode.IsLetter(r):
			n := strings.IndexFunc(rest, func(r rune) bool { return r != '_' && !unicode.IsLetter(r) && !unicode.IsDigit(r) })
			if n < 0 {
				n = len(rest)
			}
			i += n
			out = append(out, token{kind: 'n', text: rest[:n]})
		default:
			op := ""
			for _, o := range pyOperators {
				if strings.HasPrefix(rest, o) {
					op = o
					break
				}
			}
			switch op {
			case "":
				return nil, wording.Errorf("unexpected %s", string(r))
			case "(", "[", "{":
				nesting++
			case ")", "]", "}":
				nesting--
			}
			i += len(op)
			out = append(out, token{kind: 'o', text: op})
		}
	}
	return out, nil
}

// beginsNumber reports whether code begins with a digit, or a point and a digit.
func beginsNumber(code string) bool {
	code = strings.TrimPrefix(code, ".")
	return code != "" && code[0] >= '0' && code[0] <= '9'
}

// holeValue returns the value of a macro's text in place of an operand.
func holeValue(s string) value.Value {
	switch t := strings.TrimSpace(s); t {
	case "True", "False":
		return value.OfBool(t == "True")
	case "None":
		return value.Value{}
	default:
		if strings.Contains(t, "_") {
			break
		}
		if i, ok := prompt.ParseInt(t); ok {
			return value.OfBig(i)
		}
		if f, ok := prompt.ParseFloat(t); ok && !math.IsInf(f, 0) && !math.IsNaN(f) {
			return value.OfFloat(f)
		}
	}
	return value.OfString(s)
}

// lexNumber reads an integer or a float with single underscores between digits.
func lexNumber(code string) (v value.Value, n int, err error) {
	for n < len(code) {
		c := code[n]
		afterExponent := n > 0 && strings.IndexByte("eE", code[n-1]) >= 0
		isSign := strings.IndexByte("+-", c) >= 0
		if strings.IndexByte("0123456789._eE", c) < 0 && !(isSign && afterExponent) {
			break
		}
		n++
	}
	spelt := code[:n]
	if i, ok := prompt.ParseInt(spelt); ok {
		return value.OfBig(i), n, nil
	}
	if f, ok := prompt.ParseFloat(spelt); ok && !math.IsInf(f, 0) {
		return value.OfFloat(f), n, nil
	}
	return v, 0, wording.Errorf("not a number: %s", value.Truncate(spelt, 60))
}

// lexString reads a quoted string with its escapes; holes inside are filled.
func lexString(code string, holes []string) (s string, n int, left []string, err error) {
	quote := code[:1]
	if strings.HasPrefix(code, quote+quote+quote) {
		quote += quote + quote
	}
	var b strings.Builder
	for n = len(quote); n < len(code); {
		switch c := code[n]; {
		case strings.HasPrefix(code[n:], quote):
			return b.String(), n + len(quote), holes, nil
		case c == hole[0]:
			b.WriteString(holes[0])
			holes = holes[1:]
			n++
		case c == '\\' && n+1 < len(code):
			n += 2
			switch e := code[n-1]; e {
			case 'n':
				b.WriteByte('\n')
			case 't':
				b.WriteByte('\t')
			case 'r':
				b.WriteByte('\r')
			case '\\', '\'', '"':
				b.WriteByte(e)
			case '\n':
			case hole[0]:
				n--
				b.WriteByte('\\')
			default:
				b.WriteString(code[n-2 : n])
			}
		case c == '\n' && len(quote) == 1:
			return "", 0, nil, wording.Errorf("a string is not closed")
		default:
			b.WriteByte(c)
			n++
		}
	}
	return "", 0, nil, wording.Errorf("a string is not closed")
}
