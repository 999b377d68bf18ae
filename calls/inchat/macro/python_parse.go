package macro

import (
	"errors"
	"strconv"
	"strings"

	"github.com/callnode/scheduler/llm/prompt"
	"github.com/callnode/scheduler/llm/value"
	"github.com/callnode/scheduler/llm/value/wording"
)

// Limits of python code.
const (
	maxCode     = 16 << 10
	maxPyNested = 40
)

// compilePython translates python code to expressions of templates: the precedence of Python becomes parentheses,
// constants become names, functions and variables get names of their own. Code outside the subset is an error.
func compilePython(code string, holes []string) (*program, error) {
	if len(code) > maxCode {
		return nil, wording.Errorf("the code has %d bytes, more than %d", len(code), maxCode)
	}
	if strings.Count(code, hole) != len(holes) {
		return nil, wording.Errorf("the code contains a NUL character")
	}
	tokens, err := lexPython(strings.TrimSpace(code), holes)
	if err != nil {
		return nil, err
	}
	t := &translator{tokens: tokens, out: &program{consts: value.NewMap(8)}, locals: map[string]bool{}}
	t.out.stmts = t.parseBlock(0)
	if t.err == nil && t.peek().kind != 0 {
		t.failUnexpected()
	}
	if t.err == nil && len(t.out.stmts) == 0 {
		t.err = wording.Errorf("there is no code")
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
		t.err = wording.Errorf(format, args...)
		t.at = len(t.tokens)
	}
	return ""
}

