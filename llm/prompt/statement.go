package prompt

import (
	"github.com/callnode/scheduler/llm/prompt/internal/fault"
	"github.com/callnode/scheduler/llm/prompt/internal/py"
	"github.com/callnode/scheduler/llm/prompt/internal/trace"
)

func (m *evaluator) evalBody(n *bodyNode) (py.Val, error) {
	m.Touch(m.captured.Origin())
	return m.captured, nil
}

func (m *evaluator) execIf(s *ifStmt, bodies []body) error {
	decided := m.Decided
	defer func() { m.Decided = decided }()
	for i, cond := range s.conds {
		t, err := m.evalTruth(cond)
		if err != nil {
			return err
		}
		m.markDecided(len(decided), s.place)
		if t {
			return m.walk.runBody(bodies[i])
		}
	}
	if len(bodies) > len(s.conds) {
		return m.walk.runBody(bodies[len(bodies)-1])
	}
	return nil
}

func (m *evaluator) execSet(s *setStmt) error {
	v, err := m.evalTraced(s.x)
	if err != nil {
		return err
	}
	m.Touched = m.Touched[:0]
	return m.assignTo(m.frame, s.target, v)
}

// assignTo puts a value into variables of a frame.
func (m *evaluator) assignTo(f *frame, t *assignTarget, v py.Val) error {
	if t.parts == nil && t.attr == "" {
		if err := f.setVar(t.name, v); err != nil {
			return fault.WithPosition(err, t.off)
		}
		return nil
	}
	if t.attr != "" {
		ns, err := m.evalName(&nameNode{position: position(t.off), name: t.name, slot: m.prog.slotOf(t.name)})
		if err == nil {
			err = ns.CheckDefined()
		}
		if err != nil {
			return err
		}
		x, ok := ns.Py().(*py.Namespace)
		if !ok {
			return fault.WithPosition(fault.Errorf(fault.Other, "only members of a namespace can be set: %s is a '%s'", t.name, ns.PyType()), t.off)
		}
		if err := x.SetMember(t.attr, v); err != nil {
			return fault.WithPosition(err, t.off)
		}
		return nil
	}
	items, err := m.ItemsOf(v)
	if err != nil {
		return fault.WithPosition(err, t.off)
	}
	if len(items) != len(t.parts) {
		return fault.WithPosition(fault.Errorf(fault.Other, "%d values cannot be unpacked into %d names", len(items), len(t.parts)), t.off)
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
func (m *evaluator) captureBody(part body) (py.Val, error) {
	return m.captureOutput(func() error {
		return m.runInFrame(m.frame, func() error { return m.walk.runBody(part) })
	})
}

// filterText sends what a body wrote through filters.
func (m *evaluator) filterText(text py.Val, chain node) (py.Val, error) {
	before := m.captured
	m.captured = text
	v, err := m.evalTraced(chain)
	m.captured = before
	return v, err
}

func (m *evaluator) execSetBlock(s *setBlockStmt, bodies []body) error {
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

func (m *evaluator) execFilter(s *filterStmt, bodies []body) error {
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

func (m *evaluator) execWith(s *withStmt, bodies []body) error {
	values := make([]py.Val, len(s.values))
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
		return m.walk.runBody(bodies[0])
	})
}

// writeSegments writes a run.
func (m *evaluator) writeSegments(r outputRun) error {
	for i := range r {
		s := &r[i]
		if s.x != nil {
			if err := m.printExpr(s.x, s.off, s.stop); err != nil {
				return err
			}
			continue
		}
		if err := m.writeText(s.text); err != nil {
			return fault.WithPosition(err, s.off)
		}
		if m.Trace {
			stop := s.off + len(s.text)
			m.addPart(trace.Part{Length: len(s.text), From: trace.LiteralOrigin(s.off, stop, true), Start: s.off, Stop: stop})
		}
	}
	return nil
}

// printExpr writes the text of an expression.
func (m *evaluator) printExpr(x node, start, stop int) error {
	if err := m.CountSteps(1); err != nil {
		return fault.WithPosition(err, x.pos())
	}
	v, err := m.evalTraced(x)
	if err != nil {
		return err
	}
	return m.writeValue(v, x.pos(), start, stop)
}

// writeValue writes the text of a value that source[start:stop] made.
func (m *evaluator) writeValue(v py.Val, pos, start, stop int) error {
	m.Touched = m.Touched[:0]
	s, err := m.PrintedText(v)
	if err == nil {
		err = m.writeText(s)
	}
	if err != nil {
		return fault.WithPosition(err, pos)
	}
	m.tracePrinted(v, len(s), start, stop)
	return nil
}

// exec runs a statement with its bodies.
func (m *evaluator) exec(s stmt, bodies []body) error {
	switch s := s.(type) {
	case *ifStmt:
		return m.execIf(s, bodies)
	case *forStmt:
		return m.execFor(s, bodies)
	case *setStmt:
		return m.execSet(s)
	case *setBlockStmt:
		return m.execSetBlock(s, bodies)
	case *filterStmt:
		return m.execFilter(s, bodies)
	case *withStmt:
		return m.execWith(s, bodies)
	case *macroStmt:
		return m.execMacro(s, bodies)
	case *callStmt:
		return m.execCall(s, bodies)
	case *jumpStmt:
		return m.execJump(s)
	}
	return fault.Errorf(fault.Other, "a statement of type %T cannot be run", s)
}

// writeText appends to the output.
func (m *evaluator) writeText(s string) error {
	if len(m.out)+len(s) > fault.MaxBytes {
		return fault.Errorf(fault.Limit, "a text of more than %d bytes", fault.MaxBytes)
	}
	m.out = append(m.out, s...)
	return m.CountSteps(len(s) >> 8)
}

// captureOutput runs f and returns the text that it wrote.
func (m *evaluator) captureOutput(f func() error) (py.Val, error) {
	out, parts, touched := m.out, m.parts, m.Touched
	m.out, m.parts, m.Touched = nil, nil, nil
	err := f()
	text := m.JoinedText(string(m.out), m.parts)
	m.out, m.parts, m.Touched = out, parts, touched
	m.Touch(text.Origin())
	return text, err
}

// WriteOutput writes a piece of the template without statements.
func (m *evaluator) WriteOutput(n int) error { return m.writeSegments(m.prog.runs[n]) }

// RunStatement runs a statement of the template.
func (m *evaluator) RunStatement(n int, bodies []body) error { return m.exec(m.prog.stmts[n], bodies) }
