package prompt

import (
	"strings"

	"github.com/callnode/scheduler/llm/prompt/internal/fault"
	"github.com/callnode/scheduler/llm/prompt/internal/trace"
	"github.com/callnode/scheduler/llm/value"
)

func (m *evaluator) evalConst(n *constNode) (val, error) {
	v := n.v
	if !m.trace || n.stop == 0 {
		return v, nil
	}
	start, stop := n.pos(), n.stop
	text, isText := v.v.Str()
	const quotes = 2
	isPlain := isText && v.py() == nil && stop-start == len(text)+quotes // one constant without escapes
	if isPlain {
		start, stop = start+1, stop-1
	}
	return v.withOrigin(trace.LiteralOrigin(start, stop, isPlain)), nil
}

func (m *evaluator) evalName(n *nameNode) (val, error) {
	for f := m.frame; f != nil; f = f.parent {
		for i := len(f.vars) - 1; i >= 0; i-- {
			if f.vars[i].name == n.name {
				m.touch(f.vars[i].v.origin())
				return f.vars[i].v, nil
			}
		}
	}
	return m.lookupOuter(n)
}

func (m *evaluator) evalSlice(n *sliceNode) (val, error) {
	o, err := m.eval(n.obj)
	if err != nil {
		return none, err
	}
	var bound [3]*int
	for i, x := range [3]node{n.start, n.stop, n.step} {
		if x == nil {
			continue
		}
		v, err := m.eval(x)
		if err != nil {
			return none, err
		}
		if v.isNone() {
			continue
		}
		b, err := sliceBound(v)
		if err != nil {
			return none, fault.WithPosition(err, x.pos())
		}
		bound[i] = &b
	}
	v, err := sliceOf(&m.run, o, bound[0], bound[1], bound[2])
	if err != nil {
		return none, fault.WithPosition(err, n.pos())
	}
	return v, nil
}

func (m *evaluator) evalUnary(n *unaryNode) (val, error) {
	v, err := m.eval(n.x)
	if err != nil {
		return none, err
	}
	if n.op == '!' {
		t, err := isTruthy(v)
		if err != nil {
			return none, fault.WithPosition(err, n.pos())
		}
		return ofBool(!t), nil
	}
	if err := v.checkDefined(); err != nil {
		return none, fault.WithPosition(err, n.pos())
	}
	x, ok := toNum(v)
	if !ok {
		return none, fault.WithPosition(fault.Errorf(fault.Type, "bad operand type for unary %c: '%s'", n.op, v.pyType()), n.pos())
	}
	if n.op == '+' {
		return computeNumbers("+", x, num{kind: 'i'})
	}
	if x.kind == 'f' {
		return ofFloat(-x.f), nil
	}
	return computeNumbers("-", num{kind: 'i'}, x)
}

func (m *evaluator) evalBinary(n *binaryNode) (val, error) {
	a, err := m.evalTraced(n.a)
	if err != nil {
		return none, err
	}
	b, err := m.evalTraced(n.b)
	if err != nil {
		return none, err
	}
	v, err := m.applyOperator(n.op, a, b)
	if err != nil {
		return none, fault.WithPosition(err, n.pos())
	}
	return v, nil
}

func (m *evaluator) evalConcat(n *concatNode) (val, error) {
	var buf [8]string
	parts, size := buf[:0], 0
	var traced []trace.Part
	for _, p := range n.parts {
		v, err := m.evalTraced(p)
		if err != nil {
			return none, err
		}
		s, err := m.textOf(v)
		if err != nil {
			return none, fault.WithPosition(err, p.pos())
		}
		size += len(s)
		parts = append(parts, s)
		if m.trace {
			traced = trace.AppendParts(traced, printedOrigin(v), len(s))
		}
	}
	if err := m.checkTextSize(size); err != nil {
		return none, fault.WithPosition(err, n.pos())
	}
	return m.joinedText(strings.Join(parts, ""), traced), m.countSteps(len(traced) >> 4)
}

func (m *evaluator) evalCompare(n *compareNode) (val, error) {
	a, err := m.eval(n.first)
	if err != nil {
		return none, err
	}
	for i, op := range n.ops {
		b, err := m.eval(n.rest[i])
		if err != nil {
			return none, err
		}
		ok, err := m.compareQuickly(op, a, b)
		if err != nil {
			return none, fault.WithPosition(err, n.pos())
		}
		if !ok {
			return ofBool(false), nil
		}
		a = b
	}
	return ofBool(true), nil
}

