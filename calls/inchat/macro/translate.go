package macro

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/callnode/scheduler/llm/prompt"
	"github.com/callnode/scheduler/llm/value"
)

// Limits of python code.
const (
	maxCode     = 16 << 10
	maxPyNested = 40
)

// compile translates python code to expressions of templates: the precedence of
// Python becomes parentheses, constants become names, functions and variables get
// names of their own. What is not in the subset is an error.
func compile(code string, holes []string) (*program, error) {
	if len(code) > maxCode {
		return nil, fmt.Errorf("the code has %d bytes, more than %d", len(code), maxCode)
	}
	if strings.Count(code, hole) != len(holes) {
		return nil, errors.New("the code contains a NUL character")
	}
	tokens, err := lexPython(strings.TrimSpace(code), holes)
	if err != nil {
		return nil, err
	}
	t := &translator{tokens: tokens, out: &program{consts: value.NewMap(8)}, locals: map[string]bool{}}
	t.out.stmts = t.block(0)
	if t.err == nil && t.peek().kind != 0 {
		t.unexpected()
	}
	if t.err == nil && len(t.out.stmts) == 0 {
		t.err = errors.New("there is no code")
	}
	return t.out, t.err
}

// translator is a parser by recursive descent. After the first error all tokens
// are at their end.
type translator struct {
	tokens []token
	at     int
	depth  int
	out    *program
	locals map[string]bool
	err    error
}

func (t *translator) fail(format string, args ...any) string {
	if t.err == nil {
		t.err = fmt.Errorf(format, args...)
		t.at = len(t.tokens)
	}
	return ""
}

func (t *translator) unexpected() string {
	switch tok := t.peek(); tok.kind {
	case 0:
		return t.fail("the code ends too early")
	case 'k':
		return t.fail("unexpected %s", clip(tok.val.JSON()))
	case 'l':
		return t.fail("unexpected end of a line; %w", errCode)
	default:
		return t.fail("unexpected %s; %w", tok.text, errCode)
	}
}

func (t *translator) peek() token {
	if t.at < len(t.tokens) {
		return t.tokens[t.at]
	}
	return token{}
}

// is says whether the next token is that operator or word.
func (t *translator) is(text string) bool {
	tok := t.peek()
	return (tok.kind == 'o' || tok.kind == 'n') && tok.text == text
}

func (t *translator) accept(text string) bool {
	if t.is(text) {
		t.at++
		return true
	}
	return false
}

func (t *translator) expect(text string) {
	if !t.accept(text) {
		t.unexpected()
	}
}

// compiled reads an expression and compiles it.
func (t *translator) compiled() *prompt.Expr {
	source := t.ternary()
	if t.err != nil {
		return nil
	}
	e, err := prompt.ParseExpr(prompt.Source{Text: source}, functions)
	if err != nil {
		var pe *prompt.Error
		if errors.As(err, &pe) {
			err = errors.New(pe.Msg)
		}
		t.fail("%w", err)
	}
	return e
}

// The methods below follow Python's grammar from the loosest operator to the
// tightest. Each gives the text of an expression.

func (t *translator) ternary() string {
	if t.depth++; t.depth > maxPyNested {
		return t.fail("the code is nested deeper than %d", maxPyNested)
	}
	defer func() { t.depth-- }()
	x := t.or()
	if t.accept("if") {
		cond := t.or()
		t.expect("else")
		return "(" + x + " if " + cond + " else " + t.ternary() + ")"
	}
	return x
}

// chain reads operands with operators of one level between them, from left to
// right.
func (t *translator) chain(operand func() string, operators ...string) string {
	x := operand()
	for t.err == nil {
		op := ""
		for _, o := range operators {
			if t.accept(o) {
				op = o
				break
			}
		}
		switch op {
		case "":
			return x
		case "^":
			x = "py_xor(" + x + ", " + operand() + ")"
		default:
			x = "(" + x + " " + op + " " + operand() + ")"
		}
	}
	return x
}

func (t *translator) or() string  { return t.chain(t.and, "or") }
func (t *translator) and() string { return t.chain(t.not, "and") }

func (t *translator) not() string {
	negate, many := false, false
	for t.accept("not") {
		negate, many = !negate, true
	}
	x := t.comparison()
	switch {
	case negate:
		return "(not " + x + ")"
	case many:
		return "(not (not " + x + "))"
	}
	return x
}

