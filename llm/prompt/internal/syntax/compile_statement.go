package syntax

import (
	"slices"

	"github.com/callnode/scheduler/llm/prompt/internal/ast"
	"github.com/callnode/scheduler/llm/prompt/internal/builtins"
	"github.com/callnode/scheduler/llm/prompt/internal/fault"
	"github.com/callnode/scheduler/llm/prompt/internal/pongo2tree"
	"github.com/callnode/scheduler/llm/prompt/internal/pyvalue"
	"github.com/callnode/scheduler/llm/value"
)

// statementParsers returns the tags of Jinja2 that templates may use, with their parsers.
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
	s := &ast.IfStmt{Conds: []ast.Node{cond}}
	c.refs.AddCondition(cond)
	b := c.openStatement("if", pongo2tree.TagIf, at, s, func() error {
		s.Place = value.ByteRange{Start: at, End: c.pos}
		return nil
	})
	c.refs.AddGuards(cond)
	b.branch = func(word string, p *parser) error {
		b := &c.open[len(c.open)-1]
		if word == "empty" {
			return fault.SyntaxAt(p.toks[0].off, "unexpected {%% empty %%} in {%% if %%}: it belongs to {%% for %%}")
		}
		if b.hasPart("else") {
			return fault.SyntaxAt(p.toks[0].off, "{%% %s %%} after {%% else %%}", word)
		}
		b.parts = append(b.parts, word)
		if word == "else" {
			c.tree.WriteTag(pongo2tree.TagElse)
			return nil
		}
		cond, err := p.parseTuple(false, nil)
		if err != nil {
			return err
		}
		c.refs.AddCondition(cond)
		c.refs.AddGuards(cond)
		s.Conds = append(s.Conds, cond)
		c.tree.WriteTag(pongo2tree.TagElif)
		return nil
	}
	return nil
}

func (c *compiler) compileFor(p *parser, at int) error {
	t, err := p.parseTarget(false)
	if err != nil {
		return err
	}
	if t.AssignsTo("loop") {
		return fault.SyntaxAt(p.toks[1].off, "a loop variable cannot be named loop")
	}
	if t.AssignsTo("caller") && c.isInside("macro", "call") {
		return callerTaken(t.Off)
	}
	if !p.acceptWord("in") {
		return p.unexpectedError("expected 'in'")
	}
	s := &ast.ForStmt{Target: t}
	s.Iter, err = p.parseTuple(false, func() bool { return p.current().matches(tokName, "recursive") })
	if err != nil {
		return err
	}
	c.refs.AddExpr(s.Iter)
	c.refs.PushScope(t.AssignedNames()...)
	if p.acceptWord("if") {
		s.Cond, err = p.parseExpr()
		if err != nil {
			return err
		}
		c.refs.AddCondition(s.Cond)
	}
	s.Recursive = p.acceptWord("recursive")
	c.refs.DeclareNames("loop", "forloop")
	mentions := len(c.slots.Mentions)
	b := c.openStatement("for", pongo2tree.TagFor, at, s, func() error {
		s.ForLoop = slices.Contains(c.slots.Mentions[mentions:], "forloop")
		s.Place = value.ByteRange{Start: at, End: c.pos}
		c.refs.PopScope()
		return nil
	})
	if s.Cond != nil {
		c.refs.AddGuards(s.Cond)
	}
	b.branch = func(word string, p *parser) error {
		b := &c.open[len(c.open)-1]
		if word == "elif" || b.hasPart("else") {
			return fault.SyntaxAt(p.toks[0].off, "unexpected {%% %s %%} in {%% for %%}", word)
		}
		b.parts = append(b.parts, "else") // which pongo2 calls empty
		c.refs.PopScope()
		c.refs.PushScope()
		c.tree.WriteTag(pongo2tree.TagElse)
		return nil
	}
	return nil
}

