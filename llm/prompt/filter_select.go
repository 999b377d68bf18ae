package prompt

import (
	"cmp"
	"slices"

	"github.com/callnode/scheduler/llm/prompt/internal/fault"
	"github.com/callnode/scheduler/llm/value"
)

// itemsIfAny returns the items of a true value: to map and select, None is as empty
// as an empty list.
func itemsIfAny(m *run, v val) ([]val, error) {
	if any, err := isTruthy(v); err != nil || !any {
		return nil, err
	}
	return m.itemsOf(v)
}

// takeNamed takes an argument out of those by name.
func takeNamed(a *callArgs, name string) val {
	for i, kw := range a.kw {
		if kw.name == name {
			a.kw = slices.Delete(slices.Clone(a.kw), i, i+1)
			return kw.v
		}
	}
	return missing
}

// builtinArg takes the name of a filter or test from the front of the arguments.
func builtinArg(a *callArgs, what string, table map[string]*builtin) (string, *builtin, error) {
	name, ok := a.pos[0].asString()
	if !ok {
		return "", nil, fault.Errorf(fault.Type, "the name of a %s must be a string, not a '%s'", kindText(what), a.pos[0].pyType())
	}
	a.pos = a.pos[1:]
	def := table[name]
	if def == nil {
		e := fault.Errorf(fault.Other, "unknown %s %s", kindText(what), quoteText(name))
		e.Hint = value.DidYouMean(name, sortedKeys(table))
		if remedy, ok := unsupported[what][name]; ok {
			e.Hint = remedy
		}
		return "", nil, e
	}
	return name, def, nil
}

func sortedKeys[T any](table map[string]T) []string {
	names := make([]string, 0, len(table))
	for name := range table {
		names = append(names, name)
	}
	slices.SortFunc(names, cmp.Compare)
	return names
}

func filterMap(m *run, c *call) (val, error) {
	a := c.argv
	var each func(val) (val, error)
	if len(a.pos) == 0 {
		attribute, fallback := takeNamed(&a, "attribute"), takeNamed(&a, "default")
		if len(a.kw) > 0 || attribute.isAbsent() {
			return none, fault.Errorf(fault.Type, "map needs the name of a filter, or attribute= and perhaps default=")
		}
		g, err := newGetter(m, attribute, fallback)
		if err != nil {
			return none, err
		}
		each = func(item val) (val, error) { return g.memberOf(m, item) }
	} else {
		name, def, err := builtinArg(&a, "filter", filterTable())
		if err != nil {
			return none, err
		}
		each = func(item val) (val, error) { return def.applyTo(m, name, item, a) }
	}
	in := c.in
	return newGenerator("map", func() ([]val, error) {
		items, err := itemsIfAny(m, in)
		if err != nil {
			return nil, err
		}
		out := make([]val, len(items))
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
func selectFilter(keep, byAttr bool) func(m *run, c *call) (val, error) {
	return func(m *run, c *call) (val, error) {
		a := c.argv
		var g *getter
		if byAttr {
			if len(a.pos) == 0 {
				return none, fault.Errorf(fault.Type, "the name of an attribute is missing")
			}
			var err error
			g, err = newGetter(m, a.pos[0], missing)
			if err != nil {
				return none, err
			}
			a.pos = a.pos[1:]
		}
		test := isTruthy
		if len(a.pos) > 0 {
			name, def, err := builtinArg(&a, "test", testTable())
			if err != nil {
				return none, err
			}
			test = func(v val) (bool, error) {
				r, err := def.applyTo(m, name, v, a)
				if err != nil {
					return false, err
				}
				return isTruthy(r)
			}
		}
		in := c.in
		return newGenerator("select", func() ([]val, error) {
			items, err := itemsIfAny(m, in)
			if err != nil {
				return nil, err
			}
			var out []val
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
