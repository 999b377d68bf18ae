package builtins

import (
	"math"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/callnode/scheduler/llm/prompt/internal/fault"
	"github.com/callnode/scheduler/llm/prompt/internal/py"
	"github.com/callnode/scheduler/llm/prompt/internal/trace"
	"github.com/callnode/scheduler/llm/value"
)

// mutators are the methods that would change a value: they are refused.
var mutators = map[string]string{
	"append": "list", "extend": "list", "insert": "list", "remove": "list", "reverse": "list", "sort": "list",
	"pop": "list dict", "clear": "list dict", "popitem": "dict", "setdefault": "dict", "update": "dict",
}

func refuseAttribute(o py.Val, name string) py.Val {
	return py.OfPython(&py.UndefinedValue{
		Class: fault.Security, Name: name,
		Format: "access to attribute %s of a '%s' is refused", Args: []any{py.QuoteText(name), o.PyType()},
	})
}

// IsInternal reports whether Python keeps the insides of an object under such a
// name: __class__ and the like.
func IsInternal(name string) bool {
	return len(name) > 4 && strings.HasPrefix(name, "__") && strings.HasSuffix(name, "__")
}

// GetAttribute returns a Python attribute: a method, or a member of one of the objects
// that a template can hold. Members of dicts are items, not attributes.
func GetAttribute(m *py.Run, o py.Val, name string) (py.Val, bool, error) {
	if IsInternal(name) {
		return refuseAttribute(o, name), true, nil
	}
	if x, isObject := o.Py().(py.Object); isObject {
		v, ok, err := x.Member(m, name)
		if ok || err != nil {
			return v, ok, err
		}
	}
	if slices.Contains(strings.Fields(mutators[name]), o.PyType()) {
		return refuseAttribute(o, name), true, nil
	}
	if HasMethod(o, name) {
		return py.OfFunc(name, func(m *py.Run, a py.CallArgs) (py.Val, error) { return CallMethod(m, o, name, a) }), true, nil
	}
	return py.None, false, nil
}

// GetItem evaluates a Python subscript; ok is false where the item is missing.
func GetItem(o, key py.Val) (v py.Val, ok bool, err error) {
	if o.IsDict() {
		return py.DictGet(o, key)
	}
	if g, isGroup := o.Py().(*py.GroupTuple); isGroup {
		o = py.OfPython(py.Tuple{g.Key, g.List})
	}
	n, isNum := py.ToNum(key)
	if !isNum || n.Kind != 'i' {
		return py.None, false, nil
	}
	i := n.I
	index := func(length int) bool {
		if i < 0 {
			i += int64(length)
		}
		return i >= 0 && i < int64(length)
	}
	if s, isStr := o.AsString(); isStr {
		if !index(utf8.RuneCountInString(s)) {
			return py.None, false, nil
		}
		at := 0
		for range i {
			_, w := utf8.DecodeRuneInString(s[at:])
			at += w
		}
		_, w := utf8.DecodeRuneInString(s[at:])
		return o.SubText(at, s[at:at+w]), true, nil
	}
	switch x := o.Py().(type) {
	case nil:
		if list := o.V.List(); index(len(list)) {
			return py.Val{V: list[i]}.WithOrigin(trace.ElementOrigin(o.Origin(), int(i))), true, nil
		}
	case *py.PyList:
		if index(len(x.Items)) {
			return py.Elements{Other: x.Items, From: o.Origin()}.At(int(i)), true, nil
		}
	case py.Tuple:
		if index(len(x)) {
			return py.Elements{Other: x, From: o.Origin()}.At(int(i)), true, nil
		}
	case *py.RangeOf:
		if index(int(x.N)) {
			return py.Val{V: value.OfInt(x.Start + i*x.Step)}, true, nil
		}
	}
	return py.None, false, nil
}

// SliceBound reads a bound of a slice.
func SliceBound(v py.Val) (int, error) {
	if err := v.CheckDefined(); err != nil {
		return 0, err
	}
	n, ok := py.ToNum(v)
	if !ok || n.Kind == 'f' {
		return 0, fault.Errorf(fault.Type, "slice indices must be integers or None, not '%s'", v.PyType())
	}
	if n.Kind == 'b' {
		return math.MaxInt32 * n.B.Sign(), nil
	}
	return int(max(min(n.I, math.MaxInt32), -math.MaxInt32)), nil
}

// SliceOf is o[start:stop:step] of a list, tuple, range or string.
func SliceOf(m *py.Run, o py.Val, start, stop, step *int) (py.Val, error) {
	if err := o.CheckDefined(); err != nil {
		return py.None, err
	}
	_, isStr := o.AsString()
	_, isTuple := o.Py().(py.Tuple)
	if !isStr && !isTuple && !o.IsList() {
		return py.None, fault.Errorf(fault.Type, "'%s' cannot be sliced", o.PyType())
	}
	items, err := m.ItemsOf(o)
	if err != nil {
		return py.None, err
	}
	from, to, by, err := sliceRange(len(items), start, stop, step)
	if err != nil {
		return py.None, err
	}
	var out []py.Val
	for i := from; (to-i)*by > 0; i += by {
		out = append(out, items[i])
	}
	if isTuple {
		return py.OfPython(py.Tuple(out)), nil
	}
	if !isStr {
		return py.OfList(out), nil
	}
	return joinTexts(m, py.OfStr(""), out, true)
}

// sliceRange clips the bounds of a slice as Python does.
func sliceRange(n int, start, stop, step *int) (from, to, by int, err error) {
	by = 1
	if step != nil {
		by = *step
	}
	if by == 0 {
		return 0, 0, 0, fault.Errorf(fault.Other, "slice step cannot be zero")
	}
	low, high := 0, n
	if by < 0 {
		low, high = -1, n-1
	}
	clip := func(p *int, fallback int) int {
		if p == nil {
			return fallback
		}
		i := *p
		if i < 0 {
			i += n
		}
		return min(max(i, low), high)
	}
	if by > 0 {
		return clip(start, 0), clip(stop, n), by, nil
	}
	return clip(start, n-1), clip(stop, -1), by, nil
}
