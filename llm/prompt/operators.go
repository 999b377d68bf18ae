package prompt

import (
	"strings"

	"github.com/callnode/scheduler/llm/prompt/internal/fault"
	"github.com/callnode/scheduler/llm/prompt/internal/trace"
	"github.com/callnode/scheduler/llm/value"
)

// isTruthy is Python's notion of truth; asking an undefined value is an error.
func isTruthy(v val) (bool, error) {
	if v.py() == nil {
		return Truthy(v.v), nil
	}
	switch x := v.py().(type) {
	case *undefinedValue:
		if x.soft {
			return false, nil
		}
		return false, x.toError()
	case tuple:
		return len(x) > 0, nil
	case *pyList:
		return len(x.items) > 0, nil
	case *pyDict:
		return len(x.keys) > 0, nil
	case markup:
		return x != "", nil
	case *rangeOf:
		return x.n > 0, nil
	case *dictView:
		return dictLen(x.of) > 0, nil
	}
	return true, nil
}

// Truthy is Python's notion of truth: "", 0, empty lists and objects and null are
// false.
func Truthy(v value.Value) bool {
	switch v.Kind() {
	case value.Null:
		return false
	case value.Bool:
		b, _ := v.Bool()
		return b
	case value.String:
		s, _ := v.Str()
		return s != ""
	case value.List:
		return len(v.List()) > 0
	case value.Object:
		return v.Map().Len() > 0
	case value.Int, value.Float:
	}
	f, _ := v.Float()
	return f != 0
}

// applyOperator computes an arithmetic operation.
func (m *run) applyOperator(op string, a, b val) (val, error) {
	text, isStr := a.asString()
	if isFormat := isStr && op == "%"; isFormat {
		if err := b.checkRead(); err != nil {
			return none, err
		}
		out, err := m.formatPercent(text, b)
		return ofStr(out), err
	}
	if err := a.checkDefined(); err != nil {
		return none, err
	}
	if err := b.checkDefined(); err != nil {
		return none, err
	}
	x, xok := toNum(a)
	y, yok := toNum(b)
	switch {
	case xok && yok:
		return computeNumbers(op, x, y)
	case op == "+":
		return m.addValues(a, b)
	case op == "*" && yok && y.kind == 'i':
		return m.repeatText(a, y.i)
	case op == "*" && xok && x.kind == 'i':
		return m.repeatText(b, x.i)
	}
	return none, operandsError(op, a, b)
}

func operandsError(op string, a, b val) *fault.Error {
	e := fault.Errorf(fault.Type, "unsupported operand types for %s: '%s' and '%s'", op, a.pyType(), b.pyType())
	if a.isMarkup() || b.isMarkup() {
		e.Hint = escapeLast
		return e
	}
	_, as := a.asString()
	_, bs := b.asString()
	if op == "+" && as != bs {
		e.Hint = "~ joins any two values as text"
	}
	return e
}

func (m *run) addValues(a, b val) (val, error) {
	x, xok := a.asString()
	y, yok := b.asString()
	if xok && yok {
		if err := m.checkTextSize(len(x) + len(y)); err != nil {
			return none, err
		}
		if !m.trace {
			return ofStr(x + y), nil
		}
		parts := trace.AppendParts(trace.AppendParts(nil, a.origin(), len(x)), b.origin(), len(y))
		return m.joinedText(x+y, parts), m.countSteps(len(parts) >> 4)
	}
	if a.isList() && b.isList() {
		return m.concatLists(a, b, ofList)
	}
	_, at := a.py().(tuple)
	_, bt := b.py().(tuple)
	if at && bt {
		return m.concatLists(a, b, func(items []val) val { return ofPython(tuple(items)) })
	}
	return none, operandsError("+", a, b)
}

func (m *run) concatLists(a, b val, make func([]val) val) (val, error) {
	x, err := m.itemsOf(a)
	if err != nil {
		return none, err
	}
	y, err := m.itemsOf(b)
	if err != nil {
		return none, err
	}
	if err := m.checkListSize(len(x) + len(y)); err != nil {
		return none, err
	}
	return make(append(append(newItems(len(x)+len(y)), x...), y...)), nil
}

func newItems(n int) []val { return make([]val, 0, n) }

// repeatText is 'ab' * 3. Lists are not repeated: no prompt needs it, and a small
// expression would stand for a huge value.
func (m *run) repeatText(v val, n int64) (val, error) {
	n = max(n, 0)
	s, ok := v.asString()
	if !ok {
		e := operandsError("*", v, val{v: value.OfInt(n)})
		e.Hint = "only texts and numbers can be multiplied"
		return none, e
	}
	if s != "" && n > fault.MaxBytes/int64(len(s)) {
		return none, m.checkTextSize(fault.MaxBytes + 1)
	}
	if err := m.checkTextSize(len(s) * int(n)); err != nil {
		return none, err
	}
	return ofStr(strings.Repeat(s, int(n))), nil
}

// equalValues is Python's ==.
func (m *run) equalValues(a, b val) (bool, error) { return m.equalNested(a, b, 0) }

