package prompt

import (
	"strings"

	"github.com/callnode/scheduler/llm/prompt/internal/builtins"
	"github.com/callnode/scheduler/llm/prompt/internal/fault"
	"github.com/callnode/scheduler/llm/prompt/internal/py"
	"github.com/callnode/scheduler/llm/prompt/internal/trace"
	"github.com/callnode/scheduler/llm/value"
)

func (m *evaluator) evalConst(n *constNode) (py.Val, error) {
	v := n.v
	if !m.Trace || n.stop == 0 {
		return v, nil
	}
	start, stop := n.pos(), n.stop
	text, isText := v.V.Str()
	const quotes = 2
	isPlain := isText && v.Py() == nil && stop-start == len(text)+quotes // one constant without escapes
	if isPlain {
		start, stop = start+1, stop-1
	}
	return v.WithOrigin(trace.LiteralOrigin(start, stop, isPlain)), nil
}

func (m *evaluator) evalName(n *nameNode) (py.Val, error) {
	for f := m.frame; f != nil; f = f.parent {
		for i := len(f.vars) - 1; i >= 0; i-- {
			if f.vars[i].Name == n.name {
				m.Touch(f.vars[i].V.Origin())
				return f.vars[i].V, nil
			}
		}
	}
	return m.lookupOuter(n)
}

func (m *evaluator) evalSlice(n *sliceNode) (py.Val, error) {
	o, err := m.eval(n.obj)
	if err != nil {
		return py.None, err
	}
	var bound [3]*int
	for i, x := range [3]node{n.start, n.stop, n.step} {
		if x == nil {
			continue
		}
		v, err := m.eval(x)
		if err != nil {
			return py.None, err
		}
		if v.IsNone() {
			continue
		}
		b, err := builtins.SliceBound(v)
		if err != nil {
			return py.None, fault.WithPosition(err, x.pos())
		}
		bound[i] = &b
	}
	v, err := builtins.SliceOf(&m.Run, o, bound[0], bound[1], bound[2])
	if err != nil {
		return py.None, fault.WithPosition(err, n.pos())
	}
	return v, nil
}

func (m *evaluator) evalUnary(n *unaryNode) (py.Val, error) {
	v, err := m.eval(n.x)
	if err != nil {
		return py.None, err
	}
	if n.op == '!' {
		t, err := py.IsTruthy(v)
		if err != nil {
			return py.None, fault.WithPosition(err, n.pos())
		}
		return py.OfBool(!t), nil
	}
	if err := v.CheckDefined(); err != nil {
		return py.None, fault.WithPosition(err, n.pos())
	}
	x, ok := py.ToNum(v)
	if !ok {
		return py.None, fault.WithPosition(fault.Errorf(fault.Type, "bad operand type for unary %c: '%s'", n.op, v.PyType()), n.pos())
	}
	if n.op == '+' {
		return py.ComputeNumbers("+", x, py.Num{Kind: 'i'})
	}
	if x.Kind == 'f' {
		return py.OfFloat(-x.F), nil
	}
	return py.ComputeNumbers("-", py.Num{Kind: 'i'}, x)
}

func (m *evaluator) evalBinary(n *binaryNode) (py.Val, error) {
	a, err := m.evalTraced(n.a)
	if err != nil {
		return py.None, err
	}
	b, err := m.evalTraced(n.b)
	if err != nil {
		return py.None, err
	}
	v, err := m.ApplyOperator(n.op, a, b)
	if err != nil {
		return py.None, fault.WithPosition(err, n.pos())
	}
	return v, nil
}

func (m *evaluator) evalConcat(n *concatNode) (py.Val, error) {
	var buf [8]string
	parts, size := buf[:0], 0
	var traced []trace.Part
	for _, p := range n.parts {
		v, err := m.evalTraced(p)
		if err != nil {
			return py.None, err
		}
		s, err := m.TextOf(v)
		if err != nil {
			return py.None, fault.WithPosition(err, p.pos())
		}
		size += len(s)
		parts = append(parts, s)
		if m.Trace {
			traced = trace.AppendParts(traced, py.PrintedOrigin(v), len(s))
		}
	}
	if err := m.CheckTextSize(size); err != nil {
		return py.None, fault.WithPosition(err, n.pos())
	}
	return m.JoinedText(strings.Join(parts, ""), traced), m.CountSteps(len(traced) >> 4)
}

