package prompt

import (
	"strings"

	"github.com/callnode/scheduler/llm/value"
)

// node is a compiled expression. Nodes are immutable; everything that changes
// is in the machine.
type node interface {
	eval(m *machine) (val, error)
	// pos is the offset of the node in the source.
	pos() int
}

type place int

func (p place) pos() int { return int(p) }

type (
	constNode struct {
		place
		v val
	}
	nameNode struct {
		place
		name string
		slot int // where the machine remembers an outer name
	}
	attrNode struct {
		place
		obj    node
		name   string
		path   string // as written, for messages
		method bool   // a dict has a method of this name
	}
	itemNode struct {
		place
		obj, key node
	}
	sliceNode struct {
		place
		obj               node
		start, stop, step node // nil where left out
	}
	callNode struct {
		place
		fn   node
		args []argument
	}
	filterNode struct {
		place
		in   node
		name string
		def  *builtin
		args []argument
	}
	testNode struct {
		place
		in   node
		name string
		def  *builtin
		args []argument
		not  bool
	}
	unaryNode struct {
		place
		op byte
		x  node
	}
	binaryNode struct {
		place
		op   string
		a, b node
	}
	concatNode struct {
		place
		parts []node
	}
	compareNode struct {
		place
		first node
		ops   []string
		rest  []node
	}
	logicNode struct {
		place
		or   bool
		a, b node
	}
	condNode struct {
		place
		cond, yes, no node // no may be nil
	}
	listNode struct {
		place
		items []node
		tuple bool
	}
	dictNode struct {
		place
		keys, vals []node
	}
)

// argument is one argument of a call, by place or by name.
type argument struct {
	name string // "" by place
	x    node
}

func (n *constNode) eval(*machine) (val, error) { return n.v, nil }

func (n *nameNode) eval(m *machine) (val, error) {
	for f := m.frame; f != nil; f = f.parent {
		for i := len(f.vars) - 1; i >= 0; i-- {
			if f.vars[i].name == n.name {
				return f.vars[i].v, nil
			}
		}
	}
	return m.outer(n)
}

func (n *sliceNode) eval(m *machine) (val, error) {
	o, err := n.obj.eval(m)
	if err != nil {
		return none, err
	}
	var bound [3]*int
	for i, x := range [3]node{n.start, n.stop, n.step} {
		if x == nil {
			continue
		}
		v, err := x.eval(m)
		if err != nil {
			return none, err
		}
		if v.isNone() {
			continue
		}
		b, err := sliceBound(v)
		if err != nil {
			return none, at(err, x.pos())
		}
		bound[i] = &b
	}
	v, err := m.slice(o, bound[0], bound[1], bound[2])
	if err != nil {
		return none, at(err, n.pos())
	}
	return v, nil
}

func (n *unaryNode) eval(m *machine) (val, error) {
	v, err := n.x.eval(m)
	if err != nil {
		return none, err
	}
	if n.op == '!' {
		t, err := truthy(v)
		if err != nil {
			return none, at(err, n.pos())
		}
		return ofBool(!t), nil
	}
	if err := v.use(); err != nil {
		return none, at(err, n.pos())
	}
	x, ok := toNum(v)
	if !ok {
		return none, at(errorf(Type, "bad operand type for unary %c: '%s'", n.op, v.pyType()), n.pos())
	}
	if n.op == '+' {
		return arith("+", x, num{kind: 'i'})
	}
	if x.kind == 'f' {
		return ofFloat(-x.f), nil
	}
	return arith("-", num{kind: 'i'}, x)
}

func (n *binaryNode) eval(m *machine) (val, error) {
	a, err := n.a.eval(m)
	if err != nil {
		return none, err
	}
	b, err := n.b.eval(m)
	if err != nil {
		return none, err
	}
	v, err := m.binary(n.op, a, b)
	if err != nil {
		return none, at(err, n.pos())
	}
	return v, nil
}

func (n *concatNode) eval(m *machine) (val, error) {
	var buf [8]string
	parts, size := buf[:0], 0
	for _, p := range n.parts {
		v, err := p.eval(m)
		if err != nil {
			return none, err
		}
		s, err := m.text(v)
		if err != nil {
			return none, at(err, p.pos())
		}
		size += len(s)
		parts = append(parts, s)
	}
	if err := m.room(size); err != nil {
		return none, at(err, n.pos())
	}
	return ofStr(strings.Join(parts, "")), nil
}

func (n *compareNode) eval(m *machine) (val, error) {
	a, err := n.first.eval(m)
	if err != nil {
		return none, err
	}
	for i, op := range n.ops {
		b, err := n.rest[i].eval(m)
		if err != nil {
			return none, err
		}
		ok, err := m.quickOrdered(op, a, b)
		if err != nil {
			return none, at(err, n.pos())
		}
		if !ok {
			return ofBool(false), nil
		}
		a = b
	}
	return ofBool(true), nil
}

// quickOrdered is ordered with a short way for what templates compare most.
func (m *machine) quickOrdered(op string, a, b val) (bool, error) {
	if a.x == nil && b.x == nil && op == "==" {
		if s, ok := a.v.Str(); ok {
			if t, ok := b.v.Str(); ok && len(s) < 256 {
				return s == t, nil
			}
		}
	}
	return m.ordered(op, a, b)
}

func (n *logicNode) eval(m *machine) (val, error) {
	a, err := n.a.eval(m)
	if err != nil {
		return none, err
	}
	t, err := truthy(a)
	if err != nil {
		return none, at(err, n.a.pos())
	}
	if t == n.or {
		return a, nil
	}
	return n.b.eval(m)
}

func (n *condNode) eval(m *machine) (val, error) {
	t, err := m.truth(n.cond)
	switch {
	case err != nil:
		return none, err
	case t:
		return n.yes.eval(m)
	case n.no != nil:
		return n.no.eval(m)
	}
	return val{x: &undefined{class: Undefined, soft: true, off: n.pos()}}, nil
}

// truth evaluates a condition.
func (m *machine) truth(n node) (bool, error) {
	v, err := n.eval(m)
	if err != nil {
		return false, err
	}
	if v.x == nil {
		return Truthy(v.v), nil
	}
	t, err := truthy(v)
	if err != nil {
		return false, at(err, n.pos())
	}
	return t, nil
}

func (n *listNode) eval(m *machine) (val, error) {
	items := make([]val, len(n.items))
	for i, x := range n.items {
		v, err := x.eval(m)
		if err != nil {
			return none, err
		}
		items[i] = v
	}
	if n.tuple {
		return val{x: tuple(items)}, m.spend(len(items))
	}
	return ofList(items), m.spend(len(items))
}

func (n *dictNode) eval(m *machine) (val, error) {
	plain := value.NewMap(len(n.keys))
	d := (*xdict)(nil)
	for i := range n.keys {
		k, err := n.keys[i].eval(m)
		if err != nil {
			return none, err
		}
		v, err := n.vals[i].eval(m)
		if err != nil {
			return none, err
		}
		s, ok := k.v.Str()
		if d == nil && ok && k.x == nil && v.x == nil {
			plain.Set(s, v.v)
			continue
		}
		if d == nil {
			d = newDict(len(n.keys))
			for pk, pv := range plain.All() {
				_ = d.set(ofStr(pk), val{v: pv}) // strings can be keys
			}
		}
		if err := d.set(k, v); err != nil {
			return none, at(err, n.keys[i].pos())
		}
	}
	if d != nil {
		return val{x: d}, m.spend(len(n.keys))
	}
	return val{v: value.OfMap(plain)}, m.spend(len(n.keys))
}
