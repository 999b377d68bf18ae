package syntax

import (
	"github.com/callnode/scheduler/llm/prompt/internal/ast"
	"github.com/callnode/scheduler/llm/prompt/internal/fault"
)

// parseAssignableName reads a name that may be assigned to.
func (p *parser) parseAssignableName() (*token, error) {
	t, err := p.expectName()
	if err != nil {
		return nil, err
	}
	switch t.text {
	case "true", "false", "none", "True", "False", "None":
		return nil, fault.SyntaxAt(t.off, "%s cannot be assigned to", t.text)
	}
	return t, nil
}

// parseTarget reads the target to the left of "=" or "in".
func (p *parser) parseTarget(members bool) (*ast.AssignTarget, error) {
	first := p.current()
	if members && first.kind == tokName && p.peekNext().matches(tokOp, ".") {
		p.i += 2
		attr, err := p.expectName()
		if err != nil {
			return nil, err
		}
		p.slots.SlotOf(first.text)
		return &ast.AssignTarget{Name: first.text, Attr: attr.text, Off: first.off}, nil
	}
	if p.depth > 0 || !p.isInSignature() {
		return p.parseTargets()
	}
	return p.parseOneTarget()
}

// isInSignature reports whether the parser is between the parentheses of a macro or behind {% with, in which
// commas separate parameters.
func (p *parser) isInSignature() bool {
	switch p.toks[0].text {
	case "macro", "call", "with":
		return true
	}
	return false
}

func (p *parser) parseTargets() (*ast.AssignTarget, error) {
	list := &ast.AssignTarget{Off: p.current().off}
	comma := false
	for len(list.Parts) == 0 || comma && !p.isTargetEnd() {
		t, err := p.parseOneTarget()
		if err != nil {
			return nil, err
		}
		list.Parts = append(list.Parts, t)
		comma = p.acceptOp(",")
	}
	if len(list.Parts) == 1 && !comma {
		return list.Parts[0], nil
	}
	return list, nil
}

// isTargetEnd reports whether a list of targets ends here, after a comma.
func (p *parser) isTargetEnd() bool {
	t := p.current()
	if t.kind == tokOp {
		return t.text == "=" || t.text == ")"
	}
	return t.kind == tokEnd || t.matches(tokName, "in")
}

func (p *parser) parseOneTarget() (*ast.AssignTarget, error) {
	if p.acceptOp("(") {
		if err := p.enterLevel(); err != nil {
			return nil, err
		}
		t, err := p.parseTargets()
		if err != nil {
			return nil, err
		}
		p.depth--
		return t, p.expect(")")
	}
	t, err := p.parseAssignableName()
	if err != nil {
		return nil, err
	}
	return &ast.AssignTarget{Name: t.text, Off: t.off}, nil
}
