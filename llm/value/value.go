// Package value is the one data type that parameters, template expressions,
// chunks, events and the journal share: JSON with the order of keys and the
// spelling of numbers kept. For example, 1.50 is still written 1.50 after any number of steps.
//
// A [Value] is immutable once it has been passed on: lists and
// maps are shared between steps and never copied. Build a map with [NewMap] and
// [Map.Set], then stop changing it.
package value

import (
	"math"
	"math/big"
	"strconv"
	"strings"

	"github.com/callnode/scheduler/llm/value/wording"
)

// Kind is the JSON type of a [Value]. Integers and other numbers are distinguished, as in Python and JSON Schema:
// 3 is an Int, 3.0 and 3e0 are Floats.
type Kind uint8

// The kinds, in the order in which [Compare] sorts values of different kinds.
const (
	Null Kind = iota
	Bool
	Int
	Float
	String
	List
	Object
)

// String returns the JSON Schema name of the kind: null, boolean, integer, number,
// string, array or object.
func (k Kind) String() string {
	return [...]string{"null", "boolean", "integer", "number", "string", "array", "object"}[k]
}

// Name returns the name of the kind in the built-in languages.
func (k Kind) Name() wording.Text { return wording.TypeName(k.String()) }

func (k Kind) isNumber() bool { return k == Int || k == Float }

// Value is one JSON value. The zero Value is null. It is a value that does not change, and
// is safe for concurrent use.
type Value struct {
	// v is nil, bool, int64, float64, raw, string, []Value, *Map, or *hidden for a secret.
	v any
}

// raw is a number whose source text must be kept: 1.50, 1e3, or an integer
// beyond int64.
type raw string

// OfString returns a JSON string. It is not checked to be UTF-8; encoding
// replaces bytes that are not.
func OfString(s string) Value { return Value{s} }

// OfBool returns true or false.
func OfBool(b bool) Value { return Value{b} }

// OfInt returns an integer.
func OfInt(i int64) Value { return Value{i} }

// OfFloat returns a number that is a Float even when it is whole: 3 prints as
// 3.0. NaN and the infinities have no JSON form and become null.
func OfFloat(f float64) Value {
	if math.IsNaN(f) || math.IsInf(f, 0) {
		return Value{}
	}
	return Value{f}
}

// OfBig returns an integer of any size.
func OfBig(i *big.Int) Value {
	if i.IsInt64() {
		return Value{i.Int64()}
	}
	return Value{raw(i.String())}
}

// OfNumber returns the number that the JSON text s spells, keeping the spelling. It fails if s is not a JSON
// number.
func OfNumber(s string) (Value, error) {
	if s == "" || numberLen(s) != len(s) {
		return Value{}, wording.Errorf("%q is not a JSON number", s)
	}
	return newNumber(s), nil
}

// newNumber is OfNumber for text that is known to be a JSON number.
func newNumber(s string) Value {
	if len(s) <= 20 && !strings.ContainsAny(s, ".eE") && s != "-0" {
		if i, err := strconv.ParseInt(s, 10, 64); err == nil {
			return Value{i}
		}
	}
	return Value{raw(s)}
}

// OfList returns a list that shares items.
func OfList(items ...Value) Value {
	if items == nil {
		items = []Value{}
	}
	return Value{items}
}

// OfMap returns an object; nil makes an empty one.
func OfMap(m *Map) Value {
	if m == nil {
		m = NewMap(0)
	}
	return Value{m}
}

// Kind returns the type of the value.
func (v Value) Kind() Kind {
	switch x := v.v.(type) {
	case nil:
		return Null
	case bool:
		return Bool
	case int64:
		return Int
	case float64:
		return Float
	case raw:
		if strings.ContainsAny(string(x), ".eE") {
			return Float
		}
		return Int
	case string:
		return String
	case []Value:
		return List
	case *hidden:
		return v.unhide().Kind()
	default:
		return Object
	}
}

// IsNull reports whether the value is null.
func (v Value) IsNull() bool { return v.v == nil }

// Str returns the text of a string; ok is false for any other kind.
func (v Value) Str() (s string, ok bool) {
	s, ok = v.v.(string)
	if ok {
		return s, true
	}
	s, ok = v.unhide().v.(string)
	return s, ok
}

// Bool is the truth value of a boolean; ok is false for any other kind.
func (v Value) Bool() (b, ok bool) { b, ok = v.v.(bool); return b, ok }

