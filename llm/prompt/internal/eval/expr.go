package eval

import (
	"strings"

	"github.com/callnode/scheduler/llm/prompt/internal/ast"
	"github.com/callnode/scheduler/llm/prompt/internal/builtins"
	"github.com/callnode/scheduler/llm/prompt/internal/fault"
	"github.com/callnode/scheduler/llm/prompt/internal/pyvalue"
	"github.com/callnode/scheduler/llm/prompt/internal/trace"
	"github.com/callnode/scheduler/llm/value"
)

func (m *evaluator) evalConst(n *ast.ConstNode) (pyvalue.Val, error) {
	v := n.V
	if !m.Trace || n.Stop == 0 {
		return v, nil
	}
	start, stop := n.Pos(), n.Stop
	text, isText := v.V.Str()
	const quotes = 2
	isPlain := isText && v.Py() == nil && stop-start == len(text)+quotes // one constant without escapes
	if isPlain {
		start, stop = start+1, stop-1
	}
	return v.WithOrigin(trace.LiteralOrigin(start, stop, isPlain)), nil
}

func (m *evaluator) evalName(n *ast.NameNode) (pyvalue.Val, error) {
	for f := m.frame; f != nil; f = f.parent {
		for i := len(f.vars) - 1; i >= 0; i-- {
			if f.vars[i].Name == n.Name {
				m.Touch(f.vars[i].V.Origin())
				return f.vars[i].V, nil
			}
		}
	}
	return m.lookupOuter(n)
}

func (m *evaluator) evalSlice(n *ast.SliceNode) (pyvalue.Val, error) {
	o, err := m.eval(n.Obj)
	if err != nil {
		return pyvalue.None, err
	}
	var bound [3]*int
	for i, x := range [3]ast.Node{n.Start, n.Stop, n.Step} {
		if x == nil {
			continue
		}
		v, err := m.eval(x)
		if err != nil {
			return pyvalue.None, err
		}
		if v.IsNone() {
			continue
		}
		b, err := builtins.SliceBound(v)
		if err != nil {
			return pyvalue.None, fault.WithPosition(err, x.Pos())
		}
		bound[i] = &b
	}
	v, err := builtins.SliceOf(&m.Run, o, bound[0], bound[1], bound[2])
	if err != nil {
		return pyvalue.None, fault.WithPosition(err, n.Pos())
	}
	return v, nil
}

func (m *evaluator) evalUnary(n *ast.UnaryNode) (pyvalue.Val, error) {
	v, err := m.eval(n.X)
	if err != nil {
		return pyvalue.None, err
	}
	if n.Op == '!' {
		t, err := pyvalue.IsTruthy(v)
		if err != nil {
			return pyvalue.None, fault.WithPosition(err, n.Pos())
		}
		return pyvalue.OfBool(!t), nil
	}
	if err := v.CheckDefined(); err != nil {
		return pyvalue.None, fault.WithPosition(err, n.Pos())
	}
	x, ok := pyvalue.ToNum(v)
	if !ok {
		return pyvalue.None, fault.WithPosition(fault.Errorf(fault.Type, "bad operand type for unary %c: '%s'", n.Op, v.PyType()), n.Pos())
	}
	if n.Op == '+' {
		return pyvalue.ComputeNumbers("+", x, pyvalue.Num{Kind: 'i'})
	}
	if x.Kind == 'f' {
		return pyvalue.OfFloat(-x.F), nil
	}
	return pyvalue.ComputeNumbers("-", pyvalue.Num{Kind: 'i'}, x)
}

func (m *evaluator) evalBinary(n *ast.BinaryNode) (pyvalue.Val, error) {
	a, err := m.evalTraced(n.A)
	if err != nil {
		return pyvalue.None, err
	}
	b, err := m.evalTraced(n.B)
	if err != nil {
		return pyvalue.None, err
	}
	v, err := m.ApplyOperator(n.Op, a, b)
	if err != nil {
		return pyvalue.None, fault.WithPosition(err, n.Pos())
	}
	return v, nil
}

func (m *evaluator) evalConcat(n *ast.ConcatNode) (pyvalue.Val, error) {
	var room [8]string
	parts, traced, err := m.evalParts(n, room[:0])
	if err != nil {
		return pyvalue.None, err
	}
	return m.JoinedText(strings.Join(parts, ""), traced), m.CountSteps(len(traced) >> 4)
}

