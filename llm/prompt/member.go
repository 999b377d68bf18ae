package prompt

import (
	"strings"

	"github.com/callnode/scheduler/llm/value/wording"
)

func (n *attrNode) eval(m *evaluator) (val, error) {
	touched := len(m.touched)
	o, err := n.obj.eval(m)
	if err != nil {
		return none, err
	}
	if o.py() == nil && !n.method {
		if v, ok := o.v.Get(n.name); ok {
			member := val{v: v}.withOrigin(childOrigin(o.origin(), n.name))
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
		return none, withPosition(err, n.pos())
	}
	m.here = n.pos()
	v, ok, err := m.getAttribute(o, n.name)
	if err != nil {
		return none, withPosition(err, n.pos())
	}
	if !ok {
		v, ok, err = getItem(o, ofStr(n.name))
		if err != nil {
			return none, withPosition(err, n.pos())
		}
	}
	if !ok {
		return m.undefined(missingMember(o, n.path, n.name, n.pos())), nil
	}
	if u := v.asUndefined(); u != nil && u.class == Security {
		c := *u
		c.off = n.pos()
		return ofPython(&c), nil
	}
	return v, nil
}

// missingMember returns the undefined value of a member that o has not.
func missingMember(o val, path, name string, offset int) *undefinedValue {
	u := &undefinedValue{class: Undefined, name: path, off: offset}
	u.format, u.args = "%s is undefined: the %s has no member %s", []any{path, o.pyType(), quoteText(name)}
	u.hint = keyHint(o)
	if o.isNone() {
		u.format, u.args = "%s is undefined: what comes before %s is None", []any{path, quoteText(name)}
	}
	if o.isDict() {
		u.format, u.args = "%s is undefined: the object has no key %s", []any{path, quoteText(name)}
		u.keys = func() []string {
			var keys []string
			for i := range dictLen(o) {
				k, _ := dictAt(o, i)
				if s, ok := k.asString(); ok {
					keys = append(keys, s)
				}
			}
			return keys
		}
	}
	return u
}

// keyHint returns the way to the key that a method hides, where v is the method of a dict.
func keyHint(v val) wording.Text {
	if v.isMarkup() {
		return wording.Of(escapeLast)
	}
	if f, ok := v.py().(*function); ok && dictMethods[f.name] {
		return wording.Say("after a dot %s is the method of the dict; the key is ['%s']", f.name, f.name)
	}
	return wording.Text{}
}

// wrongTypeError returns the error of v where something else is wanted.
func wrongTypeError(v val, format string, args ...any) *Error {
	e := errorf(Type, format, args...)
	e.setHint(keyHint(v))
	return e
}

func quoteText(s string) string {
	p := printer{max: maxBytes}
	p.addQuoted(s)
	return string(p.b)
}

func lastName(path string) string { return path[strings.LastIndexByte(path, '.')+1:] }

func (n *itemNode) eval(m *evaluator) (val, error) {
	touched := len(m.touched)
	v, err := n.evalItem(m)
	m.keepUsed(touched, v)
	return v, err
}

func (n *itemNode) evalItem(m *evaluator) (val, error) {
	o, err := n.obj.eval(m)
	if err != nil {
		return none, err
	}
	key, err := n.key.eval(m)
	if err != nil {
		return none, err
	}
	if o.py() == nil && key.py() == nil {
		if s, ok := key.v.Str(); ok {
			if v, ok := o.v.Get(s); ok {
				return val{v: v}.withOrigin(childOrigin(o.origin(), s)), nil
			}
		}
	}
	if u := o.asUndefined(); u != nil && u.deep {
		return o, nil
	}
	if err := o.checkDefined(); err != nil {
		return none, withPosition(err, n.pos())
	}
	if err := key.checkDefined(); err != nil {
		return none, withPosition(err, n.pos())
	}
	if err := m.countSteps(o.readingSteps() + key.readingSteps()); err != nil {
		return none, withPosition(err, n.pos())
	}
	v, ok, err := getItem(o, key)
	if err == nil && !ok {
		if s, isStr := key.asString(); isStr {
			v, ok, err = m.getAttribute(o, s)
		}
	}
	if err != nil {
		return none, withPosition(err, n.pos())
	}
	if !ok {
		name, _ := m.textOf(key)
		return m.undefined(missingMember(o, itemPath(pathText(n.obj), key), name, n.pos())), nil
	}
	if u := v.asUndefined(); u != nil && u.class == Security {
		c := *u
		c.off = n.pos()
		return ofPython(&c), nil
	}
	return v, nil
}

// itemPath adds a subscript to a path, as messages show it.
func itemPath(path string, key val) string {
	if s, ok := key.asString(); ok {
		return memberPath(path, s)
	}
	p := printer{max: 200}
	p.addRepr(key)
	return path + "[" + string(p.b) + "]"
}

func memberPath(path, name string) string {
	if path == "" {
		return name
	}
	return path + "." + name
}

// pathText returns the dotted form of a reference; "" for any other node.
func pathText(n node) string {
	switch n := n.(type) {
	case *nameNode:
		return n.name
	case *attrNode:
		return n.path
	case *itemNode:
		if c, ok := n.key.(*constNode); ok {
			return itemPath(pathText(n.obj), c.v)
		}
		if p := pathText(n.key); p != "" {
			return pathText(n.obj) + "[" + p + "]"
		}
		return pathText(n.obj) + "[...]"
	}
	return ""
}
