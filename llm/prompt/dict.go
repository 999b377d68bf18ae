package prompt

import (
	"github.com/callnode/scheduler/llm/prompt/internal/fault"
	"github.com/callnode/scheduler/llm/prompt/internal/trace"
	"github.com/callnode/scheduler/llm/value"
)

// pyDict is a dict with keys that are not strings, or with members that are not
// JSON. Keys are equal when their [hashKey]s are.
type pyDict struct {
	keys, vals []val
	index      map[string]int
}

func newDict(n int) *pyDict { return &pyDict{index: make(map[string]int, n)} }

func (d *pyDict) setItem(key val, v val) error {
	h, err := hashKey(key)
	if err != nil {
		return err
	}
	if i, ok := d.index[h]; ok {
		d.vals[i] = v
		return nil
	}
	d.index[h] = len(d.keys)
	d.keys, d.vals = append(d.keys, key), append(d.vals, v)
	return nil
}

// toJSON returns the dict as JSON where it is JSON.
func (d *pyDict) toJSON() val {
	m := value.NewMap(len(d.keys))
	for i, k := range d.keys {
		s, ok := k.v.Str()
		member := d.vals[i]
		isJSON := ok && k.py() == nil && member.py() == nil
		if !isJSON || member.origin() != nil {
			return ofPython(d)
		}
		m.Set(s, member.v)
	}
	return val{v: value.OfMap(m)}
}

// dictLen, dictAt and dictGet read dicts of both kinds.
func dictLen(v val) int {
	if d, ok := v.py().(*pyDict); ok {
		return len(d.keys)
	}
	return v.v.Map().Len()
}

func dictAt(v val, i int) (key, member val) {
	if d, ok := v.py().(*pyDict); ok {
		return d.keys[i], d.vals[i]
	}
	k, x := v.v.Map().Entry(i)
	if v.origin() == nil {
		return ofStr(k), val{v: x}
	}
	key = ofStr(k)
	key = key.withOrigin(trace.KeyOrigin(v.origin()))
	return key, val{v: x}.withOrigin(trace.ChildOrigin(v.origin(), k))
}

func dictGet(v, key val) (val, bool, error) {
	d, ok := v.py().(*pyDict)
	if !ok {
		if s, ok := key.asString(); ok {
			x, ok := v.v.Get(s)
			return val{v: x}.withOrigin(trace.ChildOrigin(v.origin(), s)), ok, nil
		}
		_, err := hashKey(key)
		return none, false, err
	}
	h, err := hashKey(key)
	if err != nil {
		return none, false, err
	}
	if i, ok := d.index[h]; ok {
		return d.vals[i], true, nil
	}
	return none, false, nil
}

// hashKey returns a text that two values share exactly when Python would take them
// for the same dict key: 1, 1.0 and True are one.
func hashKey(v val) (string, error) { return hashNested(v, 0) }

func hashNested(v val, depth int) (string, error) {
	if err := v.checkDefined(); err != nil {
		return "", err
	}
	if s, ok := v.asString(); ok {
		return "s" + s, nil
	}
	if v.isNone() {
		return "0", nil
	}
	if n, ok := toNum(v); ok {
		return "n" + n.key(), nil
	}
	if x, ok := v.py().(tuple); ok {
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
	return "", fault.Errorf(fault.Type, "unhashable type: '%s'", v.pyType())
}
