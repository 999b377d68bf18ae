package prompt

import (
	"slices"
	"strings"
)

// statements are the tags of Jinja2 that templates may use, with what reads
// them.
func (c *compiler) statements() map[string]func(p *parser, at int) error {
	return map[string]func(p *parser, at int) error{
		"if": c.ifTag, "for": c.forTag, "set": c.setTag, "macro": c.macroTag, "call": c.callTag,
		"filter": c.filterTag, "with": c.withTag,
	}
}

func (c *compiler) ifTag(p *parser, at int) error {
	cond, err := p.tupleOf(false, nil)
	if err != nil {
		return err
	}
	s := &ifStmt{conds: []node{cond}}
	c.refs.expr(cond)
	b := c.begin("if", tagIf, at, s, nil)
	c.refs.guard(cond)
	b.branch = func(word string, p *parser) error {
		b := &c.open[len(c.open)-1]
		if b.had("else") {
			return syntaxAt(p.toks[0].off, "{%% %s %%} after {%% else %%}", word)
		}
		b.parts = append(b.parts, word)
		if word == "else" {
			c.tree.tag(tagElse)
			return nil
		}
		cond, err := p.tupleOf(false, nil)
		if err != nil {
			return err
		}
		c.refs.expr(cond)
		c.refs.guard(cond)
		s.conds = append(s.conds, cond)
		c.tree.tag(tagElif)
		return nil
	}
	return nil
}

func (c *compiler) forTag(p *parser, at int) error {
	t, err := p.target(false)
	if err != nil {
		return err
	}
	if t.has("loop") {
		return syntaxAt(p.toks[1].off, "a loop variable cannot be named loop")
	}
	if !p.word("in") {
		return p.unexpected("expected 'in'")
	}
	s := &forStmt{target: t}
	if s.iter, err = p.tupleOf(false, func() bool { return p.cur().is(tokName, "recursive") }); err != nil {
		return err
	}
	c.refs.expr(s.iter)
	c.refs.push(t.names()...)
	if p.word("if") {
		if s.cond, err = p.expr(); err != nil {
			return err
		}
		c.refs.expr(s.cond)
	}
	s.recursive = p.word("recursive")
	c.refs.declare("loop")
	b := c.begin("for", tagFor, at, s, func() error {
		c.refs.pop()
		return nil
	})
	if s.cond != nil {
		c.refs.guard(s.cond)
	}
	b.branch = func(word string, p *parser) error {
		b := &c.open[len(c.open)-1]
		if word != "else" || b.had("else") {
			return syntaxAt(p.toks[0].off, "unexpected {%% %s %%} in {%% for %%}", word)
		}
		b.parts = append(b.parts, word)
		c.refs.pop()
		c.refs.push()
		c.tree.tag(tagElse)
		return nil
	}
	return nil
}

// inLoop says whether the innermost scope is a loop, where loop is not to be set.
func (c *compiler) inLoop() bool {
	for _, b := range slices.Backward(c.open) {
		switch b.word {
		case "for":
			return true
		case "macro", "call":
			return false
		}
	}
	return false
}

// isInside reports whether a statement of one of these words is open.
func (c *compiler) isInside(words ...string) bool {
	return slices.ContainsFunc(c.open, func(b block) bool { return slices.Contains(words, b.word) })
}

func (c *compiler) setTag(p *parser, at int) error {
	start := p.cur().off
	t, err := p.target(true)
	if err != nil {
		return err
	}
	if t.has("loop") && c.inLoop() {
		return syntaxAt(start, "loop cannot be set inside of a loop")
	}
	if t.has("caller") && c.isInside("macro", "call") {
		return callerTaken(start)
	}
	if t.attr != "" {
		c.refs.expr(&nameNode{place: place(start), name: t.name})
	}
	if p.op("=") {
		x, err := p.tupleOf(true, nil)
		if err != nil {
			return err
		}
		c.refs.expr(x)
		c.refs.declare(t.names()...)
		c.add(&setStmt{place(start), t, x})
		return nil
	}
	if t.parts != nil {
		return p.unexpected("expected '='")
	}
	s := &setBlockStmt{place: place(start), target: t}
	if s.filter, err = c.filterChain(p, true); err != nil {
		return err
	}
	c.refs.push()
	c.begin("set", tagSetBlock, at, s, func() error {
		c.refs.pop()
		c.refs.declare(t.names()...)
		return nil
	})
	return nil
}

// filterChain reads upper | replace('a', 'b'), the input being what the body of
// the statement writes.
func (c *compiler) filterChain(p *parser, pipe bool) (node, error) {
	var n node
	for !p.atEnd() && !p.cur().is(tokOp, ":") {
		if (pipe || n != nil) && !p.op("|") {
			return nil, p.unexpected("expected '|'")
		}
		in := n
		if in == nil {
			in = &bodyNode{place(p.cur().off)}
		}
		var err error
		if n, err = p.filter(in); err != nil {
			return nil, err
		}
		if err := p.deeper(); err != nil {
			return nil, err
		}
	}
	c.refs.expr(n)
	return n, nil
}

