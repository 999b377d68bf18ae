package eval

import (
	"github.com/callnode/scheduler/llm/prompt/internal/ast"
	"github.com/callnode/scheduler/llm/prompt/internal/fault"
	"github.com/callnode/scheduler/llm/prompt/internal/pongo2tree"
	"github.com/callnode/scheduler/llm/prompt/internal/pyvalue"
	"github.com/callnode/scheduler/llm/prompt/internal/trace"
)

func (m *evaluator) execIf(s *ast.IfStmt, bodies []pongo2tree.Body) error {
	decided := m.Decided
	err := m.execBranch(s, bodies, len(decided))
	m.Decided = decided
	return err
}

// execBranch runs the body of the first condition that is true; decided is how many origins have
// decided that the statement runs.
func (m *evaluator) execBranch(s *ast.IfStmt, bodies []pongo2tree.Body, decided int) error {
	for i, cond := range s.Conds {
		t, err := m.evalTruth(cond)
		if err != nil {
			return err
		}
		m.markDecided(decided, s.Place)
		if t {
			return m.walk.RunBody(bodies[i])
		}
	}
	if len(bodies) > len(s.Conds) {
		return m.walk.RunBody(bodies[len(bodies)-1])
	}
	return nil
}

func (m *evaluator) execSet(s *ast.SetStmt) error {
	v, err := m.evalTraced(s.X)
	if err != nil {
		return err
	}
	m.Touched = m.Touched[:0]
	return m.assignTo(m.frame, s.Target, v)
}

