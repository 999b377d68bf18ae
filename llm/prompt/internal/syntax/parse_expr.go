package syntax

import (
	"slices"
	"strings"

	"github.com/callnode/scheduler/llm/prompt/internal/ast"
	"github.com/callnode/scheduler/llm/prompt/internal/fault"
	"github.com/callnode/scheduler/llm/prompt/internal/pyvalue"
)

// parseWhole reads an expression that fills the tokens; commas make a tuple.
func (p *parser) parseWhole() (ast.Node, error) {
	n, err := p.parseTuple(true, nil)
	if err == nil && !p.isAtEnd() {
		err = p.unexpectedError("")
	}
	return n, err
}

// parseTuple reads expressions separated by commas: one is itself, more are a tuple. stop reports further ends of
// the list, besides brackets and the end of the source.
func (p *parser) parseTuple(cond bool, stop func() bool) (ast.Node, error) {
	var items []ast.Node
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
	return &ast.ListNode{Position: ast.Position(start), Items: items, Tuple: true}, nil
}

func (p *parser) isTupleEnd() bool {
	t := p.current()
	return t.kind == tokEnd || t.matches(tokOp, ")")
}

func (p *parser) parseExprOrOr(cond bool) (ast.Node, error) {
	if cond {
		return p.parseExpr()
	}
	return p.parseOr()
}

// parseExpr reads one expression with its inline ifs.
func (p *parser) parseExpr() (ast.Node, error) {
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
			return nil, fault.LimitAt(n.Pos(), "more than %d ifs in a row", fault.MaxNesting)
		}
		cond, err := p.parseOr()
		if err != nil {
			return nil, err
		}
		c := &ast.CondNode{Position: ast.Position(n.Pos()), Cond: cond, Yes: n}
		if p.acceptWord("else") {
			c.No, err = p.parseExpr()
			if err != nil {
				return nil, err
			}
		}
		n = c
	}
	return n, nil
}

func (p *parser) parseOr() (ast.Node, error) {
	return p.parseChain(p.parseAnd, func() bool { return p.acceptWord("or") }, func(a, b ast.Node) ast.Node {
		return &ast.LogicNode{Position: ast.Position(a.Pos()), Or: true, A: a, B: b}
	})
}

func (p *parser) parseAnd() (ast.Node, error) {
	return p.parseChain(p.parseNot, func() bool { return p.acceptWord("and") }, func(a, b ast.Node) ast.Node {
		return &ast.LogicNode{Position: ast.Position(a.Pos()), Or: false, A: a, B: b}
	})
}

// parseChain reads left-associative operators. The tree of a chain is as deep as the
// chain is long, so its length counts as depth.
func (p *parser) parseChain(operand func() (ast.Node, error), op func() bool, join func(a, b ast.Node) ast.Node) (ast.Node, error) {
	depth := p.depth
	defer func() { p.depth = depth }()
	n, err := operand()
	for err == nil && op() {
		err = p.enterLevel()
		if err != nil {
			return nil, err
		}
		var b ast.Node
		b, err = operand()
		if err == nil {
			n = join(n, b)
		}
	}
	return n, err
}

func (p *parser) parseNot() (ast.Node, error) {
	if t := p.current(); t.matches(tokName, "not") {
		if err := p.enterLevel(); err != nil {
			return nil, err
		}
		defer func() { p.depth-- }()
		p.i++
		x, err := p.parseNot()
		return &ast.UnaryNode{Position: ast.Position(t.off), Op: '!', X: x}, err
	}
	return p.parseComparison()
}

var comparisons = []string{"==", "!=", "<", "<=", ">", ">="}

func (p *parser) parseComparison() (ast.Node, error) {
	first, err := p.parseSum()
	if err != nil {
		return nil, err
	}
	c := &ast.CompareNode{Position: ast.Position(first.Pos()), First: first}
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
			if len(c.Ops) == 0 {
				return first, nil
			}
			return c, nil
		}
		x, err := p.parseSum()
		if err != nil {
			return nil, err
		}
		c.Ops, c.Rest = append(c.Ops, op), append(c.Rest, x)
	}
}

// parseOperators reads a chain of binary operators.
func (p *parser) parseOperators(operand func() (ast.Node, error), ops ...string) (ast.Node, error) {
	op, off := "", 0
	return p.parseChain(operand, func() bool {
		t := p.current()
		if t.kind != tokOp || !slices.Contains(ops, t.text) {
			return false
		}
		op, off = t.text, t.off
		p.i++
		return true
	}, func(a, b ast.Node) ast.Node { return &ast.BinaryNode{Position: ast.Position(off), Op: op, A: a, B: b} })
}