// isInLoop reports whether the innermost scope is a loop, in which loop cannot be set.
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
	if t.AssignsTo("loop") && c.isInLoop() {
		return fault.SyntaxAt(start, "loop cannot be set inside of a loop")
	}
	if t.AssignsTo("caller") && c.isInside("macro", "call") {
		return callerTaken(start)
	}
	if t.Attr != "" {
		c.refs.AddCondition(&ast.NameNode{Position: ast.Position(start), Name: t.Name})
	}
	if p.acceptOp("=") {
		x, err := p.parseTuple(true, nil)
		if err != nil {
			return err
		}
		c.refs.AddAssigned(x, t)
		c.refs.DeclareNames(t.AssignedNames()...)
		c.addStatement(&ast.SetStmt{Position: ast.Position(start), Target: t, X: x})
		return nil
	}
	if t.Parts != nil {
		return p.unexpectedError("expected '='")
	}
	s := &ast.SetBlockStmt{Position: ast.Position(start), Target: t}
	s.Filter, err = c.parseFilterChain(p, true)
	if err != nil {
		return err
	}
	c.refs.PushScope()
	c.refs.Assigned.PushTarget(t.Name)
	c.openStatement("set", pongo2tree.TagSetBlock, at, s, func() error {
		c.refs.PopScope()
		c.refs.Assigned.PopTarget()
		c.refs.DeclareNames(t.AssignedNames()...)
		return nil
	})
	return nil
}

