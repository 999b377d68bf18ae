package prompt

import (
	"slices"

	"github.com/callnode/scheduler/llm/prompt/internal/fault"
	"github.com/callnode/scheduler/llm/prompt/internal/py"
	"github.com/callnode/scheduler/llm/value"
)

// statementParsers returns the tags of Jinja2 that templates may use, with what reads
// them.
func (c *compiler) statementParsers() map[string]func(p *parser, at int) error {
	parsers := map[string]func(p *parser, at int) error{
		"if": c.compileIf, "for": c.compileFor, "set": c.compileSet, "macro": c.compileMacro, "call": c.compileCall,
		"filter": c.compileFilter, "with": c.compileWith,
	}
	if c.opts.Transformers {
		parsers["break"], parsers["continue"] = c.compileJump(true), c.compileJump(false)
		parsers["generation"] = c.compileGeneration
	}
	return parsers
}

func (c *compiler) compileIf(p *parser, at int) error {
	cond, err := p.parseTuple(false, nil)
	if err != nil {
		return err
	}
	s := &ifStmt{conds: []node{cond}}
	c.refs.addCondition(cond)
	b := c.openStatement("if", tagIf, at, s, func() error {
		s.place = value.ByteRange{Start: at, End: c.pos}
		return nil
	})
	c.refs.addGuards(cond)
	b.branch = func(word string, p *parser) error {
		b := &c.open[len(c.open)-1]
		if b.hasPart("else") {
			return fault.SyntaxAt(p.toks[0].off, "{%% %s %%} after {%% else %%}", word)
		}
		b.parts = append(b.parts, word)
		if word == "else" {
			c.tree.writeTag(tagElse)
			return nil
		}
		cond, err := p.parseTuple(false, nil)
		if err != nil {
			return err
		}
		c.refs.addCondition(cond)
		c.refs.addGuards(cond)
		s.conds = append(s.conds, cond)
		c.tree.writeTag(tagElif)
		return nil
	}
	return nil
}

func (c *compiler) compileFor(p *parser, at int) error {
	t, err := p.parseTarget(false)
	if err != nil {
		return err
	}
	if t.assignsTo("loop") {
		return fault.SyntaxAt(p.toks[1].off, "a loop variable cannot be named loop")
	}
	if t.assignsTo("caller") && c.isInside("macro", "call") {
		return callerTaken(t.off)
	}
	if !p.acceptWord("in") {
		return p.unexpectedError("expected 'in'")
	}
	s := &forStmt{target: t}
	s.iter, err = p.parseTuple(false, func() bool { return p.current().matches(tokName, "recursive") })
	if err != nil {
		return err
	}
	c.refs.addExpr(s.iter)
	c.refs.pushScope(t.assignedNames()...)
	if p.acceptWord("if") {
		s.cond, err = p.parseExpr()
		if err != nil {
			return err
		}
		c.refs.addCondition(s.cond)
	}
	s.recursive = p.acceptWord("recursive")
	c.refs.declareNames("loop")
	b := c.openStatement("for", tagFor, at, s, func() error {
		s.place = value.ByteRange{Start: at, End: c.pos}
		c.refs.popScope()
		return nil
	})
	if s.cond != nil {
		c.refs.addGuards(s.cond)
	}
	b.branch = func(word string, p *parser) error {
		b := &c.open[len(c.open)-1]
		if word != "else" || b.hasPart("else") {
			return fault.SyntaxAt(p.toks[0].off, "unexpected {%% %s %%} in {%% for %%}", word)
		}
		b.parts = append(b.parts, word)
		c.refs.popScope()
		c.refs.pushScope()
		c.tree.writeTag(tagElse)
		return nil
	}
	return nil
}

