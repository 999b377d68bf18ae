package pyvalue

import (
	"slices"
	"strings"

	"github.com/callnode/scheduler/llm/prompt/internal/fault"
	"github.com/callnode/scheduler/llm/prompt/internal/trace"
	"github.com/callnode/scheduler/llm/value"
)

// IsTruthy is Python's notion of truth; asking an undefined value is an error.
func IsTruthy(v Val) (bool, error) {
	if v.Py() == nil {
		return Truthy(v.V), nil
	}
	switch x := v.Py().(type) {
	case *UndefinedValue:
		if x.Soft {
			return false, nil
		}
		return false, x.ToError()
	case Tuple:
		return len(x) > 0, nil
	case *PyList:
		return len(x.Items) > 0, nil
	case *PyDict:
		return len(x.Keys) > 0, nil
	case Markup:
		return x != "", nil
	case *RangeOf:
		return x.N > 0, nil
	case *DictView:
		return DictLen(x.Of) > 0, nil
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

// ApplyOperator computes an arithmetic operation.
func (m *Run) ApplyOperator(op string, a, b Val) (Val, error) {
	text, isStr := a.AsString()
	if isFormat := isStr && op == "%"; isFormat {
		if err := b.CheckRead(); err != nil {
			return None, err
		}
		out, err := m.FormatPercent(text, b)
		return OfStr(out), err
	}
	if err := a.CheckDefined(); err != nil {
		return None, err
	}
	if err := b.CheckDefined(); err != nil {
		return None, err
	}
	x, xok := ToNum(a)
	y, yok := ToNum(b)
	switch {
	case xok && yok:
		return ComputeNumbers(op, x, y)
	case op == "+":
		return m.AddValues(a, b)
	case op == "*" && yok && y.Kind == 'i':
		return m.repeatValue(a, y.I)
	case op == "*" && xok && x.Kind == 'i':
		return m.repeatValue(b, x.I)
	}
	return None, operandsError(op, a, b)
}

func operandsError(op string, a, b Val) *fault.Error {
	e := fault.Errorf(fault.Type, "unsupported operand types for %s: '%s' and '%s'", op, a.PyType(), b.PyType())
	if a.isMarkup() || b.isMarkup() {
		e.Hint = escapeLast
		return e
	}
	_, as := a.AsString()
	_, bs := b.AsString()
	if op == "+" && as != bs {
		e.Hint = "~ joins any two values as text"
	}
	return e
}

// AddValues joins two texts, lists or tuples.
func (m *Run) AddValues(a, b Val) (Val, error) {
	x, xok := a.AsString()
	y, yok := b.AsString()
	if xok && yok {
		if err := m.CheckTextSize(len(x) + len(y)); err != nil {
			return None, err
		}
		if !m.Trace {
			return OfStr(x + y), nil
		}
		parts := trace.AppendParts(trace.AppendParts(nil, a.Origin(), len(x)), b.Origin(), len(y))
		return m.JoinedText(x+y, parts), m.CountSteps(len(parts) >> 4)
	}
	if IsText(a) && IsText(b) {
		return m.addMarkup(a, b)
	}
	if a.IsList() && b.IsList() {
		return m.concatLists(a, b, OfList)
	}
	_, at := a.Py().(Tuple)
	_, bt := b.Py().(Tuple)
	if at && bt {
		return m.concatLists(a, b, func(items []Val) Val { return OfPython(Tuple(items)) })
	}
	return None, operandsError("+", a, b)
}

// addMarkup joins two texts, at least one of which is escaped: the other is escaped then, as in Python.
func (m *Run) addMarkup(a, b Val) (Val, error) {
	text := ""
	var parts []trace.Part
	for _, v := range []Val{a, b} {
		escaped, origin := v.escapeText()
		text += escaped
		parts = trace.AppendParts(parts, origin, len(escaped))
	}
	if err := m.CheckTextSize(len(text)); err != nil {
		return None, err
	}
	return OfPython(Markup(text)).WithOrigin(m.JoinedText(text, parts).Origin()), nil
}

var htmlEscaper = strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;", "'", "&#39;", `"`, "&#34;")

// EscapeHTML returns a text with its characters that HTML gives a meaning to written as MarkupSafe writes them.
func EscapeHTML(text string) string { return htmlEscaper.Replace(text) }

// escapeText returns a text as HTML, with its origin.
func (v Val) escapeText() (string, *trace.Origin) {
	if text, ok := v.Py().(Markup); ok {
		return string(text), v.Origin()
	}
	text, _ := v.AsString()
	escaped := EscapeHTML(text)
	if escaped == text {
		return text, v.Origin()
	}
	return escaped, trace.ComputedOrigin([]*trace.Origin{v.Origin()})
}

func (m *Run) concatLists(a, b Val, make func([]Val) Val) (Val, error) {
	x, err := m.ItemsOf(a)
	if err != nil {
		return None, err
	}
	y, err := m.ItemsOf(b)
	if err != nil {
		return None, err
	}
	if err := m.CheckListSize(len(x) + len(y)); err != nil {
		return None, err
	}
	return make(append(append(newItems(len(x)+len(y)), x...), y...)), nil
}

func newItems(n int) []Val { return make([]Val, 0, n) }

// repeatValue is 'ab' * 3, or a list or a tuple times a number.
func (m *Run) repeatValue(v Val, n int64) (Val, error) {
	n = max(n, 0)
	s, ok := v.AsString()
	if !ok {
		return m.repeatItems(v, n)
	}
	if s != "" && n > fault.MaxBytes/int64(len(s)) {
		return None, m.CheckTextSize(fault.MaxBytes + 1)
	}
	if err := m.CheckTextSize(len(s) * int(n)); err != nil {
		return None, err
	}
	return OfStr(strings.Repeat(s, int(n))), nil
}

// repeatItems repeats a list or a tuple.
func (m *Run) repeatItems(v Val, n int64) (Val, error) {
	_, isTuple := v.Py().(Tuple)
	if !isTuple && !v.IsList() {
		e := operandsError("*", v, Val{V: value.OfInt(n)})
		e.Hint = "only numbers, texts, lists and tuples can be multiplied"
		return None, e
	}
	items, err := m.ItemsOf(v)
	if err != nil {
		return None, err
	}
	if len(items) > 0 && n > fault.MaxItems/int64(len(items)) {
		return None, m.CheckListSize(fault.MaxItems + 1)
	}
	if err := m.CheckListSize(len(items) * int(n)); err != nil {
		return None, err
	}
	repeated := slices.Repeat(items, int(n))
	if isTuple {
		return OfPython(Tuple(repeated)), nil
	}
	return OfList(repeated), nil
}

// EqualValues is Python's ==.
func (m *Run) EqualValues(a, b Val) (bool, error) { return m.equalNested(a, b, 0) }

func (m *Run) equalNested(a, b Val, depth int) (bool, error) {
	if depth > fault.MaxValue {
		return false, valueTooDeep()
	}
	if err := m.CountSteps(1 + min(a.ReadingSteps(), b.ReadingSteps())); err != nil {
		return false, err
	}
	if err := a.CheckRead(); err != nil {
		return false, err
	}
	if err := b.CheckRead(); err != nil {
		return false, err
	}
	if a.AsUndefined() != nil || b.AsUndefined() != nil {
		return a.AsUndefined() != nil && b.AsUndefined() != nil, nil
	}
	if s, ok := a.plainText(); ok {
		t, ok := b.plainText()
		return ok && s == t, nil
	}
	if x, ok := ToNum(a); ok {
		y, ok := ToNum(b)
		if !ok {
			return false, nil
		}
		c, ordered := compareNums(x, y)
		return ordered && c == 0, nil
	}
	switch {
	case a.IsNone():
		return b.IsNone(), nil
	case a.IsDict():
		if !b.IsDict() || DictLen(a) != DictLen(b) {
			return false, nil
		}
		for i := range DictLen(a) {
			k, x := DictAt(a, i)
			y, ok, err := DictGet(b, k)
			if err != nil || !ok {
				return false, err
			}
			if same, err := m.equalNested(x, y, depth+1); err != nil || !same {
				return false, err
			}
		}
		return true, nil
	case IsSequence(a):
		if a.IsList() != b.IsList() || !IsSequence(b) || a.PyType() != b.PyType() {
			return false, nil
		}
		x, y := ListElements(a), ListElements(b)
		if x.Len() != y.Len() {
			return false, nil
		}
		for i := range x.Len() {
			if same, err := m.equalNested(x.At(i), y.At(i), depth+1); err != nil || !same {
				return false, err
			}
		}
		return true, nil
	}
	return isSame(a, b), nil
}

// isSame is Python's is, for values with an identity.
func isSame(a, b Val) bool {
	switch x := a.Py().(type) {
	case nil, Tuple, absent, Markup, nonFinite:
		return false
	default:
		return x == b.Py()
	}
}

// IsSameAs is Python's is, as far as values have an identity: constants and small values are the same
// when they are equal and of one type; lists, dicts and objects are the same as themselves.
func IsSameAs(a, b Val) bool {
	if a.Py() != nil || b.Py() != nil {
		return isSame(a, b)
	}
	if a.V.Kind() != b.V.Kind() {
		return false
	}
	switch a.V.Kind() {
	case value.Object:
		return a.V.Map() == b.V.Map()
	case value.List:
		x, y := a.V.List(), b.V.List()
		return len(x) > 0 && len(x) == len(y) && &x[0] == &y[0]
	}
	return a.V.JSON() == b.V.JSON()
}

// IsCallable reports whether v can be called.
func IsCallable(v Val) bool { _, ok := v.Py().(callable); return ok }

// CompareValues returns the order of two values as <, <=, > and >= see it; ordered is false
// for nan.
func (m *Run) CompareValues(op string, a, b Val) (c int, ordered bool, err error) {
	return m.compareNested(op, a, b, 0)
}

func (m *Run) compareNested(op string, a, b Val, depth int) (c int, ordered bool, err error) {
	if depth > fault.MaxValue {
		return 0, false, valueTooDeep()
	}
	if err := m.CountSteps(1 + min(a.ReadingSteps(), b.ReadingSteps())); err != nil {
		return 0, false, err
	}
	if err := a.CheckDefined(); err != nil {
		return 0, false, err
	}
	if err := b.CheckDefined(); err != nil {
		return 0, false, err
	}
	if s, ok := a.AsString(); ok {
		if t, ok := b.AsString(); ok {
			return strings.Compare(s, t), true, nil
		}
	}
	if x, ok := ToNum(a); ok {
		if y, ok := ToNum(b); ok {
			c, ordered := compareNums(x, y)
			return c, ordered, nil
		}
	}
	_, at := a.Py().(Tuple)
	_, bt := b.Py().(Tuple)
	areTuples := at && bt
	areLists := a.IsList() && b.IsList()
	if areTuples || areLists {
		x, y := ListElements(a), ListElements(b)
		for i := range min(x.Len(), y.Len()) {
			same, err := m.equalNested(x.At(i), y.At(i), depth+1)
			if err != nil {
				return 0, false, err
			}
			if !same {
				return m.compareNested(op, x.At(i), y.At(i), depth+1)
			}
		}
		return x.Len() - y.Len(), true, nil
	}
	return 0, false, fault.Errorf(fault.Type, "'%s' is not supported between '%s' and '%s'", op, a.PyType(), b.PyType())
}

// CompareWith evaluates one of the comparison operators.
func (m *Run) CompareWith(op string, a, b Val) (bool, error) {
	switch op {
	case "==":
		return m.EqualValues(a, b)
	case "!=":
		same, err := m.EqualValues(a, b)
		return !same, err
	case "in":
		return m.HasElement(b, a)
	case "not in":
		has, err := m.HasElement(b, a)
		return !has, err
	}
	c, ok, err := m.CompareValues(op, a, b)
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

// HasElement is item in container.
func (m *Run) HasElement(container, item Val) (bool, error) {
	if u := container.AsUndefined(); u != nil && !u.Soft {
		return false, u.ToError()
	}
	if err := m.CountSteps(item.ReadingSteps()); err != nil {
		return false, err
	}
	if s, ok := container.AsString(); ok {
		if err := item.CheckDefined(); err != nil {
			return false, err
		}
		sub, ok := item.AsString()
		if !ok {
			return false, fault.Errorf(fault.Type, "'in <string>' needs a string on its left, not '%s'", item.PyType())
		}
		return strings.Contains(s, sub), m.CountSteps(len(s) >> 8)
	}
	if container.IsDict() {
		_, ok, err := DictGet(container, item)
		return ok, err
	}
	if x, ok := container.Py().(*DictView); ok && x.Kind == 'k' {
		_, ok, err := DictGet(x.Of, item)
		return ok, err
	}
	items, err := m.ItemsOf(container)
	if err != nil {
		if e, ok := err.(*fault.Error); ok && e.Class == fault.Type { //nolint:errorlint // own error, not wrapped
			return false, fault.Errorf(fault.Type, "'in' needs a list, a dict or a string on its right, not '%s'", container.PyType())
		}
		return false, err
	}
	for _, x := range items {
		if x.AsUndefined() == nil && isSame(x, item) {
			return true, nil
		}
		if equal, err := m.EqualValues(x, item); err != nil || equal {
			return equal, err
		}
	}
	return false, nil
}
