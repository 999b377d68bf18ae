package prompt

import (
	"unicode/utf8"

	"github.com/callnode/scheduler/llm/value"
)

// elems is the elements of a list or a tuple without copying them.
type elems struct {
	plain []value.Value
	other []val
}

func (e elems) len() int { return max(len(e.plain), len(e.other)) }
func (e elems) at(i int) val {
	if e.other != nil {
		return e.other[i]
	}
	return val{v: e.plain[i]}
}

func (m *machine) elements(v val) elems {
	switch x := v.x.(type) {
	case nil:
		return elems{plain: v.v.List()}
	case tuple:
		return elems{other: x}
	case *xlist:
		return elems{other: x.items}
	case *rangeOf:
		return elems{other: x.items()}
	}
	return elems{}
}

func (r *rangeOf) items() []val {
	items := make([]val, r.n)
	for i := range items {
		items[i] = val{v: value.OfInt(r.start + int64(i)*r.step)}
	}
	return items
}

// items is what walking v gives: elements, keys of a dict, characters. The slice
// must not be changed.
func (m *machine) items(v val) ([]val, error) {
	switch x := v.x.(type) {
	case nil:
		switch v.v.Kind() {
		case value.List:
			list := v.v.List()
			items := make([]val, len(list))
			for i, item := range list {
				items[i].v = item
			}
			return items, m.spend(len(items))
		case value.Object:
			keys := v.v.Map().Keys()
			items := make([]val, len(keys))
			for i, k := range keys {
				items[i] = ofStr(k)
			}
			return items, m.spend(len(items))
		case value.String:
			s, _ := v.v.Str()
			return m.chars(s)
		}
	case *undefined:
		if x.soft {
			return nil, nil
		}
		return nil, x.err()
	case tuple:
		return x, m.spend(len(x))
	case *xlist:
		return x.items, m.spend(len(x.items))
	case *xdict:
		return x.keys, m.spend(len(x.keys))
	case *rangeOf:
		return x.items(), m.spend(int(x.n))
	case *view:
		return m.viewItems(x)
	case *groupTuple:
		return x.pair(), nil
	case *gen:
		return m.take(x)
	}
	return nil, misused(v, "'%s' is not iterable", v.pyType())
}

func (m *machine) chars(s string) ([]val, error) {
	n := utf8.RuneCountInString(s)
	if err := m.roomItems(n); err != nil {
		return nil, err
	}
	items := make([]val, 0, n)
	for i, w := 0, 0; i < len(s); i += w {
		_, w = utf8.DecodeRuneInString(s[i:])
		items = append(items, ofStr(s[i:i+w]))
	}
	return items, nil
}

func (m *machine) viewItems(x *view) ([]val, error) {
	return x.items(), m.spend(dictLen(x.of))
}

func (x *view) items() []val {
	items := make([]val, dictLen(x.of))
	for i := range items {
		k, v := dictAt(x.of, i)
		switch x.kind {
		case 'k':
			items[i] = k
		case 'v':
			items[i] = v
		default:
			items[i] = val{x: tuple{k, v}}
		}
	}
	return items
}

// take runs a generator, which gives its items once.
func (m *machine) take(g *gen) ([]val, error) {
	if g.run == nil {
		return nil, nil
	}
	run := g.run
	g.run = nil
	if m.walking++; m.walking > maxNesting {
		return nil, errorf(Limit, "generators inside each other deeper than %d", maxNesting)
	}
	items, err := run()
	m.walking--
	return items, err
}

// length is len(v).
func (m *machine) length(v val) (int, error) {
	if s, ok := v.str(); ok {
		return utf8.RuneCountInString(s), m.spend(len(s) >> 8)
	}
	switch x := v.x.(type) {
	case nil:
		switch v.v.Kind() {
		case value.List:
			return len(v.v.List()), nil
		case value.Object:
			return v.v.Map().Len(), nil
		}
	case *undefined:
		if x.soft {
			return 0, nil
		}
		return 0, x.err()
	case tuple:
		return len(x), nil
	case *xlist:
		return len(x.items), nil
	case *xdict:
		return len(x.keys), nil
	case *rangeOf:
		return int(x.n), nil
	case *view:
		return dictLen(x.of), nil
	case *groupTuple:
		return 2, nil
	case *loopState:
		return x.length(m)
	}
	e := misused(v, "'%s' has no length", v.pyType())
	if _, ok := v.x.(*gen); ok {
		e.Hint = "make a list of it first: | list | length"
	}
	return 0, e
}
