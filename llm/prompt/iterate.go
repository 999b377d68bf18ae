package prompt

import (
	"unicode/utf8"

	"github.com/callnode/scheduler/llm/prompt/internal/fault"
	"github.com/callnode/scheduler/llm/prompt/internal/trace"
	"github.com/callnode/scheduler/llm/value"
)

// elements is the elements of a list or a tuple without copying them.
type elements struct {
	plain []value.Value
	other []val
	from  *trace.Origin // of the list
}

func (e elements) len() int { return max(len(e.plain), len(e.other)) }
func (e elements) at(i int) val {
	v := none
	if e.other != nil {
		v = e.other[i]
	} else {
		v.v = e.plain[i]
	}
	if v.origin() == nil && e.from != nil {
		v = v.withOrigin(trace.ElementOrigin(e.from, i))
	}
	return v
}

func listElements(v val) elements {
	switch x := v.py().(type) {
	case nil:
		return elements{plain: v.v.List(), from: v.origin()}
	case tuple:
		return elements{other: x, from: v.origin()}
	case *pyList:
		return elements{other: x.items, from: v.origin()}
	case *rangeOf:
		return elements{other: x.allItems(), from: v.origin()}
	}
	return elements{}
}

func (r *rangeOf) allItems() []val {
	items := make([]val, r.n)
	for i := range items {
		items[i] = val{v: value.OfInt(r.start + int64(i)*r.step)}
	}
	return items
}

// itemsOf returns what a loop over v walks: elements, keys of a dict, characters. The slice
// must not be changed.
func (m *run) itemsOf(v val) ([]val, error) {
	items, err := m.untracedItems(v)
	if err != nil || v.origin() == nil {
		return items, err
	}
	traced := make([]val, len(items))
	offset := 0
	for i, item := range items {
		s, _ := item.asString()
		switch {
		case item.origin() != nil:
		case isText(v):
			item = m.itemOfText(v, offset, s)
			offset += len(s)
		case v.isDict():
			item = item.withOrigin(trace.KeyOrigin(v.origin()))
		default:
			item = item.withOrigin(trace.ElementOrigin(v.origin(), i))
		}
		traced[i] = item
	}
	return traced, nil
}

func (m *run) untracedItems(v val) ([]val, error) {
	switch x := v.py().(type) {
	case nil:
		switch v.v.Kind() {
		case value.List:
			list := v.v.List()
			items := make([]val, len(list))
			for i, item := range list {
				items[i].v = item
			}
			return items, m.countSteps(len(items))
		case value.Object:
			keys := v.v.Map().Keys()
			items := make([]val, len(keys))
			for i, k := range keys {
				items[i] = ofStr(k)
			}
			return items, m.countSteps(len(items))
		case value.String:
			s, _ := v.v.Str()
			return m.charsOf(s)
		}
	case *undefinedValue:
		if x.soft {
			return nil, nil
		}
		return nil, x.toError()
	case tuple:
		return x, m.countSteps(len(x))
	case *pyList:
		return x.items, m.countSteps(len(x.items))
	case *pyDict:
		return x.keys, m.countSteps(len(x.keys))
	case *rangeOf:
		return x.allItems(), m.countSteps(int(x.n))
	case *dictView:
		return m.viewItems(x)
	case *groupTuple:
		return x.asPair(), nil
	case *generator:
		return m.runGenerator(x)
	}
	return nil, wrongTypeError(v, "'%s' is not iterable", v.pyType())
}

func (m *run) charsOf(s string) ([]val, error) {
	n := utf8.RuneCountInString(s)
	if err := m.checkListSize(n); err != nil {
		return nil, err
	}
	items := make([]val, 0, n)
	for i, w := 0, 0; i < len(s); i += w {
		_, w = utf8.DecodeRuneInString(s[i:])
		items = append(items, ofStr(s[i:i+w]))
	}
	return items, nil
}

func (m *run) viewItems(x *dictView) ([]val, error) {
	return x.allItems(), m.countSteps(dictLen(x.of))
}

func (x *dictView) allItems() []val {
	items := make([]val, dictLen(x.of))
	for i := range items {
		k, v := dictAt(x.of, i)
		switch x.kind {
		case 'k':
			items[i] = k
		case 'v':
			items[i] = v
		default:
			items[i] = ofPython(tuple{k, v})
		}
	}
	return items
}

// runGenerator computes the items of a generator, once; afterwards it is empty.
func (m *run) runGenerator(g *generator) ([]val, error) {
	if g.run == nil {
		return nil, nil
	}
	run := g.run
	g.run = nil
	m.walking++
	if m.walking > fault.MaxNesting {
		return nil, fault.Errorf(fault.Limit, "generators inside each other deeper than %d", fault.MaxNesting)
	}
	items, err := run()
	m.walking--
	return items, err
}

// lengthOf is len(v).
func (m *run) lengthOf(v val) (int, error) {
	if s, ok := v.asString(); ok {
		return utf8.RuneCountInString(s), m.countSteps(len(s) >> 8)
	}
	switch x := v.py().(type) {
	case nil:
		switch v.v.Kind() {
		case value.List:
			return len(v.v.List()), nil
		case value.Object:
			return v.v.Map().Len(), nil
		}
	case *undefinedValue:
		if x.soft {
			return 0, nil
		}
		return 0, x.toError()
	case tuple:
		return len(x), nil
	case *pyList:
		return len(x.items), nil
	case *pyDict:
		return len(x.keys), nil
	case *rangeOf:
		return int(x.n), nil
	case *dictView:
		return dictLen(x.of), nil
	case *groupTuple:
		return 2, nil
	case counter:
		return x.itemCount(m)
	}
	e := wrongTypeError(v, "'%s' has no length", v.pyType())
	if _, ok := v.py().(*generator); ok {
		e.Hint = "make a list of it first: | list | length"
	}
	return 0, e
}

func isText(v val) bool {
	_, isStr := v.asString()
	return isStr || v.isMarkup()
}

// isSequenceLike is what Jinja2 calls a sequence: what has a length and items.
func isSequenceLike(v val) bool {
	_, isStr := v.asString()
	return isStr || v.isDict() || isSequence(v) || v.asUndefined() != nil
}

func isIterable(v val) bool {
	switch v.py().(type) {
	case *dictView, *generator, *groupTuple, counter:
		return true
	}
	return isSequenceLike(v)
}
