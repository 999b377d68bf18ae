package builtins

import (
	"slices"
	"strconv"
	"strings"

	"github.com/callnode/scheduler/llm/prompt/internal/fault"
	"github.com/callnode/scheduler/llm/prompt/internal/pyvalue"
	"github.com/callnode/scheduler/llm/value/wording"
)

func listFilters() map[string]*Def {
	order := []string{"case_sensitive", "attribute"}
	t := map[string]*Def{
		"first":      {fn: filterFirst},
		"last":       {fn: filterLast},
		"list":       {fn: filterList},
		"reverse":    {fn: filterReverse},
		"items":      {lax: true, fn: filterItems},
		"join":       {params: []string{"d", "attribute"}, fn: filterJoin},
		"sum":        {params: []string{"attribute", "start"}, fn: filterSum},
		"sort":       {params: []string{"reverse", "case_sensitive", "attribute"}, fn: filterSort},
		"dictsort":   {params: []string{"case_sensitive", "by", "reverse"}, fn: filterDictSort},
		"unique":     {params: order, fn: filterUnique},
		"min":        {params: order, fn: func(m *pyvalue.Run, c *call) (pyvalue.Val, error) { return findExtreme(m, c, -1) }},
		"max":        {params: order, fn: func(m *pyvalue.Run, c *call) (pyvalue.Val, error) { return findExtreme(m, c, 1) }},
		"groupby":    {params: []string{"attribute", "default", "case_sensitive"}, need: 1, fn: filterGroupBy},
		"batch":      {params: []string{"linecount", "fill_with"}, need: 1, fn: filterBatch},
		"slice":      {params: []string{"slices", "fill_with"}, need: 1, fn: filterSlice},
		"map":        {rest: true, fn: filterMap},
		"select":     {rest: true, fn: selectFilter(true, false)},
		"reject":     {rest: true, fn: selectFilter(false, false)},
		"selectattr": {rest: true, fn: selectFilter(true, true)},
		"rejectattr": {rest: true, fn: selectFilter(false, true)},
	}
	return t
}

// newGenerator returns the result of a filter that Python computes when it is walked.
func newGenerator(name string, run func() ([]pyvalue.Val, error)) (pyvalue.Val, error) {
	return pyvalue.OfPython(&pyvalue.Generator{Name: name, Run: run}), nil
}

func noElement(m *pyvalue.Run, what string) pyvalue.Val {
	return m.Undefined(&pyvalue.UndefinedValue{Class: fault.Undefined, Format: "the list is empty: it has no %s element", Args: []any{wording.Of(what)}, Off: m.Here})
}

func filterFirst(m *pyvalue.Run, c *call) (pyvalue.Val, error) {
	if e := pyvalue.ListElements(c.in); e.Len() > 0 {
		return e.At(0), nil
	}
	items, err := m.ItemsOf(c.in)
	if err != nil || len(items) > 0 {
		return firstOf(items), err
	}
	return noElement(m, "first"), nil
}

func firstOf(items []pyvalue.Val) pyvalue.Val {
	if len(items) == 0 {
		return pyvalue.None
	}
	return items[0]
}

func filterLast(m *pyvalue.Run, c *call) (pyvalue.Val, error) {
	if _, ok := c.in.Py().(*pyvalue.Generator); ok {
		return pyvalue.None, fault.Errorf(fault.Type, "'generator' is not reversible")
	}
	if e := pyvalue.ListElements(c.in); e.Len() > 0 {
		return e.At(e.Len() - 1), nil
	}
	items, err := m.ItemsOf(c.in)
	if err != nil || len(items) == 0 {
		return noElement(m, "last"), err
	}
	return items[len(items)-1], nil
}

func filterList(m *pyvalue.Run, c *call) (pyvalue.Val, error) {
	if c.in.IsList() {
		return c.in, nil
	}
	items, err := m.ItemsOf(c.in)
	return pyvalue.OfList(items), err
}

func filterReverse(m *pyvalue.Run, c *call) (pyvalue.Val, error) {
	items, err := m.ItemsOf(c.in)
	if err != nil {
		return pyvalue.None, err
	}
	items = slices.Clone(items)
	slices.Reverse(items)
	if _, ok := c.in.AsString(); ok {
		return joinTexts(m, pyvalue.OfStr(""), items, true)
	}
	return newGenerator("reverse", func() ([]pyvalue.Val, error) { return items, nil })
}

func filterItems(m *pyvalue.Run, c *call) (pyvalue.Val, error) {
	if u := c.in.AsUndefined(); u != nil && u.Class == fault.Undefined {
		return newGenerator("items", func() ([]pyvalue.Val, error) { return nil, nil })
	}
	if !c.in.IsDict() {
		return pyvalue.None, fault.Errorf(fault.Type, "items needs a dict, not a '%s'", c.in.PyType())
	}
	in := c.in
	return newGenerator("items", func() ([]pyvalue.Val, error) { return m.ViewItems(&pyvalue.DictView{Of: in, Kind: 'i'}) })
}

// getter is the attribute= of a filter: a.b.0, or a number.
type getter struct {
	parts    []pyvalue.Val
	name     string
	fallback pyvalue.Val
}