// callerTaken is the error of a variable that would hide the body of {% call %}.
func callerTaken(off int) error {
	e := syntaxAt(off, "in a macro, caller is the body of {%% call %%} and cannot be another variable")
	e.Hint = "choose another name"
	return e
}

// signature reads the parameters of a macro or a call block.
func (c *compiler) signature(p *parser) ([]param, error) {
	var params []param
	if err := p.expect("("); err != nil {
		return nil, err
	}
	for !p.op(")") {
		if len(params) > 0 {
			if err := p.expect(","); err != nil {
				return nil, err
			}
		}
		t, err := p.target(false)
		if err != nil {
			return nil, err
		}
		off := p.toks[p.i-1].off
		if t.name == "" || t.attr != "" {
			return nil, syntaxAt(off, "a parameter must be a name")
		}
		prm := param{name: t.name}
		for _, other := range params {
			if other.name == prm.name {
				return nil, syntaxAt(off, "the parameter %s is there twice", quoted(prm.name))
			}
		}
		if p.op("=") {
			if prm.fallback, err = p.expr(); err != nil {
				return nil, err
			}
		} else if n := len(params); n > 0 && params[n-1].fallback != nil {
			return nil, syntaxAt(off, "a parameter without a default after one with a default")
		}
		if len(params) >= maxArguments {
			return nil, limitAt(off, "more than %d parameters", maxArguments)
		}
		if prm.name == "caller" {
			return nil, callerTaken(off)
		}
		params = append(params, prm)
	}
	return params, nil
}

func (c *compiler) macroTag(p *parser, at int) error {
	name, err := p.assignable()
	if err != nil {
		return err
	}
	s := &macroStmt{place: place(name.off), name: name.text}
	if s.params, err = c.signature(p); err != nil {
		return err
	}
	c.refs.declare(name.text)
	c.macroBody("macro", tagMacro, at, s)
	return nil
}

// macroBody opens the body of a macro or a call block.
func (c *compiler) macroBody(word, tag string, at int, s *macroStmt) {
	mentions := len(c.slots.mentions)
	c.refs.push("caller")
	for _, prm := range s.params {
		c.refs.expr(prm.fallback)
		c.refs.declare(prm.name)
	}
	var whole stmt = s
	if s.call != nil {
		whole = &callStmt{s}
	}
	c.begin(word, tag, at, whole, func() error {
		c.refs.pop()
		s.caller = slices.Contains(c.slots.mentions[mentions:], "caller")
		return nil
	})
}

func (c *compiler) callTag(p *parser, at int) error {
	s := &macroStmt{place: place(p.cur().off), name: "caller"}
	var err error
	if p.cur().is(tokOp, "(") {
		if s.params, err = c.signature(p); err != nil {
			return err
		}
	}
	first := p.cur().off
	x, err := p.expr()
	if err != nil {
		return err
	}
	call, ok := x.(*callNode)
	if !ok {
		return syntaxAt(first, "{%% call %%} needs the call of a macro")
	}
	s.call, s.expr = call, strings.TrimSpace(c.src[first:p.cur().off])
	c.refs.expr(call)
	c.macroBody("call", tagCall, at, s)
	return nil
}

func (c *compiler) filterTag(p *parser, at int) error {
	first := p.cur().off
	chain, err := c.filterChain(p, false)
	if err != nil {
		return err
	}
	if chain == nil {
		return p.unexpected("expected the name of a filter")
	}
	c.refs.push()
	c.begin("filter", tagFilter, at, &filterStmt{place(first), chain, strings.TrimSpace(c.src[first:p.cur().off])}, c.popScope)
	return nil
}

func (c *compiler) popScope() error {
	c.refs.pop()
	return nil
}

func (c *compiler) withTag(p *parser, at int) error {
	s := &withStmt{}
	var names []string
	for !p.atEnd() && !p.cur().is(tokOp, ":") {
		if len(s.values) > 0 {
			if err := p.expect(","); err != nil {
				return err
			}
		}
		t, err := p.target(false)
		if err != nil {
			return err
		}
		if err := p.expect("="); err != nil {
			return err
		}
		x, err := p.expr()
		if err != nil {
			return err
		}
		c.refs.expr(x)
		s.targets, s.values = append(s.targets, t), append(s.values, x)
		names = append(names, t.names()...)
	}
	c.refs.push(names...)
	c.begin("with", tagWith, at, s, c.popScope)
	return nil
}
