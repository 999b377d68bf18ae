package builtins

import (
	"maps"
	"sync"

	"github.com/callnode/scheduler/llm/prompt/internal/fault"
	"github.com/callnode/scheduler/llm/prompt/internal/pyvalue"
	"github.com/callnode/scheduler/llm/prompt/internal/trace"
)

// filters holds the filters by their names. They are built at their first use: a variable with an
// initializer could not hold them, for map looks into them again.
var filters struct {
	once  sync.Once
	table map[string]*Def
}

func filterTable() map[string]*Def {
	filters.once.Do(func() { filters.table = newFilterTable() })
	return filters.table
}

// newFilterTable returns Jinja2's filters but attr, which looks into values by a computed name, and pongo2's
// filters that Jinja2 does not have.
func newFilterTable() map[string]*Def {
	order := []string{"case_sensitive", "attribute"}
	t := map[string]*Def{
		"default":        {params: []string{"default_value", "boolean"}, lax: true, fn: filterDefault},
		"abs":            {fn: filterAbs},
		"int":            {params: []string{"default", "base"}, fn: filterInt},
		"float":          {params: []string{"default"}, fn: filterFloat},
		"filesizeformat": {params: []string{"binary"}, fn: filterFileSize},
		"round":          {params: []string{"precision", "method"}, fn: filterRound},
		"string":         {fn: func(m *pyvalue.Run, c *call) (pyvalue.Val, error) { return m.AsText(c.in) }},
		"length":         {fn: lengthFilter},
		"tojson": {
			params:     []string{"indent", "ensure_ascii", "separators", "sort_keys"},
			chatParams: []string{"ensure_ascii", "indent", "separators", "sort_keys"},
			lax:        true, fn: filterToJSON,
		},

		"fromjson":   {lax: true, fn: filterFromJSON}, // Ansible's; Jinja2 has none
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
		"random":     {fn: filterRandom},
		"batch":      {params: []string{"linecount", "fill_with"}, need: 1, fn: filterBatch},
		"slice":      {params: []string{"slices", "fill_with"}, need: 1, fn: filterSlice},
		"map":        {rest: true, fn: filterMap},
		"select":     {rest: true, fn: selectFilter(true, false)},
		"reject":     {rest: true, fn: selectFilter(false, false)},
		"selectattr": {rest: true, fn: selectFilter(true, true)},
		"rejectattr": {rest: true, fn: selectFilter(false, true)},
	}
	maps.Copy(t, textFilters())
	maps.Copy(t, htmlFilters())
	maps.Copy(t, pongo2Filters())
	for alias, name := range map[string]string{"d": "default", "count": "length", "e": "escape"} {
		t[alias] = t[name]
	}
	return t
}

func filterDefault(_ *pyvalue.Run, c *call) (pyvalue.Val, error) {
	fallback := c.args[0]
	if fallback.IsAbsent() {
		fallback = pyvalue.OfStr("")
	}
	if u := c.in.AsUndefined(); u != nil {
		if u.Class == fault.Security {
			return pyvalue.None, u.ToError()
		}
		return fallback, nil
	}
	loose, err := c.boolArg(1, false)
	if err != nil || !loose {
		return c.in, err
	}
	t, err := pyvalue.IsTruthy(c.in)
	if err != nil || t {
		return c.in, err
	}
	return fallback, nil
}

// lengthFilter is length.
func lengthFilter(m *pyvalue.Run, c *call) (pyvalue.Val, error) {
	n, err := m.LengthOf(c.in)
	v := pyvalue.OfInt(n)
	if !m.Trace || err != nil {
		return v, err
	}
	from, known := pyvalue.OriginsOf(c.in)
	if !known {
		from = m.Touched
	}
	return v.WithOrigin(trace.HarmlessOrigin(from, true)), nil
}