// evalParts appends the texts that are joined to room, and returns their origins if the rendering is traced.
func (m *evaluator) evalParts(n *ast.ConcatNode, room []string) (parts []string, traced []trace.Part, err error) {
	parts = room
	size := 0
	for _, p := range n.Parts {
		v, err := m.evalTraced(p)
		if err != nil {
			return nil, nil, err
		}
		s, err := m.PrintedText(v)
		if err != nil {
			return nil, nil, fault.WithPosition(err, p.Pos())
		}
		size += len(s)
		parts = append(parts, s)
		if m.Trace {
			traced = trace.AppendParts(traced, pyvalue.PrintedOrigin(v), len(s))
		}
	}
	if err := m.CheckTextSize(size); err != nil {
		return nil, nil, fault.WithPosition(err, n.Pos())
	}
	return parts, traced, nil
}

func (m *evaluator) evalCompare(n *ast.CompareNode) (pyvalue.Val, error) {
	a, err := m.eval(n.First)
	if err != nil {
		return pyvalue.None, err
	}
	for i, op := range n.Ops {
		b, err := m.evalOperand(n.Rest[i])
		if err != nil {
			return pyvalue.None, err
		}
		ok, err := m.compareQuickly(op, a, b)
		if err != nil {
			return pyvalue.None, fault.WithPosition(err, n.Pos())
		}
		if !ok {
			return pyvalue.OfBool(false), nil
		}
		a = b
	}
	return pyvalue.OfBool(true), nil
}

func (m *evaluator) evalLogic(n *ast.LogicNode) (pyvalue.Val, error) {
	touched := len(m.Touched)
	a, err := m.eval(n.A)
	if err != nil {
		return pyvalue.None, err
	}
	t, err := pyvalue.IsTruthy(a)
	if err != nil {
		return pyvalue.None, fault.WithPosition(err, n.A.Pos())
	}
	if t == n.Or {
		return a, nil
	}
	if m.Masked {
		m.noteDecision(touched)
	}
	m.Touched = m.Touched[:touched] // a decides, no text is made of it
	return m.eval(n.B)
}

func (m *evaluator) evalCond(n *ast.CondNode) (pyvalue.Val, error) {
	t, err := m.evalTruth(n.Cond)
	switch {
	case err != nil:
		return pyvalue.None, err
	case t:
		return m.eval(n.Yes)
	case n.No != nil:
		return m.eval(n.No)
	}
	return pyvalue.OfPython(&pyvalue.UndefinedValue{Class: fault.Undefined, Soft: true, Off: n.Pos()}), nil
}

func (m *evaluator) evalList(n *ast.ListNode) (pyvalue.Val, error) {
	items := make([]pyvalue.Val, len(n.Items))
	for i, x := range n.Items {
		v, err := m.evalTraced(x)
		if err != nil {
			return pyvalue.None, err
		}
		items[i] = v
	}
	if n.Tuple {
		return pyvalue.OfPython(pyvalue.Tuple(items)), m.CountSteps(len(items))
	}
	return pyvalue.OfList(items), m.CountSteps(len(items))
}

func (m *evaluator) evalDict(n *ast.DictNode) (pyvalue.Val, error) {
	plain := value.NewMap(len(n.Keys))
	d := (*pyvalue.PyDict)(nil)
	for i := range n.Keys {
		k, err := m.evalTraced(n.Keys[i])
		if err != nil {
			return pyvalue.None, err
		}
		v, err := m.evalTraced(n.Vals[i])
		if err != nil {
			return pyvalue.None, err
		}
		s, ok := k.V.Str()
		isJSON := ok && k.Py() == nil && v.Py() == nil && v.Origin() == nil
		if d == nil && isJSON {
			plain.Set(s, v.V)
			continue
		}
		if d == nil {
			d = pyvalue.NewDict(len(n.Keys))
			for pk, pv := range plain.All() {
				_ = d.SetItem(pyvalue.OfStr(pk), pyvalue.Val{V: pv}) // strings can be keys
			}
		}
		if err := d.SetItem(k, v); err != nil {
			return pyvalue.None, fault.WithPosition(err, n.Keys[i].Pos())
		}
	}
	if d != nil {
		return pyvalue.OfPython(d), m.CountSteps(len(n.Keys))
	}
	return pyvalue.Val{V: value.OfMap(plain)}, m.CountSteps(len(n.Keys))
}