func (p *parser) parseSum() (ast.Node, error) { return p.parseOperators(p.parseConcat, "+", "-") }

func (p *parser) parseConcat() (ast.Node, error) {
	n, err := p.parseProduct()
	if err != nil || !p.current().matches(tokOp, "~") {
		return n, err
	}
	c := &ast.ConcatNode{Position: ast.Position(n.Pos()), Parts: []ast.Node{n}}
	for p.acceptOp("~") {
		x, err := p.parseProduct()
		if err != nil {
			return nil, err
		}
		c.Parts = append(c.Parts, x)
	}
	return c, nil
}

func (p *parser) parseProduct() (ast.Node, error) {
	return p.parseOperators(p.parsePower, "*", "/", "//", "%")
}

func (p *parser) parsePower() (ast.Node, error) {
	return p.parseOperators(func() (ast.Node, error) { return p.parseUnary(true) }, "**")
}

// parseUnary reads a sign, or a primary with its suffixes. A sign binds tighter than ** and filters, as in Jinja2.
func (p *parser) parseUnary(filters bool) (ast.Node, error) {
	if err := p.enterLevel(); err != nil {
		return nil, err
	}
	defer func() { p.depth-- }()
	var n ast.Node
	var err error
	if t := p.current(); t.matches(tokOp, "-") || t.matches(tokOp, "+") {
		p.i++
		n, err = p.parseUnary(false)
		if err == nil {
			n = &ast.UnaryNode{Position: ast.Position(t.off), Op: t.text[0], X: n}
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

func (p *parser) parsePrimary() (ast.Node, error) {
	t := p.current()
	switch t.kind {
	case tokName:
		p.i++
		switch t.text {
		case "true", "True":
			return &ast.ConstNode{Position: ast.Position(t.off), V: pyvalue.OfBool(true), Stop: t.end}, nil
		case "false", "False":
			return &ast.ConstNode{Position: ast.Position(t.off), V: pyvalue.OfBool(false), Stop: t.end}, nil
		case "none", "None":
			return &ast.ConstNode{Position: ast.Position(t.off), V: pyvalue.None, Stop: t.end}, nil
		}
		if f, ok := p.funcs[t.text]; ok {
			return &ast.ConstNode{Position: ast.Position(t.off), V: pyvalue.FuncValue(t.text, f), Stop: t.end}, nil
		}
		return &ast.NameNode{Position: ast.Position(t.off), Name: t.text, Slot: p.slots.SlotOf(t.text)}, nil
	case tokString:
		var s strings.Builder
		for p.current().kind == tokString {
			s.WriteString(p.advance().text)
		}
		return &ast.ConstNode{Position: ast.Position(t.off), V: pyvalue.OfStr(s.String()), Stop: p.toks[p.i-1].end}, nil
	case tokInt, tokFloat:
		p.i++
		return &ast.ConstNode{Position: ast.Position(t.off), V: t.num, Stop: t.end}, nil
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

func (p *parser) parseParens() (ast.Node, error) {
	start := p.advance().off
	outer := p.noColon
	p.noColon = 0
	defer func() { p.noColon = outer }()
	if p.acceptOp(")") {
		return &ast.ListNode{Position: ast.Position(start), Items: nil, Tuple: true}, nil
	}
	n, err := p.parseTuple(true, nil)
	if err != nil {
		return nil, err
	}
	return n, p.expect(")")
}

func (p *parser) parseList() (ast.Node, error) {
	n := &ast.ListNode{Position: ast.Position(p.advance().off)}
	outer := p.noColon
	p.noColon = 0
	defer func() { p.noColon = outer }()
	for !p.acceptOp("]") {
		x, err := p.parseExpr()
		if err != nil {
			return nil, err
		}
		n.Items = append(n.Items, x)
		if !p.acceptOp(",") && !p.current().matches(tokOp, "]") {
			return nil, p.unexpectedError("expected ',' or ']'")
		}
	}
	return n, nil
}

func (p *parser) parseDict() (ast.Node, error) {
	n := &ast.DictNode{Position: ast.Position(p.advance().off)}
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
		n.Keys, n.Vals = append(n.Keys, k), append(n.Vals, v)
		if !p.acceptOp(",") && !p.current().matches(tokOp, "}") {
			return nil, p.unexpectedError("expected ',' or '}'")
		}
	}
	return n, nil
}
