package prompt

import "github.com/flosch/pongo2/v6"

type forStmt struct {
	target     *target
	iter, cond node // cond may be nil
	recursive  bool
}

// loopState is the variable loop.
type loopState struct {
	stmt   *forStmt
	bodies []*pongo2.NodeWrapper
	items  elems
	i      int
	depth  int    // from 0
	frame  *frame // where the loop stands
	last   []val  // of changed()
	called bool
}

func (*loopState) pyType() string { return "LoopContext" }

func (s *forStmt) exec(m *machine, bodies []*pongo2.NodeWrapper) error {
	v, err := s.iter.eval(m)
	if err != nil {
		return err
	}
	return s.walk(m, v, &loopState{stmt: s, bodies: bodies, frame: m.frame})
}

// walk runs the body for every element of v.
func (s *forStmt) walk(m *machine, v val, l *loopState) error {
	var err error
	if l.items, err = s.elements(m, v, l.frame); err != nil {
		return at(err, s.iter.pos())
	}
	n := l.items.len()
	if n == 0 {
		if len(l.bodies) > 1 {
			return m.inner(l.frame, func() error { return m.body(l.bodies[1]) })
		}
		return nil
	}
	before := m.frame
	defer func() { m.frame = before }()
	var f *frame
	for l.i = 0; l.i < n; l.i++ {
		if err := m.spend(1); err != nil {
			return at(err, s.iter.pos())
		}
		if f == nil || f.kept {
			f = &frame{parent: l.frame, vars: make([]binding, 0, 4)}
		}
		f.vars = append(f.vars[:0], binding{"loop", val{x: l}})
		if s.target.parts == nil {
			f.vars = append(f.vars, binding{s.target.name, l.items.at(l.i)})
		} else if err := m.assign(f, s.target, l.items.at(l.i)); err != nil {
			return err
		}
		m.frame = f
		if err := m.body(l.bodies[0]); err != nil {
			return err
		}
	}
	return nil
}

// elements is what the loop walks, without what its if leaves out.
func (s *forStmt) elements(m *machine, v val, parent *frame) (elems, error) {
	e := m.elements(v)
	if e.len() == 0 {
		items, err := m.items(v)
		if err != nil {
			return elems{}, err
		}
		e = elems{other: items}
	}
	if s.cond == nil {
		return e, nil
	}
	before := m.frame
	defer func() { m.frame = before }()
	m.frame = &frame{parent: parent}
	kept := []val{}
	for i := range e.len() {
		m.frame.vars = m.frame.vars[:0]
		if err := m.assign(m.frame, s.target, e.at(i)); err != nil {
			return elems{}, err
		}
		ok, err := m.truth(s.cond)
		if err != nil {
			return elems{}, err
		}
		if ok {
			kept = append(kept, e.at(i))
		}
		if err := m.spend(1); err != nil {
			return elems{}, err
		}
	}
	return elems{other: kept}, nil
}

func (l *loopState) length(*machine) (int, error) { return l.items.len(), nil }

// attr is a member of loop.
func (l *loopState) attr(_ *machine, name string) (val, bool, error) {
	n := l.items.len()
	switch name {
	case "index":
		return ofInt(l.i + 1), true, nil
	case "index0":
		return ofInt(l.i), true, nil
	case "revindex":
		return ofInt(n - l.i), true, nil
	case "revindex0":
		return ofInt(n - l.i - 1), true, nil
	case "first":
		return ofBool(l.i == 0), true, nil
	case "last":
		return ofBool(l.i == n-1), true, nil
	case "length":
		return ofInt(n), true, nil
	case "depth":
		return ofInt(l.depth + 1), true, nil
	case "depth0":
		return ofInt(l.depth), true, nil
	case "previtem":
		return l.neighbour(l.i-1, name), true, nil
	case "nextitem":
		return l.neighbour(l.i+1, name), true, nil
	case "cycle":
		return val{x: &fn{name: name, call: l.cycle}}, true, nil
	case "changed":
		return val{x: &fn{name: name, call: l.changed}}, true, nil
	}
	return none, false, nil
}

func (l *loopState) neighbour(i int, name string) val {
	if i >= 0 && i < l.items.len() {
		return l.items.at(i)
	}
	return val{x: &undefined{class: Undefined, name: "loop." + name, msg: "loop." + name + " is undefined here"}}
}

func (l *loopState) cycle(_ *machine, a argv) (val, error) {
	if len(a.pos) == 0 || len(a.kw) > 0 {
		return none, errorf(Type, "loop.cycle needs items to choose from, and none by name")
	}
	return a.pos[l.i%len(a.pos)], nil
}

func (l *loopState) changed(m *machine, a argv) (val, error) {
	same := l.called && len(l.last) == len(a.pos)
	for i := 0; same && i < len(a.pos); i++ {
		var err error
		if same, err = m.equal(l.last[i], a.pos[i]); err != nil {
			return none, err
		}
	}
	l.last, l.called = a.pos, true
	return ofBool(!same), nil
}

// call is loop(items) in a recursive loop.
func (l *loopState) call(m *machine, a argv) (val, error) {
	if !l.stmt.recursive {
		e := errorf(Type, "the loop is not recursive")
		e.Hint = "write {% for ... recursive %}"
		return none, e
	}
	if len(a.pos) != 1 || len(a.kw) > 0 {
		return none, errorf(Type, "loop takes one argument")
	}
	text, err := m.nested(func() error {
		return l.stmt.walk(m, a.pos[0], &loopState{stmt: l.stmt, bodies: l.bodies, frame: l.frame, depth: l.depth + 1})
	})
	return ofStr(text), err
}

// nested runs a macro's or a recursive loop's body and gives its text.
func (m *machine) nested(f func() error) (string, error) {
	if m.calls++; m.calls > maxCalls {
		return "", errorf(Limit, "macros inside each other deeper than %d", maxCalls)
	}
	text, err := m.capture(f)
	m.calls--
	return text, err
}
