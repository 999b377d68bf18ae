package syntax

import (
	"github.com/callnode/scheduler/llm/prompt/internal/ast"
	"github.com/callnode/scheduler/llm/prompt/internal/builtins"
	"github.com/callnode/scheduler/llm/prompt/internal/fault"
	"github.com/callnode/scheduler/llm/prompt/internal/pyvalue"
)

// parsePostfix reads members, subscripts and calls.
func (p *parser) parsePostfix(n ast.Node) (ast.Node, error) {
	return p.parseLinks(n, func(n ast.Node) (next ast.Node, isLink bool, err error) {
		switch t := p.current(); {
		case t.matches(tokOp, "."):
			next, err = p.parseMember(n)
		case t.matches(tokOp, "["):
			next, err = p.parseSubscript(n)
		case t.matches(tokOp, "("):
			next, err = p.parseCall(n)
		default:
			return n, false, nil
		}
		return next, true, err
	})
}

// parseLinks applies parseLink to a node until no link follows; each is one more level.
func (p *parser) parseLinks(n ast.Node, parseLink func(ast.Node) (next ast.Node, isLink bool, err error)) (ast.Node, error) {
	for {
		next, isLink, err := parseLink(n)
		if err == nil && isLink {
			err = p.enterLevel()
		}
		if err != nil {
			return nil, err
		}
		if !isLink {
			return n, nil
		}
		n = next
	}
}

func (p *parser) parseCall(fn ast.Node) (ast.Node, error) {
	args, err := p.parseArguments()
	return &ast.CallNode{Position: ast.Position(fn.Pos()), Fn: fn, Args: args}, err
}

func (p *parser) parseMember(obj ast.Node) (ast.Node, error) {
	p.i++
	t := p.advance()
	switch t.kind {
	case tokName:
		if err := checkMember(t, p.current().matches(tokOp, "(") && !p.lenient); err != nil {
			return nil, err
		}
		return &ast.AttrNode{
			Position: ast.Position(obj.Pos()), Obj: obj, Name: t.text,
			Path: pyvalue.MemberPath(ast.PathText(obj), t.text),
		}, nil
	case tokInt:
		return &ast.ItemNode{Position: ast.Position(obj.Pos()), Obj: obj, Key: &ast.ConstNode{Position: ast.Position(t.off), V: t.num}}, nil
	default:
		p.i--
		if t.kind == tokEnd {
			p.i++
		}
		return nil, p.unexpectedError("expected a name or a number after '.'")
	}
}

func (p *parser) parseSubscript(obj ast.Node) (ast.Node, error) {
	start := p.advance().off
	p.noColon++
	defer func() { p.noColon-- }()
	var keys []ast.Node
	for !p.acceptOp("]") {
		if len(keys) > 0 {
			if err := p.expect(","); err != nil {
				return nil, err
			}
		}
		var bounds [3]ast.Node
		part, colons := 0, false
		for !p.current().matches(tokOp, "]") && !p.current().matches(tokOp, ",") {
			if p.acceptOp(":") {
				colons = true
				part++
				if part > 2 {
					return nil, p.unexpectedError("expected ']'")
				}
				continue
			}
			if bounds[part] != nil {
				return nil, p.unexpectedError("expected ']'")
			}
			x, err := p.parseExpr()
			if err != nil {
				return nil, err
			}
			bounds[part] = x
		}
		if colons {
			if len(keys) > 0 || !p.current().matches(tokOp, "]") {
				return nil, p.unexpectedError("expected ']'")
			}
			p.i++
			return &ast.SliceNode{Position: ast.Position(obj.Pos()), Obj: obj, Start: bounds[0], Stop: bounds[1], Step: bounds[2]}, nil
		}
		if bounds[0] == nil {
			return nil, p.unexpectedError("expected an expression")
		}
		keys = append(keys, bounds[0])
	}
	switch len(keys) {
	case 0:
		return nil, fault.SyntaxAt(start, "expected an expression between '[' and ']'")
	case 1:
		return &ast.ItemNode{Position: ast.Position(obj.Pos()), Obj: obj, Key: keys[0]}, nil
	}
	return &ast.ItemNode{Position: ast.Position(obj.Pos()), Obj: obj, Key: &ast.ListNode{Position: ast.Position(start), Items: keys, Tuple: true}}, nil
}

