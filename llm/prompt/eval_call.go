package prompt

import "github.com/callnode/scheduler/llm/prompt/internal/fault"

func (m *evaluator) evalArgs(args []argument) (a callArgs, err error) {
	if len(args) == 0 {
		return a, nil
	}
	a.pos = make([]val, 0, len(args))
	for _, arg := range args {
		v, err := m.evalTraced(arg.x)
		if err != nil {
			return a, err
		}
		if arg.name != "" {
			a.kw = append(a.kw, binding{arg.name, v})
		} else {
			a.pos = append(a.pos, v)
		}
	}
	for i := range a.kw {
		for j := range i {
			if a.kw[i].name == a.kw[j].name {
				return a, fault.Errorf(fault.Type, "the argument %s is given twice", quoteText(a.kw[i].name))
			}
		}
	}
	return a, nil
}

// evalOperands returns what a filter or test is applied to, and its arguments. pos is where
// the filter or test stands.
func (m *evaluator) evalOperands(in node, args []argument, pos int) (v val, a callArgs, err error) {
	v, err = m.eval(in)
	if err != nil {
		return none, a, err
	}
	a, err = m.evalArgs(args)
	if err != nil {
		return none, a, fault.WithPosition(err, pos)
	}
	return v, a, nil
}

func (m *evaluator) evalFilter(n *filterNode) (val, error) {
	touched := len(m.touched)
	in, a, err := m.evalOperands(n.in, n.args, n.pos())
	if err != nil {
		return none, err
	}
	m.here = n.pos()
	v, err := n.def.applyTo(&m.run, n.name, in, a)
	if err != nil {
		return none, fault.WithPosition(err, n.pos())
	}
	m.keepUsed(touched, v)
	return v, nil
}

func (m *evaluator) evalTest(n *testNode) (val, error) {
	in, a, err := m.evalOperands(n.in, n.args, n.pos())
	if err != nil {
		return none, err
	}
	v, err := n.def.applyTo(&m.run, n.name, in, a)
	if err != nil {
		return none, fault.WithPosition(err, n.pos())
	}
	if n.not {
		t, _ := v.v.Bool()
		return ofBool(!t), nil
	}
	return v, nil
}

func (m *evaluator) evalCall(n *callNode) (val, error) {
	if attr, ok := n.fn.(*attrNode); ok {
		touched := len(m.touched)
		o, err := m.eval(attr.obj)
		if err != nil {
			return none, err
		}
		if hasMethod(o, attr.name) {
			return m.callMethodOf(n, o, attr.name, touched)
		}
		f, err := m.evalMember(o, attr)
		if err != nil {
			return none, err
		}
		return m.callNodeWith(n, f)
	}
	f, err := m.eval(n.fn)
	if err != nil {
		return none, err
	}
	return m.callNodeWith(n, f)
}

// callMethodOf calls a method of o; touched is how much was mentioned before o.
func (m *evaluator) callMethodOf(n *callNode, o val, name string, touched int) (val, error) {
	a, err := m.evalArgs(n.args)
	if err != nil {
		return none, fault.WithPosition(err, n.pos())
	}
	m.here = n.pos()
	v, err := callMethod(&m.run, o, name, a)
	if err == nil {
		v, err = m.computeResult(v, o, a)
	}
	if err != nil {
		return none, fault.WithPosition(err, n.pos())
	}
	m.keepUsed(touched, v)
	return v, nil
}

func (m *evaluator) callNodeWith(n *callNode, f val) (val, error) {
	if err := f.checkDefined(); err != nil {
		return none, fault.WithPosition(err, n.pos())
	}
	a, err := m.evalArgs(n.args)
	if err != nil {
		return none, fault.WithPosition(err, n.pos())
	}
	v, err := m.callValue(f, a)
	if err != nil {
		return none, fault.WithPosition(err, n.pos())
	}
	return v, nil
}
