package pyvalue

import (
	"unicode/utf8"

	"github.com/callnode/scheduler/llm/prompt/internal/fault"
	"github.com/callnode/scheduler/llm/prompt/internal/trace"
	"github.com/callnode/scheduler/llm/value"
)

// Elements is the elements of a list or a tuple without copying them.
type Elements struct {
	plain []value.Value
	Other []Val
	From  *trace.Origin // of the list
}

// Len returns how many there are.
func (e Elements) Len() int { return max(len(e.plain), len(e.Other)) }

// At returns one of them.
func (e Elements) At(i int) Val {
	v := None
	if e.Other != nil {
		v = e.Other[i]
	} else {
		v.V = e.plain[i]
	}
	if v.Origin() == nil && e.From != nil {
		v = v.WithOrigin(trace.ElementOrigin(e.From, i))
	}
	return v
}

// ListElements returns the elements of a list, a tuple or a range; none of another value.
func ListElements(v Val) Elements {
	switch x := v.Py().(type) {
	case nil:
		return Elements{plain: v.V.List(), From: v.Origin()}
	case Tuple:
		return Elements{Other: x, From: v.Origin()}
	case *PyList:
		return Elements{Other: x.Items, From: v.Origin()}
	case *RangeOf:
		return Elements{Other: x.allItems(), From: v.Origin()}
	}
	return Elements{}
}

func (r *RangeOf) allItems() []Val {
	items := make([]Val, r.N)
	for i := range items {
		items[i] = Val{V: value.OfInt(r.Start + int64(i)*r.Step)}
	}
	return items
}

// ItemsOf returns the items of a loop over v: elements, keys of a dict, characters. The slice must not be changed.
func (m *Run) ItemsOf(v Val) ([]Val, error) {
	items, err := m.untracedItems(v)
	if err != nil || v.Origin() == nil {
		return items, err
	}
	traced := make([]Val, len(items))
	offset := 0
	for i, item := range items {
		s, _ := item.AsString()
		switch {
		case item.Origin() != nil:
		case IsText(v):
			item = m.ItemOfText(v, offset, s)
			offset += len(s)
		case v.IsDict():
			item = item.WithOrigin(trace.KeyOrigin(v.Origin()))
		default:
			item = item.WithOrigin(trace.ElementOrigin(v.Origin(), i))
		}
		traced[i] = item
	}
	return traced, nil
}

func (m *Run) untracedItems(v Val) ([]Val, error) {
	switch x := v.Py().(type) {
	case nil:
		switch v.V.Kind() {
		case value.List:
			list := v.V.List()
			items := make([]Val, len(list))
			for i, item := range list {
				items[i].V = item
			}
			return items, m.CountSteps(len(items))
		case value.Object:
			keys := v.V.Map().Keys()
			items := make([]Val, len(keys))
			for i, k := range keys {
				items[i] = OfStr(k)
			}
			return items, m.CountSteps(len(items))
		case value.String:
			s, _ := v.V.Str()
			return m.charsOf(s)
		}
	case *UndefinedValue:
		if x.Soft {
			return nil, nil
		}
		return nil, x.ToError()
	case Tuple:
		return x, m.CountSteps(len(x))
	case *PyList:
		return x.Items, m.CountSteps(len(x.Items))
	case *PyDict:
		return x.Keys, m.CountSteps(len(x.Keys))
	case *RangeOf:
		return x.allItems(), m.CountSteps(int(x.N))
	case *DictView:
		return m.ViewItems(x)
	case *GroupTuple:
		return x.asPair(), nil
	case *Generator:
		return m.runGenerator(x)
	}
	return nil, wrongTypeError(v, "'%s' is not iterable", v.PyType())
}

func (m *Run) charsOf(s string) ([]Val, error) {
	n := utf8.RuneCountInString(s)
	if err := m.CheckListSize(n); err != nil {
		return nil, err
	}
	items := make([]Val, 0, n)
	for i, w := 0, 0; i < len(s); i += w {
		_, w = utf8.DecodeRuneInString(s[i:])
		items = append(items, OfStr(s[i:i+w]))
	}
	return items, nil
}

// ViewItems returns the items of a view.
func (m *Run) ViewItems(x *DictView) ([]Val, error) {
	return x.allItems(), m.CountSteps(DictLen(x.Of))
}

func (x *DictView) allItems() []Val {
	items := make([]Val, DictLen(x.Of))
	for i := range items {
		k, v := DictAt(x.Of, i)
		switch x.Kind {
		case 'k':
			items[i] = k
		case 'v':
			items[i] = v
		default:
			items[i] = OfPython(Tuple{k, v})
		}
	}
	return items
}

// runGenerator computes the items of a generator, once; afterwards it is empty.
func (m *Run) runGenerator(g *Generator) ([]Val, error) {
	if g.Run == nil {
		return nil, nil
	}
	run := g.Run
	g.Run = nil
	m.walking++
	if m.walking > fault.MaxNesting {
		return nil, fault.Errorf(fault.Limit, "generators inside each other deeper than %d", fault.MaxNesting)
	}
	items, err := run()
	m.walking--
	return items, err
}

// LengthOf is len(v).
func (m *Run) LengthOf(v Val) (int, error) {
	if s, ok := v.AsString(); ok {
		return utf8.RuneCountInString(s), m.CountSteps(len(s) >> 8)
	}
	switch x := v.Py().(type) {
	case nil:
		switch v.V.Kind() {
		case value.List:
			return len(v.V.List()), nil
		case value.Object:
			return v.V.Map().Len(), nil
		}
	case *UndefinedValue:
		if x.Soft {
			return 0, nil
		}
		return 0, x.ToError()
	case Tuple:
		return len(x), nil
	case *PyList:
		return len(x.Items), nil
	case *PyDict:
		return len(x.Keys), nil
	case *RangeOf:
		return int(x.N), nil
	case *DictView:
		return DictLen(x.Of), nil
	case *GroupTuple:
		return 2, nil
	case counter:
		return x.ItemCount(m)
	}
	e := wrongTypeError(v, "'%s' has no length", v.PyType())
	if _, ok := v.Py().(*Generator); ok {
		e.Hint = "make a list of it first: | list | length"
	}
	return 0, e
}

// IsSequenceLike reports whether v is what Jinja2 calls a sequence: a value with a length and items.
func IsSequenceLike(v Val) bool {
	_, isStr := v.AsString()
	u := v.AsUndefined()
	return isStr || v.isMarkup() || v.IsDict() || IsSequence(v) || u != nil && u.Soft
}

// IsIterable reports whether a loop can walk v.
func IsIterable(v Val) bool {
	switch v.Py().(type) {
	case *DictView, *Generator, *GroupTuple, counter:
		return true
	}
	return IsSequenceLike(v) || v.AsUndefined() != nil
}