func newGetter(attribute, fallback pyvalue.Val) (*getter, error) {
	if attribute.IsAbsent() || attribute.IsNone() {
		return nil, nil
	}
	g := &getter{fallback: fallback}
	s, ok := attribute.AsString()
	if !ok {
		if _, err := pyvalue.AsInt(attribute); err != nil {
			return nil, err
		}
		g.parts, g.name = []pyvalue.Val{attribute}, pyvalue.Text(attribute.V)
		return g, nil
	}
	g.name = s
	for part := range strings.SplitSeq(s, ".") {
		if n, err := strconv.Atoi(part); err == nil && n >= 0 {
			g.parts = append(g.parts, pyvalue.OfInt(n))
		} else {
			g.parts = append(g.parts, pyvalue.OfStr(part))
		}
	}
	return g, nil
}

func (g *getter) memberOf(m *pyvalue.Run, item pyvalue.Val) (pyvalue.Val, error) {
	if g == nil {
		return item, nil
	}
	for _, part := range g.parts {
		if err := item.CheckDefined(); err != nil {
			return pyvalue.None, err
		}
		v, ok, err := GetItem(item, part)
		if err == nil && !ok {
			if s, isStr := part.AsString(); isStr {
				v, ok, err = GetAttribute(m, item, s)
			}
		}
		if err != nil {
			return pyvalue.None, err
		}
		if !ok {
			if !g.fallback.IsAbsent() && !g.fallback.IsNone() {
				return g.fallback, nil
			}
			return m.Undefined(pyvalue.MissingMember(item, g.name, pyvalue.LastName(pyvalue.ItemPath("", part)), m.Here)), nil
		}
		item = v
	}
	return item, nil
}

// foldCase makes strings compare without case.
func foldCase(v pyvalue.Val, sensitive bool) pyvalue.Val {
	if s, ok := v.AsString(); ok && !sensitive {
		return pyvalue.OfStr(strings.ToLower(s))
	}
	return v
}

func filterJoin(m *pyvalue.Run, c *call) (pyvalue.Val, error) {
	sep := pyvalue.OfStr("")
	if c.hasArg(0) {
		text, err := m.TextOf(c.args[0])
		if err != nil {
			return pyvalue.None, err
		}
		sep = pyvalue.OfStr(text)
		sep = sep.WithOrigin(pyvalue.PrintedOrigin(c.args[0]))
	}
	items, err := m.ItemsOf(c.in)
	if err != nil {
		return pyvalue.None, err
	}
	g, err := newGetter(c.args[1], pyvalue.Missing)
	if err != nil {
		return pyvalue.None, err
	}
	if g != nil {
		items = slices.Clone(items)
		for i := range items {
			items[i], err = g.memberOf(m, items[i])
			if err != nil {
				return pyvalue.None, err
			}
		}
	}
	return joinTexts(m, sep, items, false)
}

func filterSum(m *pyvalue.Run, c *call) (pyvalue.Val, error) {
	g, err := newGetter(c.args[0], pyvalue.Missing)
	if err != nil {
		return pyvalue.None, err
	}
	items, err := m.ItemsOf(c.in)
	if err != nil {
		return pyvalue.None, err
	}
	total := pyvalue.OfInt(0)
	if c.hasArg(1) {
		total = c.args[1]
	}
	if _, ok := total.AsString(); ok {
		return pyvalue.None, fault.Errorf(fault.Type, "sum cannot add strings: use join")
	}
	for _, item := range items {
		item, err = g.memberOf(m, item)
		if err != nil {
			return pyvalue.None, err
		}
		total, err = m.ApplyOperator("+", total, item)
		if err != nil {
			return pyvalue.None, err
		}
	}
	return total, nil
}

func filterBatch(m *pyvalue.Run, c *call) (pyvalue.Val, error) {
	size, err := c.intArg(0, 0)
	if err != nil {
		return pyvalue.None, err
	}
	in, fill := c.in, c.args[1]
	return newGenerator("batch", func() ([]pyvalue.Val, error) {
		items, err := m.ItemsOf(in)
		if err != nil {
			return nil, err
		}
		var out []pyvalue.Val
		var row []pyvalue.Val
		for _, item := range items {
			if len(row) == size { // also at the first item, where size is 0
				out, row = append(out, pyvalue.OfList(row)), nil
			}
			row = append(row, item)
		}
		if len(row) == 0 {
			return out, nil
		}
		if !fill.IsAbsent() && !fill.IsNone() && len(row) < size {
			if err := m.CheckListSize(size); err != nil {
				return nil, err
			}
			for len(row) < size {
				row = append(row, fill)
			}
		}
		return append(out, pyvalue.OfList(row)), nil
	})
}

func filterSlice(m *pyvalue.Run, c *call) (pyvalue.Val, error) {
	n, err := c.intArg(0, 0)
	if err != nil {
		return pyvalue.None, err
	}
	in, fill := c.in, c.args[1]
	return newGenerator("slice", func() ([]pyvalue.Val, error) {
		items, err := m.ItemsOf(in)
		if err != nil {
			return nil, err
		}
		if n == 0 {
			return nil, fault.Errorf(fault.ZeroDivision, "slice needs at least one slice")
		}
		if err := m.CheckListSize(max(n, 0)); err != nil {
			return nil, err
		}
		var out []pyvalue.Val
		each, more, at := len(items)/max(n, 1), len(items)%max(n, 1), 0
		for i := range max(n, 0) {
			size := each
			if i < more {
				size++
			}
			part := slices.Clone(items[at : at+size])
			if !fill.IsAbsent() && !fill.IsNone() && i >= more {
				part = append(part, fill)
			}
			at += size
			out = append(out, pyvalue.OfList(part))
		}
		return out, nil
	})
}