// assignTo puts a value into variables of a frame.
func (m *evaluator) assignTo(f *frame, t *ast.AssignTarget, v pyvalue.Val) error {
	if t.Parts == nil && t.Attr == "" {
		if err := f.setVar(t.Name, v); err != nil {
			return fault.WithPosition(err, t.Off)
		}
		return nil
	}
	if t.Attr != "" {
		ns, err := m.evalName(&ast.NameNode{Position: ast.Position(t.Off), Name: t.Name, Slot: m.prog.SlotOf(t.Name)})
		if err == nil {
			err = ns.CheckDefined()
		}
		if err != nil {
			return err
		}
		x, ok := ns.Py().(*pyvalue.Namespace)
		if !ok {
			return fault.WithPosition(fault.Errorf(fault.Other, "only members of a namespace can be set: %s is a '%s'", t.Name, ns.PyType()), t.Off)
		}
		if err := x.SetMember(t.Attr, v); err != nil {
			return fault.WithPosition(err, t.Off)
		}
		return nil
	}
	items, err := m.ItemsOf(v)
	if err != nil {
		return fault.WithPosition(err, t.Off)
	}
	if len(items) != len(t.Parts) {
		return fault.WithPosition(fault.Errorf(fault.Other, "%d values cannot be unpacked into %d names", len(items), len(t.Parts)), t.Off)
	}
	for i, part := range t.Parts {
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

// captureBody runs a body in a frame of its own and returns its text.
func (m *evaluator) captureBody(part pongo2tree.Body) (pyvalue.Val, error) {
	return m.captureOutput(func() error {
		return m.runInFrame(m.frame, func() error { return m.walk.RunBody(part) })
	})
}

// filterText applies filters to the text that a body wrote.
func (m *evaluator) filterText(text pyvalue.Val, chain ast.Node) (pyvalue.Val, error) {
	before := m.captured
	m.captured = text
	v, err := m.evalTraced(chain)
	m.captured = before
	return v, err
}

func (m *evaluator) execSetBlock(s *ast.SetBlockStmt, bodies []pongo2tree.Body) error {
	v, err := m.captureBody(bodies[0])
	if err != nil {
		return err
	}
	if s.Filter != nil {
		v, err = m.filterText(v, s.Filter)
		if err != nil {
			return err
		}
	}
	return m.assignTo(m.frame, s.Target, v)
}

func (m *evaluator) execFilter(s *ast.FilterStmt, bodies []pongo2tree.Body) error {
	text, err := m.captureBody(bodies[0])
	if err != nil {
		return err
	}
	v, err := m.filterText(text, s.Chain)
	if err != nil {
		return err
	}
	return m.writeValue(v, s.Pos(), s.Pos(), s.Stop)
}

func (m *evaluator) execWith(s *ast.WithStmt, bodies []pongo2tree.Body) error {
	values := make([]pyvalue.Val, len(s.Values))
	for i, x := range s.Values {
		v, err := m.evalTraced(x)
		if err != nil {
			return err
		}
		values[i] = v
	}
	return m.runInFrame(m.frame, func() error {
		for i, t := range s.Targets {
			if err := m.assignTo(m.frame, t, values[i]); err != nil {
				return err
			}
		}
		return m.walk.RunBody(bodies[0])
	})
}

// writeSegments writes a run.
func (m *evaluator) writeSegments(r ast.OutputRun) error {
	for i := range r {
		s := &r[i]
		if s.X != nil {
			if err := m.printExpr(s.X, s.Off, s.Stop); err != nil {
				return err
			}
			continue
		}
		if err := m.writeText(s.Text); err != nil {
			return fault.WithPosition(err, s.Off)
		}
		if m.Trace {
			m.addPart(trace.Part{Length: len(s.Text), From: s.Origin, Start: s.Off, Stop: s.Stop})
		}
	}
	return nil
}

// printExpr writes the text of an expression.
func (m *evaluator) printExpr(x ast.Node, start, stop int) error {
	if err := m.CountSteps(1); err != nil {
		return fault.WithPosition(err, x.Pos())
	}
	if joined, ok := x.(*ast.ConcatNode); ok && !m.Trace {
		return m.writeConcat(joined)
	}
	v, err := m.evalTraced(x)
	if err != nil {
		return err
	}
	return m.writeValue(v, x.Pos(), start, stop)
}

// writeConcat writes joined texts without joining them first, in a rendering that is not traced.
func (m *evaluator) writeConcat(n *ast.ConcatNode) error {
	var room [8]string
	parts, _, err := m.evalParts(n, room[:0])
	if err != nil {
		return err
	}
	for _, s := range parts {
		if err := m.writeText(s); err != nil {
			return fault.WithPosition(err, n.Pos())
		}
	}
	return nil
}

// writeValue writes the text of a value that source[start:stop] made.
func (m *evaluator) writeValue(v pyvalue.Val, pos, start, stop int) error {
	m.Touched = m.Touched[:0]
	s, err := m.PrintedText(v)
	if err == nil {
		err = m.writeText(s)
	}
	if err != nil {
		return fault.WithPosition(err, pos)
	}
	if m.Trace {
		m.tracePrinted(v, len(s), start, stop)
	}
	return nil
}

// exec runs a statement with its bodies.
func (m *evaluator) exec(s ast.Stmt, bodies []pongo2tree.Body) error {
	switch s := s.(type) {
	case *ast.IfStmt:
		return m.execIf(s, bodies)
	case *ast.ForStmt:
		return m.execFor(s, bodies)
	case *ast.SetStmt:
		return m.execSet(s)
	case *ast.SetBlockStmt:
		return m.execSetBlock(s, bodies)
	case *ast.FilterStmt:
		return m.execFilter(s, bodies)
	case *ast.WithStmt:
		return m.execWith(s, bodies)
	case *ast.MacroStmt:
		return m.execMacro(s, bodies)
	case *ast.CallStmt:
		return m.execCall(s, bodies)
	case *ast.JumpStmt:
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
func (m *evaluator) captureOutput(f func() error) (pyvalue.Val, error) {
	out, parts, touched := m.out, m.parts, m.Touched
	m.out, m.parts, m.Touched = nil, nil, nil
	err := f()
	text := m.JoinedText(string(m.out), m.parts)
	m.out, m.parts, m.Touched = out, parts, touched
	m.Touch(text.Origin())
	return text, err
}

// WriteOutput writes a piece of the template without statements.
func (m *evaluator) WriteOutput(n int) error { return m.writeSegments(m.prog.Runs[n]) }

// RunStatement runs a statement of the template.
func (m *evaluator) RunStatement(n int, bodies []pongo2tree.Body) error {
	return m.exec(m.prog.Stmts[n], bodies)
}
