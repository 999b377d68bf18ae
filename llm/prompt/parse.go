package prompt

import (
	"slices"
	"strings"
)

// whole reads an expression that fills the tokens; commas make a tuple.
func (p *parser) whole() (node, error) {
	n, err := p.tupleOf(true, nil)
	if err == nil && !p.atEnd() {
		err = p.unexpected("")
	}
	return n, err
}

// tupleOf reads expressions separated by commas: one is itself, more are a
// tuple. stop says where the list ends beside brackets and the end.
func (p *parser) tupleOf(cond bool, stop func() bool) (node, error) {
	var items []node
	start := p.cur().off
	comma := false
	for {
		if len(items) > 0 && !comma {
			break
		}
		if p.tupleEnd() || stop != nil && stop() {
			break
		}
		x, err := p.condOrOr(cond)
		if err != nil {
			return nil, err
		}
		items = append(items, x)
		comma = p.op(",")
	}
	switch {
	case len(items) == 0:
		return nil, p.unexpected("expected an expression")
	case len(items) == 1 && !comma:
		return items[0], nil
	}
	return &listNode{place(start), items, true}, nil
}

func (p *parser) tupleEnd() bool {
	t := p.cur()
	return t.kind == tokEnd || t.is(tokOp, ")")
}

func (p *parser) condOrOr(cond bool) (node, error) {
	if cond {
		return p.expr()
	}
	return p.or()
}

// expr reads one expression with its inline ifs.
func (p *parser) expr() (node, error) {
	if err := p.deeper(); err != nil {
		return nil, err
	}
	defer func() { p.depth-- }()
	n, err := p.or()
	if err != nil {
		return nil, err
	}
	for chained := 0; p.word("if"); chained++ {
		if chained > maxNesting {
			return nil, limitAt(n.pos(), "more than %d ifs in a row", maxNesting)
		}
		cond, err := p.or()
		if err != nil {
			return nil, err
		}
		c := &condNode{place: place(n.pos()), cond: cond, yes: n}
		if p.word("else") {
			if c.no, err = p.expr(); err != nil {
				return nil, err
			}
		}
		n = c
	}
	return n, nil
}

func (p *parser) or() (node, error) {
	return p.chain(p.and, func() bool { return p.word("or") }, func(a, b node) node {
		return &logicNode{place(a.pos()), true, a, b}
	})
}

func (p *parser) and() (node, error) {
	return p.chain(p.not, func() bool { return p.word("and") }, func(a, b node) node {
		return &logicNode{place(a.pos()), false, a, b}
	})
}

// chain reads left-associative operators. The tree of a chain is as deep as the
// chain is long, so its length counts as depth.
func (p *parser) chain(operand func() (node, error), op func() bool, join func(a, b node) node) (node, error) {
	depth := p.depth
	defer func() { p.depth = depth }()
	n, err := operand()
	for err == nil && op() {
		if err = p.deeper(); err != nil {
			return nil, err
		}
		var b node
		if b, err = operand(); err == nil {
			n = join(n, b)
		}
	}
	return n, err
}

func (p *parser) not() (node, error) {
	if t := p.cur(); t.is(tokName, "not") {
		if err := p.deeper(); err != nil {
			return nil, err
		}
		defer func() { p.depth-- }()
		p.i++
		x, err := p.not()
		return &unaryNode{place(t.off), '!', x}, err
	}
	return p.compare()
}

func (p *parser) compare() (node, error) {
	first, err := p.sum()
	if err != nil {
		return nil, err
	}
	c := &compareNode{place: place(first.pos()), first: first}
	for {
		op := p.cur().text
		switch t := p.cur(); {
		case t.kind == tokOp && (op == "==" || op == "!=" || op == "<" || op == "<=" || op == ">" || op == ">="):
			p.i++
		case t.is(tokName, "in"):
			p.i++
		case t.is(tokName, "not") && p.look().is(tokName, "in"):
			op = "not in"
			p.i += 2
		default:
			if len(c.ops) == 0 {
				return first, nil
			}
			return c, nil
		}
		x, err := p.sum()
		if err != nil {
			return nil, err
		}
		c.ops, c.rest = append(c.ops, op), append(c.rest, x)
	}
}

