// Package pyvalue has the values of templates and what can be done with them without a template: JSON data and
// types that only Python has, for example tuples, with Python's printing, comparing, arithmetic and formats. The
// builtins and the evaluator compute with it (packages builtins and eval), nodes hold its constants (package ast).
// Its work counts against a [Run].
package pyvalue

import (
	"math"
	"math/big"
	"slices"

	"github.com/callnode/scheduler/llm/prompt/internal/fault"
	"github.com/callnode/scheduler/llm/prompt/internal/trace"
	"github.com/callnode/scheduler/llm/value"
	"github.com/callnode/scheduler/llm/value/wording"
)

// Val is a value while a template runs: JSON data, which is shared with the
// scope and never copied, or one of the things that only Python has. It is three
// words: the compiler keeps values of at most four in registers.
type Val struct {
	V     value.Value // used if [Val.Py] returns nil
	extra *extra      // nil for JSON data in a rendering that is not traced
}

// extra has the parts that few values need. It is immutable.
type extra struct {
	python PythonOnly
	// from is the origin of the value, while a rendering is traced.
	from *trace.Origin
}

// OfPython returns a value of a type that only Python has.
func OfPython(x PythonOnly) Val { return Val{extra: &extra{python: x}} }

// Py returns the value if its type is one that only Python has; nil for JSON data.
func (v Val) Py() PythonOnly {
	if v.extra == nil {
		return nil
	}
	return v.extra.python
}

// Origin returns the origin of the value; nil if not known.
func (v Val) Origin() *trace.Origin {
	if v.extra == nil {
		return nil
	}
	return v.extra.from
}

// WithOrigin returns the value as one that comes from o.
func (v Val) WithOrigin(o *trace.Origin) Val {
	if o != v.Origin() {
		v.extra = &extra{v.Py(), o}
	}
	return v
}

// PythonOnly is a value that is not JSON: undefined, tuples, ranges, functions, markup ...
type PythonOnly interface {
	// PyType returns the name of the Python type, for messages.
	PyType() string
}

type (
	// UndefinedValue is a name or member that is not there. It may be asked about and
	// given a default; any other use is an error.
	UndefinedValue struct {
		Class fault.Class // Undefined or Security
		Name  string
		Off   int
		Deep  bool // its members are undefined too: see LenientScope of package prompt
		Hint  wording.Text
		Soft  bool // the else of {{ a if b }}, and all in a chat template: prints nothing, is false and empty
		keys  func() []string
		// CallError returns the error of calling it, if data has a method of that name; nil for other names.
		CallError func() *fault.Error

		Format string // of the message; "" for an inline if without else
		Args   []any
	}
	absent struct{} // an argument that was not given
	// Tuple is an immutable sequence.
	Tuple []Val
	// PyList is a list with elements that are not JSON.
	PyList struct{ Items []Val }
	// Markup is the text that escape made, or safe. It can be printed, compared and joined with ~ and +; Python's
	// other methods would escape their arguments, and are refused.
	Markup    string
	nonFinite float64 // nan and the infinities, which JSON cannot hold
	// RangeOf is the value of range().
	RangeOf struct{ Start, Stop, Step, N int64 }
	// DictView is the result of keys, values or items of a dict.
	DictView struct {
		Of   Val
		Kind byte // k, v or i
	}
	// Generator is the result of filters such as map and select: computed on iteration, which is possible once.
	Generator struct {
		Name string
		Run  func() ([]Val, error)
	}
	// function is anything that can be called.
	function struct {
		name string
		call func(m *Run, a CallArgs) (Val, error)
	}
	// callable is a value that a template can call.
	callable interface {
		PythonOnly
		CallWith(m *Run, a CallArgs) (Val, error)
	}
	// Object is a value with members of its own.
	Object interface {
		PythonOnly
		// Member returns the member of that name; ok is false if there is none.
		Member(m *Run, name string) (v Val, ok bool, err error)
	}
	// counter is an object that has items, and counts them when it is asked.
	counter interface {
		Object
		ItemCount(m *Run) (int, error)
	}
	// Namespace is the value of namespace(): variables that loops can set.
	Namespace struct {
		names []string
		vals  []Val
	}
)

// PyType returns the name of the type.
func (*UndefinedValue) PyType() string { return "Undefined" }

// PyType returns the name of the type.
func (absent) PyType() string { return "nothing" }

// PyType returns the name of the type.
func (Tuple) PyType() string { return "tuple" }

// PyType returns the name of the type.
func (*PyList) PyType() string { return "list" }

// PyType returns the name of the type.
func (Markup) PyType() string { return "Markup" }

// PyType returns the name of the type.
func (nonFinite) PyType() string { return "float" }

// PyType returns the name of the type.
func (*RangeOf) PyType() string { return "range" }

// PyType returns the name of the type.
func (v *DictView) PyType() string {
	return map[byte]string{'k': "dict_keys", 'v': "dict_values", 'i': "dict_items"}[v.Kind]
}

