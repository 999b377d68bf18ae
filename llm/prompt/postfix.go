package prompt

// postfix reads members, subscripts and calls.
func (p *parser) postfix(n node) (node, error) {
	for {
		var err error
		switch t := p.cur(); {
		case t.is(tokOp, "."):
			n, err = p.member(n)
		case t.is(tokOp, "["):
			n, err = p.subscript(n)
		case t.is(tokOp, "("):
			n, err = p.call(n)
		default:
			return n, nil
		}
		if err == nil {
			err = p.deeper()
		}
		if err != nil {
			return nil, err
		}
	}
}

func (p *parser) call(fn node) (node, error) {
	args, err := p.arguments()
	return &callNode{place(fn.pos()), fn, args}, err
}

func (p *parser) member(obj node) (node, error) {
	p.i++
	t := p.advance()
	switch t.kind {
	case tokName:
		if err := checkMember(t, p.cur().is(tokOp, "(")); err != nil {
			return nil, err
		}
		return &attrNode{
			place: place(obj.pos()), obj: obj, name: t.text,
			path: memberPath(pathText(obj), t.text), method: dictMethods[t.text],
		}, nil
	case tokInt:
		return &itemNode{place(obj.pos()), obj, &constNode{place(t.off), t.num}}, nil
	default:
		p.i--
		if t.kind == tokEnd {
			p.i++
		}
		return nil, p.unexpected("expected a name or a number after '.'")
	}
}

func (p *parser) subscript(obj node) (node, error) {
	start := p.advance().off
	p.noColon++
	defer func() { p.noColon-- }()
	var keys []node
	for !p.op("]") {
		if len(keys) > 0 {
			if err := p.expect(","); err != nil {
				return nil, err
			}
		}
		var bounds [3]node
		part, colons := 0, false
		for !p.cur().is(tokOp, "]") && !p.cur().is(tokOp, ",") {
			if p.op(":") {
				colons = true
				if part++; part > 2 {
					return nil, p.unexpected("expected ']'")
				}
				continue
			}
			if bounds[part] != nil {
				return nil, p.unexpected("expected ']'")
			}
			x, err := p.expr()
			if err != nil {
				return nil, err
			}
			bounds[part] = x
		}
		if colons {
			if len(keys) > 0 || !p.cur().is(tokOp, "]") {
				return nil, p.unexpected("expected ']'")
			}
			p.i++
			return &sliceNode{place(obj.pos()), obj, bounds[0], bounds[1], bounds[2]}, nil
		}
		if bounds[0] == nil {
			return nil, p.unexpected("expected an expression")
		}
		keys = append(keys, bounds[0])
	}
	switch len(keys) {
	case 0:
		return nil, syntaxAt(start, "expected an expression between '[' and ']'")
	case 1:
		return &itemNode{place(obj.pos()), obj, keys[0]}, nil
	}
	return &itemNode{place(obj.pos()), obj, &listNode{place(start), keys, true}}, nil
}

// arguments reads what stands between the parentheses of a call.
func (p *parser) arguments() ([]argument, error) {
	outer := p.noColon
	p.noColon = 0
	defer func() { p.noColon = outer }()
	if err := p.expect("("); err != nil {
		return nil, err
	}
	var args []argument
	named := false
	for !p.op(")") {
		if len(args) > 0 {
			if err := p.expect(","); err != nil {
				return nil, err
			}
			if p.op(")") {
				break
			}
		}
		var a argument
		t := p.cur()
		if t.is(tokOp, "*") || t.is(tokOp, "**") {
			e := syntaxAt(t.off, "unpacking arguments with %s is not supported", t.text)
			e.Hint = "write the arguments one by one"
			return nil, e
		}
		if t.kind == tokName && p.look().is(tokOp, "=") {
			a.name, named = t.text, true
			p.i += 2
		} else if named {
			return nil, syntaxAt(t.off, "positional arguments must stand before arguments by name")
		}
		x, err := p.expr()
		if err != nil {
			return nil, err
		}
		a.x = x
		if args = append(args, a); len(args) > maxArguments {
			return nil, limitAt(t.off, "more than %d arguments", maxArguments)
		}
	}
	return args, nil
}

// filters reads filters, tests and calls after a primary.
func (p *parser) filters(n node) (node, error) {
	for {
		var err error
		switch t := p.cur(); {
		case t.is(tokOp, "|"):
			p.i++
			n, err = p.filter(n)
		case t.is(tokName, "is"):
			p.i++
			n, err = p.test(n)
		case t.is(tokOp, "("):
			n, err = p.call(n)
		default:
			return n, nil
		}
		if err == nil {
			err = p.deeper()
		}
		if err != nil {
			return nil, err
		}
	}
}

// filter reads a filter's name and arguments; in is nil in a filter block.
func (p *parser) filter(in node) (node, error) {
	t, err := p.name()
	if err != nil {
		return nil, err
	}
	n := &filterNode{place: place(t.off), in: in, name: t.text}
	def, ok := filterTable()[t.text]
	if !ok {
		return nil, unknownName("filter", t, sortedKeys(filterTable()))
	}
	n.def = def
	switch {
	case p.cur().is(tokOp, "("):
		if n.args, err = p.arguments(); err != nil {
			return nil, err
		}
	case p.noColon == 0 && p.cur().is(tokOp, ":") && p.look().kind != tokEnd: // as pongo2 and Django write it
		p.i++
		x, err := p.primary()
		if err != nil {
			return nil, err
		}
		if x, err = p.postfix(x); err != nil {
			return nil, err
		}
		n.args = []argument{{x: x}}
	}
	return n, nil
}

func (p *parser) test(in node) (node, error) {
	n := &testNode{in: in, not: p.word("not")}
	t, err := p.name()
	if err != nil {
		return nil, err
	}
	n.place, n.name = place(in.pos()), t.text
	def, ok := testTable()[t.text]
	if !ok {
		return nil, unknownName("test", t, sortedKeys(testTable()))
	}
	n.def = def
	if p.cur().is(tokOp, "(") {
		n.args, err = p.arguments()
		return n, err
	}
	switch c := p.cur(); c.kind {
	case tokName:
		switch c.text {
		case "else", "or", "and", "if", "not", "in":
			return n, nil
		case "is":
			return nil, syntaxAt(c.off, "tests cannot be chained with is: join them with 'and'")
		}
	case tokString, tokInt, tokFloat:
	case tokOp:
		if c.text != "[" && c.text != "{" {
			return n, nil
		}
	case tokEnd:
		return n, nil
	}
	x, err := p.primary()
	if err == nil {
		x, err = p.postfix(x)
	}
	n.args = []argument{{x: x}}
	return n, err
}
