package builtins

import (
	"slices"
	"strconv"
	"strings"

	"github.com/callnode/scheduler/llm/prompt/internal/fault"
	"github.com/callnode/scheduler/llm/prompt/internal/py"
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
		"min":        {params: order, fn: func(m *py.Run, c *call) (py.Val, error) { return findExtreme(m, c, -1) }},
		"max":        {params: order, fn: func(m *py.Run, c *call) (py.Val, error) { return findExtreme(m, c, 1) }},
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
func newGenerator(name string, run func() ([]py.Val, error)) (py.Val, error) {
	return py.OfPython(&py.Generator{Name: name, Run: run}), nil
}

func noElement(m *py.Run, what string) py.Val {
	return m.Undefined(&py.UndefinedValue{Class: fault.Undefined, Format: "the list is empty: it has no %s element", Args: []any{wording.Of(what)}, Off: m.Here})
}

func filterFirst(m *py.Run, c *call) (py.Val, error) {
	if e := py.ListElements(c.in); e.Len() > 0 {
		return e.At(0), nil
	}
	items, err := m.ItemsOf(c.in)
	if err != nil || len(items) > 0 {
		return firstOf(items), err
	}
	return noElement(m, "first"), nil
}

func firstOf(items []py.Val) py.Val {
	if len(items) == 0 {
		return py.None
	}
	return items[0]
}

func filterLast(m *py.Run, c *call) (py.Val, error) {
	if _, ok := c.in.Py().(*py.Generator); ok {
		return py.None, fault.Errorf(fault.Type, "'generator' is not reversible")
	}
	if e := py.ListElements(c.in); e.Len() > 0 {
		return e.At(e.Len() - 1), nil
	}
	items, err := m.ItemsOf(c.in)
	if err != nil || len(items) == 0 {
		return noElement(m, "last"), err
	}
	return items[len(items)-1], nil
}

func filterList(m *py.Run, c *call) (py.Val, error) {
	if c.in.IsList() {
		return c.in, nil
	}
	items, err := m.ItemsOf(c.in)
	return py.OfList(items), err
}

func filterReverse(m *py.Run, c *call) (py.Val, error) {
	items, err := m.ItemsOf(c.in)
	if err != nil {
		return py.None, err
	}
	items = slices.Clone(items)
	slices.Reverse(items)
	if _, ok := c.in.AsString(); ok {
		return joinTexts(m, py.OfStr(""), items, true)
	}
	return newGenerator("reverse", func() ([]py.Val, error) { return items, nil })
}

func filterItems(m *py.Run, c *call) (py.Val, error) {
	if u := c.in.AsUndefined(); u != nil && u.Class == fault.Undefined {
		return newGenerator("items", func() ([]py.Val, error) { return nil, nil })
	}
	if !c.in.IsDict() {
		return py.None, fault.Errorf(fault.Type, "items needs a dict, not a '%s'", c.in.PyType())
	}
	in := c.in
	return newGenerator("items", func() ([]py.Val, error) { return m.ViewItems(&py.DictView{Of: in, Kind: 'i'}) })
}

// getter is the attribute= of a filter: a.b.0, or a number.
type getter struct {
	parts    []py.Val
	name     string
	fallback py.Val
}

func newGetter(attribute, fallback py.Val) (*getter, error) {
	if attribute.IsAbsent() || attribute.IsNone() {
		return nil, nil
	}
	g := &getter{fallback: fallback}
	s, ok := attribute.AsString()
	if !ok {
		if _, err := py.AsInt(attribute); err != nil {
			return nil, err
		}
		g.parts, g.name = []py.Val{attribute}, py.Text(attribute.V)
		return g, nil
	}
	g.name = s
	for part := range strings.SplitSeq(s, ".") {
		if n, err := strconv.Atoi(part); err == nil && n >= 0 {
			g.parts = append(g.parts, py.OfInt(n))
		} else {
			g.parts = append(g.parts, py.OfStr(part))
		}
	}
	return g, nil
}

func (g *getter) memberOf(m *py.Run, item py.Val) (py.Val, error) {
	if g == nil {
		return item, nil
	}
	for _, part := range g.parts {
		if err := item.CheckDefined(); err != nil {
			return py.None, err
		}
		v, ok, err := GetItem(item, part)
		if err == nil && !ok {
			if s, isStr := part.AsString(); isStr {
				v, ok, err = GetAttribute(m, item, s)
			}
		}
		if err != nil {
			return py.None, err
		}
		if !ok {
			if !g.fallback.IsAbsent() && !g.fallback.IsNone() {
				return g.fallback, nil
			}
			return m.Undefined(py.MissingMember(item, g.name, py.LastName(py.ItemPath("", part)), m.Here)), nil
		}
		item = v
	}
	return item, nil
}

// foldCase makes strings compare without case.
func foldCase(v py.Val, sensitive bool) py.Val {
	if s, ok := v.AsString(); ok && !sensitive {
		return py.OfStr(strings.ToLower(s))
	}
	return v
}

func filterJoin(m *py.Run, c *call) (py.Val, error) {
	sep := py.OfStr("")
	if c.hasArg(0) {
		text, err := m.TextOf(c.args[0])
		if err != nil {
			return py.None, err
		}
		sep = py.OfStr(text)
		sep = sep.WithOrigin(py.PrintedOrigin(c.args[0]))
	}
	items, err := m.ItemsOf(c.in)
	if err != nil {
		return py.None, err
	}
	g, err := newGetter(c.args[1], py.Missing)
	if err != nil {
		return py.None, err
	}
	if g != nil {
		items = slices.Clone(items)
		for i := range items {
			items[i], err = g.memberOf(m, items[i])
			if err != nil {
				return py.None, err
			}
		}
	}
	return joinTexts(m, sep, items, false)
}

func filterSum(m *py.Run, c *call) (py.Val, error) {
	g, err := newGetter(c.args[0], py.Missing)
	if err != nil {
		return py.None, err
	}
	items, err := m.ItemsOf(c.in)
	if err != nil {
		return py.None, err
	}
	total := py.OfInt(0)
	if c.hasArg(1) {
		total = c.args[1]
	}
	if _, ok := total.AsString(); ok {
		return py.None, fault.Errorf(fault.Type, "sum cannot add strings: use join")
	}
	for _, item := range items {
		item, err = g.memberOf(m, item)
		if err != nil {
			return py.None, err
		}
		total, err = m.ApplyOperator("+", total, item)
		if err != nil {
			return py.None, err
		}
	}
	return total, nil
}

func filterBatch(m *py.Run, c *call) (py.Val, error) {
	size, err := c.intArg(0, 0)
	if err != nil {
		return py.None, err
	}
	in, fill := c.in, c.args[1]
	return newGenerator("batch", func() ([]py.Val, error) {
		items, err := m.ItemsOf(in)
		if err != nil {
			return nil, err
		}
		var out []py.Val
		var row []py.Val
		for _, item := range items {
			if len(row) == size { // also at the first item, where size is 0
				out, row = append(out, py.OfList(row)), nil
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
		return append(out, py.OfList(row)), nil
	})
}

func filterSlice(m *py.Run, c *call) (py.Val, error) {
	n, err := c.intArg(0, 0)
	if err != nil {
		return py.None, err
	}
	in, fill := c.in, c.args[1]
	return newGenerator("slice", func() ([]py.Val, error) {
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
		var out []py.Val
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
			out = append(out, py.OfList(part))
		}
		return out, nil
	})
}
