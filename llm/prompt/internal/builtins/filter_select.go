package builtins

import (
	"maps"
	"slices"

	"github.com/callnode/scheduler/llm/prompt/internal/fault"
	"github.com/callnode/scheduler/llm/prompt/internal/pyvalue"
	"github.com/callnode/scheduler/llm/value"
)

// itemsIfAny returns the items of a true value: to map and select, None is as empty
// as an empty list.
func itemsIfAny(m *pyvalue.Run, v pyvalue.Val) ([]pyvalue.Val, error) {
	if any, err := pyvalue.IsTruthy(v); err != nil || !any {
		return nil, err
	}
	return m.ItemsOf(v)
}

// takeNamed removes a named argument and returns it.
func takeNamed(a *pyvalue.CallArgs, name string) pyvalue.Val {
	for i, kw := range a.Kw {
		if kw.Name == name {
			a.Kw = slices.Delete(slices.Clone(a.Kw), i, i+1)
			return kw.V
		}
	}
	return pyvalue.Missing
}

// builtinArg takes the name of a filter or test from the front of the arguments.
func builtinArg(a *pyvalue.CallArgs, what string, table map[string]*Def) (string, *Def, error) {
	name, ok := a.Pos[0].AsString()
	if !ok {
		return "", nil, fault.Errorf(fault.Type, "the name of a %s must be a string, not a '%s'", KindText(what), a.Pos[0].PyType())
	}
	a.Pos = a.Pos[1:]
	def := table[name]
	if def == nil {
		e := fault.Errorf(fault.Other, "unknown %s %s", KindText(what), pyvalue.QuoteText(name))
		e.Hint = value.DidYouMean(name, slices.Sorted(maps.Keys(table)))
		if remedy, ok := Remedy(what, name); ok {
			e.Hint = remedy
		}
		return "", nil, e
	}
	return name, def, nil
}

func filterMap(m *pyvalue.Run, c *call) (pyvalue.Val, error) {
	a := c.argv
	var each func(pyvalue.Val) (pyvalue.Val, error)
	if len(a.Pos) == 0 {
		attribute, fallback := takeNamed(&a, "attribute"), takeNamed(&a, "default")
		if len(a.Kw) > 0 || attribute.IsAbsent() {
			return pyvalue.None, fault.Errorf(fault.Type, "map needs the name of a filter, or attribute= and perhaps default=")
		}
		g, err := newGetter(attribute, fallback)
		if err != nil {
			return pyvalue.None, err
		}
		each = func(item pyvalue.Val) (pyvalue.Val, error) { return g.memberOf(m, item) }
	} else {
		name, def, err := builtinArg(&a, "filter", filterTable())
		if err != nil {
			return pyvalue.None, err
		}
		each = func(item pyvalue.Val) (pyvalue.Val, error) { return def.ApplyTo(m, name, item, a) }
	}
	in := c.in
	return newGenerator("map", func() ([]pyvalue.Val, error) {
		items, err := itemsIfAny(m, in)
		if err != nil {
			return nil, err
		}
		out := make([]pyvalue.Val, len(items))
		for i, item := range items {
			out[i], err = each(item)
			if err != nil {
				return nil, err
			}
		}
		return out, nil
	})
}

// selectFilter is select, reject, selectattr and rejectattr.
func selectFilter(keep, byAttr bool) func(m *pyvalue.Run, c *call) (pyvalue.Val, error) {
	return func(m *pyvalue.Run, c *call) (pyvalue.Val, error) {
		a := c.argv
		var g *getter
		if byAttr {
			if len(a.Pos) == 0 {
				return pyvalue.None, fault.Errorf(fault.Type, "the name of an attribute is missing")
			}
			var err error
			g, err = newGetter(a.Pos[0], pyvalue.Missing)
			if err != nil {
				return pyvalue.None, err
			}
			a.Pos = a.Pos[1:]
		}
		test := pyvalue.IsTruthy
		if len(a.Pos) > 0 {
			name, def, err := builtinArg(&a, "test", testTable())
			if err != nil {
				return pyvalue.None, err
			}
			test = func(v pyvalue.Val) (bool, error) {
				r, err := def.ApplyTo(m, name, v, a)
				if err != nil {
					return false, err
				}
				return pyvalue.IsTruthy(r)
			}
		}
		in := c.in
		return newGenerator("select", func() ([]pyvalue.Val, error) {
			items, err := itemsIfAny(m, in)
			if err != nil {
				return nil, err
			}
			var out []pyvalue.Val
			for _, item := range items {
				v, err := g.memberOf(m, item)
				if err != nil {
					return nil, err
				}
				ok, err := test(v)
				if err != nil {
					return nil, err
				}
				if ok == keep {
					out = append(out, item)
				}
			}
			return out, nil
		})
	}
}
