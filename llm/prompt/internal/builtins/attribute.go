package builtins

import (
	"math"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/callnode/scheduler/llm/prompt/internal/fault"
	"github.com/callnode/scheduler/llm/prompt/internal/pyvalue"
	"github.com/callnode/scheduler/llm/prompt/internal/trace"
	"github.com/callnode/scheduler/llm/value"
	"github.com/callnode/scheduler/llm/value/wording"
)

// mutators are the methods that would change a value: they are refused.
var mutators = map[string]string{
	"append": "list", "extend": "list", "insert": "list", "remove": "list", "reverse": "list", "sort": "list",
	"pop": "list dict", "clear": "list dict", "popitem": "dict", "setdefault": "dict", "update": "dict",
}

func refuseAttribute(o pyvalue.Val, name string) pyvalue.Val {
	return pyvalue.OfPython(&pyvalue.UndefinedValue{
		Class: fault.Security, Name: name,
		Format: "access to attribute %s of a '%s' is refused", Args: []any{pyvalue.QuoteText(name), o.PyType()},
	})
}

// IsInternal reports whether Python keeps the insides of an object under such a name: for example __class__.
func IsInternal(name string) bool {
	return len(name) > 4 && strings.HasPrefix(name, "__") && strings.HasSuffix(name, "__")
}

// GetAttribute returns a member of one of the objects that a template can hold, for example loop.index. Members of
// dicts are items, and methods of data are not values: body.items is the key "items" and undefined without it,
// body.items() calls the method.
func GetAttribute(m *pyvalue.Run, o pyvalue.Val, name string) (pyvalue.Val, bool, error) {
	if IsInternal(name) {
		return refuseAttribute(o, name), true, nil
	}
	if x, isObject := o.Py().(pyvalue.Object); isObject {
		v, ok, err := x.Member(m, name)
		if ok || err != nil {
			return v, ok, err
		}
	}
	return pyvalue.None, false, nil
}

// MissingMember returns the undefined value of a member that o does not have. If o has a method of that name, the
// hint says how to call it, and calling the value is a Security error.
func MissingMember(o pyvalue.Val, path, name string, offset int) *pyvalue.UndefinedValue {
	u := pyvalue.MissingMember(o, path, name, offset)
	isMutator := slices.Contains(strings.Fields(mutators[name]), o.PyType())
	isUnsupported := slices.Contains(unsupportedMembers[o.PyType()], name)
	switch {
	case isMutator:
		u.CallError = func() *fault.Error {
			return fault.Errorf(fault.Security, "access to attribute %s of a '%s' is refused", pyvalue.QuoteText(name), o.PyType())
		}
	case HasMethod(o, name):
		u.SetHint(wording.Say("to call the method write .%s()", name))
		u.CallError = func() *fault.Error {
			e := fault.Errorf(fault.Security, "the method %s can only be called right after its name", pyvalue.QuoteText(name))
			fault.SetHint(e, wording.Say("to call the method write .%s()", name))
			return e
		}
	case isUnsupported:
		u.CallError = func() *fault.Error { return unsupportedMember(o, name) }
	}
	return u
}

// GetItem evaluates a Python subscript; ok is false if the item is missing.
func GetItem(o, key pyvalue.Val) (v pyvalue.Val, ok bool, err error) {
	if o.IsDict() {
		return pyvalue.DictGet(o, key)
	}
	if g, isGroup := o.Py().(*pyvalue.GroupTuple); isGroup {
		o = pyvalue.OfPython(pyvalue.Tuple{g.Key, g.List})
	}
	n, isNum := pyvalue.ToNum(key)
	if !isNum || n.Kind != 'i' {
		return pyvalue.None, false, nil
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
			return pyvalue.None, false, nil
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
			return pyvalue.Val{V: list[i]}.WithOrigin(trace.ElementOrigin(o.Origin(), int(i))), true, nil
		}
	case *pyvalue.PyList:
		if index(len(x.Items)) {
			return pyvalue.Elements{Other: x.Items, From: o.Origin()}.At(int(i)), true, nil
		}
	case pyvalue.Tuple:
		if index(len(x)) {
			return pyvalue.Elements{Other: x, From: o.Origin()}.At(int(i)), true, nil
		}
	case *pyvalue.RangeOf:
		if index(int(x.N)) {
			return pyvalue.Val{V: value.OfInt(x.Start + i*x.Step)}, true, nil
		}
	}
	return pyvalue.None, false, nil
}

// SliceBound reads a bound of a slice.
func SliceBound(v pyvalue.Val) (int, error) {
	if err := v.CheckDefined(); err != nil {
		return 0, err
	}
	n, ok := pyvalue.ToNum(v)
	if !ok || n.Kind == 'f' {
		return 0, fault.Errorf(fault.Type, "slice indices must be integers or None, not '%s'", v.PyType())
	}
	if n.Kind == 'b' {
		return math.MaxInt32 * n.B.Sign(), nil
	}
	return int(max(min(n.I, math.MaxInt32), -math.MaxInt32)), nil
}

// SliceOf is o[start:stop:step] of a list, tuple, range or string.
func SliceOf(m *pyvalue.Run, o pyvalue.Val, start, stop, step *int) (pyvalue.Val, error) {
	if err := o.CheckDefined(); err != nil {
		return pyvalue.None, err
	}
	_, isStr := o.AsString()
	_, isTuple := o.Py().(pyvalue.Tuple)
	if !isStr && !isTuple && !o.IsList() {
		return pyvalue.None, fault.Errorf(fault.Type, "'%s' cannot be sliced", o.PyType())
	}
	items, err := m.ItemsOf(o)
	if err != nil {
		return pyvalue.None, err
	}
	from, to, by, err := sliceRange(len(items), start, stop, step)
	if err != nil {
		return pyvalue.None, err
	}
	var out []pyvalue.Val
	for i := from; (to-i)*by > 0; i += by {
		out = append(out, items[i])
	}
	if isTuple {
		return pyvalue.OfPython(pyvalue.Tuple(out)), nil
	}
	if !isStr {
		return pyvalue.OfList(out), nil
	}
	return joinTexts(m, pyvalue.OfStr(""), out, true)
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
