package prompt

import (
	"slices"
	"strings"

	"github.com/callnode/scheduler/llm/prompt/internal/fault"
	"github.com/callnode/scheduler/llm/prompt/internal/py"
)

// parseWhole reads an expression that fills the tokens; commas make a tuple.
func (p *parser) parseWhole() (node, error) {
	n, err := p.parseTuple(true, nil)
	if err == nil && !p.isAtEnd() {
		err = p.unexpectedError("")
	}
	return n, err
}

// parseTuple reads expressions separated by commas: one is itself, more are a
// tuple. stop reports
// where the list ends besides brackets and the end.
func (p *parser) parseTuple(cond bool, stop func() bool) (node, error) {
	var items []node
	start := p.current().off
	comma := false
	for {
		if len(items) > 0 && !comma {
			break
		}
		isStop := stop != nil && stop()
		if isStop || p.isTupleEnd() {
			break
		}
		x, err := p.parseExprOrOr(cond)
		if err != nil {
			return nil, err
		}
		items = append(items, x)
		comma = p.acceptOp(",")
	}
	if len(items) == 0 {
		return nil, p.unexpectedError("expected an expression")
	}
	if len(items) == 1 && !comma {
		return items[0], nil
	}
	return &listNode{position(start), items, true}, nil
}

func (p *parser) isTupleEnd() bool {
	t := p.current()
	return t.kind == tokEnd || t.matches(tokOp, ")")
}

func (p *parser) parseExprOrOr(cond bool) (node, error) {
	if cond {
		return p.parseExpr()
	}
	return p.parseOr()
}

// parseExpr reads one expression with its inline ifs.
func (p *parser) parseExpr() (node, error) {
	if err := p.enterLevel(); err != nil {
		return nil, err
	}
	defer func() { p.depth-- }()
	n, err := p.parseOr()
	if err != nil {
		return nil, err
	}
	for chained := 0; p.acceptWord("if"); chained++ {
		if chained > fault.MaxNesting {
			return nil, fault.LimitAt(n.pos(), "more than %d ifs in a row", fault.MaxNesting)
		}
		cond, err := p.parseOr()
		if err != nil {
			return nil, err
		}
		c := &condNode{position: position(n.pos()), cond: cond, yes: n}
		if p.acceptWord("else") {
			c.no, err = p.parseExpr()
			if err != nil {
				return nil, err
			}
		}
		n = c
	}
	return n, nil
}

func (p *parser) parseOr() (node, error) {
	return p.parseChain(p.parseAnd, func() bool { return p.acceptWord("or") }, func(a, b node) node {
		return &logicNode{position(a.pos()), true, a, b}
	})
}

func (p *parser) parseAnd() (node, error) {
	return p.parseChain(p.parseNot, func() bool { return p.acceptWord("and") }, func(a, b node) node {
		return &logicNode{position(a.pos()), false, a, b}
	})
}

// parseChain reads left-associative operators. The tree of a chain is as deep as the
// chain is long, so its length counts as depth.
func (p *parser) parseChain(operand func() (node, error), op func() bool, join func(a, b node) node) (node, error) {
	depth := p.depth
	defer func() { p.depth = depth }()
	n, err := operand()
	for err == nil && op() {
		err = p.enterLevel()
		if err != nil {
			return nil, err
		}
		var b node
		b, err = operand()
		if err == nil {
			n = join(n, b)
		}
	}
	return n, err
}

func (p *parser) parseNot() (node, error) {
	if t := p.current(); t.matches(tokName, "not") {
		if err := p.enterLevel(); err != nil {
			return nil, err
		}
		defer func() { p.depth-- }()
		p.i++
		x, err := p.parseNot()
		return &unaryNode{position(t.off), '!', x}, err
	}
	return p.parseComparison()
}

var comparisons = []string{"==", "!=", "<", "<=", ">", ">="}

func (p *parser) parseComparison() (node, error) {
	first, err := p.parseSum()
	if err != nil {
		return nil, err
	}
	c := &compareNode{position: position(first.pos()), first: first}
	for {
		op := p.current().text
		switch t := p.current(); {
		case t.kind == tokOp && slices.Contains(comparisons, op):
			p.i++
		case t.matches(tokName, "in"):
			p.i++
		case t.matches(tokName, "not") && p.peekNext().matches(tokName, "in"):
			op = "not in"
			p.i += 2
		default:
			if len(c.ops) == 0 {
				return first, nil
			}
			return c, nil
		}
		x, err := p.parseSum()
		if err != nil {
			return nil, err
		}
		c.ops, c.rest = append(c.ops, op), append(c.rest, x)
	}
}