func (t *translator) failUnexpected() string {
	switch tok := t.peek(); tok.kind {
	case 0:
		return t.fail("the code ends too early")
	case 'k':
		return t.fail("unexpected %s", value.Truncate(tok.val.JSON(), 60))
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

// nextIs reports whether the next token is that operator or word.
func (t *translator) nextIs(text string) bool {
	tok := t.peek()
	isOperatorOrWord := tok.kind == 'o' || tok.kind == 'n'
	return isOperatorOrWord && tok.text == text
}

func (t *translator) accept(text string) bool {
	if t.nextIs(text) {
		t.at++
		return true
	}
	return false
}

func (t *translator) expect(text string) {
	if !t.accept(text) {
		t.failUnexpected()
	}
}

// compileExpr reads an expression and compiles it.
func (t *translator) compileExpr() *prompt.Expr {
	source := t.parseTernary()
	if t.err != nil {
		return nil
	}
	e, err := prompt.ParseExpr(prompt.Source{Text: source}, functions)
	if err != nil {
		var pe *prompt.Error
		if errors.As(err, &pe) {
			message, _ := pe.Text()
			err = wording.Errorf("%s", message)
		}
		t.fail("%w", err)
	}
	return e
}

// The methods below follow Python's grammar from the loosest operator to the
// tightest. Each returns the text of an expression.

func (t *translator) parseTernary() string {
	t.depth++
	if t.depth > maxPyNested {
		return t.fail("the code is nested deeper than %d", maxPyNested)
	}
	defer func() { t.depth-- }()
	x := t.parseOr()
	if t.accept("if") {
		cond := t.parseOr()
		t.expect("else")
		return "(" + x + " if " + cond + " else " + t.parseTernary() + ")"
	}
	return x
}

// parseChain reads operands with operators of one level between them, from left to
// right.
func (t *translator) parseChain(operand func() string, operators ...string) string {
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

func (t *translator) parseOr() string  { return t.parseChain(t.parseAnd, "or") }
func (t *translator) parseAnd() string { return t.parseChain(t.parseNot, "and") }

func (t *translator) parseNot() string {
	negate, many := false, false
	for t.accept("not") {
		negate, many = !negate, true
	}
	x := t.parseComparison()
	if negate {
		return "(not " + x + ")"
	}
	if many {
		return "(not (not " + x + "))"
	}
	return x
}

func (t *translator) parseComparison() string {
	x := t.parseXor()
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
		if op == "" && t.nextIs("is") && count == 0 {
			return t.parseIs(x)
		}
		if op == "" {
			break
		}
		x += " " + op + " " + t.parseXor()
	}
	if count > 0 {
		return "(" + x + ")"
	}
	return x
}

// parseIs reads the rest of a comparison after the first operand: is, or is not.
func (t *translator) parseIs(x string) string {
	t.at++
	negate := t.accept("not")
	y := "py_is(" + x + ", " + t.parseXor() + ")"
	if negate {
		return "(not " + y + ")"
	}
	return y
}

func (t *translator) parseXor() string  { return t.parseChain(t.parseSum, "^") }
func (t *translator) parseSum() string  { return t.parseChain(t.parseTerm, "+", "-") }
func (t *translator) parseTerm() string { return t.parseChain(t.parseFactor, "*", "//", "/", "%") }

func (t *translator) parseFactor() string {
	t.depth++
	if t.depth > maxPyNested {
		return t.fail("the code is nested deeper than %d", maxPyNested)
	}
	defer func() { t.depth-- }()
	for _, sign := range []string{"+", "-"} {
		if t.accept(sign) {
			return "(" + sign + t.parseFactor() + ")"
		}
	}
	x := t.parseAtom()
	if t.accept("**") {
		return "(" + x + " ** " + t.parseFactor() + ")"
	}
	return x
}

func (t *translator) parseAtom() string {
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
		return t.addConstant(v)
	case tok.kind == 'n':
		return t.parseName()
	case t.accept("("):
		return t.parseParens()
	case t.accept("["):
		list, _, _ := t.parseItems("]")
		return "[" + list + "]"
	case t.accept("{"):
		return t.parseDict()
	}
	return t.failUnexpected()
}

func (t *translator) addConstant(v value.Value) string {
	name := "k" + strconv.Itoa(t.out.consts.Len())
	t.out.consts.Set(name, v)
	return name
}

// parseItems reads items separated by commas, up to the closing bracket.
func (t *translator) parseItems(closing string) (list string, count int, comma bool) {
	var items []string
	for t.err == nil && !t.nextIs(closing) {
		items = append(items, t.parseTernary())
		if !t.accept(",") {
			break
		}
		comma = true
	}
	t.expect(closing)
	return strings.Join(items, ", "), len(items), comma
}

// parseParens reads (x), which is x, or a tuple.
func (t *translator) parseParens() string {
	list, count, comma := t.parseItems(")")
	if count == 1 && comma {
		return "(" + list + ",)"
	}
	if count == 1 {
		return list
	}
	return "(" + list + ")"
}

func (t *translator) parseDict() string {
	var items []string
	for t.err == nil && !t.nextIs("}") {
		key := t.parseTernary()
		t.expect(":")
		items = append(items, key+": "+t.parseTernary())
		if !t.accept(",") {
			break
		}
	}
	t.expect("}")
	return "{" + strings.Join(items, ", ") + "}"
}

// parseName reads a constant, a variable, a function call, vars[path] or a member of
// a module.
func (t *translator) parseName() string {
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
		path := t.parseTernary()
		t.expect("]")
		return "py_getvar(" + path + ")"
	}
	isModule := name == "math" || name == "random"
	if isModule && t.nextIs(".") {
		t.at++
		name += "_" + t.peek().text
		t.at++
		if v, ok := constants[name]; ok {
			return t.addConstant(value.OfFloat(v))
		}
	}
	if t.accept("(") {
		if functions["py_"+name] == nil {
			return t.fail("there is no function %s", value.Truncate(name, 60))
		}
		t.out.volatile = t.out.volatile || strings.HasPrefix(name, "random_") || name == "legacy_roll"
		args, _, _ := t.parseItems(")")
		return "py_" + name + "(" + args + ")"
	}
	if t.locals[name] {
		return "v_" + name
	}
	return t.fail("there is no variable %s (chat variables are read with getvar)", value.Truncate(name, 60))
}
