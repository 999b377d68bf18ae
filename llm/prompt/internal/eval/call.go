package eval

import (
	"github.com/callnode/scheduler/llm/prompt/internal/ast"
	"github.com/callnode/scheduler/llm/prompt/internal/builtins"
	"github.com/callnode/scheduler/llm/prompt/internal/fault"
	"github.com/callnode/scheduler/llm/prompt/internal/pyvalue"
)

func (m *evaluator) evalArgs(args []ast.Argument) (a pyvalue.CallArgs, err error) {
	if len(args) == 0 {
		return a, nil
	}
	a.Pos = make([]pyvalue.Val, 0, len(args))
	for _, arg := range args {
		v, err := m.evalTraced(arg.X)
		if err != nil {
			return a, err
		}
		if arg.Name != "" {
			a.Kw = append(a.Kw, pyvalue.Binding{Name: arg.Name, V: v})
		} else {
			a.Pos = append(a.Pos, v)
		}
	}
	for i := range a.Kw {
		for j := range i {
			if a.Kw[i].Name == a.Kw[j].Name {
				return a, fault.Errorf(fault.Type, "the argument %s is given twice", pyvalue.QuoteText(a.Kw[i].Name))
			}
		}
	}
	return a, nil
}

// evalOperands returns the operand of a filter or test, and its arguments. pos is the place of the filter or test.
func (m *evaluator) evalOperands(in ast.Node, args []ast.Argument, pos int) (v pyvalue.Val, a pyvalue.CallArgs, err error) {
	v, err = m.eval(in)
	if err != nil {
		return pyvalue.None, a, err
	}
	a, err = m.evalArgs(args)
	if err != nil {
		return pyvalue.None, a, fault.WithPosition(err, pos)
	}
	return v, a, nil
}

func (m *evaluator) evalFilter(n *ast.FilterNode) (pyvalue.Val, error) {
	touched := len(m.Touched)
	in, a, err := m.evalOperands(n.In, n.Args, n.Pos())
	if err != nil {
		return pyvalue.None, err
	}
	m.Here = n.Pos()
	v, err := n.Def.ApplyTo(&m.Run, n.Name, in, a)
	if err != nil {
		return pyvalue.None, fault.WithPosition(err, n.Pos())
	}
	m.KeepUsed(touched, v)
	return v, nil
}

func (m *evaluator) evalTest(n *ast.TestNode) (pyvalue.Val, error) {
	in, a, err := m.evalOperands(n.In, n.Args, n.Pos())
	if err != nil {
		return pyvalue.None, err
	}
	v, err := n.Def.ApplyTo(&m.Run, n.Name, in, a)
	if err != nil {
		return pyvalue.None, fault.WithPosition(err, n.Pos())
	}
	if n.Not {
		t, _ := v.V.Bool()
		return pyvalue.OfBool(!t), nil
	}
	return v, nil
}

func (m *evaluator) evalCall(n *ast.CallNode) (pyvalue.Val, error) {
	if attr, ok := n.Fn.(*ast.AttrNode); ok {
		touched := len(m.Touched)
		o, err := m.eval(attr.Obj)
		if err != nil {
			return pyvalue.None, err
		}
		if builtins.HasMethod(o, attr.Name) {
			return m.callMethodOf(n, o, attr.Name, touched)
		}
		f, err := m.evalMember(o, attr)
		if err != nil {
			return pyvalue.None, err
		}
		return m.callNodeWith(n, f)
	}
	f, err := m.eval(n.Fn)
	if err != nil {
		return pyvalue.None, err
	}
	return m.callNodeWith(n, f)
}

// callMethodOf calls a method of o; touched is how much was mentioned before o.
func (m *evaluator) callMethodOf(n *ast.CallNode, o pyvalue.Val, name string, touched int) (pyvalue.Val, error) {
	a, err := m.evalArgs(n.Args)
	if err != nil {
		return pyvalue.None, fault.WithPosition(err, n.Pos())
	}
	m.Here = n.Pos()
	v, err := builtins.CallMethod(&m.Run, o, name, a)
	if err == nil && m.Trace {
		v, err = m.ComputeResult(v, o, a)
	}
	if err != nil {
		return pyvalue.None, fault.WithPosition(err, n.Pos())
	}
	m.KeepUsed(touched, v)
	return v, nil
}

// checkCalled returns the error of calling an undefined value, or nil.
func checkCalled(f pyvalue.Val) error {
	if u := f.AsUndefined(); u != nil && u.CallError != nil {
		return u.CallError()
	}
	return f.CheckDefined()
}

func (m *evaluator) callNodeWith(n *ast.CallNode, f pyvalue.Val) (pyvalue.Val, error) {
	if err := checkCalled(f); err != nil {
		return pyvalue.None, fault.WithPosition(err, n.Pos())
	}
	a, err := m.evalArgs(n.Args)
	if err != nil {
		return pyvalue.None, fault.WithPosition(err, n.Pos())
	}
	v, err := m.CallValue(f, a)
	if err != nil {
		return pyvalue.None, fault.WithPosition(err, n.Pos())
	}
	return v, nil
}