func (m *evaluator) evalLogic(n *logicNode) (val, error) {
	touched := len(m.touched)
	a, err := m.eval(n.a)
	if err != nil {
		return none, err
	}
	t, err := isTruthy(a)
	if err != nil {
		return none, fault.WithPosition(err, n.a.pos())
	}
	if t == n.or {
		return a, nil
	}
	m.noteDecision(touched)
	m.touched = m.touched[:touched] // a decides, no text is made of it
	return m.eval(n.b)
}

func (m *evaluator) evalCond(n *condNode) (val, error) {
	t, err := m.evalTruth(n.cond)
	switch {
	case err != nil:
		return none, err
	case t:
		return m.eval(n.yes)
	case n.no != nil:
		return m.eval(n.no)
	}
	return ofPython(&undefinedValue{class: fault.Undefined, soft: true, off: n.pos()}), nil
}

func (m *evaluator) evalList(n *listNode) (val, error) {
	items := make([]val, len(n.items))
	for i, x := range n.items {
		v, err := m.evalTraced(x)
		if err != nil {
			return none, err
		}
		items[i] = v
	}
	if n.tuple {
		return ofPython(tuple(items)), m.countSteps(len(items))
	}
	return ofList(items), m.countSteps(len(items))
}

func (m *evaluator) evalDict(n *dictNode) (val, error) {
	plain := value.NewMap(len(n.keys))
	d := (*pyDict)(nil)
	for i := range n.keys {
		k, err := m.evalTraced(n.keys[i])
		if err != nil {
			return none, err
		}
		v, err := m.evalTraced(n.vals[i])
		if err != nil {
			return none, err
		}
		s, ok := k.v.Str()
		isJSON := ok && k.py() == nil && v.py() == nil && v.origin() == nil
		if d == nil && isJSON {
			plain.Set(s, v.v)
			continue
		}
		if d == nil {
			d = newDict(len(n.keys))
			for pk, pv := range plain.All() {
				_ = d.setItem(ofStr(pk), val{v: pv}) // strings can be keys
			}
		}
		if err := d.setItem(k, v); err != nil {
			return none, fault.WithPosition(err, n.keys[i].pos())
		}
	}
	if d != nil {
		return ofPython(d), m.countSteps(len(n.keys))
	}
	return val{v: value.OfMap(plain)}, m.countSteps(len(n.keys))
}

// compareQuickly is ordered with a short way for what templates compare most.
func (m *evaluator) compareQuickly(op string, a, b val) (bool, error) {
	if a.py() == nil && b.py() == nil && op == "==" {
		if s, ok := a.v.Str(); ok {
			if t, ok := b.v.Str(); ok && len(s) < 256 {
				return s == t, nil
			}
		}
	}
	return m.compareWith(op, a, b)
}

// evalTruth evaluates a condition.
func (m *evaluator) evalTruth(n node) (bool, error) {
	touched := len(m.touched)
	v, err := m.eval(n)
	isMask := m.isOfMask(v, err)
	m.noteDecision(touched)
	m.touched = m.touched[:touched] // no text is made of a condition
	if isMask {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	if v.py() == nil {
		return Truthy(v.v), nil
	}
	t, err := isTruthy(v)
	if err != nil {
		return false, fault.WithPosition(err, n.pos())
	}
	return t, nil
}

// eval evaluates an expression.
func (m *evaluator) eval(n node) (val, error) {
	switch n := n.(type) {
	case *nameNode:
		return m.evalName(n)
	case *attrNode:
		return m.evalAttr(n)
	case *constNode:
		return m.evalConst(n)
	case *filterNode:
		return m.evalFilter(n)
	case *compareNode:
		return m.evalCompare(n)
	case *itemNode:
		return m.evalItem(n)
	case *callNode:
		return m.evalCall(n)
	case *logicNode:
		return m.evalLogic(n)
	case *condNode:
		return m.evalCond(n)
	case *testNode:
		return m.evalTest(n)
	case *concatNode:
		return m.evalConcat(n)
	case *binaryNode:
		return m.evalBinary(n)
	case *unaryNode:
		return m.evalUnary(n)
	case *sliceNode:
		return m.evalSlice(n)
	case *listNode:
		return m.evalList(n)
	case *dictNode:
		return m.evalDict(n)
	case *bodyNode:
		return m.evalBody(n)
	}
	return none, fault.Errorf(fault.Other, "an expression of type %T cannot be evaluated", n)
}
