package prompt

import (
	"github.com/callnode/scheduler/llm/prompt/internal/fault"
	"github.com/callnode/scheduler/llm/prompt/internal/trace"
)

func (m *evaluator) evalAttr(n *attrNode) (val, error) {
	touched := len(m.touched)
	o, err := m.eval(n.obj)
	if err != nil {
		return none, err
	}
	if o.py() == nil && !n.method {
		if v, ok := o.v.Get(n.name); ok {
			member := val{v: v}.withOrigin(trace.ChildOrigin(o.origin(), n.name))
			m.keepUsed(touched, member)
			return member, nil
		}
	}
	v, err := m.evalMember(o, n)
	m.keepUsed(touched, v)
	return v, err
}

// member is the value of an attribute, with the position of errors.
func (m *evaluator) evalMember(o val, n *attrNode) (val, error) {
	if u := o.asUndefined(); u != nil && u.deep {
		return o, nil
	}
	if err := o.checkDefined(); err != nil {
		return none, fault.WithPosition(err, n.pos())
	}
	m.here = n.pos()
	v, ok, err := getAttribute(&m.run, o, n.name)
	if err != nil {
		return none, fault.WithPosition(err, n.pos())
	}
	if !ok {
		v, ok, err = getItem(o, ofStr(n.name))
		if err != nil {
			return none, fault.WithPosition(err, n.pos())
		}
	}
	if !ok {
		return m.undefined(missingMember(o, n.path, n.name, n.pos())), nil
	}
	if u := v.asUndefined(); u != nil && u.class == fault.Security {
		c := *u
		c.off = n.pos()
		return ofPython(&c), nil
	}
	return v, nil
}

func (m *evaluator) evalItem(n *itemNode) (val, error) {
	touched := len(m.touched)
	v, err := m.findItem(n)
	m.keepUsed(touched, v)
	return v, err
}

func (m *evaluator) findItem(n *itemNode) (val, error) {
	o, err := m.eval(n.obj)
	if err != nil {
		return none, err
	}
	key, err := m.eval(n.key)
	if err != nil {
		return none, err
	}
	if o.py() == nil && key.py() == nil {
		if s, ok := key.v.Str(); ok {
			if v, ok := o.v.Get(s); ok {
				return val{v: v}.withOrigin(trace.ChildOrigin(o.origin(), s)), nil
			}
		}
	}
	if u := o.asUndefined(); u != nil && u.deep {
		return o, nil
	}
	if err := o.checkDefined(); err != nil {
		return none, fault.WithPosition(err, n.pos())
	}
	if err := key.checkDefined(); err != nil {
		return none, fault.WithPosition(err, n.pos())
	}
	if err := m.countSteps(o.readingSteps() + key.readingSteps()); err != nil {
		return none, fault.WithPosition(err, n.pos())
	}
	v, ok, err := getItem(o, key)
	if err == nil && !ok {
		if s, isStr := key.asString(); isStr {
			v, ok, err = getAttribute(&m.run, o, s)
		}
	}
	if err != nil {
		return none, fault.WithPosition(err, n.pos())
	}
	if !ok {
		name, _ := m.textOf(key)
		return m.undefined(missingMember(o, itemPath(pathText(n.obj), key), name, n.pos())), nil
	}
	if u := v.asUndefined(); u != nil && u.class == fault.Security {
		c := *u
		c.off = n.pos()
		return ofPython(&c), nil
	}
	return v, nil
}