// isInLoop reports whether the innermost scope is a loop, where loop cannot be set.
func (c *compiler) isInLoop() bool {
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

func (c *compiler) compileSet(p *parser, at int) error {
	start := p.current().off
	t, err := p.parseTarget(true)
	if err != nil {
		return err
	}
	if t.assignsTo("loop") && c.isInLoop() {
		return fault.SyntaxAt(start, "loop cannot be set inside of a loop")
	}
	if t.assignsTo("caller") && c.isInside("macro", "call") {
		return callerTaken(start)
	}
	if t.attr != "" {
		c.refs.addCondition(&nameNode{position: position(start), name: t.name})
	}
	if p.acceptOp("=") {
		x, err := p.parseTuple(true, nil)
		if err != nil {
			return err
		}
		c.refs.addAssigned(x, t)
		c.refs.declareNames(t.assignedNames()...)
		c.addStatement(&setStmt{position(start), t, x})
		return nil
	}
	if t.parts != nil {
		return p.unexpectedError("expected '='")
	}
	s := &setBlockStmt{position: position(start), target: t}
	s.filter, err = c.parseFilterChain(p, true)
	if err != nil {
		return err
	}
	c.refs.pushScope()
	c.refs.assigned.pushTarget(t.name)
	c.openStatement("set", tagSetBlock, at, s, func() error {
		c.refs.popScope()
		c.refs.assigned.popTarget()
		c.refs.declareNames(t.assignedNames()...)
		return nil
	})
	return nil
}

// parseFilterChain reads upper | replace('a', 'b'), the input being what the body of
// the statement writes.
func (c *compiler) parseFilterChain(p *parser, pipe bool) (node, error) {
	var n node
	for !p.isAtEnd() && !p.current().matches(tokOp, ":") {
		needsPipe := pipe || n != nil
		if needsPipe && !p.acceptOp("|") {
			return nil, p.unexpectedError("expected '|'")
		}
		in := n
		if in == nil {
			in = &bodyNode{position(p.current().off)}
		}
		var err error
		n, err = p.parseFilter(in)
		if err != nil {
			return nil, err
		}
		if err := p.enterLevel(); err != nil {
			return nil, err
		}
	}
	c.refs.addExpr(n)
	return n, nil
}

// callerTaken returns the error of a variable that would hide the body of {% call %}.
func callerTaken(off int) error {
	e := fault.SyntaxAt(off, "in a macro, caller is the body of {%% call %%} and cannot be another variable")
	e.Hint = "choose another name"
	return e
}

// parseSignature reads the parameters of a macro or a call block.
func (c *compiler) parseSignature(p *parser) ([]param, error) {
	var params []param
	if err := p.expect("("); err != nil {
		return nil, err
	}
	for !p.acceptOp(")") {
		if len(params) > 0 {
			if err := p.expect(","); err != nil {
				return nil, err
			}
		}
		t, err := p.parseTarget(false)
		if err != nil {
			return nil, err
		}
		off := p.toks[p.i-1].off
		if t.name == "" || t.attr != "" {
			return nil, fault.SyntaxAt(off, "a parameter must be a name")
		}
		prm := param{name: t.name}
		for _, other := range params {
			if other.name == prm.name {
				return nil, fault.SyntaxAt(off, "the parameter %s is there twice", py.QuoteText(prm.name))
			}
		}
		if p.acceptOp("=") {
			prm.fallback, err = p.parseExpr()
			if err != nil {
				return nil, err
			}
		} else if n := len(params); n > 0 && params[n-1].fallback != nil {
			return nil, fault.SyntaxAt(off, "a parameter without a default after one with a default")
		}
		if len(params) >= fault.MaxArguments {
			return nil, fault.LimitAt(off, "more than %d parameters", fault.MaxArguments)
		}
		if prm.name == "caller" {
			return nil, callerTaken(off)
		}
		params = append(params, prm)
	}
	return params, nil
}

func (c *compiler) compileMacro(p *parser, at int) error {
	name, err := p.parseAssignableName()
	if err != nil {
		return err
	}
	s := &macroStmt{position: position(name.off), name: name.text}
	s.params, err = c.parseSignature(p)
	if err != nil {
		return err
	}
	c.refs.declareNames(name.text)
	c.openMacroBody("macro", tagMacro, at, s)
	return nil
}

// openMacroBody opens the body of a macro or a call block.
func (c *compiler) openMacroBody(word, tag string, at int, s *macroStmt) {
	mentions := len(c.slots.mentions)
	c.refs.pushScope("caller")
	target := c.refs.assigned.target()
	if s.call == nil {
		target = s.name
	}
	c.refs.assigned.pushTarget(target)
	for _, prm := range s.params {
		c.refs.addExpr(prm.fallback)
		c.refs.declareNames(prm.name)
	}
	var whole stmt = s
	if s.call != nil {
		whole = &callStmt{s}
	}
	c.openStatement(word, tag, at, whole, func() error {
		c.refs.popScope()
		c.refs.assigned.popTarget()
		s.caller = slices.Contains(c.slots.mentions[mentions:], "caller")
		return nil
	})
}

func (c *compiler) compileCall(p *parser, at int) error {
	s := &macroStmt{position: position(p.current().off), name: "caller"}
	var err error
	if p.current().matches(tokOp, "(") {
		s.params, err = c.parseSignature(p)
		if err != nil {
			return err
		}
	}
	first := p.current().off
	x, err := p.parseExpr()
	if err != nil {
		return err
	}
	call, ok := x.(*callNode)
	if !ok {
		return fault.SyntaxAt(first, "{%% call %%} needs the call of a macro")
	}
	s.call, s.stop = call, c.trimmedEnd(first, p)
	c.refs.addExpr(call)
	c.openMacroBody("call", tagCall, at, s)
	return nil
}

func (c *compiler) compileFilter(p *parser, at int) error {
	first := p.current().off
	chain, err := c.parseFilterChain(p, false)
	if err != nil {
		return err
	}
	if chain == nil {
		return p.unexpectedError("expected the name of a filter")
	}
	c.refs.pushScope()
	c.openStatement("filter", tagFilter, at, &filterStmt{position(first), chain, c.trimmedEnd(first, p)}, c.popScope)
	return nil
}

func (c *compiler) popScope() error {
	c.refs.popScope()
	return nil
}

func (c *compiler) compileWith(p *parser, at int) error {
	s := &withStmt{}
	var names []string
	for !p.isAtEnd() && !p.current().matches(tokOp, ":") {
		if len(s.values) > 0 {
			if err := p.expect(","); err != nil {
				return err
			}
		}
		t, err := p.parseTarget(false)
		if err != nil {
			return err
		}
		if t.assignsTo("caller") && c.isInside("macro", "call") {
			return callerTaken(t.off)
		}
		if err := p.expect("="); err != nil {
			return err
		}
		x, err := p.parseExpr()
		if err != nil {
			return err
		}
		c.refs.addAssigned(x, t)
		s.targets, s.values = append(s.targets, t), append(s.values, x)
		names = append(names, t.assignedNames()...)
	}
	c.refs.pushScope(names...)
	c.openStatement("with", tagWith, at, s, c.popScope)
	return nil
}
