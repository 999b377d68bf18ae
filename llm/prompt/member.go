package prompt

import (
	"strings"
)

func (n *attrNode) eval(m *machine) (val, error) {
	o, err := n.obj.eval(m)
	if err != nil {
		return none, err
	}
	if o.x == nil && !n.method {
		if v, ok := o.v.Get(n.name); ok {
			return val{v: v}, nil
		}
	}
	return m.attr(o, n)
}

// member is the value of an attribute, with the position of errors.
func (m *machine) attr(o val, n *attrNode) (val, error) {
	if u := o.undef(); u != nil && u.deep {
		return o, nil
	}
	if err := o.use(); err != nil {
		return none, at(err, n.pos())
	}
	m.here = n.pos()
	v, ok, err := m.getattr(o, n.name)
	if err != nil {
		return none, at(err, n.pos())
	}
	if !ok {
		if v, ok, err = getitem(o, ofStr(n.name)); err != nil {
			return none, at(err, n.pos())
		}
	}
	if !ok {
		return val{x: missingMember(o, n.path, n.name, n.pos())}, nil
	}
	if u := v.undef(); u != nil && u.class == Security {
		c := *u
		c.off = n.pos()
		return val{x: &c}, nil
	}
	return v, nil
}

// missingMember is the undefined value of a member that o has not.
func missingMember(o val, path, name string, offset int) *undefined {
	u := &undefined{class: Undefined, name: path, off: offset}
	u.msg = path + " is undefined: the " + o.pyType() + " has no member " + quoted(name)
	u.hint = keyHint(o)
	if o.isNone() {
		u.msg = path + " is undefined: what comes before " + quoted(name) + " is None"
	}
	if o.isDict() {
		u.msg = path + " is undefined: there is no key " + quoted(name)
		u.keys = func() []string {
			var keys []string
			for i := range dictLen(o) {
				k, _ := dictAt(o, i)
				if s, ok := k.str(); ok {
					keys = append(keys, s)
				}
			}
			return keys
		}
	}
	return u
}

// keyHint is the way to the key that a method hides, where v is the method of a dict.
func keyHint(v val) string {
	if f, ok := v.x.(*fn); ok && dictMethods[f.name] {
		return "after a dot " + f.name + " is the method of the dict; the key is ['" + f.name + "']"
	}
	return ""
}

// misused is the error of v where something else is wanted.
func misused(v val, format string, args ...any) *Error {
	e := errorf(Type, format, args...)
	e.Hint = keyHint(v)
	return e
}

func quoted(s string) string {
	p := printer{max: maxBytes}
	p.quote(s)
	return string(p.b)
}

func lastName(path string) string { return path[strings.LastIndexByte(path, '.')+1:] }

func (n *itemNode) eval(m *machine) (val, error) {
	o, err := n.obj.eval(m)
	if err != nil {
		return none, err
	}
	key, err := n.key.eval(m)
	if err != nil {
		return none, err
	}
	if o.x == nil && key.x == nil {
		if s, ok := key.v.Str(); ok {
			if v, ok := o.v.Get(s); ok {
				return val{v: v}, nil
			}
		}
	}
	if u := o.undef(); u != nil && u.deep {
		return o, nil
	}
	if err := o.use(); err != nil {
		return none, at(err, n.pos())
	}
	if err := key.use(); err != nil {
		return none, at(err, n.pos())
	}
	if err := m.spend(o.weight() + key.weight()); err != nil {
		return none, at(err, n.pos())
	}
	v, ok, err := getitem(o, key)
	if err == nil && !ok {
		if s, isStr := key.str(); isStr {
			v, ok, err = m.getattr(o, s)
		}
	}
	if err != nil {
		return none, at(err, n.pos())
	}
	if !ok {
		name, _ := m.text(key)
		return val{x: missingMember(o, itemPath(pathText(n.obj), key), name, n.pos())}, nil
	}
	if u := v.undef(); u != nil && u.class == Security {
		c := *u
		c.off = n.pos()
		return val{x: &c}, nil
	}
	return v, nil
}

// itemPath adds a subscript to a path, as messages show it.
func itemPath(path string, key val) string {
	if s, ok := key.str(); ok {
		return memberPath(path, s)
	}
	p := printer{max: 200}
	p.repr(key)
	return path + "[" + string(p.b) + "]"
}

func memberPath(path, name string) string {
	if path == "" {
		return name
	}
	return path + "." + name
}

// pathText is the dotted form of a reference; "" where the node is none.
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
