package prompt

import (
	"math"
	"strconv"

	"github.com/callnode/scheduler/llm/prompt/internal/fault"
	"github.com/callnode/scheduler/llm/value"
)

// exportValue turns a value into JSON data for the world outside: tuples and what
// can be walked become lists, keys become strings.
func (m *run) exportValue(v val) (value.Value, error) { return m.exportNested(v, 0) }

func (m *run) exportNested(v val, depth int) (value.Value, error) {
	if depth > fault.MaxNesting {
		return value.Value{}, fault.Errorf(fault.Limit, "a value nested deeper than %d", fault.MaxNesting)
	}
	if err := m.countSteps(1); err != nil {
		return value.Value{}, err
	}
	switch x := v.py().(type) {
	case nil:
		return v.v, nil
	case *undefinedValue:
		if x.soft {
			return value.Value{}, nil
		}
		return value.Value{}, x.toError()
	case markup:
		return value.OfString(string(x)), nil
	case nonFinite:
		return value.Value{}, fault.Errorf(fault.Other, "%s cannot leave a template", floatText(float64(x)))
	case *pyDict:
		out := value.NewMap(len(x.keys))
		for i, k := range x.keys {
			key, err := keyText(k)
			if err != nil {
				return value.Value{}, err
			}
			member, err := m.exportNested(x.vals[i], depth+1)
			if err != nil {
				return value.Value{}, err
			}
			out.Set(key, member)
		}
		return value.OfMap(out), nil
	case tuple, *pyList, *rangeOf, *dictView, *generator, *groupTuple:
		items, err := m.itemsOf(v)
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
	return value.Value{}, wrongTypeError(v, "a '%s' cannot leave a template", v.pyType())
}

// keyText returns the JSON form of a dict's key, as Python's json module writes it.
func keyText(k val) (string, error) {
	if s, ok := k.asString(); ok {
		return s, nil
	}
	if k.isNone() {
		return "null", nil
	}
	n, ok := toNum(k)
	if !ok {
		return "", fault.Errorf(fault.Type, "a '%s' cannot be a key in JSON", k.pyType())
	}
	if k.py() == nil && k.v.Kind() == value.Bool {
		return strconv.FormatBool(n.i != 0), nil
	}
	if n.kind == 'f' {
		if math.IsNaN(n.f) {
			return "NaN", nil
		}
		if math.IsInf(n.f, 0) {
			return map[bool]string{true: "Infinity", false: "-Infinity"}[n.f > 0], nil
		}
		return floatText(n.f), nil
	}
	return n.key(), nil
}