func (m *run) equalNested(a, b val, depth int) (bool, error) {
	if depth > fault.MaxValue {
		return false, valueTooDeep()
	}
	if err := m.countSteps(1 + min(a.readingSteps(), b.readingSteps())); err != nil {
		return false, err
	}
	if err := a.checkRead(); err != nil {
		return false, err
	}
	if err := b.checkRead(); err != nil {
		return false, err
	}
	if a.asUndefined() != nil || b.asUndefined() != nil {
		return a.asUndefined() != nil && b.asUndefined() != nil, nil
	}
	if s, ok := a.asString(); ok && !b.isMarkup() {
		t, ok := b.asString()
		return ok && s == t, nil
	}
	if a.isMarkup() || b.isMarkup() {
		return false, wrongTypeError(a, "the text that escape makes cannot be compared: %s", escapeLast)
	}
	if x, ok := toNum(a); ok {
		y, ok := toNum(b)
		if !ok {
			return false, nil
		}
		c, ordered := compareNums(x, y)
		return ordered && c == 0, nil
	}
	switch {
	case a.isNone():
		return b.isNone(), nil
	case a.isDict():
		if !b.isDict() || dictLen(a) != dictLen(b) {
			return false, nil
		}
		for i := range dictLen(a) {
			k, x := dictAt(a, i)
			y, ok, err := dictGet(b, k)
			if err != nil || !ok {
				return false, err
			}
			if same, err := m.equalNested(x, y, depth+1); err != nil || !same {
				return false, err
			}
		}
		return true, nil
	case isSequence(a):
		if a.isList() != b.isList() || !isSequence(b) || a.pyType() != b.pyType() {
			return false, nil
		}
		x, y := listElements(a), listElements(b)
		if x.len() != y.len() {
			return false, nil
		}
		for i := range x.len() {
			if same, err := m.equalNested(x.at(i), y.at(i), depth+1); err != nil || !same {
				return false, err
			}
		}
		return true, nil
	}
	return isSame(a, b), nil
}

// isSame is Python's is, for what has an identity.
func isSame(a, b val) bool {
	switch x := a.py().(type) {
	case nil, tuple, absent, markup, nonFinite:
		return false
	default:
		return x == b.py()
	}
}

func valueTooDeep() error {
	return fault.Errorf(fault.Limit, "a value nested deeper than %d", fault.MaxValue)
}

// isSequence reports whether v has elements by number: list, tuple or range.
func isSequence(v val) bool {
	if v.isList() {
		return true
	}
	switch v.py().(type) {
	case tuple, *rangeOf:
		return true
	}
	return false
}

// compareValues returns the order of two values as <, <=, > and >= see it; ordered is false
// for nan.
func (m *run) compareValues(op string, a, b val) (c int, ordered bool, err error) {
	return m.compareNested(op, a, b, 0)
}

func (m *run) compareNested(op string, a, b val, depth int) (c int, ordered bool, err error) {
	if depth > fault.MaxValue {
		return 0, false, valueTooDeep()
	}
	if err := m.countSteps(1 + min(a.readingSteps(), b.readingSteps())); err != nil {
		return 0, false, err
	}
	if err := a.checkDefined(); err != nil {
		return 0, false, err
	}
	if err := b.checkDefined(); err != nil {
		return 0, false, err
	}
	if s, ok := a.asString(); ok {
		if t, ok := b.asString(); ok {
			return strings.Compare(s, t), true, nil
		}
	}
	if x, ok := toNum(a); ok {
		if y, ok := toNum(b); ok {
			c, ordered := compareNums(x, y)
			return c, ordered, nil
		}
	}
	_, at := a.py().(tuple)
	_, bt := b.py().(tuple)
	areTuples := at && bt
	areLists := a.isList() && b.isList()
	if areTuples || areLists {
		x, y := listElements(a), listElements(b)
		for i := range min(x.len(), y.len()) {
			same, err := m.equalNested(x.at(i), y.at(i), depth+1)
			if err != nil {
				return 0, false, err
			}
			if !same {
				return m.compareNested(op, x.at(i), y.at(i), depth+1)
			}
		}
		return x.len() - y.len(), true, nil
	}
	return 0, false, fault.Errorf(fault.Type, "'%s' is not supported between '%s' and '%s'", op, a.pyType(), b.pyType())
}

// compareWith evaluates one of the comparison operators.
func (m *run) compareWith(op string, a, b val) (bool, error) {
	switch op {
	case "==":
		return m.equalValues(a, b)
	case "!=":
		same, err := m.equalValues(a, b)
		return !same, err
	case "in":
		return m.hasElement(b, a)
	case "not in":
		has, err := m.hasElement(b, a)
		return !has, err
	}
	c, ok, err := m.compareValues(op, a, b)
	if err != nil || !ok {
		return false, err
	}
	switch op {
	case "<":
		return c < 0, nil
	case "<=":
		return c <= 0, nil
	case ">":
		return c > 0, nil
	}
	return c >= 0, nil
}

// hasElement is item in container.
func (m *run) hasElement(container, item val) (bool, error) {
	if u := container.asUndefined(); u != nil && !u.soft {
		return false, u.toError()
	}
	if err := m.countSteps(item.readingSteps()); err != nil {
		return false, err
	}
	if s, ok := container.asString(); ok {
		if err := item.checkDefined(); err != nil {
			return false, err
		}
		sub, ok := item.asString()
		if !ok {
			return false, fault.Errorf(fault.Type, "'in <string>' needs a string on its left, not '%s'", item.pyType())
		}
		return strings.Contains(s, sub), m.countSteps(len(s) >> 8)
	}
	if container.isDict() {
		_, ok, err := dictGet(container, item)
		return ok, err
	}
	if x, ok := container.py().(*dictView); ok && x.kind == 'k' {
		_, ok, err := dictGet(x.of, item)
		return ok, err
	}
	items, err := m.itemsOf(container)
	if err != nil {
		if e, ok := err.(*fault.Error); ok && e.Class == fault.Type { //nolint:errorlint // own error, not wrapped
			return false, fault.Errorf(fault.Type, "'in' needs a list, a dict or a string on its right, not '%s'", container.pyType())
		}
		return false, err
	}
	for _, x := range items {
		if x.asUndefined() == nil && isSame(x, item) {
			return true, nil
		}
		if equal, err := m.equalValues(x, item); err != nil || equal {
			return equal, err
		}
	}
	return false, nil
}
