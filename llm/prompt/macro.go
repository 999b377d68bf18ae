package prompt

import "github.com/callnode/scheduler/llm/prompt/internal/fault"

// macro is a macro that has been defined, in the frame that it sees.
type macro struct {
	m     *evaluator
	name  string
	stmt  *macroStmt
	body  body
	frame *frame
}

func (*macro) pyType() string { return "Macro" }

func (m *evaluator) execMacro(s *macroStmt, bodies []body) error {
	if err := m.frame.setVar(s.name, m.newMacro(s, bodies)); err != nil {
		return fault.WithPosition(err, s.pos())
	}
	return nil
}

func (m *evaluator) newMacro(s *macroStmt, bodies []body) val {
	for f := m.frame; f != nil; f = f.parent {
		f.kept = true // a loop must not use this frame again
	}
	return ofPython(&macro{m, s.name, s, bodies[0], m.frame})
}

func (m *evaluator) execCall(s *callStmt, bodies []body) error {
	f, err := m.eval(s.macroStmt.call.fn)
	if err != nil {
		return err
	}
	if err := f.checkDefined(); err != nil {
		return fault.WithPosition(err, s.pos())
	}
	a, err := m.evalArgs(s.macroStmt.call.args)
	if err != nil {
		return fault.WithPosition(err, s.pos())
	}
	a.kw = append(a.kw, binding{"caller", m.newMacro(s.macroStmt, bodies)})
	v, err := m.callValue(f, a)
	if err != nil {
		return fault.WithPosition(err, s.pos())
	}
	return m.writeValue(v, s.pos(), s.pos(), s.stop)
}

// member returns the name of the macro, which is all that it tells.
func (x *macro) member(_ *run, name string) (val, bool, error) {
	if name == "name" {
		return ofStr(x.name), true, nil
	}
	return none, false, nil
}

// callWith runs the macro.
func (x *macro) callWith(_ *run, a callArgs) (val, error) {
	m := x.m
	f := &frame{parent: x.frame, vars: make([]binding, 0, len(x.stmt.params)+1)}
	text, err := m.captureNested(func() error {
		before := m.frame
		m.frame = f
		defer func() { m.frame = before }()
		if err := x.bindParams(m, f, a); err != nil {
			return err
		}
		return m.walk.runBody(x.body)
	})
	return text, err
}

// bindParams puts the arguments of a call into the macro's frame. Defaults are
// evaluated now, and see the parameters before them.
func (x *macro) bindParams(m *evaluator, f *frame, a callArgs) error {
	s := x.stmt
	for i, p := range s.params {
		v := missing
		if i < len(a.pos) {
			v = a.pos[i]
		}
		for _, kw := range a.kw {
			if kw.name != p.name {
				continue
			}
			if !v.isAbsent() {
				return fault.Errorf(fault.Type, "the macro %s has two values for argument %s", quoteText(x.name), quoteText(p.name))
			}
			v = kw.v
		}
		if v.isAbsent() {
			v = m.undefined(&undefinedValue{class: fault.Undefined, name: p.name, format: "the argument %s of the macro %s was not given", args: []any{p.name, x.name}, off: s.pos()})
			if p.fallback != nil {
				var err error
				v, err = m.evalTraced(p.fallback)
				if err != nil {
					return err
				}
			}
		}
		if err := f.setVar(p.name, v); err != nil {
			return err
		}
	}
	return x.bindCaller(f, a)
}

// bindCaller handles arguments without a parameter: only caller may be one.
func (x *macro) bindCaller(f *frame, a callArgs) error {
	s := x.stmt
	if len(a.pos) > len(s.params) {
		return fault.Errorf(fault.Type, "the macro %s takes at most %d arguments, %d are given", quoteText(x.name), len(s.params), len(a.pos))
	}
	for _, kw := range a.kw {
		if s.hasParam(kw.name) {
			continue
		}
		if kw.name == "caller" && s.caller {
			f.vars = append(f.vars, binding{"caller", kw.v})
			continue
		}
		e := fault.Errorf(fault.Type, "the macro %s has no argument %s", quoteText(x.name), quoteText(kw.name))
		if kw.name == "caller" {
			fault.SetMessage(e, "the macro %s does not use caller(), so it cannot be used with {%% call %%}", quoteText(x.name))
		}
		return e
	}
	return nil
}
