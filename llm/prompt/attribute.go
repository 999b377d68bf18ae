package prompt

import (
	"math"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/callnode/scheduler/llm/prompt/internal/fault"
	"github.com/callnode/scheduler/llm/prompt/internal/trace"
	"github.com/callnode/scheduler/llm/value"
)

// mutators are the methods that would change a value: they are refused.
var mutators = map[string]string{
	"append": "list", "extend": "list", "insert": "list", "remove": "list", "reverse": "list", "sort": "list",
	"pop": "list dict", "clear": "list dict", "popitem": "dict", "setdefault": "dict", "update": "dict",
}

func refuseAttribute(o val, name string) val {
	return ofPython(&undefinedValue{
		class: fault.Security, name: name,
		format: "access to attribute %s of a '%s' is refused", args: []any{quoteText(name), o.pyType()},
	})
}

// isInternal reports whether Python keeps the insides of an object under such a
// name: __class__ and the like.
func isInternal(name string) bool {
	return len(name) > 4 && strings.HasPrefix(name, "__") && strings.HasSuffix(name, "__")
}

// getAttribute returns a Python attribute: a method, or a member of one of the objects
// that a template can hold. Members of dicts are items, not attributes.
func getAttribute(m *run, o val, name string) (val, bool, error) {
	if isInternal(name) {
		return refuseAttribute(o, name), true, nil
	}
	if x, isObject := o.py().(object); isObject {
		v, ok, err := x.member(m, name)
		if ok || err != nil {
			return v, ok, err
		}
	}
	if slices.Contains(strings.Fields(mutators[name]), o.pyType()) {
		return refuseAttribute(o, name), true, nil
	}
	if hasMethod(o, name) {
		return ofFunc(name, func(m *run, a callArgs) (val, error) { return callMethod(m, o, name, a) }), true, nil
	}
	return none, false, nil
}

// getItem evaluates a Python subscript; ok is false where the item is missing.
func getItem(o, key val) (v val, ok bool, err error) {
	if o.isDict() {
		return dictGet(o, key)
	}
	if g, isGroup := o.py().(*groupTuple); isGroup {
		o = ofPython(tuple{g.key, g.list})
	}
	n, isNum := toNum(key)
	if !isNum || n.kind != 'i' {
		return none, false, nil
	}
	i := n.i
	index := func(length int) bool {
		if i < 0 {
			i += int64(length)
		}
		return i >= 0 && i < int64(length)
	}
	if s, isStr := o.asString(); isStr {
		if !index(utf8.RuneCountInString(s)) {
			return none, false, nil
		}
		at := 0
		for range i {
			_, w := utf8.DecodeRuneInString(s[at:])
			at += w
		}
		_, w := utf8.DecodeRuneInString(s[at:])
		return o.subText(at, s[at:at+w]), true, nil
	}
	switch x := o.py().(type) {
	case nil:
		if list := o.v.List(); index(len(list)) {
			return val{v: list[i]}.withOrigin(trace.ElementOrigin(o.origin(), int(i))), true, nil
		}
	case *pyList:
		if index(len(x.items)) {
			return elements{other: x.items, from: o.origin()}.at(int(i)), true, nil
		}
	case tuple:
		if index(len(x)) {
			return elements{other: x, from: o.origin()}.at(int(i)), true, nil
		}
	case *rangeOf:
		if index(int(x.n)) {
			return val{v: value.OfInt(x.start + i*x.step)}, true, nil
		}
	}
	return none, false, nil
}

func sliceBound(v val) (int, error) {
	if err := v.checkDefined(); err != nil {
		return 0, err
	}
	n, ok := toNum(v)
	if !ok || n.kind == 'f' {
		return 0, fault.Errorf(fault.Type, "slice indices must be integers or None, not '%s'", v.pyType())
	}
	if n.kind == 'b' {
		return math.MaxInt32 * n.b.Sign(), nil
	}
	return int(max(min(n.i, math.MaxInt32), -math.MaxInt32)), nil
}

// sliceOf is o[start:stop:step] of a list, tuple, range or string.
func sliceOf(m *run, o val, start, stop, step *int) (val, error) {
	if err := o.checkDefined(); err != nil {
		return none, err
	}
	_, isStr := o.asString()
	_, isTuple := o.py().(tuple)
	if !isStr && !isTuple && !o.isList() {
		return none, fault.Errorf(fault.Type, "'%s' cannot be sliced", o.pyType())
	}
	items, err := m.itemsOf(o)
	if err != nil {
		return none, err
	}
	from, to, by, err := sliceRange(len(items), start, stop, step)
	if err != nil {
		return none, err
	}
	var out []val
	for i := from; (to-i)*by > 0; i += by {
		out = append(out, items[i])
	}
	if isTuple {
		return ofPython(tuple(out)), nil
	}
	if !isStr {
		return ofList(out), nil
	}
	return joinTexts(m, ofStr(""), out, true)
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
