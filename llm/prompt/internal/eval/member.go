package eval

import (
	"github.com/callnode/scheduler/llm/prompt/internal/ast"
	"github.com/callnode/scheduler/llm/prompt/internal/builtins"
	"github.com/callnode/scheduler/llm/prompt/internal/fault"
	"github.com/callnode/scheduler/llm/prompt/internal/pyvalue"
	"github.com/callnode/scheduler/llm/prompt/internal/trace"
)

func (m *evaluator) evalAttr(n *ast.AttrNode) (pyvalue.Val, error) {
	touched := len(m.Touched)
	var o pyvalue.Val
	var err error
	if name, ok := n.Obj.(*ast.NameNode); ok { // as most are: a call less
		o, err = m.evalName(name)
	} else {
		o, err = m.eval(n.Obj)
	}
	if err != nil {
		return pyvalue.None, err
	}
	if o.Py() == nil {
		if v, ok := o.V.Get(n.Name); ok {
			member := pyvalue.Val{V: v}
			if m.Trace {
				member = member.WithOrigin(trace.ChildOrigin(o.Origin(), n.Name))
				m.KeepUsed(touched, member)
			}
			return member, nil
		}
	}
	v, err := m.evalMember(o, n)
	m.KeepUsed(touched, v)
	return v, err
}

// evalMember returns the value of an attribute, with the position of errors.
func (m *evaluator) evalMember(o pyvalue.Val, n *ast.AttrNode) (pyvalue.Val, error) {
	if u := o.AsUndefined(); u != nil && u.Deep {
		return o, nil
	}
	if err := o.CheckDefined(); err != nil {
		return pyvalue.None, fault.WithPosition(err, n.Pos())
	}
	m.Here = n.Pos()
	v, ok, err := builtins.GetAttribute(&m.Run, o, n.Name)
	if err != nil {
		return pyvalue.None, fault.WithPosition(err, n.Pos())
	}
	if !ok {
		v, ok, err = builtins.GetItem(o, pyvalue.OfStr(n.Name))
		if err != nil {
			return pyvalue.None, fault.WithPosition(err, n.Pos())
		}
	}
	if !ok {
		if err := builtins.CheckSupported(o, n.Name, n.Pos()); err != nil {
			return pyvalue.None, err
		}
		return m.Undefined(builtins.MissingMember(o, n.Path, n.Name, n.Pos())), nil
	}
	if u := v.AsUndefined(); u != nil && u.Class == fault.Security {
		c := *u
		c.Off = n.Pos()
		return pyvalue.OfPython(&c), nil
	}
	return v, nil
}

func (m *evaluator) evalItem(n *ast.ItemNode) (pyvalue.Val, error) {
	touched := len(m.Touched)
	v, err := m.findItem(n)
	m.KeepUsed(touched, v)
	return v, err
}

func (m *evaluator) findItem(n *ast.ItemNode) (pyvalue.Val, error) {
	o, err := m.eval(n.Obj)
	if err != nil {
		return pyvalue.None, err
	}
	key, err := m.eval(n.Key)
	if err != nil {
		return pyvalue.None, err
	}
	if o.Py() == nil && key.Py() == nil {
		if s, ok := key.V.Str(); ok {
			if v, ok := o.V.Get(s); ok {
				return pyvalue.Val{V: v}.WithOrigin(trace.ChildOrigin(o.Origin(), s)), nil
			}
		}
	}
	if u := o.AsUndefined(); u != nil && u.Deep {
		return o, nil
	}
	if err := o.CheckDefined(); err != nil {
		return pyvalue.None, fault.WithPosition(err, n.Pos())
	}
	if err := key.CheckDefined(); err != nil {
		return pyvalue.None, fault.WithPosition(err, n.Pos())
	}
	if err := m.CountSteps(o.ReadingSteps() + key.ReadingSteps()); err != nil {
		return pyvalue.None, fault.WithPosition(err, n.Pos())
	}
	v, ok, err := builtins.GetItem(o, key)
	if err == nil && !ok {
		if s, isStr := key.AsString(); isStr {
			v, ok, err = builtins.GetAttribute(&m.Run, o, s)
		}
	}
	if err != nil {
		return pyvalue.None, fault.WithPosition(err, n.Pos())
	}
	if !ok {
		name, _ := m.TextOf(key)
		if err := builtins.CheckSupported(o, name, n.Pos()); err != nil {
			return pyvalue.None, err
		}
		return m.Undefined(builtins.MissingMember(o, pyvalue.ItemPath(ast.PathText(n.Obj), key), name, n.Pos())), nil
	}
	if u := v.AsUndefined(); u != nil && u.Class == fault.Security {
		c := *u
		c.Off = n.Pos()
		return pyvalue.OfPython(&c), nil
	}
	return v, nil
}