// parseOperators reads a chain of binary operators.
func (p *parser) parseOperators(operand func() (node, error), ops ...string) (node, error) {
	op, off := "", 0
	return p.parseChain(operand, func() bool {
		t := p.current()
		if t.kind != tokOp || !slices.Contains(ops, t.text) {
			return false
		}
		op, off = t.text, t.off
		p.i++
		return true
	}, func(a, b node) node { return &binaryNode{position(off), op, a, b} })
}

func (p *parser) parseSum() (node, error) { return p.parseOperators(p.parseConcat, "+", "-") }

func (p *parser) parseConcat() (node, error) {
	n, err := p.parseProduct()
	if err != nil || !p.current().matches(tokOp, "~") {
		return n, err
	}
	c := &concatNode{position(n.pos()), []node{n}}
	for p.acceptOp("~") {
		x, err := p.parseProduct()
		if err != nil {
			return nil, err
		}
		c.parts = append(c.parts, x)
	}
	return c, nil
}

func (p *parser) parseProduct() (node, error) {
	return p.parseOperators(p.parsePower, "*", "/", "//", "%")
}

func (p *parser) parsePower() (node, error) {
	return p.parseOperators(func() (node, error) { return p.parseUnary(true) }, "**")
}

// parseUnary reads a sign, or a primary with what follows it. A sign binds tighter
// than ** and filters, as in Jinja2.
func (p *parser) parseUnary(filters bool) (node, error) {
	if err := p.enterLevel(); err != nil {
		return nil, err
	}
	defer func() { p.depth-- }()
	var n node
	var err error
	if t := p.current(); t.matches(tokOp, "-") || t.matches(tokOp, "+") {
		p.i++
		n, err = p.parseUnary(false)
		if err == nil {
			n = &unaryNode{position(t.off), t.text[0], n}
		}
	} else {
		n, err = p.parsePrimary()
	}
	if err != nil {
		return nil, err
	}
	depth := p.depth
	defer func() { p.depth = depth }()
	n, err = p.parsePostfix(n)
	if err != nil || !filters {
		return n, err
	}
	return p.parseFilters(n)
}

func (p *parser) parsePrimary() (node, error) {
	t := p.current()
	switch t.kind {
	case tokName:
		p.i++
		switch t.text {
		case "true", "True":
			return &constNode{position(t.off), py.OfBool(true), t.end}, nil
		case "false", "False":
			return &constNode{position(t.off), py.OfBool(false), t.end}, nil
		case "none", "None":
			return &constNode{position(t.off), py.None, t.end}, nil
		}
		if f, ok := p.funcs[t.text]; ok {
			return &constNode{position(t.off), py.FuncValue(t.text, f), t.end}, nil
		}
		return &nameNode{position(t.off), t.text, p.slots.slotOf(t.text)}, nil
	case tokString:
		var s strings.Builder
		for p.current().kind == tokString {
			s.WriteString(p.advance().text)
		}
		return &constNode{position(t.off), py.OfStr(s.String()), p.toks[p.i-1].end}, nil
	case tokInt, tokFloat:
		p.i++
		return &constNode{position(t.off), t.num, t.end}, nil
	case tokOp:
		switch t.text {
		case "(":
			return p.parseParens()
		case "[":
			return p.parseList()
		case "{":
			return p.parseDict()
		}
	case tokEnd:
	}
	return nil, p.unexpectedError("expected an expression")
}

func (p *parser) parseParens() (node, error) {
	start := p.advance().off
	outer := p.noColon
	p.noColon = 0
	defer func() { p.noColon = outer }()
	if p.acceptOp(")") {
		return &listNode{position(start), nil, true}, nil
	}
	n, err := p.parseTuple(true, nil)
	if err != nil {
		return nil, err
	}
	return n, p.expect(")")
}

func (p *parser) parseList() (node, error) {
	n := &listNode{position: position(p.advance().off)}
	outer := p.noColon
	p.noColon = 0
	defer func() { p.noColon = outer }()
	for !p.acceptOp("]") {
		x, err := p.parseExpr()
		if err != nil {
			return nil, err
		}
		n.items = append(n.items, x)
		if !p.acceptOp(",") && !p.current().matches(tokOp, "]") {
			return nil, p.unexpectedError("expected ',' or ']'")
		}
	}
	return n, nil
}

func (p *parser) parseDict() (node, error) {
	n := &dictNode{position: position(p.advance().off)}
	p.noColon++
	defer func() { p.noColon-- }()
	for !p.acceptOp("}") {
		k, err := p.parseExpr()
		if err != nil {
			return nil, err
		}
		if err := p.expect(":"); err != nil {
			return nil, err
		}
		v, err := p.parseExpr()
		if err != nil {
			return nil, err
		}
		n.keys, n.vals = append(n.keys, k), append(n.vals, v)
		if !p.acceptOp(",") && !p.current().matches(tokOp, "}") {
			return nil, p.unexpectedError("expected ',' or '}'")
		}
	}
	return n, nil
}
