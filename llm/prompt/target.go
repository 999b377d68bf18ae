package prompt

import (
	"slices"
)

// target is what a value is assigned to: a name, a member of a namespace, or
// several targets.
type target struct {
	name  string
	attr  string
	parts []*target
	off   int
}

func (t *target) names() []string {
	var names []string
	if t.attr == "" && t.name != "" {
		names = append(names, t.name)
	}
	for _, part := range t.parts {
		names = append(names, part.names()...)
	}
	return names
}

func (t *target) has(name string) bool { return slices.Contains(t.names(), name) }

// assignable reads a name that may be assigned to.
func (p *parser) assignable() (*token, error) {
	t, err := p.name()
	if err != nil {
		return nil, err
	}
	switch t.text {
	case "true", "false", "none", "True", "False", "None":
		return nil, syntaxAt(t.off, "%s cannot be assigned to", t.text)
	}
	return t, nil
}

// target reads what stands left of = or in.
func (p *parser) target(members bool) (*target, error) {
	first := p.cur()
	if members && first.kind == tokName && p.look().is(tokOp, ".") {
		p.i += 2
		attr, err := p.name()
		if err != nil {
			return nil, err
		}
		p.slots.of(first.text)
		return &target{name: first.text, attr: attr.text, off: first.off}, nil
	}
	if p.depth > 0 || !p.inSignature() {
		return p.targets()
	}
	return p.oneTarget()
}

// inSignature says whether the parser is between the parentheses of a macro or
// behind {% with, where commas separate parameters.
func (p *parser) inSignature() bool {
	switch p.toks[0].text {
	case "macro", "call", "with":
		return true
	}
	return false
}

func (p *parser) targets() (*target, error) {
	list := &target{off: p.cur().off}
	comma := false
	for len(list.parts) == 0 || comma {
		if t := p.cur(); len(list.parts) > 0 && (t.kind == tokEnd || t.is(tokOp, "=") || t.is(tokOp, ")") || t.is(tokName, "in")) {
			break
		}
		t, err := p.oneTarget()
		if err != nil {
			return nil, err
		}
		list.parts = append(list.parts, t)
		comma = p.op(",")
	}
	if len(list.parts) == 1 && !comma {
		return list.parts[0], nil
	}
	return list, nil
}

func (p *parser) oneTarget() (*target, error) {
	if p.op("(") {
		if err := p.deeper(); err != nil {
			return nil, err
		}
		t, err := p.targets()
		if err != nil {
			return nil, err
		}
		p.depth--
		return t, p.expect(")")
	}
	t, err := p.assignable()
	if err != nil {
		return nil, err
	}
	return &target{name: t.text, off: t.off}, nil
}
