package pyvalue

import (
	"github.com/callnode/scheduler/llm/prompt/internal/fault"
	"github.com/callnode/scheduler/llm/prompt/internal/trace"
	"github.com/callnode/scheduler/llm/value"
)

// PyDict is a dict with keys that are not strings, or with members that are not
// JSON. Keys are equal when their [HashKey]s are.
type PyDict struct {
	Keys, Vals []Val
	index      map[string]int
}

// PyType returns the name of the type.
func (*PyDict) PyType() string { return "dict" }

// IsDict reports whether v is a dict.
func (v Val) IsDict() bool {
	if v.Py() == nil {
		return v.V.Kind() == value.Object
	}
	_, ok := v.Py().(*PyDict)
	return ok
}

// NewDict returns an empty dict with room for n members.
func NewDict(n int) *PyDict { return &PyDict{index: make(map[string]int, n)} }

// SetItem adds or replaces a member.
func (d *PyDict) SetItem(key Val, v Val) error {
	h, err := HashKey(key)
	if err != nil {
		return err
	}
	if i, ok := d.index[h]; ok {
		d.Vals[i] = v
		return nil
	}
	d.index[h] = len(d.Keys)
	d.Keys, d.Vals = append(d.Keys, key), append(d.Vals, v)
	return nil
}

// ToJSON returns the dict as JSON if it is JSON.
func (d *PyDict) ToJSON() Val {
	m := value.NewMap(len(d.Keys))
	for i, k := range d.Keys {
		s, ok := k.V.Str()
		member := d.Vals[i]
		isJSON := ok && k.Py() == nil && member.Py() == nil
		if !isJSON || member.Origin() != nil {
			return OfPython(d)
		}
		m.Set(s, member.V)
	}
	return Val{V: value.OfMap(m)}
}

// DictLen returns how many members a dict has; like [DictAt] and [DictGet] it reads dicts of both kinds.
func DictLen(v Val) int {
	if d, ok := v.Py().(*PyDict); ok {
		return len(d.Keys)
	}
	return v.V.Map().Len()
}

// DictAt returns the member at an index, with its key.
func DictAt(v Val, i int) (key, member Val) {
	if d, ok := v.Py().(*PyDict); ok {
		return d.Keys[i], d.Vals[i]
	}
	k, x := v.V.Map().Entry(i)
	if v.Origin() == nil {
		return OfStr(k), Val{V: x}
	}
	key = OfStr(k)
	key = key.WithOrigin(trace.KeyOrigin(v.Origin()))
	return key, Val{V: x}.WithOrigin(trace.ChildOrigin(v.Origin(), k))
}

// DictGet returns the member of a key; ok is false if there is none.
func DictGet(v, key Val) (Val, bool, error) {
	d, ok := v.Py().(*PyDict)
	if !ok {
		if s, ok := key.AsString(); ok {
			x, ok := v.V.Get(s)
			return Val{V: x}.WithOrigin(trace.ChildOrigin(v.Origin(), s)), ok, nil
		}
		_, err := HashKey(key)
		return None, false, err
	}
	h, err := HashKey(key)
	if err != nil {
		return None, false, err
	}
	if i, ok := d.index[h]; ok {
		return d.Vals[i], true, nil
	}
	return None, false, nil
}

// HashKey returns a text that two values share exactly when Python would treat them as the same dict key: 1, 1.0
// and True are one.
func HashKey(v Val) (string, error) { return hashNested(v, 0) }

func hashNested(v Val, depth int) (string, error) {
	if err := v.CheckDefined(); err != nil {
		return "", err
	}
	if s, ok := v.AsString(); ok {
		return "s" + s, nil
	}
	if v.IsNone() {
		return "0", nil
	}
	if n, ok := ToNum(v); ok {
		return "n" + n.key(), nil
	}
	if x, ok := v.Py().(Tuple); ok {
		b := []byte("t")
		for _, item := range x {
			h, err := hashNested(item, depth+1)
			if err != nil {
				return "", err
			}
			b = append(value.AppendQuoted(b, h), ',')
			if len(b) > fault.MaxPad || depth > fault.MaxNesting {
				return "", fault.Errorf(fault.Limit, "a tuple that is too big to be a key")
			}
		}
		return string(b), nil
	}
	return "", fault.Errorf(fault.Type, "unhashable type: '%s'", v.PyType())
}