// parseArguments reads the arguments of a call with their parentheses.
func (p *parser) parseArguments() ([]ast.Argument, error) {
	outer := p.noColon
	p.noColon = 0
	defer func() { p.noColon = outer }()
	if err := p.expect("("); err != nil {
		return nil, err
	}
	var args []ast.Argument
	named := false
	for !p.acceptOp(")") {
		if len(args) > 0 {
			if err := p.expect(","); err != nil {
				return nil, err
			}
			if p.acceptOp(")") {
				break
			}
		}
		var a ast.Argument
		t := p.current()
		if t.matches(tokOp, "*") || t.matches(tokOp, "**") {
			e := fault.SyntaxAt(t.off, "unpacking arguments with %s is not supported", t.text)
			e.Hint = "write the arguments one by one"
			return nil, e
		}
		if t.kind == tokName && p.peekNext().matches(tokOp, "=") {
			a.Name, named = t.text, true
			p.i += 2
		} else if named {
			return nil, fault.SyntaxAt(t.off, "positional arguments must stand before arguments by name")
		}
		x, err := p.parseExpr()
		if err != nil {
			return nil, err
		}
		a.X = x
		args = append(args, a)
		if len(args) > fault.MaxArguments {
			return nil, fault.LimitAt(t.off, "more than %d arguments", fault.MaxArguments)
		}
	}
	return args, nil
}

// parseFilters reads filters, tests and calls after a primary.
func (p *parser) parseFilters(n ast.Node) (ast.Node, error) {
	return p.parseLinks(n, func(n ast.Node) (next ast.Node, isLink bool, err error) {
		switch t := p.current(); {
		case t.matches(tokOp, "|"):
			p.i++
			next, err = p.parseFilter(n)
		case t.matches(tokName, "is"):
			p.i++
			next, err = p.parseTest(n)
		case t.matches(tokOp, "("):
			next, err = p.parseCall(n)
		default:
			return n, false, nil
		}
		return next, true, err
	})
}

// builtinTable is the parser's table of filters, or of tests.
type builtinTable struct {
	kind  string
	find  func(name string) (*builtins.Def, bool)
	names func() []string
}

// findBuiltin returns the filter or test of a name. For an unknown one, a lenient parser
// returns one that fails when it is used.
func (p *parser) findBuiltin(t *token, table builtinTable) (*builtins.Def, error) {
	if def, ok := table.find(t.text); ok {
		return def, nil
	}
	if !p.lenient {
		return nil, unknownName(table.kind, t, table.names())
	}
	return lazyUnknown(table.kind, *t, table.names()), nil
}

// parseFilter reads a filter's name and arguments; in is nil in a filter block.
func (p *parser) parseFilter(in ast.Node) (ast.Node, error) {
	t, err := p.expectName()
	if err != nil {
		return nil, err
	}
	n := &ast.FilterNode{Position: ast.Position(t.off), In: in, Name: t.text}
	n.Def, err = p.findBuiltin(t, builtinTable{"filter", builtins.FindFilter, builtins.FilterNames})
	if err != nil {
		return nil, err
	}
	if p.current().matches(tokOp, "(") {
		n.Args, err = p.parseArguments()
		if err != nil {
			return nil, err
		}
	} else if p.noColon == 0 && p.current().matches(tokOp, ":") && p.peekNext().kind != tokEnd { // as pongo2 and Django write it
		p.i++
		x, err := p.parsePrimary()
		if err != nil {
			return nil, err
		}
		x, err = p.parsePostfix(x)
		if err != nil {
			return nil, err
		}
		n.Args = []ast.Argument{{X: x}}
	}
	return n, nil
}

func (p *parser) parseTest(in ast.Node) (ast.Node, error) {
	n := &ast.TestNode{In: in, Not: p.acceptWord("not")}
	t, err := p.expectName()
	if err != nil {
		return nil, err
	}
	n.Position, n.Name = ast.Position(in.Pos()), t.text
	n.Def, err = p.findBuiltin(t, builtinTable{"test", builtins.FindTest, builtins.TestNames})
	if err != nil {
		return nil, err
	}
	if p.current().matches(tokOp, "(") {
		n.Args, err = p.parseArguments()
		return n, err
	}
	switch c := p.current(); c.kind {
	case tokName:
		switch c.text {
		case "else", "or", "and", "if", "not", "in":
			return n, nil
		case "is":
			return nil, fault.SyntaxAt(c.off, "tests cannot be chained with is: join them with 'and'")
		}
	case tokString, tokInt, tokFloat:
	case tokOp:
		if c.text != "[" && c.text != "{" {
			return n, nil
		}
	case tokEnd:
		return n, nil
	}
	x, err := p.parsePrimary()
	if err == nil {
		x, err = p.parsePostfix(x)
	}
	n.Args = []ast.Argument{{X: x}}
	return n, err
}
