package macro

import (
	"context"
	"errors"
	"math"
	"math/big"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/callnode/scheduler/llm/prompt"
	"github.com/callnode/scheduler/llm/value"
)

// program is the code of a python macro: an expression, or assignments and ifs
// that leave something in the variable result.
type program struct {
	stmts    []stmt
	consts   *value.Map // the constants of the code, by the names that expressions use
	volatile bool
}

// stmt is an expression, an assignment to name, or an if.
type stmt struct {
	name  string
	expr  *prompt.Expr
	tuple bool // the expression is a tuple, which prints in parentheses
	isIf  bool
	body  []stmt
	rest  []stmt // else
}

type runKey struct{}

// runOf is the run that a function is called in.
func runOf(ctx context.Context) *run { return ctx.Value(runKey{}).(*run) }

// exec runs a program and prints what it gives. An error gives nothing.
func (r *run) exec(p *program) string {
	ctx, cancel := context.WithTimeout(context.WithValue(r.ctx, runKey{}, r), maxTime)
	defer cancel()
	s := &pythonScope{consts: p.consts, locals: value.NewMap(2)}
	out, err := s.exec(ctx, p.stmts)
	if first := p.stmts[0]; len(p.stmts) > 1 || first.isIf || first.name != "" {
		result, _ := s.locals.Get("v_result")
		out = text(result)
	}
	if err != nil {
		var e *prompt.Error
		if errors.As(err, &e) && e.Msg != "" {
			err = errors.New(e.Msg)
		}
		r.fail("python: %v", err)
		return ""
	}
	return out
}

// pythonOf runs code that has macros in it. What they give is data: inside a
// string it is a piece of the string, outside a number, True, False, None or a
// string, but never code.
func (r *run) pythonOf(nodes []node) string {
	var code strings.Builder
	var holes []string
	for _, n := range nodes {
		if n.call == nil {
			code.WriteString(strings.ReplaceAll(n.text, hole, " "))
			continue
		}
		code.WriteString(hole)
		holes = append(holes, r.call(n.call))
	}
	p, err := compile(code.String(), holes)
	if err != nil {
		r.fail("python %q: %v", clip(strings.ReplaceAll(code.String(), hole, "…")), err)
		return ""
	}
	return r.exec(p)
}

// pythonScope gives the constants and the variables of a program.
type pythonScope struct{ consts, locals *value.Map }

// Lookup finds a constant or a variable.
func (s *pythonScope) Lookup(name string) (value.Value, bool, error) {
	if v, ok := s.consts.Get(name); ok {
		return v, true, nil
	}
	v, ok := s.locals.Get(name)
	return v, ok, nil
}

// exec runs statements and prints the last expression.
func (s *pythonScope) exec(ctx context.Context, stmts []stmt) (out string, err error) {
	for _, st := range stmts {
		v, err := st.expr.Eval(ctx, s)
		if err != nil {
			return "", err
		}
		switch {
		case st.isIf:
			branch := st.rest
			if prompt.Truthy(v) {
				branch = st.body
			}
			if _, err := s.exec(ctx, branch); err != nil {
				return "", err
			}
		case st.name != "":
			s.locals.Set(st.name, v)
		case st.tuple:
			inner := strings.TrimSuffix(strings.TrimPrefix(prompt.Text(v), "["), "]")
			if len(v.List()) == 1 {
				inner += ","
			}
			out = "(" + inner + ")"
		default:
			out = text(v)
		}
	}
	return out, nil
}

// hole stands in code for the text of a macro.
const hole = "\x00"

// token is a piece of code. kind is n (a name), k (a constant), o (an operator),
// l (the end of a line; indent is how far the next is moved in) or 0 (the end).
type token struct {
	kind   byte
	text   string
	val    value.Value
	indent int
}

var errCode = errors.New("only expressions, assignments and if are supported")

// operators, longest first. What Python has beyond them is refused.
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
		case c >= '0' && c <= '9' || c == '.' && len(rest) > 1 && rest[1] >= '0' && rest[1] <= '9':
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
				return nil, errors.New("unexpected " + string(r))
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

// holeValue is what the text of a macro means where code expects an operand.
func holeValue(s string) value.Value {
	switch t := strings.TrimSpace(s); t {
	case "True", "False":
		return value.OfBool(t == "True")
	case "None":
		return value.Value{}
	default:
		if i, ok := parseInt(t); ok && !strings.Contains(t, "_") {
			return value.OfBig(i)
		}
		if f, ok := parseFloat(t); ok && !math.IsInf(f, 0) && !math.IsNaN(f) {
			return value.OfFloat(f)
		}
	}
	return value.OfString(s)
}

// lexNumber reads an integer or a float with single underscores between digits.
func lexNumber(code string) (v value.Value, n int, err error) {
	for n < len(code) {
		c := code[n]
		if c >= '0' && c <= '9' || c == '.' || c == '_' ||
			(c == 'e' || c == 'E') || (c == '+' || c == '-') && (code[n-1] == 'e' || code[n-1] == 'E') {
			n++
			continue
		}
		break
	}
	spelt := code[:n]
	if i, ok := parseInt(spelt); ok {
		return value.OfBig(i), n, nil
	}
	if f, ok := parseFloat(strings.ReplaceAll(spelt, "_", "")); ok && !math.IsInf(f, 0) {
		return value.OfFloat(f), n, nil
	}
	return v, 0, errors.New("not a number: " + clip(spelt))
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
			return "", 0, nil, errors.New("a string is not closed")
		default:
			b.WriteByte(c)
			n++
		}
	}
	return "", 0, nil, errors.New("a string is not closed")
}

// bigOf is an integer of a value that Python counts as one: true is 1.
func bigOf(v value.Value) (*big.Int, bool) {
	if b, ok := v.Bool(); ok {
		if b {
			return big.NewInt(1), true
		}
		return new(big.Int), true
	}
	return v.Big()
}
