package prompt

import (
	"github.com/callnode/scheduler/llm/prompt/internal/fault"
	"github.com/callnode/scheduler/llm/value/wording"
)

// loopState is the variable loop.
type loopState struct {
	m      *evaluator
	stmt   *forStmt
	bodies []body
	frame  *frame // around the loop
	depth  int    // from 0
	i      int
	items  elements // what is walked
	// With an if, elements are tested when they are needed, for the body may change
	// what the condition sees.
	tested int
	kept   []val
}

func (*loopState) pyType() string { return "LoopContext" }

func (m *evaluator) execFor(s *forStmt, bodies []body) error {
	v, err := m.evalTraced(s.iter)
	if err != nil {
		return err
	}
	return m.runLoop(s, v, &loopState{m: m, stmt: s, bodies: bodies, frame: m.frame})
}

// runLoop runs the body for every element of v.
func (m *evaluator) runLoop(s *forStmt, v val, l *loopState) error {
	decided := m.decided
	defer func() { m.decided = decided }()
	l.items = listElements(v)
	if l.items.len() == 0 {
		items, err := m.itemsOf(v)
		if err != nil {
			return fault.WithPosition(err, s.iter.pos())
		}
		l.items = elements{other: items, from: v.origin()}
	}
	m.noteItems(v, l.items)
	m.markDecided(len(decided), s.place)
	before := m.frame
	defer func() { m.frame = before }()
	var f *frame
	loop := ofPython(l)
	walked := false
	for ; ; l.i++ {
		more, err := l.hasItem(m, l.i)
		if err != nil {
			return err
		}
		if !more {
			break
		}
		if err := m.countSteps(1); err != nil {
			return fault.WithPosition(err, s.iter.pos())
		}
		if f == nil || f.kept {
			f = &frame{parent: l.frame, vars: make([]binding, 0, 4)}
		}
		f.vars = append(f.vars[:0], binding{"loop", loop})
		if err := m.assignTo(f, s.target, l.itemAt(l.i)); err != nil {
			return err
		}
		m.frame = f
		walked = true
		err = m.walk.runBody(l.bodies[0])
		if isJump := err == errBreak || err == errContinue; !isJump && err != nil { //nolint:errorlint // they are never wrapped
			return err
		}
		if err == errBreak { //nolint:errorlint // it is never wrapped
			break
		}
	}
	if !walked && len(l.bodies) > 1 {
		return m.runInFrame(l.frame, func() error { return m.walk.runBody(l.bodies[1]) })
	}
	return nil
}

// hasItem reports whether the loop has an element i.
func (l *loopState) hasItem(m *evaluator, i int) (bool, error) {
	if l.stmt.cond == nil {
		return i < l.items.len(), nil
	}
	if i < len(l.kept) {
		return true, nil
	}
	before := m.frame
	defer func() { m.frame = before }()
	m.frame = &frame{parent: l.frame}
	for i >= len(l.kept) && l.tested < l.items.len() {
		item := l.items.at(l.tested)
		l.tested++
		m.frame.vars = m.frame.vars[:0]
		if err := m.assignTo(m.frame, l.stmt.target, item); err != nil {
			return false, err
		}
		ok, err := m.evalTruth(l.stmt.cond)
		if err != nil {
			return false, err
		}
		if ok {
			l.kept = append(l.kept, item)
		}
		if err := m.countSteps(1); err != nil {
			return false, fault.WithPosition(err, l.stmt.iter.pos())
		}
	}
	return i < len(l.kept), nil
}

func (l *loopState) itemAt(i int) val {
	if l.stmt.cond == nil {
		return l.items.at(i)
	}
	return l.kept[i]
}

func (l *loopState) itemCount(*run) (int, error) {
	if l.stmt.cond == nil {
		return l.items.len(), nil
	}
	_, err := l.hasItem(l.m, l.items.len())
	return len(l.kept), err
}

// member returns a member of loop.
func (l *loopState) member(m *run, name string) (val, bool, error) {
	switch name {
	case "index":
		return ofInt(l.i + 1), true, nil
	case "index0":
		return ofInt(l.i), true, nil
	case "first":
		return ofBool(l.i == 0), true, nil
	case "last":
		more, err := l.hasItem(l.m, l.i+1)
		return ofBool(!more), true, err
	case "length":
		n, err := l.itemCount(m)
		return ofInt(n), true, err
	case "revindex":
		n, err := l.itemCount(m)
		return ofInt(n - l.i), true, err
	case "revindex0":
		n, err := l.itemCount(m)
		return ofInt(n - l.i - 1), true, err
	case "depth":
		return ofInt(l.depth + 1), true, nil
	case "depth0":
		return ofInt(l.depth), true, nil
	case "previtem":
		return l.neighbourItem(m, l.i-1, name)
	case "nextitem":
		return l.neighbourItem(m, l.i+1, name)
	case "cycle":
		return ofFunc(name, l.cycleItems), true, nil
	}
	return none, false, nil
}

func (l *loopState) neighbourItem(m *run, i int, name string) (val, bool, error) {
	there, err := l.hasItem(l.m, i)
	if err != nil {
		return none, false, err
	}
	if i >= 0 && there {
		return l.itemAt(i), true, nil
	}
	path := "loop." + name
	return m.undefined(&undefinedValue{class: fault.Undefined, name: path, format: "%s is undefined: the loop has no such element", args: []any{path}, off: m.here}), true, nil
}

func (l *loopState) cycleItems(_ *run, a callArgs) (val, error) {
	if len(a.pos) == 0 || len(a.kw) > 0 {
		return none, fault.Errorf(fault.Type, "loop.cycle needs items to choose from, and none by name")
	}
	return a.pos[l.i%len(a.pos)], nil
}

// callWith is loop(items) in a recursive loop.
func (l *loopState) callWith(_ *run, a callArgs) (val, error) {
	if !l.stmt.recursive {
		e := fault.Errorf(fault.Type, "the loop is not recursive")
		e.Hint = "write {% for ... recursive %}"
		return none, e
	}
	if len(a.pos) != 1 || len(a.kw) > 0 {
		return none, fault.Errorf(fault.Type, "loop takes one argument")
	}
	text, err := l.m.captureNested(func() error {
		return l.m.runLoop(l.stmt, a.pos[0], &loopState{m: l.m, stmt: l.stmt, bodies: l.bodies, frame: l.frame, depth: l.depth + 1})
	})
	return text, err
}

// captureNested runs the body of a macro or a recursive loop and returns its text.
func (m *evaluator) captureNested(f func() error) (val, error) {
	m.calls++
	if m.calls > fault.MaxCalls {
		return none, fault.Errorf(fault.Limit, "macros inside each other deeper than %d", fault.MaxCalls)
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
func (m *evaluator) execJump(s *jumpStmt) error {
	if s.isBreak {
		return errBreak
	}
	return errContinue
}