// parseFilterChain reads upper | replace('a', 'b'), whose input is the text that the body of the statement writes.
func (c *compiler) parseFilterChain(p *parser, pipe bool) (ast.Node, error) {
	var n ast.Node
	for !p.isAtEnd() && !p.current().matches(tokOp, ":") {
		needsPipe := pipe || n != nil
		if needsPipe && !p.acceptOp("|") {
			return nil, p.unexpectedError("expected '|'")
		}
		in := n
		if in == nil {
			in = &ast.BodyNode{Position: ast.Position(p.current().off)}
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
	c.refs.AddExpr(n)
	return n, nil
}

// callerTaken returns the error of a variable that would hide the body of {% call %}.
func callerTaken(off int) error {
	e := fault.SyntaxAt(off, "in a macro, caller is the body of {%% call %%} and cannot be another variable")
	e.Hint = "choose another name"
	return e
}

// parseSignature reads the parameters of a macro or a call block.
func (c *compiler) parseSignature(p *parser) ([]ast.Param, error) {
	var params []ast.Param
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
		if t.Name == "" || t.Attr != "" {
			return nil, fault.SyntaxAt(off, "a parameter must be a name")
		}
		prm := ast.Param{Name: t.Name}
		for _, other := range params {
			if other.Name == prm.Name {
				return nil, fault.SyntaxAt(off, "the parameter %s is there twice", pyvalue.QuoteText(prm.Name))
			}
		}
		if p.acceptOp("=") {
			prm.Fallback, err = p.parseExpr()
			if err != nil {
				return nil, err
			}
		} else if n := len(params); n > 0 && params[n-1].Fallback != nil {
			return nil, fault.SyntaxAt(off, "a parameter without a default after one with a default")
		}
		if len(params) >= fault.MaxArguments {
			return nil, fault.LimitAt(off, "more than %d parameters", fault.MaxArguments)
		}
		if prm.Name == "caller" {
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
	s := &ast.MacroStmt{Position: ast.Position(name.off), Name: name.text}
	s.Params, err = c.parseSignature(p)
	if err != nil {
		return err
	}
	c.refs.DeclareNames(name.text)
	c.openMacroBody("macro", pongo2tree.TagMacro, at, s)
	return nil
}

// openMacroBody opens the body of a macro or a call block.
func (c *compiler) openMacroBody(word, tag string, at int, s *ast.MacroStmt) {
	mentions := len(c.slots.Mentions)
	c.refs.PushScope("caller")
	target := c.refs.Assigned.Target()
	if s.Call == nil {
		target = s.Name
	}
	c.refs.Assigned.PushTarget(target)
	for _, prm := range s.Params {
		c.refs.AddExpr(prm.Fallback)
		c.refs.DeclareNames(prm.Name)
	}
	var whole ast.Stmt = s
	if s.Call != nil {
		whole = &ast.CallStmt{MacroStmt: s}
	}
	c.openStatement(word, tag, at, whole, func() error {
		c.refs.PopScope()
		c.refs.Assigned.PopTarget()
		s.Caller = slices.Contains(c.slots.Mentions[mentions:], "caller")
		return nil
	})
}

func (c *compiler) compileCall(p *parser, at int) error {
	s := &ast.MacroStmt{Position: ast.Position(p.current().off), Name: "caller"}
	var err error
	if p.current().matches(tokOp, "(") {
		s.Params, err = c.parseSignature(p)
		if err != nil {
			return err
		}
	}
	first := p.current().off
	x, err := p.parseExpr()
	if err != nil {
		return err
	}
	call, ok := x.(*ast.CallNode)
	if !ok {
		return fault.SyntaxAt(first, "{%% call %%} needs the call of a macro")
	}
	s.Call, s.Stop = call, c.trimmedEnd(first, p)
	c.refs.AddExpr(call)
	c.openMacroBody("call", pongo2tree.TagCall, at, s)
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
	c.refs.PushScope()
	c.openStatement("filter", pongo2tree.TagFilter, at, &ast.FilterStmt{Position: ast.Position(first), Chain: chain, Stop: c.trimmedEnd(first, p)}, c.popScope)
	return nil
}

// compileFirstOf reads pongo2's {% firstof a b "none" %}, which prints the first value that counts as true: {{ a
// or b or "none" or "" }}, in which undefined names are false.
func (c *compiler) compileFirstOf(p *parser) error {
	first := p.current().off
	var all ast.Node = &ast.ConstNode{Position: ast.Position(p.toks[len(p.toks)-1].off), V: pyvalue.OfStr("")}
	var values []ast.Node
	for !p.isAtEnd() {
		x, err := p.parseUnary(true)
		if err != nil {
			return err
		}
		values = append(values, x)
	}
	if len(values) == 0 {
		return p.unexpectedError("expected an expression")
	}
	if len(values) > fault.MaxArguments {
		return fault.LimitAt(first, "more than %d arguments", fault.MaxArguments)
	}
	orEmpty, _ := builtins.FindFilter("default")
	for _, x := range slices.Backward(values) {
		at := ast.Position(x.Pos())
		all = &ast.LogicNode{Position: at, Or: true, A: &ast.FilterNode{Position: at, In: x, Name: "default", Def: orEmpty}, B: all}
	}
	c.addExpr(p, all, first)
	return nil
}

func (c *compiler) popScope() error {
	c.refs.PopScope()
	return nil
}

func (c *compiler) compileWith(p *parser, at int) error {
	s := &ast.WithStmt{}
	var names []string
	for !p.isAtEnd() && !p.current().matches(tokOp, ":") {
		if len(s.Values) > 0 {
			if err := p.expect(","); err != nil {
				return err
			}
		}
		t, err := p.parseTarget(false)
		if err != nil {
			return err
		}
		if t.AssignsTo("caller") && c.isInside("macro", "call") {
			return callerTaken(t.Off)
		}
		if err := p.expect("="); err != nil {
			return err
		}
		x, err := p.parseExpr()
		if err != nil {
			return err
		}
		c.refs.AddAssigned(x, t)
		s.Targets, s.Values = append(s.Targets, t), append(s.Values, x)
		names = append(names, t.AssignedNames()...)
	}
	c.refs.PushScope(names...)
	c.openStatement("with", pongo2tree.TagWith, at, s, c.popScope)
	return nil
}

// compileJump reads {% break %} or {% continue %}.
func (c *compiler) compileJump(isBreak bool) func(p *parser, at int) error {
	return func(p *parser, at int) error {
		if !c.isInLoop() {
			return fault.SyntaxAt(at, "{%% %s %%} outside of a loop", p.toks[0].text)
		}
		c.addStatement(&ast.JumpStmt{IsBreak: isBreak})
		return nil
	}
}

// compileGeneration reads {% generation %}, which marks the model's text.
func (c *compiler) compileGeneration(_ *parser, at int) error {
	c.refs.PushScope()
	c.openStatement("generation", pongo2tree.TagWith, at, &ast.WithStmt{}, c.popScope)
	return nil
}