func (t *translator) comparison() string {
	x := t.xor()
	count := 0
	for ; t.err == nil; count++ {
		op := ""
		for _, o := range []string{"<", ">", "<=", ">=", "==", "!=", "in"} {
			if t.accept(o) {
				op = o
				break
			}
		}
		if op == "" && t.accept("not") {
			t.expect("in")
			op = "not in"
		}
		if op == "" && t.is("is") && count == 0 {
			return t.identity(x)
		}
		if op == "" {
			break
		}
		x += " " + op + " " + t.xor()
	}
	if count > 0 {
		return "(" + x + ")"
	}
	return x
}

// identity reads what follows a first operand: is, or is not.
func (t *translator) identity(x string) string {
	t.at++
	negate := t.accept("not")
	y := "py_is(" + x + ", " + t.xor() + ")"
	if negate {
		return "(not " + y + ")"
	}
	return y
}

func (t *translator) xor() string  { return t.chain(t.sum, "^") }
func (t *translator) sum() string  { return t.chain(t.term, "+", "-") }
func (t *translator) term() string { return t.chain(t.factor, "*", "//", "/", "%") }

func (t *translator) factor() string {
	if t.depth++; t.depth > maxPyNested {
		return t.fail("the code is nested deeper than %d", maxPyNested)
	}
	defer func() { t.depth-- }()
	for _, sign := range []string{"+", "-"} {
		if t.accept(sign) {
			return "(" + sign + t.factor() + ")"
		}
	}
	x := t.atom()
	if t.accept("**") {
		return "(" + x + " ** " + t.factor() + ")"
	}
	return x
}

func (t *translator) atom() string {
	switch tok := t.peek(); {
	case tok.kind == 'k':
		t.at++
		v := tok.val
		for tok.text == "string" && t.peek().text == "string" && t.peek().kind == 'k' { // "a" "b" is "ab"
			s, _ := v.Str()
			more, _ := t.peek().val.Str()
			v = value.OfString(s + more)
			t.at++
		}
		return t.constant(v)
	case tok.kind == 'n':
		return t.name()
	case t.accept("("):
		return t.parens()
	case t.accept("["):
		list, _, _ := t.items("]")
		return "[" + list + "]"
	case t.accept("{"):
		return t.dict()
	}
	return t.unexpected()
}

func (t *translator) constant(v value.Value) string {
	name := "k" + strconv.Itoa(t.out.consts.Len())
	t.out.consts.Set(name, v)
	return name
}

// items reads what is separated by commas, up to the closing bracket.
func (t *translator) items(closing string) (list string, count int, comma bool) {
	var items []string
	for t.err == nil && !t.is(closing) {
		items = append(items, t.ternary())
		if !t.accept(",") {
			break
		}
		comma = true
	}
	t.expect(closing)
	return strings.Join(items, ", "), len(items), comma
}

// parens reads (x), which is x, or a tuple.
func (t *translator) parens() string {
	list, count, comma := t.items(")")
	switch {
	case count == 1 && comma:
		return "(" + list + ",)"
	case count == 1:
		return list
	}
	return "(" + list + ")"
}

func (t *translator) dict() string {
	var items []string
	for t.err == nil && !t.is("}") {
		key := t.ternary()
		t.expect(":")
		items = append(items, key+": "+t.ternary())
		if !t.accept(",") {
			break
		}
	}
	t.expect("}")
	return "{" + strings.Join(items, ", ") + "}"
}

// name reads a constant, a variable, a function call, vars[path] or a member of
// a module.
func (t *translator) name() string {
	name := t.peek().text
	t.at++
	switch name {
	case "True":
		return "true"
	case "False":
		return "false"
	case "None":
		return "none"
	case "vars":
		t.expect("[")
		path := t.ternary()
		t.expect("]")
		return "py_getvar(" + path + ")"
	}
	if t.is(".") && (name == "math" || name == "random") {
		t.at++
		name += "_" + t.peek().text
		t.at++
		if v, ok := constants[name]; ok {
			return t.constant(value.OfFloat(v))
		}
	}
	if t.accept("(") {
		if functions["py_"+name] == nil {
			return t.fail("there is no function %s", clip(name))
		}
		t.out.volatile = t.out.volatile || strings.HasPrefix(name, "random_") || name == "legacy_roll"
		args, _, _ := t.items(")")
		return "py_" + name + "(" + args + ")"
	}
	if t.locals[name] {
		return "v_" + name
	}
	return t.fail("there is no variable %s (chat variables are read with getvar)", clip(name))
}
