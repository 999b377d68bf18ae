package value

import (
	"iter"
	"slices"
)

// Map is an object: members in the order in which they were set. A nil *Map reads as an empty one. Its creator may
// change it until it is passed on in a [Value]; after that it is only read, possibly by several goroutines.
type Map struct {
	keys  []string
	vals  []Value
	index map[string]int // nil while the map is small enough to be searched
}

// searched is the size up to which a linear search beats a hash.
const searched = 16

// NewMap returns an empty map with room for n members.
func NewMap(n int) *Map {
	return &Map{keys: make([]string, 0, n), vals: make([]Value, 0, n)}
}

// Pairs returns a map of alternating keys and values that [Of] accepts. It
// panics for a key that is not a string: it is for literals in code.
func Pairs(kv ...any) *Map {
	m := NewMap(len(kv) / 2)
	for i := 0; i < len(kv); i += 2 {
		v, err := Of(kv[i+1])
		if err != nil {
			panic(err)
		}
		m.Set(kv[i].(string), v)
	}
	return m
}

// Len returns the number of members.
func (m *Map) Len() int {
	if m == nil {
		return 0
	}
	return len(m.keys)
}

func (m *Map) findKey(key string) int {
	if m == nil {
		return -1
	}
	if m.index != nil {
		if i, ok := m.index[key]; ok {
			return i
		}
		return -1
	}
	for i, k := range m.keys {
		if k == key {
			return i
		}
	}
	return -1
}

// Get returns the member of that key, or null and false.
func (m *Map) Get(key string) (Value, bool) {
	if i := m.findKey(key); i >= 0 {
		return m.vals[i], true
	}
	return Value{}, false
}

// FirstKey returns the first of the keys whose member has a value: neither null nor the empty text. Without one it
// is the last of them that the map has, and "" if it has none.
func (m *Map) FirstKey(keys ...string) (key string) {
	for _, k := range slices.Backward(keys) {
		v, ok := m.Get(k)
		if !ok {
			continue
		}
		text, isText := v.Str()
		isEmpty := v.IsNull() || isText && text == ""
		if !isEmpty || key == "" {
			key = k
		}
	}
	return key
}

// First returns the member of the [Map.FirstKey] of the keys.
func (m *Map) First(keys ...string) (Value, bool) { return m.Get(m.FirstKey(keys...)) }

// Set adds a member at the end, or replaces the value of the member of that key
// in its place.
func (m *Map) Set(key string, v Value) {
	if i := m.findKey(key); i >= 0 {
		m.vals[i] = v
		return
	}
	m.keys = append(m.keys, key)
	m.vals = append(m.vals, v)
	if m.index != nil {
		m.index[key] = len(m.keys) - 1
	} else if len(m.keys) > searched {
		m.index = make(map[string]int, 2*len(m.keys))
		for i, k := range m.keys {
			m.index[k] = i
		}
	}
}

// Delete takes a member out and keeps the order of the others.
func (m *Map) Delete(key string) {
	i := m.findKey(key)
	if i < 0 {
		return
	}
	m.keys = slices.Concat(m.keys[:i], m.keys[i+1:]) // rows of a table share them
	m.vals = slices.Delete(m.vals, i, i+1)
	if m.index != nil {
		delete(m.index, key)
		for j := i; j < len(m.keys); j++ {
			m.index[m.keys[j]] = j
		}
	}
}

// Clone returns a copy whose members can be set without changing m; the values are
// shared.
func (m *Map) Clone() *Map {
	c := NewMap(m.Len() + 1)
	for k, v := range m.All() {
		c.Set(k, v)
	}
	return c
}

// Entry returns the key and value at position i, 0 <= i < Len.
func (m *Map) Entry(i int) (string, Value) { return m.keys[i], m.vals[i] }

// Keys returns the keys in order; the slice must not be changed.
func (m *Map) Keys() []string {
	if m == nil {
		return nil
	}
	return m.keys
}

// All ranges over the members in order.
func (m *Map) All() iter.Seq2[string, Value] {
	return func(yield func(string, Value) bool) {
		if m == nil {
			return
		}
		for i, k := range m.keys {
			if !yield(k, m.vals[i]) {
				return
			}
		}
	}
}
