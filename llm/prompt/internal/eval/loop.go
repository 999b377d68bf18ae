package eval

import (
	"github.com/callnode/scheduler/llm/prompt/internal/ast"
	"github.com/callnode/scheduler/llm/prompt/internal/fault"
	"github.com/callnode/scheduler/llm/prompt/internal/pongo2tree"
	"github.com/callnode/scheduler/llm/prompt/internal/pyvalue"
	"github.com/callnode/scheduler/llm/value/wording"
)

// loopState is the variable loop.
type loopState struct {
	m      *evaluator
	stmt   *ast.ForStmt
	bodies []pongo2tree.Body
	frame  *frame // around the loop
	depth  int    // from 0
	i      int
	items  pyvalue.Elements // the elements to visit
	// With an if, elements are tested when they are needed, because the body may change values that the condition
	// uses.
	tested int
	kept   []pyvalue.Val
}

// PyType returns the name of the type.
func (*loopState) PyType() string { return "LoopContext" }

func (m *evaluator) execFor(s *ast.ForStmt, bodies []pongo2tree.Body) error {
	v, err := m.evalTraced(s.Iter)
	if err != nil {
		return err
	}
	return m.runLoop(s, v, &loopState{m: m, stmt: s, bodies: bodies, frame: m.frame})
}

// runLoop runs the body for every element of v.
func (m *evaluator) runLoop(s *ast.ForStmt, v pyvalue.Val, l *loopState) error {
	decided := m.Decided
	defer func() { m.Decided = decided }()
	l.items = pyvalue.ListElements(v)
	if l.items.Len() == 0 {
		items, err := m.ItemsOf(v)
		if err != nil {
			return fault.WithPosition(err, s.Iter.Pos())
		}
		l.items = pyvalue.Elements{Other: items, From: v.Origin()}
	}
	m.noteItems(v, l.items)
	m.markDecided(len(decided), s.Place)
	before := m.frame
	defer func() { m.frame = before }()
	var f *frame
	loop := pyvalue.OfPython(l)
	forLoop := pyvalue.None
	if s.ForLoop {
		forLoop = m.newForLoop(l)
	}
	walked := false // to the end of the body, once
	for ; ; l.i++ {
		more, err := l.hasItem(m, l.i)
		if err != nil {
			return err
		}
		if !more {
			break
		}
		if err := m.CountSteps(1); err != nil {
			return fault.WithPosition(err, s.Iter.Pos())
		}
		if f == nil || f.kept {
			f = &frame{parent: l.frame, vars: make([]pyvalue.Binding, 0, 4)}
		}
		f.vars = append(f.vars[:0], pyvalue.Binding{Name: "loop", V: loop})
		if s.ForLoop {
			f.vars = append(f.vars, pyvalue.Binding{Name: forLoopName, V: forLoop})
		}
		if err := m.assignTo(f, s.Target, l.itemAt(l.i)); err != nil {
			return err
		}
		m.frame = f
		err = m.walk.RunBody(l.bodies[0])
		if isJump := err == errBreak || err == errContinue; !isJump && err != nil { //nolint:errorlint // they are never wrapped
			return err
		}
		if err == errBreak { //nolint:errorlint // it is never wrapped
			break
		}
		if err == nil {
			walked = true // as Jinja2 does it: a body that jumped out does not count
		}
	}
	if !walked && len(l.bodies) > 1 {
		return m.runInFrame(l.frame, func() error { return m.walk.RunBody(l.bodies[1]) })
	}
	return nil
}

// hasItem reports whether the loop has an element i.
func (l *loopState) hasItem(m *evaluator, i int) (bool, error) {
	if l.stmt.Cond == nil {
		return i < l.items.Len(), nil
	}
	if i < len(l.kept) {
		return true, nil
	}
	before := m.frame
	defer func() { m.frame = before }()
	m.frame = &frame{parent: l.frame}
	for i >= len(l.kept) && l.tested < l.items.Len() {
		item := l.items.At(l.tested)
		l.tested++
		m.frame.vars = m.frame.vars[:0]
		if err := m.assignTo(m.frame, l.stmt.Target, item); err != nil {
			return false, err
		}
		ok, err := m.evalTruth(l.stmt.Cond)
		if err != nil {
			return false, err
		}
		if ok {
			l.kept = append(l.kept, item)
		}
		if err := m.CountSteps(1); err != nil {
			return false, fault.WithPosition(err, l.stmt.Iter.Pos())
		}
	}
	return i < len(l.kept), nil
}

