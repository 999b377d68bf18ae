package eval

import (
	"github.com/callnode/scheduler/llm/prompt/internal/ast"
	"github.com/callnode/scheduler/llm/prompt/internal/fault"
	"github.com/callnode/scheduler/llm/prompt/internal/pongo2tree"
	"github.com/callnode/scheduler/llm/prompt/internal/pyvalue"
)

// macro is a macro that has been defined, in the frame that it sees.
type macro struct {
	m     *evaluator
	name  string
	stmt  *ast.MacroStmt
	body  pongo2tree.Body
	frame *frame
}

// PyType returns the name of the type.
func (*macro) PyType() string { return "Macro" }

func (m *evaluator) execMacro(s *ast.MacroStmt, bodies []pongo2tree.Body) error {
	if err := m.frame.setVar(s.Name, m.newMacro(s, bodies)); err != nil {
		return fault.WithPosition(err, s.Pos())
	}
	return nil
}

func (m *evaluator) newMacro(s *ast.MacroStmt, bodies []pongo2tree.Body) pyvalue.Val {
	for f := m.frame; f != nil; f = f.parent {
		f.kept = true // a loop must not use this frame again
	}
	return pyvalue.OfPython(&macro{m, s.Name, s, bodies[0], m.frame})
}

func (m *evaluator) execCall(s *ast.CallStmt, bodies []pongo2tree.Body) error {
	f, err := m.eval(s.MacroStmt.Call.Fn)
	if err != nil {
		return err
	}
	if err := checkCalled(f); err != nil {
		return fault.WithPosition(err, s.Pos())
	}
	a, err := m.evalArgs(s.MacroStmt.Call.Args)
	if err != nil {
		return fault.WithPosition(err, s.Pos())
	}
	a.Kw = append(a.Kw, pyvalue.Binding{Name: "caller", V: m.newMacro(s.MacroStmt, bodies)})
	v, err := m.CallValue(f, a)
	if err != nil {
		return fault.WithPosition(err, s.Pos())
	}
	return m.writeValue(v, s.Pos(), s.Pos(), s.Stop)
}

// Member returns the name of the macro, its only member.
func (x *macro) Member(_ *pyvalue.Run, name string) (pyvalue.Val, bool, error) {
	if name == "name" {
		return pyvalue.OfStr(x.name), true, nil
	}
	return pyvalue.None, false, nil
}

// CallWith runs the macro.
func (x *macro) CallWith(_ *pyvalue.Run, a pyvalue.CallArgs) (pyvalue.Val, error) {
	m := x.m
	f := &frame{parent: x.frame, macro: true, vars: make([]pyvalue.Binding, 0, len(x.stmt.Params)+1)}
	text, err := m.captureNested(func() error {
		before := m.frame
		m.frame = f
		defer func() { m.frame = before }()
		if err := x.bindParams(m, f, a); err != nil {
			return err
		}
		return m.walk.RunBody(x.body)
	})
	return text, err
}

// bindParams puts the arguments of a call into the macro's frame. Defaults are
// evaluated now, and see the parameters before them.
func (x *macro) bindParams(m *evaluator, f *frame, a pyvalue.CallArgs) error {
	s := x.stmt
	for i, p := range s.Params {
		v := pyvalue.Missing
		if i < len(a.Pos) {
			v = a.Pos[i]
		}
		for _, kw := range a.Kw {
			if kw.Name != p.Name {
				continue
			}
			if !v.IsAbsent() {
				return fault.Errorf(fault.Type, "the macro %s has two values for argument %s", pyvalue.QuoteText(x.name), pyvalue.QuoteText(p.Name))
			}
			v = kw.V
		}
		if v.IsAbsent() {
			v = m.Undefined(&pyvalue.UndefinedValue{Class: fault.Undefined, Name: p.Name, Format: "the argument %s of the macro %s was not given", Args: []any{p.Name, x.name}, Off: s.Pos()})
			if p.Fallback != nil {
				var err error
				v, err = m.evalTraced(p.Fallback)
				if err != nil {
					return err
				}
			}
		}
		if err := f.setVar(p.Name, v); err != nil {
			return err
		}
	}
	return x.bindCaller(f, a)
}

// bindCaller handles arguments without a parameter: only caller may be one.
func (x *macro) bindCaller(f *frame, a pyvalue.CallArgs) error {
	s := x.stmt
	if len(a.Pos) > len(s.Params) {
		return fault.Errorf(fault.Type, "the macro %s takes at most %d arguments, %d are given", pyvalue.QuoteText(x.name), len(s.Params), len(a.Pos))
	}
	for _, kw := range a.Kw {
		if s.HasParam(kw.Name) {
			continue
		}
		if kw.Name == "caller" && s.Caller {
			f.vars = append(f.vars, pyvalue.Binding{Name: "caller", V: kw.V})
			continue
		}
		e := fault.Errorf(fault.Type, "the macro %s has no argument %s", pyvalue.QuoteText(x.name), pyvalue.QuoteText(kw.Name))
		if kw.Name == "caller" {
			fault.SetMessage(e, "the macro %s does not use caller(), so it cannot be used with {%% call %%}", pyvalue.QuoteText(x.name))
		}
		return e
	}
	return nil
}
