package prompt

import (
	"math"
	"math/big"

	"github.com/callnode/scheduler/llm/value"
	"github.com/callnode/scheduler/llm/value/wording"
)

// val is a value while a template runs: JSON data, which is shared with the
// scope and never copied, or one of the things that only Python has. It is three
// words: the compiler keeps values of at most four in registers.
type val struct {
	v     value.Value // counts where py returns nil
	extra *extra      // nil for JSON data in a rendering that is not traced
}

// extra is what few values have. It is immutable.
type extra struct {
	python pythonOnly
	// from is where the value comes from, while a rendering is traced.
	from *origin
}

func ofPython(x pythonOnly) val { return val{extra: &extra{python: x}} }

// py returns what only Python has; nil for JSON data.
func (v val) py() pythonOnly {
	if v.extra == nil {
		return nil
	}
	return v.extra.python
}

// origin returns where the value comes from; nil where that is not known.
func (v val) origin() *origin {
	if v.extra == nil {
		return nil
	}
	return v.extra.from
}

// withOrigin returns the value as one that comes from o.
func (v val) withOrigin(o *origin) val {
	if o != v.origin() {
		v.extra = &extra{v.py(), o}
	}
	return v
}

// pythonOnly is what is not JSON: undefined, tuples, ranges, functions, markup ...
type pythonOnly interface {
	// pyType returns the name of the Python type, for messages.
	pyType() string
}

type (
	// undefinedValue is a name or member that is not there. It may be asked about and
	// given a default; any other use is an error.
	undefinedValue struct {
		class Class // Undefined or Security
		name  string
		off   int
		deep  bool // its members are undefined too: see [LenientScope]
		hint  wording.Text
		soft  bool // the else of {{ a if b }}, and all in a chat template: prints nothing, is false and empty
		keys  func() []string

		format string // of the message; "" for an inline if without else
		args   []any
	}
	absent struct{}              // an argument that was not given
	tuple  []val                 // an immutable sequence
	pyList struct{ items []val } // a list with elements that are not JSON
	// markup is the text that escape made. Python's would escape whatever it meets;
	// here it can be printed and nothing else, so that no text is escaped by surprise.
	markup    string
	nonFinite float64 // nan and the infinities, which JSON cannot hold
	rangeOf   struct{ start, stop, step, n int64 }
	dictView  struct { // the result of keys, values or items of a dict
		of   val
		kind byte // k, v or i
	}
	// generator is the result of map, select and the like: computed when it is walked,
	// which it can be once.
	generator struct {
		name string
		run  func() ([]val, error)
	}
	// function is anything that can be called.
	function struct {
		name string
		call func(m *evaluator, a callArgs) (val, error)
	}
	namespace struct {
		names []string
		vals  []val
	}
)

func (*undefinedValue) pyType() string { return "Undefined" }
func (absent) pyType() string          { return "nothing" }
func (tuple) pyType() string           { return "tuple" }
func (*pyList) pyType() string         { return "list" }
func (*pyDict) pyType() string         { return "dict" }
func (markup) pyType() string          { return "Markup" }
func (nonFinite) pyType() string       { return "float" }
func (*rangeOf) pyType() string        { return "range" }
func (v *dictView) pyType() string {
	return map[byte]string{'k': "dict_keys", 'v': "dict_values", 'i': "dict_items"}[v.kind]
}
func (*generator) pyType() string { return "generator" }
func (*function) pyType() string  { return "function" }
func (*namespace) pyType() string { return "Namespace" }

var (
	none    = val{}
	missing = ofPython(absent{})
)

func ofStr(s string) val { return val{v: value.OfString(s)} }
func ofBool(b bool) val  { return val{v: value.OfBool(b)} }
func ofInt(i int) val    { return val{v: value.OfInt(int64(i))} }
func ofFloat(f float64) val {
	if math.IsNaN(f) || math.IsInf(f, 0) {
		return ofPython(nonFinite(f))
	}
	return val{v: value.OfFloat(f)}
}
func ofFunc(name string, call func(m *evaluator, a callArgs) (val, error)) val {
	return ofPython(&function{name: name, call: call})
}
func ofBig(i *big.Int) val { return val{v: value.OfBig(i)} }

// ofList makes a list; it is JSON as long as its elements are.
func ofList(items []val) val {
	plain := make([]value.Value, len(items))
	for i, item := range items {
		if item.py() != nil || item.origin() != nil {
			return ofPython(&pyList{items})
		}
		plain[i] = item.v
	}
	return val{v: value.OfList(plain...)}
}

func (v val) isNone() bool   { return v.py() == nil && v.v.IsNull() }
func (v val) isAbsent() bool { _, ok := v.py().(absent); return ok }
func (v val) asUndefined() *undefinedValue {
	u, _ := v.py().(*undefinedValue)
	return u
}

// asString returns the text of a string.
func (v val) asString() (string, bool) {
	if v.py() == nil {
		return v.v.Str()
	}
	return "", false
}

func (v val) isMarkup() bool { _, ok := v.py().(markup); return ok }

// readingSteps returns the steps that reading a text counts for.
func (v val) readingSteps() int {
	s, _ := v.asString()
	return len(s) >> 8
}

func (v val) isDict() bool {
	if v.py() == nil {
		return v.v.Kind() == value.Object
	}
	_, ok := v.py().(*pyDict)
	return ok
}

func (v val) isList() bool {
	if v.py() == nil {
		return v.v.Kind() == value.List
	}
	_, ok := v.py().(*pyList)
	return ok
}

// pyType returns the name of the value's type in Python, for messages.
func (v val) pyType() string {
	if v.py() != nil {
		return v.py().pyType()
	}
	return [...]string{"NoneType", "bool", "int", "float", "str", "list", "dict"}[v.v.Kind()]
}

// checkDefined returns the error of an undefined value that is used, or nil.
func (v val) checkDefined() error {
	if v.py() == nil {
		return nil
	}
	if u := v.asUndefined(); u != nil {
		return u.toError()
	}
	return nil
}

// checkRead returns the error of an undefined value that is not even empty, or nil: soft
// ones may be filtered, joined and compared, but not computed with.
func (v val) checkRead() error {
	if u := v.asUndefined(); u != nil && !u.soft {
		return u.toError()
	}
	return nil
}

func (u *undefinedValue) toError() *Error {
	e := &Error{Class: u.class, Name: u.name, Offset: u.off, placed: true}
	e.setHint(u.hint)
	if u.keys != nil {
		e.setHint(keysHint(lastName(u.name), u.keys()))
	}
	e.setMessage(u.format, u.args...)
	if u.format == "" {
		e.setMessage("the inline if has no else, and its condition is false")
	}
	return e
}

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
	key = key.withOrigin(keyOrigin(v.origin()))
	return key, val{v: x}.withOrigin(childOrigin(v.origin(), k))
}

func dictGet(v, key val) (val, bool, error) {
	d, ok := v.py().(*pyDict)
	if !ok {
		if s, ok := key.asString(); ok {
			x, ok := v.v.Get(s)
			return val{v: x}.withOrigin(childOrigin(v.origin(), s)), ok, nil
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
			if len(b) > maxPad || depth > maxNesting {
				return "", errorf(Limit, "a tuple that is too big to be a key")
			}
		}
		return string(b), nil
	}
	return "", errorf(Type, "unhashable type: '%s'", v.pyType())
}