// PyType returns the name of the type.
func (*Generator) PyType() string { return "generator" }

// PyType returns the name of the type.
func (*function) PyType() string { return "function" }

// PyType returns the name of the type.
func (*Namespace) PyType() string { return "Namespace" }

// The values of null, and of an argument that was not given.
var (
	None    = Val{}
	Missing = OfPython(absent{})
)

// OfStr returns a text.
func OfStr(s string) Val { return Val{V: value.OfString(s)} }

// OfBool returns a truth value.
func OfBool(b bool) Val { return Val{V: value.OfBool(b)} }

// OfInt returns an integer.
func OfInt(i int) Val { return Val{V: value.OfInt(int64(i))} }

// OfFloat returns a float.
func OfFloat(f float64) Val {
	if math.IsNaN(f) || math.IsInf(f, 0) {
		return OfPython(nonFinite(f))
	}
	return Val{V: value.OfFloat(f)}
}

// OfFunc returns a function.
func OfFunc(name string, call func(m *Run, a CallArgs) (Val, error)) Val {
	return OfPython(&function{name: name, call: call})
}

// OfBig returns an integer.
func OfBig(i *big.Int) Val { return Val{V: value.OfBig(i)} }

// OfList makes a list; it is JSON as long as its elements are.
func OfList(items []Val) Val {
	plain := make([]value.Value, len(items))
	for i, item := range items {
		if item.Py() != nil || item.Origin() != nil {
			return OfPython(&PyList{items})
		}
		plain[i] = item.V
	}
	return Val{V: value.OfList(plain...)}
}

// IsNone reports whether v is None.
func (v Val) IsNone() bool { return v.Py() == nil && v.V.IsNull() }

// IsAbsent reports whether v is an argument that was not given.
func (v Val) IsAbsent() bool { _, ok := v.Py().(absent); return ok }

// AsUndefined returns v as an undefined value; nil if it is defined.
func (v Val) AsUndefined() *UndefinedValue {
	u, _ := v.Py().(*UndefinedValue)
	return u
}

// AsString returns the text of a string.
func (v Val) AsString() (string, bool) {
	if v.Py() == nil {
		return v.V.Str()
	}
	return "", false
}

func (v Val) isMarkup() bool { _, ok := v.Py().(Markup); return ok }

// ReadingSteps returns the steps that reading a text counts for.
func (v Val) ReadingSteps() int {
	s, _ := v.AsString()
	return len(s) >> 8
}

// IsList reports whether v is a list.
func (v Val) IsList() bool {
	if v.Py() == nil {
		return v.V.Kind() == value.List
	}
	_, ok := v.Py().(*PyList)
	return ok
}

// PyType returns the name of the value's type in Python, for messages.
func (v Val) PyType() string {
	if v.Py() != nil {
		return v.Py().PyType()
	}
	return [...]string{"NoneType", "bool", "int", "float", "str", "list", "dict"}[v.V.Kind()]
}

// GroupTuple is an element of groupby: a pair that also has names.
type GroupTuple struct{ Key, List Val }

// PyType returns the name of the type.
func (*GroupTuple) PyType() string { return "tuple" }

func (g *GroupTuple) asPair() []Val { return []Val{g.Key, g.List} }

// SetMember sets a variable.
func (ns *Namespace) SetMember(name string, v Val) error {
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

// CallWith calls the function.
func (f *function) CallWith(m *Run, a CallArgs) (Val, error) { return f.call(m, a) }

// Member returns a variable.
func (ns *Namespace) Member(_ *Run, name string) (Val, bool, error) {
	if i := slices.Index(ns.names, name); i >= 0 {
		return ns.vals[i], true, nil
	}
	return None, false, nil
}

// Member returns one of the names of the pair; its methods are a tuple's.
func (g *GroupTuple) Member(_ *Run, name string) (Val, bool, error) {
	switch name {
	case "grouper":
		return g.Key, true, nil
	case "list":
		return g.List, true, nil
	}
	return None, false, nil
}

// IsBool reports whether v is true or false.
func IsBool(v Val) bool { return v.Py() == nil && v.V.Kind() == value.Bool }

// IsSequence reports whether v has elements by number: list, tuple or range.
func IsSequence(v Val) bool {
	if v.IsList() {
		return true
	}
	switch v.Py().(type) {
	case Tuple, *RangeOf:
		return true
	}
	return false
}

// IsText reports whether v is a text, escaped or not.
func IsText(v Val) bool {
	_, isStr := v.AsString()
	return isStr || v.isMarkup()
}

// plainText returns the characters of a text, escaped or not.
func (v Val) plainText() (text string, ok bool) {
	if escaped, isMarkup := v.Py().(Markup); isMarkup {
		return string(escaped), true
	}
	return v.AsString()
}

// CallArgs is the arguments of a call.
type CallArgs struct {
	Pos []Val
	Kw  []Binding
}

// Binding is a value with its name.
type Binding struct {
	Name string
	V    Val
}