// operators reads a chain of binary operators.
func (p *parser) operators(operand func() (node, error), ops ...string) (node, error) {
	op, off := "", 0
	return p.chain(operand, func() bool {
		t := p.cur()
		if t.kind != tokOp || !slices.Contains(ops, t.text) {
			return false
		}
		op, off = t.text, t.off
		p.i++
		return true
	}, func(a, b node) node { return &binaryNode{place(off), op, a, b} })
}

func (p *parser) sum() (node, error) { return p.operators(p.concat, "+", "-") }

func (p *parser) concat() (node, error) {
	n, err := p.product()
	if err != nil || !p.cur().is(tokOp, "~") {
		return n, err
	}
	c := &concatNode{place(n.pos()), []node{n}}
	for p.op("~") {
		x, err := p.product()
		if err != nil {
			return nil, err
		}
		c.parts = append(c.parts, x)
	}
	return c, nil
}

func (p *parser) product() (node, error) { return p.operators(p.power, "*", "/", "//", "%") }

func (p *parser) power() (node, error) {
	return p.operators(func() (node, error) { return p.unary(true) }, "**")
}

// unary reads a sign, or a primary with what follows it. A sign binds tighter
// than ** and filters, as in Jinja2.
func (p *parser) unary(filters bool) (node, error) {
	if err := p.deeper(); err != nil {
		return nil, err
	}
	defer func() { p.depth-- }()
	var n node
	var err error
	if t := p.cur(); t.is(tokOp, "-") || t.is(tokOp, "+") {
		p.i++
		if n, err = p.unary(false); err == nil {
			n = &unaryNode{place(t.off), t.text[0], n}
		}
	} else {
		n, err = p.primary()
	}
	if err != nil {
		return nil, err
	}
	depth := p.depth
	defer func() { p.depth = depth }()
	if n, err = p.postfix(n); err != nil || !filters {
		return n, err
	}
	return p.filters(n)
}

func (p *parser) primary() (node, error) {
	t := p.cur()
	switch t.kind {
	case tokName:
		p.i++
		switch t.text {
		case "true", "True":
			return &constNode{place(t.off), ofBool(true)}, nil
		case "false", "False":
			return &constNode{place(t.off), ofBool(false)}, nil
		case "none", "None":
			return &constNode{place(t.off), none}, nil
		}
		if f, ok := p.funcs[t.text]; ok {
			return &constNode{place(t.off), funcValue(t.text, f)}, nil
		}
		return &nameNode{place(t.off), t.text, p.slots.of(t.text)}, nil
	case tokString:
		var s strings.Builder
		for p.cur().kind == tokString {
			s.WriteString(p.advance().text)
		}
		return &constNode{place(t.off), ofStr(s.String())}, nil
	case tokInt, tokFloat:
		p.i++
		return &constNode{place(t.off), t.num}, nil
	case tokOp:
		switch t.text {
		case "(":
			return p.parens()
		case "[":
			return p.list()
		case "{":
			return p.dict()
		}
	case tokEnd:
	}
	return nil, p.unexpected("expected an expression")
}

func (p *parser) parens() (node, error) {
	start := p.advance().off
	outer := p.noColon
	p.noColon = 0
	defer func() { p.noColon = outer }()
	if p.op(")") {
		return &listNode{place(start), nil, true}, nil
	}
	n, err := p.tupleOf(true, nil)
	if err != nil {
		return nil, err
	}
	return n, p.expect(")")
}

func (p *parser) list() (node, error) {
	n := &listNode{place: place(p.advance().off)}
	outer := p.noColon
	p.noColon = 0
	defer func() { p.noColon = outer }()
	for !p.op("]") {
		x, err := p.expr()
		if err != nil {
			return nil, err
		}
		n.items = append(n.items, x)
		if !p.op(",") && !p.cur().is(tokOp, "]") {
			return nil, p.unexpected("expected ',' or ']'")
		}
	}
	return n, nil
}

func (p *parser) dict() (node, error) {
	n := &dictNode{place: place(p.advance().off)}
	p.noColon++
	defer func() { p.noColon-- }()
	for !p.op("}") {
		k, err := p.expr()
		if err != nil {
			return nil, err
		}
		if err := p.expect(":"); err != nil {
			return nil, err
		}
		v, err := p.expr()
		if err != nil {
			return nil, err
		}
		n.keys, n.vals = append(n.keys, k), append(n.vals, v)
		if !p.op(",") && !p.cur().is(tokOp, "}") {
			return nil, p.unexpected("expected ',' or '}'")
		}
	}
	return n, nil
}
