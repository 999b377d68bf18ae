package pyvalue

import (
	"math"
	"strconv"

	"github.com/callnode/scheduler/llm/prompt/internal/fault"
	"github.com/callnode/scheduler/llm/value"
)

// ExportValue turns a value into JSON data for code outside: tuples and other iterables become lists, keys become
// strings.
func (m *Run) ExportValue(v Val) (value.Value, error) { return m.exportNested(v, 0) }

func (m *Run) exportNested(v Val, depth int) (value.Value, error) {
	if depth > fault.MaxNesting {
		return value.Value{}, fault.Errorf(fault.Limit, "a value nested deeper than %d", fault.MaxNesting)
	}
	if err := m.CountSteps(1); err != nil {
		return value.Value{}, err
	}
	switch x := v.Py().(type) {
	case nil:
		return v.V, nil
	case *UndefinedValue:
		if x.Soft {
			return value.Value{}, nil
		}
		return value.Value{}, x.ToError()
	case Markup:
		return value.OfString(string(x)), nil
	case nonFinite:
		return value.Value{}, fault.Errorf(fault.Other, "%s cannot leave a template", floatText(float64(x)))
	case *PyDict:
		out := value.NewMap(len(x.Keys))
		for i, k := range x.Keys {
			key, err := keyText(k)
			if err != nil {
				return value.Value{}, err
			}
			member, err := m.exportNested(x.Vals[i], depth+1)
			if err != nil {
				return value.Value{}, err
			}
			out.Set(key, member)
		}
		return value.OfMap(out), nil
	case Tuple, *PyList, *RangeOf, *DictView, *Generator, *GroupTuple:
		items, err := m.ItemsOf(v)
		if err != nil {
			return value.Value{}, err
		}
		list := make([]value.Value, len(items))
		for i, item := range items {
			list[i], err = m.exportNested(item, depth+1)
			if err != nil {
				return value.Value{}, err
			}
		}
		return value.OfList(list...), nil
	}
	return value.Value{}, wrongTypeError(v, "a '%s' cannot leave a template", v.PyType())
}

// keyText returns the JSON form of a dict's key, as Python's json module writes it.
func keyText(k Val) (string, error) {
	if s, ok := k.AsString(); ok {
		return s, nil
	}
	if k.IsNone() {
		return "null", nil
	}
	n, ok := ToNum(k)
	if !ok {
		return "", fault.Errorf(fault.Type, "a '%s' cannot be a key in JSON", k.PyType())
	}
	if k.Py() == nil && k.V.Kind() == value.Bool {
		return strconv.FormatBool(n.I != 0), nil
	}
	if n.Kind == 'f' {
		if math.IsNaN(n.F) {
			return "NaN", nil
		}
		if math.IsInf(n.F, 0) {
			return map[bool]string{true: "Infinity", false: "-Infinity"}[n.F > 0], nil
		}
		return floatText(n.F), nil
	}
	return n.key(), nil
}
