package prompt

import (
	"slices"
	"strconv"
	"strings"

	"github.com/callnode/scheduler/llm/prompt/internal/fault"
	"github.com/callnode/scheduler/llm/value/wording"
)

func listFilters() map[string]*builtin {
	order := []string{"case_sensitive", "attribute"}
	t := map[string]*builtin{
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
		"min":        {params: order, fn: func(m *run, c *call) (val, error) { return findExtreme(m, c, -1) }},
		"max":        {params: order, fn: func(m *run, c *call) (val, error) { return findExtreme(m, c, 1) }},
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
func newGenerator(name string, run func() ([]val, error)) (val, error) {
	return ofPython(&generator{name: name, run: run}), nil
}

func noElement(m *run, what string) val {
	return m.undefined(&undefinedValue{class: fault.Undefined, format: "the list is empty: it has no %s element", args: []any{wording.Of(what)}, off: m.here})
}

func filterFirst(m *run, c *call) (val, error) {
	if e := listElements(c.in); e.len() > 0 {
		return e.at(0), nil
	}
	items, err := m.itemsOf(c.in)
	if err != nil || len(items) > 0 {
		return firstOf(items), err
	}
	return noElement(m, "first"), nil
}

func firstOf(items []val) val {
	if len(items) == 0 {
		return none
	}
	return items[0]
}

func filterLast(m *run, c *call) (val, error) {
	if _, ok := c.in.py().(*generator); ok {
		return none, fault.Errorf(fault.Type, "'generator' is not reversible")
	}
	if e := listElements(c.in); e.len() > 0 {
		return e.at(e.len() - 1), nil
	}
	items, err := m.itemsOf(c.in)
	if err != nil || len(items) == 0 {
		return noElement(m, "last"), err
	}
	return items[len(items)-1], nil
}

func filterList(m *run, c *call) (val, error) {
	if c.in.isList() {
		return c.in, nil
	}
	items, err := m.itemsOf(c.in)
	return ofList(items), err
}

func filterReverse(m *run, c *call) (val, error) {
	items, err := m.itemsOf(c.in)
	if err != nil {
		return none, err
	}
	items = slices.Clone(items)
	slices.Reverse(items)
	if _, ok := c.in.asString(); ok {
		return joinTexts(m, ofStr(""), items, true)
	}
	return newGenerator("reverse", func() ([]val, error) { return items, nil })
}

func filterItems(m *run, c *call) (val, error) {
	if u := c.in.asUndefined(); u != nil && u.class == fault.Undefined {
		return newGenerator("items", func() ([]val, error) { return nil, nil })
	}
	if !c.in.isDict() {
		return none, fault.Errorf(fault.Type, "items needs a dict, not a '%s'", c.in.pyType())
	}
	in := c.in
	return newGenerator("items", func() ([]val, error) { return m.viewItems(&dictView{of: in, kind: 'i'}) })
}

// getter is the attribute= of a filter: a.b.0, or a number.
type getter struct {
	parts    []val
	name     string
	fallback val
}

func newGetter(m *run, attribute, fallback val) (*getter, error) {
	if attribute.isAbsent() || attribute.isNone() {
		return nil, nil
	}
	g := &getter{fallback: fallback}
	s, ok := attribute.asString()
	if !ok {
		if _, err := asInt(attribute); err != nil {
			return nil, err
		}
		g.parts, g.name = []val{attribute}, Text(attribute.v)
		return g, nil
	}
	g.name = s
	for part := range strings.SplitSeq(s, ".") {
		if n, err := strconv.Atoi(part); err == nil && n >= 0 {
			g.parts = append(g.parts, ofInt(n))
		} else {
			g.parts = append(g.parts, ofStr(part))
		}
	}
	return g, nil
}

func (g *getter) memberOf(m *run, item val) (val, error) {
	if g == nil {
		return item, nil
	}
	for _, part := range g.parts {
		if err := item.checkDefined(); err != nil {
			return none, err
		}
		v, ok, err := getItem(item, part)
		if err == nil && !ok {
			if s, isStr := part.asString(); isStr {
				v, ok, err = getAttribute(m, item, s)
			}
		}
		if err != nil {
			return none, err
		}
		if !ok {
			if !g.fallback.isAbsent() && !g.fallback.isNone() {
				return g.fallback, nil
			}
			return m.undefined(missingMember(item, g.name, lastName(itemPath("", part)), m.here)), nil
		}
		item = v
	}
	return item, nil
}

// foldCase makes strings compare without case.
func foldCase(v val, sensitive bool) val {
	if s, ok := v.asString(); ok && !sensitive {
		return ofStr(strings.ToLower(s))
	}
	return v
}

func filterJoin(m *run, c *call) (val, error) {
	sep := ofStr("")
	if c.hasArg(0) {
		text, err := m.textOf(c.args[0])
		if err != nil {
			return none, err
		}
		sep = ofStr(text)
		sep = sep.withOrigin(printedOrigin(c.args[0]))
	}
	items, err := m.itemsOf(c.in)
	if err != nil {
		return none, err
	}
	g, err := newGetter(m, c.args[1], missing)
	if err != nil {
		return none, err
	}
	if g != nil {
		items = slices.Clone(items)
		for i := range items {
			items[i], err = g.memberOf(m, items[i])
			if err != nil {
				return none, err
			}
		}
	}
	return joinTexts(m, sep, items, false)
}

func filterSum(m *run, c *call) (val, error) {
	g, err := newGetter(m, c.args[0], missing)
	if err != nil {
		return none, err
	}
	items, err := m.itemsOf(c.in)
	if err != nil {
		return none, err
	}
	total := ofInt(0)
	if c.hasArg(1) {
		total = c.args[1]
	}
	if _, ok := total.asString(); ok {
		return none, fault.Errorf(fault.Type, "sum cannot add strings: use join")
	}
	for _, item := range items {
		item, err = g.memberOf(m, item)
		if err != nil {
			return none, err
		}
		total, err = m.applyOperator("+", total, item)
		if err != nil {
			return none, err
		}
	}
	return total, nil
}

func filterBatch(m *run, c *call) (val, error) {
	size, err := c.intArg(0, 0)
	if err != nil {
		return none, err
	}
	in, fill := c.in, c.args[1]
	return newGenerator("batch", func() ([]val, error) {
		items, err := m.itemsOf(in)
		if err != nil {
			return nil, err
		}
		var out []val
		var row []val
		for _, item := range items {
			if len(row) == size { // also at the first item, where size is 0
				out, row = append(out, ofList(row)), nil
			}
			row = append(row, item)
		}
		if len(row) == 0 {
			return out, nil
		}
		if !fill.isAbsent() && !fill.isNone() && len(row) < size {
			if err := m.checkListSize(size); err != nil {
				return nil, err
			}
			for len(row) < size {
				row = append(row, fill)
			}
		}
		return append(out, ofList(row)), nil
	})
}

func filterSlice(m *run, c *call) (val, error) {
	n, err := c.intArg(0, 0)
	if err != nil {
		return none, err
	}
	in, fill := c.in, c.args[1]
	return newGenerator("slice", func() ([]val, error) {
		items, err := m.itemsOf(in)
		if err != nil {
			return nil, err
		}
		if n == 0 {
			return nil, fault.Errorf(fault.ZeroDivision, "slice needs at least one slice")
		}
		if err := m.checkListSize(max(n, 0)); err != nil {
			return nil, err
		}
		var out []val
		each, more, at := len(items)/max(n, 1), len(items)%max(n, 1), 0
		for i := range max(n, 0) {
			size := each
			if i < more {
				size++
			}
			part := slices.Clone(items[at : at+size])
			if !fill.isAbsent() && !fill.isNone() && i >= more {
				part = append(part, fill)
			}
			at += size
			out = append(out, ofList(part))
		}
		return out, nil
	})
}
