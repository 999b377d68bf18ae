package prompt

import (
	"github.com/flosch/pongo2/v6"
)

// stmt is a compiled statement; bodies are the parts that pongo2 wrapped.
type stmt interface {
	exec(m *machine, bodies []*pongo2.NodeWrapper) error
}

type (
	ifStmt  struct{ conds []node }
	setStmt struct {
		place
		target *target
		x      node
	}
	setBlockStmt struct {
		place
		target *target
		filter node
	}
	filterStmt struct {
		place
		chain node
		expr  string
	}
	withStmt struct {
		targets []*target
		values  []node
	}
	// bodyNode is what the body of a filter block wrote.
	bodyNode struct{ place }
)

func (n *bodyNode) eval(m *machine) (val, error) { return ofStr(m.captured), nil }

func (s *ifStmt) exec(m *machine, bodies []*pongo2.NodeWrapper) error {
	for i, cond := range s.conds {
		t, err := m.truth(cond)
		if err != nil {
			return err
		}
		if t {
			return m.body(bodies[i])
		}
	}
	if len(bodies) > len(s.conds) {
		return m.body(bodies[len(bodies)-1])
	}
	return nil
}

func (s *setStmt) exec(m *machine, _ []*pongo2.NodeWrapper) error {
	v, err := s.x.eval(m)
	if err != nil {
		return err
	}
	return m.assign(m.frame, s.target, v)
}

// assign puts a value into variables of a frame.
func (m *machine) assign(f *frame, t *target, v val) error {
	if t.parts == nil && t.attr == "" {
		if err := f.set(t.name, v); err != nil {
			return at(err, t.off)
		}
		return nil
	}
	if t.attr != "" {
		ns, err := (&nameNode{place: place(t.off), name: t.name, slot: m.prog.slot(t.name)}).eval(m)
		if err == nil {
			err = ns.use()
		}
		if err != nil {
			return err
		}
		x, ok := ns.x.(*namespace)
		if !ok {
			return at(errorf(Other, "only members of a namespace can be set: %s is a '%s'", t.name, ns.pyType()), t.off)
		}
		if err := x.set(t.attr, v); err != nil {
			return at(err, t.off)
		}
		return nil
	}
	items, err := m.items(v)
	if err != nil {
		return at(err, t.off)
	}
	if len(items) != len(t.parts) {
		return at(errorf(Other, "%d values cannot be unpacked into %d names", len(items), len(t.parts)), t.off)
	}
	for i, part := range t.parts {
		if err := m.assign(f, part, items[i]); err != nil {
			return err
		}
	}
	return nil
}

// inner runs f with a new frame inside of parent.
func (m *machine) inner(parent *frame, f func() error) error {
	before := m.frame
	m.frame = &frame{parent: parent}
	err := f()
	m.frame = before
	return err
}

// written runs a body in a frame of its own and gives what it wrote.
func (m *machine) written(body *pongo2.NodeWrapper) (string, error) {
	return m.capture(func() error {
		return m.inner(m.frame, func() error { return m.body(body) })
	})
}

// filtered sends what a body wrote through filters.
func (m *machine) filtered(text string, chain node) (val, error) {
	before := m.captured
	m.captured = text
	v, err := chain.eval(m)
	m.captured = before
	return v, err
}

func (s *setBlockStmt) exec(m *machine, bodies []*pongo2.NodeWrapper) error {
	text, err := m.written(bodies[0])
	if err != nil {
		return err
	}
	v := ofStr(text)
	if s.filter != nil {
		if v, err = m.filtered(text, s.filter); err != nil {
			return err
		}
	}
	return m.assign(m.frame, s.target, v)
}

func (s *filterStmt) exec(m *machine, bodies []*pongo2.NodeWrapper) error {
	text, err := m.written(bodies[0])
	if err != nil {
		return err
	}
	v, err := m.filtered(text, s.chain)
	if err != nil {
		return err
	}
	return m.computed(v, s.pos(), s.expr)
}

// computed writes a value that a statement made.
func (m *machine) computed(v val, offset int, expr string) error {
	text, err := m.printed(v)
	start := len(m.out)
	if err == nil {
		err = m.write(text)
	}
	if err != nil {
		return at(err, offset)
	}
	if m.trace && text != "" {
		m.pieces = append(m.pieces, Piece{start, len(m.out), offset, nil, expr})
	}
	return nil
}

func (s *withStmt) exec(m *machine, bodies []*pongo2.NodeWrapper) error {
	values := make([]val, len(s.values))
	for i, x := range s.values {
		v, err := x.eval(m)
		if err != nil {
			return err
		}
		values[i] = v
	}
	return m.inner(m.frame, func() error {
		for i, t := range s.targets {
			if err := m.assign(m.frame, t, values[i]); err != nil {
				return err
			}
		}
		return m.body(bodies[0])
	})
}
