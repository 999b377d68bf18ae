package prompt

import "github.com/flosch/pongo2/v6"

// stmt is a compiled statement; bodies are the parts that pongo2 wrapped.
type stmt interface {
	exec(m *evaluator, bodies []*pongo2.NodeWrapper) error
}

type (
	ifStmt struct {
		conds []node
		place byteRange // of the statement in the source
	}
	setStmt struct {
		position
		target *assignTarget
		x      node
	}
	setBlockStmt struct {
		position
		target *assignTarget
		filter node
	}
	filterStmt struct {
		position
		chain node
		stop  int // where the chain ends in the source
	}
	withStmt struct {
		targets []*assignTarget
		values  []node
	}
	// bodyNode is what the body of a filter block wrote.
	bodyNode struct{ position }
)

func (n *bodyNode) eval(m *evaluator) (val, error) {
	m.touch(m.captured.origin())
	return m.captured, nil
}

func (s *ifStmt) exec(m *evaluator, bodies []*pongo2.NodeWrapper) error {
	decided := m.decided
	defer func() { m.decided = decided }()
	for i, cond := range s.conds {
		t, err := m.evalTruth(cond)
		if err != nil {
			return err
		}
		m.markDecided(len(decided), s.place)
		if t {
			return m.runBody(bodies[i])
		}
	}
	if len(bodies) > len(s.conds) {
		return m.runBody(bodies[len(bodies)-1])
	}
	return nil
}

func (s *setStmt) exec(m *evaluator, _ []*pongo2.NodeWrapper) error {
	v, err := m.evalTraced(s.x)
	if err != nil {
		return err
	}
	m.touched = m.touched[:0]
	return m.assignTo(m.frame, s.target, v)
}

// assignTo puts a value into variables of a frame.
func (m *evaluator) assignTo(f *frame, t *assignTarget, v val) error {
	if t.parts == nil && t.attr == "" {
		if err := f.setVar(t.name, v); err != nil {
			return withPosition(err, t.off)
		}
		return nil
	}
	if t.attr != "" {
		ns, err := (&nameNode{position: position(t.off), name: t.name, slot: m.prog.slotOf(t.name)}).eval(m)
		if err == nil {
			err = ns.checkDefined()
		}
		if err != nil {
			return err
		}
		x, ok := ns.py().(*namespace)
		if !ok {
			return withPosition(errorf(Other, "only members of a namespace can be set: %s is a '%s'", t.name, ns.pyType()), t.off)
		}
		if err := x.setMember(t.attr, v); err != nil {
			return withPosition(err, t.off)
		}
		return nil
	}
	items, err := m.itemsOf(v)
	if err != nil {
		return withPosition(err, t.off)
	}
	if len(items) != len(t.parts) {
		return withPosition(errorf(Other, "%d values cannot be unpacked into %d names", len(items), len(t.parts)), t.off)
	}
	for i, part := range t.parts {
		if err := m.assignTo(f, part, items[i]); err != nil {
			return err
		}
	}
	return nil
}

// runInFrame runs f with a new frame inside of parent.
func (m *evaluator) runInFrame(parent *frame, f func() error) error {
	before := m.frame
	m.frame = &frame{parent: parent}
	err := f()
	m.frame = before
	return err
}

// captureBody runs a body in a frame of its own and returns what it wrote.
func (m *evaluator) captureBody(body *pongo2.NodeWrapper) (val, error) {
	return m.captureOutput(func() error {
		return m.runInFrame(m.frame, func() error { return m.runBody(body) })
	})
}

// filterText sends what a body wrote through filters.
func (m *evaluator) filterText(text val, chain node) (val, error) {
	before := m.captured
	m.captured = text
	v, err := m.evalTraced(chain)
	m.captured = before
	return v, err
}

func (s *setBlockStmt) exec(m *evaluator, bodies []*pongo2.NodeWrapper) error {
	v, err := m.captureBody(bodies[0])
	if err != nil {
		return err
	}
	if s.filter != nil {
		v, err = m.filterText(v, s.filter)
		if err != nil {
			return err
		}
	}
	return m.assignTo(m.frame, s.target, v)
}

func (s *filterStmt) exec(m *evaluator, bodies []*pongo2.NodeWrapper) error {
	text, err := m.captureBody(bodies[0])
	if err != nil {
		return err
	}
	v, err := m.filterText(text, s.chain)
	if err != nil {
		return err
	}
	return m.writeValue(v, s.pos(), s.pos(), s.stop)
}

func (s *withStmt) exec(m *evaluator, bodies []*pongo2.NodeWrapper) error {
	values := make([]val, len(s.values))
	for i, x := range s.values {
		v, err := m.evalTraced(x)
		if err != nil {
			return err
		}
		values[i] = v
	}
	return m.runInFrame(m.frame, func() error {
		for i, t := range s.targets {
			if err := m.assignTo(m.frame, t, values[i]); err != nil {
				return err
			}
		}
		return m.runBody(bodies[0])
	})
}
