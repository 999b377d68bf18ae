package prompt

import (
	"strings"

	"github.com/callnode/scheduler/llm/value"
)

// truthy is Python's notion of truth; asking an undefined value is an error.
func truthy(v val) (bool, error) {
	if v.x == nil {
		return Truthy(v.v), nil
	}
	switch x := v.x.(type) {
	case *undefined:
		if x.soft {
			return false, nil
		}
		return false, x.err()
	case tuple:
		return len(x) > 0, nil
	case *xlist:
		return len(x.items) > 0, nil
	case *xdict:
		return len(x.keys) > 0, nil
	case markup:
		return x != "", nil
	case *rangeOf:
		return x.n > 0, nil
	case *view:
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

// binary computes an arithmetic operation.
func (m *machine) binary(op string, a, b val) (val, error) {
	if err := a.use(); err != nil {
		return none, err
	}
	if err := b.use(); err != nil {
		return none, err
	}
	x, xok := toNum(a)
	y, yok := toNum(b)
	s, isStr := a.str()
	switch {
	case xok && yok:
		return arith(op, x, y)
	case op == "+":
		return m.add(a, b)
	case op == "*" && yok && y.kind == 'i':
		return m.repeat(a, y.i)
	case op == "*" && xok && x.kind == 'i':
		return m.repeat(b, x.i)
	case op == "%" && isStr:
		out, err := m.formatPercent(s, b)
		return ofStr(out), err
	}
	return none, operandsError(op, a, b)
}

func operandsError(op string, a, b val) *Error {
	e := errorf(Type, "unsupported operand types for %s: '%s' and '%s'", op, a.pyType(), b.pyType())
	if a.isMarkup() || b.isMarkup() {
		e.Hint = escapeLast
		return e
	}
	_, as := a.str()
	_, bs := b.str()
	if op == "+" && as != bs {
		e.Hint = "~ joins any two values as text"
	}
	return e
}

func (m *machine) add(a, b val) (val, error) {
	x, xok := a.str()
	y, yok := b.str()
	switch {
	case xok && yok:
		if err := m.room(len(x) + len(y)); err != nil {
			return none, err
		}
		return ofStr(x + y), nil
	case a.isList() && b.isList():
		return m.concat(a, b, ofList)
	}
	_, at := a.x.(tuple)
	_, bt := b.x.(tuple)
	if at && bt {
		return m.concat(a, b, func(items []val) val { return val{x: tuple(items)} })
	}
	return none, operandsError("+", a, b)
}

func (m *machine) concat(a, b val, make func([]val) val) (val, error) {
	x, err := m.items(a)
	if err != nil {
		return none, err
	}
	y, err := m.items(b)
	if err != nil {
		return none, err
	}
	if err := m.roomItems(len(x) + len(y)); err != nil {
		return none, err
	}
	return make(append(append(newItems(len(x)+len(y)), x...), y...)), nil
}

func newItems(n int) []val { return make([]val, 0, n) }

// repeat is 'ab' * 3. Lists are not repeated: no prompt needs it, and a small
// expression would stand for a huge value.
func (m *machine) repeat(v val, n int64) (val, error) {
	n = max(n, 0)
	s, ok := v.str()
	if !ok {
		e := operandsError("*", v, val{v: value.OfInt(n)})
		e.Hint = "only texts and numbers can be multiplied"
		return none, e
	}
	if s != "" && n > maxBytes/int64(len(s)) {
		return none, m.room(maxBytes + 1)
	}
	if err := m.room(len(s) * int(n)); err != nil {
		return none, err
	}
	return ofStr(strings.Repeat(s, int(n))), nil
}

// equal is Python's ==.
func (m *machine) equal(a, b val) (bool, error) { return m.equalNested(a, b, 0) }

func (m *machine) equalNested(a, b val, depth int) (bool, error) {
	if depth > maxValue {
		return false, tooDeep()
	}
	if err := m.spend(1 + min(a.weight(), b.weight())); err != nil {
		return false, err
	}
	if err := a.use(); err != nil {
		return false, err
	}
	if err := b.use(); err != nil {
		return false, err
	}
	if s, ok := a.str(); ok && !b.isMarkup() {
		t, ok := b.str()
		return ok && s == t, nil
	}
	if a.isMarkup() || b.isMarkup() {
		return false, misused(a, "the text that escape makes cannot be compared: %s", escapeLast)
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
		x, y := m.elements(a), m.elements(b)
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
	return same(a, b), nil
}

// same is Python's is, for what has an identity.
func same(a, b val) bool {
	switch x := a.x.(type) {
	case nil, tuple, absent, markup, special:
		return false
	default:
		return x == b.x
	}
}

func tooDeep() error { return errorf(Limit, "a value nested deeper than %d", maxValue) }

// isSequence says whether v has elements by number: list, tuple or range.
func isSequence(v val) bool {
	if v.isList() {
		return true
	}
	switch v.x.(type) {
	case tuple, *rangeOf:
		return true
	}
	return false
}

// compare is the order of two values as <, <=, > and >= see it; ordered is false
// for nan.
func (m *machine) compare(op string, a, b val) (c int, ordered bool, err error) {
	return m.compareNested(op, a, b, 0)
}

func (m *machine) compareNested(op string, a, b val, depth int) (c int, ordered bool, err error) {
	if depth > maxValue {
		return 0, false, tooDeep()
	}
	if err := m.spend(1 + min(a.weight(), b.weight())); err != nil {
		return 0, false, err
	}
	if err := a.use(); err != nil {
		return 0, false, err
	}
	if err := b.use(); err != nil {
		return 0, false, err
	}
	if s, ok := a.str(); ok {
		if t, ok := b.str(); ok {
			return strings.Compare(s, t), true, nil
		}
	}
	if x, ok := toNum(a); ok {
		if y, ok := toNum(b); ok {
			c, ordered := compareNums(x, y)
			return c, ordered, nil
		}
	}
	_, at := a.x.(tuple)
	_, bt := b.x.(tuple)
	if a.isList() && b.isList() || at && bt {
		x, y := m.elements(a), m.elements(b)
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
	return 0, false, errorf(Type, "'%s' is not supported between '%s' and '%s'", op, a.pyType(), b.pyType())
}

// ordered evaluates one of the comparison operators.
func (m *machine) ordered(op string, a, b val) (bool, error) {
	switch op {
	case "==":
		return m.equal(a, b)
	case "!=":
		same, err := m.equal(a, b)
		return !same, err
	case "in":
		return m.contains(b, a)
	case "not in":
		has, err := m.contains(b, a)
		return !has, err
	}
	c, ok, err := m.compare(op, a, b)
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

// contains is item in container.
func (m *machine) contains(container, item val) (bool, error) {
	if u := container.undef(); u != nil && !u.soft {
		return false, u.err()
	}
	if err := m.spend(item.weight()); err != nil {
		return false, err
	}
	if s, ok := container.str(); ok {
		if err := item.use(); err != nil {
			return false, err
		}
		sub, ok := item.str()
		if !ok {
			return false, errorf(Type, "'in <string>' needs a string on its left, not '%s'", item.pyType())
		}
		return strings.Contains(s, sub), m.spend(len(s) >> 8)
	}
	if container.isDict() {
		_, ok, err := dictGet(container, item)
		return ok, err
	}
	if x, ok := container.x.(*view); ok && x.kind == 'k' {
		_, ok, err := dictGet(x.of, item)
		return ok, err
	}
	items, err := m.items(container)
	if err != nil {
		if e, ok := err.(*Error); ok && e.Class == Type { //nolint:errorlint // own error, not wrapped
			return false, errorf(Type, "'in' needs a list, a dict or a string on its right, not '%s'", container.pyType())
		}
		return false, err
	}
	for _, x := range items {
		if x.undef() == nil && same(x, item) {
			return true, nil
		}
		if equal, err := m.equal(x, item); err != nil || equal {
			return equal, err
		}
	}
	return false, nil
}
