package prompt

import (
	"math"
	"math/big"
	"slices"

	"github.com/callnode/scheduler/llm/prompt/internal/fault"
	"github.com/callnode/scheduler/llm/prompt/internal/trace"
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
	from *trace.Origin
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
func (v val) origin() *trace.Origin {
	if v.extra == nil {
		return nil
	}
	return v.extra.from
}

// withOrigin returns the value as one that comes from o.
func (v val) withOrigin(o *trace.Origin) val {
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
		class fault.Class // Undefined or Security
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
		call func(m *run, a callArgs) (val, error)
	}
	// callable is what a template can call.
	callable interface {
		pythonOnly
		callWith(m *run, a callArgs) (val, error)
	}
	// object is what has members of its own.
	object interface {
		pythonOnly
		// member returns the member of that name; ok is false where there is none.
		member(m *run, name string) (v val, ok bool, err error)
	}
	// counter is an object that has items, and counts them when it is asked.
	counter interface {
		object
		itemCount(m *run) (int, error)
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
func ofFunc(name string, call func(m *run, a callArgs) (val, error)) val {
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

// groupTuple is an element of groupby: a pair that also has names.
type groupTuple struct{ key, list val }

func (*groupTuple) pyType() string { return "tuple" }

func (g *groupTuple) asPair() []val { return []val{g.key, g.list} }

func (ns *namespace) setMember(name string, v val) error {
	for i, n := range ns.names {
		if n == name {
			ns.vals[i] = v
			return nil
		}
	}
	if len(ns.names) >= fault.MaxVars {
		return fault.Errorf(fault.Limit, "more than %d members of a namespace", fault.MaxVars)
	}
	ns.names, ns.vals = append(ns.names, name), append(ns.vals, v)
	return nil
}

func (f *function) callWith(m *run, a callArgs) (val, error) { return f.call(m, a) }

func (ns *namespace) member(_ *run, name string) (val, bool, error) {
	if i := slices.Index(ns.names, name); i >= 0 {
		return ns.vals[i], true, nil
	}
	return none, false, nil
}

// member returns one of the names of the pair; its methods are those of a tuple.
func (g *groupTuple) member(_ *run, name string) (val, bool, error) {
	switch name {
	case "grouper":
		return g.key, true, nil
	case "list":
		return g.list, true, nil
	}
	return none, false, nil
}

func isBool(v val) bool { return v.py() == nil && v.v.Kind() == value.Bool }