func (l *loopState) itemAt(i int) pyvalue.Val {
	if l.stmt.Cond == nil {
		return l.items.At(i)
	}
	return l.kept[i]
}

// ItemCount returns how often the loop runs, which loop.length is.
func (l *loopState) ItemCount(*pyvalue.Run) (int, error) {
	if l.stmt.Cond == nil {
		return l.items.Len(), nil
	}
	_, err := l.hasItem(l.m, l.items.Len())
	return len(l.kept), err
}

// Member returns a member of loop.
func (l *loopState) Member(m *pyvalue.Run, name string) (pyvalue.Val, bool, error) {
	switch name {
	case "index":
		return pyvalue.OfInt(l.i + 1), true, nil
	case "index0":
		return pyvalue.OfInt(l.i), true, nil
	case "first":
		return pyvalue.OfBool(l.i == 0), true, nil
	case "last":
		more, err := l.hasItem(l.m, l.i+1)
		return pyvalue.OfBool(!more), true, err
	case "length":
		n, err := l.ItemCount(m)
		return pyvalue.OfInt(n), true, err
	case "revindex":
		n, err := l.ItemCount(m)
		return pyvalue.OfInt(n - l.i), true, err
	case "revindex0":
		n, err := l.ItemCount(m)
		return pyvalue.OfInt(n - l.i - 1), true, err
	case "depth":
		return pyvalue.OfInt(l.depth + 1), true, nil
	case "depth0":
		return pyvalue.OfInt(l.depth), true, nil
	case "previtem":
		return l.neighbourItem(m, l.i-1, name)
	case "nextitem":
		return l.neighbourItem(m, l.i+1, name)
	case "cycle":
		return pyvalue.OfFunc(name, l.cycleItems), true, nil
	}
	return pyvalue.None, false, nil
}

func (l *loopState) neighbourItem(m *pyvalue.Run, i int, name string) (pyvalue.Val, bool, error) {
	there, err := l.hasItem(l.m, i)
	if err != nil {
		return pyvalue.None, false, err
	}
	if i >= 0 && there {
		return l.itemAt(i), true, nil
	}
	path := "loop." + name
	return m.Undefined(&pyvalue.UndefinedValue{Class: fault.Undefined, Name: path, Format: "%s is undefined: the loop has no such element", Args: []any{path}, Off: m.Here}), true, nil
}

func (l *loopState) cycleItems(_ *pyvalue.Run, a pyvalue.CallArgs) (pyvalue.Val, error) {
	if len(a.Pos) == 0 || len(a.Kw) > 0 {
		return pyvalue.None, fault.Errorf(fault.Type, "loop.cycle needs items to choose from, and none by name")
	}
	return a.Pos[l.i%len(a.Pos)], nil
}

// CallWith is loop(items) in a recursive loop.
func (l *loopState) CallWith(_ *pyvalue.Run, a pyvalue.CallArgs) (pyvalue.Val, error) {
	if !l.stmt.Recursive {
		e := fault.Errorf(fault.Type, "the loop is not recursive")
		e.Hint = "write {% for ... recursive %}"
		return pyvalue.None, e
	}
	if len(a.Pos) != 1 || len(a.Kw) > 0 {
		return pyvalue.None, fault.Errorf(fault.Type, "loop takes one argument")
	}
	text, err := l.m.captureNested(func() error {
		return l.m.runLoop(l.stmt, a.Pos[0], &loopState{m: l.m, stmt: l.stmt, bodies: l.bodies, frame: l.frame, depth: l.depth + 1})
	})
	return text, err
}

// captureNested runs the body of a macro or a recursive loop and returns its text.
func (m *evaluator) captureNested(f func() error) (pyvalue.Val, error) {
	m.calls++
	if m.calls > fault.MaxCalls {
		return pyvalue.None, fault.Errorf(fault.Limit, "macros inside each other deeper than %d", fault.MaxCalls)
	}
	text, err := m.captureOutput(f)
	m.calls--
	return text, err
}

// The jumps out of the body of a loop: errors that the loop around them takes.
var (
	errBreak    = wording.Errorf("break outside of its loop")
	errContinue = wording.Errorf("continue outside of its loop")
)

// execJump jumps.
func (m *evaluator) execJump(s *ast.JumpStmt) error {
	if s.IsBreak {
		return errBreak
	}
	return errContinue
}