// compareQuickly is [pyvalue.Run.CompareWith] with a short way for the texts and the small integers that templates
// compare most.
func (m *evaluator) compareQuickly(op string, a, b pyvalue.Val) (bool, error) {
	if a.Py() != nil || b.Py() != nil {
		return m.CompareWith(op, a, b)
	}
	if s, isText := a.V.Str(); isText {
		t, areTexts := b.V.Str()
		if areTexts && len(s) < 256 {
			switch op {
			case "==":
				return s == t, nil
			case "!=":
				return s != t, nil
			}
		}
		return m.CompareWith(op, a, b)
	}
	x, isInt := a.V.Int()
	y, areInts := b.V.Int()
	if isInt && areInts {
		switch op {
		case "==":
			return x == y, nil
		case "!=":
			return x != y, nil
		case "<":
			return x < y, nil
		case "<=":
			return x <= y, nil
		case ">":
			return x > y, nil
		case ">=":
			return x >= y, nil
		}
	}
	return m.CompareWith(op, a, b)
}

// evalTruth evaluates a condition.
func (m *evaluator) evalTruth(n ast.Node) (bool, error) {
	touched := len(m.Touched)
	v, err := m.evalCondition(n)
	if m.Masked {
		isMask := m.isOfMask(v, err)
		m.noteDecision(touched)
		if isMask {
			m.Touched = m.Touched[:touched]
			return false, nil
		}
	}
	m.Touched = m.Touched[:touched] // no text is made of a condition
	if err != nil {
		return false, err
	}
	if v.Py() == nil {
		return pyvalue.Truthy(v.V), nil
	}
	t, err := pyvalue.IsTruthy(v)
	if err != nil {
		return false, fault.WithPosition(err, n.Pos())
	}
	return t, nil
}

// evalCondition evaluates a condition, without a trace unless it matters that a mask is in the place of a secret: no text is made of it.
func (m *evaluator) evalCondition(n ast.Node) (pyvalue.Val, error) {
	if !m.Trace || m.Masked {
		return m.eval(n)
	}
	m.Trace, m.inCondition = false, true
	v, err := m.eval(n)
	m.Trace, m.inCondition = true, false
	return v, err
}

// eval evaluates an expression.
func (m *evaluator) eval(n ast.Node) (pyvalue.Val, error) {
	switch n := n.(type) {
	case *ast.NameNode:
		return m.evalName(n)
	case *ast.AttrNode:
		return m.evalAttr(n)
	case *ast.ConstNode:
		return m.evalConst(n)
	case *ast.FilterNode:
		return m.evalFilter(n)
	case *ast.CompareNode:
		return m.evalCompare(n)
	case *ast.ItemNode:
		return m.evalItem(n)
	case *ast.CallNode:
		return m.evalCall(n)
	case *ast.LogicNode:
		return m.evalLogic(n)
	case *ast.CondNode:
		return m.evalCond(n)
	case *ast.TestNode:
		return m.evalTest(n)
	case *ast.ConcatNode:
		return m.evalConcat(n)
	case *ast.BinaryNode:
		return m.evalBinary(n)
	case *ast.UnaryNode:
		return m.evalUnary(n)
	case *ast.SliceNode:
		return m.evalSlice(n)
	case *ast.ListNode:
		return m.evalList(n)
	case *ast.DictNode:
		return m.evalDict(n)
	case *ast.BodyNode:
		return m.evalBody()
	}
	return pyvalue.None, fault.Errorf(fault.Other, "an expression of type %T cannot be evaluated", n)
}

// evalOperand is eval with a short way for constants, which the compiler inlines.
func (m *evaluator) evalOperand(n ast.Node) (pyvalue.Val, error) {
	if c, ok := n.(*ast.ConstNode); ok && !m.Trace {
		return c.V, nil
	}
	return m.eval(n)
}

// evalTraced evaluates an expression whose result is printed, joined or assigned:
// when a rendering is traced, a result without an origin is computed from its elements or else from the names that
// the expression mentions.
func (m *evaluator) evalTraced(n ast.Node) (pyvalue.Val, error) {
	if !m.Trace {
		return m.eval(n)
	}
	return m.evalWithOrigin(n)
}

func (m *evaluator) evalWithOrigin(n ast.Node) (pyvalue.Val, error) {
	outer, decided := m.Touched, m.Decided
	m.Touched = outer[len(outer):] // the room behind those of the outer expression
	v, err := m.eval(n)
	if m.isOfMask(v, err) {
		v, err = pyvalue.OfStr(maskText), nil
	}
	if v.Origin().IsUnknown() {
		from, known := pyvalue.OriginsOf(v)
		if !known {
			from = m.Touched
		}
		v = v.ComputedFrom(from)
	}
	if by := m.Decided[len(decided):]; len(by) > 0 {
		v = v.WithOrigin(v.Origin().DecidedBy(by))
	}
	m.Touched, m.Decided = outer, decided
	m.Touch(v.Origin())
	return v, err
}

func (m *evaluator) evalBody() (pyvalue.Val, error) {
	m.Touch(m.captured.Origin())
	return m.captured, nil
}