func (m *evaluator) evalCompare(n *compareNode) (py.Val, error) {
	a, err := m.eval(n.first)
	if err != nil {
		return py.None, err
	}
	for i, op := range n.ops {
		b, err := m.eval(n.rest[i])
		if err != nil {
			return py.None, err
		}
		ok, err := m.compareQuickly(op, a, b)
		if err != nil {
			return py.None, fault.WithPosition(err, n.pos())
		}
		if !ok {
			return py.OfBool(false), nil
		}
		a = b
	}
	return py.OfBool(true), nil
}

func (m *evaluator) evalLogic(n *logicNode) (py.Val, error) {
	touched := len(m.Touched)
	a, err := m.eval(n.a)
	if err != nil {
		return py.None, err
	}
	t, err := py.IsTruthy(a)
	if err != nil {
		return py.None, fault.WithPosition(err, n.a.pos())
	}
	if t == n.or {
		return a, nil
	}
	m.noteDecision(touched)
	m.Touched = m.Touched[:touched] // a decides, no text is made of it
	return m.eval(n.b)
}

func (m *evaluator) evalCond(n *condNode) (py.Val, error) {
	t, err := m.evalTruth(n.cond)
	switch {
	case err != nil:
		return py.None, err
	case t:
		return m.eval(n.yes)
	case n.no != nil:
		return m.eval(n.no)
	}
	return py.OfPython(&py.UndefinedValue{Class: fault.Undefined, Soft: true, Off: n.pos()}), nil
}

func (m *evaluator) evalList(n *listNode) (py.Val, error) {
	items := make([]py.Val, len(n.items))
	for i, x := range n.items {
		v, err := m.evalTraced(x)
		if err != nil {
			return py.None, err
		}
		items[i] = v
	}
	if n.tuple {
		return py.OfPython(py.Tuple(items)), m.CountSteps(len(items))
	}
	return py.OfList(items), m.CountSteps(len(items))
}

func (m *evaluator) evalDict(n *dictNode) (py.Val, error) {
	plain := value.NewMap(len(n.keys))
	d := (*py.PyDict)(nil)
	for i := range n.keys {
		k, err := m.evalTraced(n.keys[i])
		if err != nil {
			return py.None, err
		}
		v, err := m.evalTraced(n.vals[i])
		if err != nil {
			return py.None, err
		}
		s, ok := k.V.Str()
		isJSON := ok && k.Py() == nil && v.Py() == nil && v.Origin() == nil
		if d == nil && isJSON {
			plain.Set(s, v.V)
			continue
		}
		if d == nil {
			d = py.NewDict(len(n.keys))
			for pk, pv := range plain.All() {
				_ = d.SetItem(py.OfStr(pk), py.Val{V: pv}) // strings can be keys
			}
		}
		if err := d.SetItem(k, v); err != nil {
			return py.None, fault.WithPosition(err, n.keys[i].pos())
		}
	}
	if d != nil {
		return py.OfPython(d), m.CountSteps(len(n.keys))
	}
	return py.Val{V: value.OfMap(plain)}, m.CountSteps(len(n.keys))
}

// compareQuickly is ordered with a short way for what templates compare most.
func (m *evaluator) compareQuickly(op string, a, b py.Val) (bool, error) {
	if a.Py() == nil && b.Py() == nil && op == "==" {
		if s, ok := a.V.Str(); ok {
			if t, ok := b.V.Str(); ok && len(s) < 256 {
				return s == t, nil
			}
		}
	}
	return m.CompareWith(op, a, b)
}

// evalTruth evaluates a condition.
func (m *evaluator) evalTruth(n node) (bool, error) {
	touched := len(m.Touched)
	v, err := m.eval(n)
	isMask := m.isOfMask(v, err)
	m.noteDecision(touched)
	m.Touched = m.Touched[:touched] // no text is made of a condition
	if isMask {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	if v.Py() == nil {
		return py.Truthy(v.V), nil
	}
	t, err := py.IsTruthy(v)
	if err != nil {
		return false, fault.WithPosition(err, n.pos())
	}
	return t, nil
}

// eval evaluates an expression.
func (m *evaluator) eval(n node) (py.Val, error) {
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
	return py.None, fault.Errorf(fault.Other, "an expression of type %T cannot be evaluated", n)
}