// Int returns an integer that fits int64; a Float, even 3.0, is not one.
func (v Value) Int() (i int64, ok bool) {
	i, ok = v.v.(int64)
	if ok {
		return i, true
	}
	v = v.unhide()
	if v.v == raw("-0") {
		return 0, true
	}
	i, ok = v.v.(int64)
	return i, ok
}

// Float is any number as float64, rounded if necessary. A number beyond float64's range becomes an infinity; ok is
// false for any other kind.
func (v Value) Float() (f float64, ok bool) {
	switch x := v.unhide().v.(type) {
	case int64:
		return float64(x), true
	case float64:
		return x, true
	case raw:
		f, _ = strconv.ParseFloat(string(x), 64) // out of range: an infinity, as said
		return f, true
	}
	return 0, false
}

// Big returns an integer of any size; ok is false for Floats and other kinds.
func (v Value) Big() (i *big.Int, ok bool) {
	switch x := v.unhide().v.(type) {
	case int64:
		return big.NewInt(x), true
	case raw:
		return new(big.Int).SetString(string(x), 10)
	}
	return nil, false
}

// List returns the elements of a list, which must not be changed; nil for any other
// kind.
func (v Value) List() []Value { l, _ := v.v.([]Value); return l }

// Map returns the members of an object; nil, which reads as empty, for any other
// kind.
func (v Value) Map() *Map { m, _ := v.v.(*Map); return m }

// Get returns the member of an object by key. It is null and false if the value is not an object or lacks the key.
func (v Value) Get(key string) (Value, bool) { return v.Map().Get(key) }

// At returns the element or member that the RFC 6901 pointer names: "" is v itself,
// "/a/0" the first element of member a.
func (v Value) At(pointer string) (Value, bool) {
	if pointer == "" {
		return v, true
	}
	if pointer[0] != '/' {
		return Value{}, false
	}
	for token := range strings.SplitSeq(pointer[1:], "/") {
		var ok bool
		if v.Map() != nil {
			v, ok = v.Get(Unescape(token))
		} else if v.List() != nil {
			var i int
			i, ok = parseIndex(token)
			if ok && i < len(v.List()) {
				v = v.List()[i]
			} else {
				ok = false
			}
		}
		if !ok {
			return Value{}, false
		}
	}
	return v, true
}

// parseIndex reads an array index as RFC 6901 has it: digits, without leading zeros.
func parseIndex(token string) (int, bool) {
	hasLeadingZero := len(token) > 1 && token[0] == '0'
	if hasLeadingZero || strings.Trim(token, "0123456789") != "" {
		return 0, false
	}
	i, err := strconv.Atoi(token)
	return i, err == nil
}

// Equal compares as JSON Schema does: numbers by their mathematical value
// (1 equals 1.0), objects without regard to the order of keys.
func Equal(a, b Value) bool {
	ka, kb := a.Kind(), b.Kind()
	if ka.isNumber() && kb.isNumber() {
		return compareNumbers(a, b) == 0
	}
	if ka != kb {
		return false
	}
	switch ka {
	case List:
		la, lb := a.List(), b.List()
		if len(la) != len(lb) {
			return false
		}
		for i := range la {
			if !Equal(la[i], lb[i]) {
				return false
			}
		}
		return true
	case Object:
		ma, mb := a.Map(), b.Map()
		if ma.Len() != mb.Len() {
			return false
		}
		for k, x := range ma.All() {
			if y, ok := mb.Get(k); !ok || !Equal(x, y) {
				return false
			}
		}
		return true
	default:
		return a.unhide().v == b.unhide().v
	}
}

// Compare orders numbers by value and strings by code point; values of
// different kinds by [Kind]. Lists compare element by element. Objects have no
// order: two of them compare as 0.
func Compare(a, b Value) int {
	ka, kb := a.Kind(), b.Kind()
	if ka.isNumber() && kb.isNumber() {
		return compareNumbers(a, b)
	}
	if ka != kb {
		return int(ka) - int(kb)
	}
	switch ka {
	case String:
		x, _ := a.Str()
		y, _ := b.Str()
		return strings.Compare(x, y)
	case Bool:
		x, _ := a.Bool()
		y, _ := b.Bool()
		if x == y {
			return 0
		}
		if y {
			return -1
		}
		return 1
	case List:
		la, lb := a.List(), b.List()
		for i := range min(len(la), len(lb)) {
			if c := Compare(la[i], lb[i]); c != 0 {
				return c
			}
		}
		return len(la) - len(lb)
	}
	return 0
}
