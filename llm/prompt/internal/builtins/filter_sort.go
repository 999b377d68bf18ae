package builtins

import (
	"slices"
	"strings"

	"github.com/callnode/scheduler/llm/prompt/internal/fault"
	"github.com/callnode/scheduler/llm/prompt/internal/pyvalue"
)

// sortBy sorts items by keys that are made of them; it is stable, also in
// reverse.
func sortBy(m *pyvalue.Run, items []pyvalue.Val, reverse bool, key func(pyvalue.Val) (pyvalue.Val, error)) ([]pyvalue.Val, error) {
	type entry struct{ key, item pyvalue.Val }
	entries := make([]entry, len(items))
	for i, item := range items {
		k, err := key(item)
		if err != nil {
			return nil, err
		}
		if err := k.CheckDefined(); err != nil {
			return nil, err
		}
		entries[i] = entry{k, item}
	}
	var failed error
	slices.SortStableFunc(entries, func(a, b entry) int {
		if failed != nil {
			return 0
		}
		n, ordered, err := m.CompareValues("<", a.key, b.key)
		if err != nil {
			failed = err
		}
		if err != nil || !ordered {
			return 0
		}
		if reverse {
			return -n
		}
		return n
	})
	out := make([]pyvalue.Val, len(items))
	for i, e := range entries {
		out[i] = e.item
	}
	return out, failed
}

func filterSort(m *pyvalue.Run, c *call) (pyvalue.Val, error) {
	items, err := m.ItemsOf(c.in)
	if err != nil {
		return pyvalue.None, err
	}
	reverse, err := c.boolArg(0, false)
	if err != nil {
		return pyvalue.None, err
	}
	sensitive, err := c.boolArg(1, false)
	if err != nil {
		return pyvalue.None, err
	}
	var getters []*getter
	if s, ok := c.args[2].AsString(); ok && strings.Contains(s, ",") {
		for part := range strings.SplitSeq(s, ",") {
			g, err := newGetter(pyvalue.OfStr(part), pyvalue.Missing)
			if err != nil {
				return pyvalue.None, err
			}
			getters = append(getters, g)
		}
	} else {
		g, err := newGetter(c.args[2], pyvalue.Missing)
		if err != nil {
			return pyvalue.None, err
		}
		getters = []*getter{g}
	}
	items, err = sortBy(m, items, reverse, func(item pyvalue.Val) (pyvalue.Val, error) {
		keys := make(pyvalue.Tuple, len(getters))
		for i, g := range getters {
			v, err := g.memberOf(m, item)
			if err != nil {
				return pyvalue.None, err
			}
			if err := v.CheckDefined(); err != nil {
				return pyvalue.None, err
			}
			keys[i] = foldCase(v, sensitive)
		}
		if len(keys) == 1 {
			return keys[0], nil
		}
		return pyvalue.OfPython(keys), nil
	})
	return pyvalue.OfList(items), err
}

func filterDictSort(m *pyvalue.Run, c *call) (pyvalue.Val, error) {
	if !c.in.IsDict() {
		return pyvalue.None, fault.Errorf(fault.Other, "dictsort needs a dict, not a '%s'", c.in.PyType())
	}
	sensitive, err := c.boolArg(0, false)
	if err != nil {
		return pyvalue.None, err
	}
	by, err := c.stringArg(1, "key")
	if err != nil {
		return pyvalue.None, err
	}
	if by != "key" && by != "value" {
		return pyvalue.None, fault.Errorf(fault.Other, "dictsort sorts by 'key' or by 'value'")
	}
	reverse, err := c.boolArg(2, false)
	if err != nil {
		return pyvalue.None, err
	}
	items, err := m.ViewItems(&pyvalue.DictView{Of: c.in, Kind: 'i'})
	if err != nil {
		return pyvalue.None, err
	}
	items, err = sortBy(m, items, reverse, func(item pyvalue.Val) (pyvalue.Val, error) {
		pair, _ := item.Py().(pyvalue.Tuple)
		if by == "value" {
			return foldCase(pair[1], sensitive), nil
		}
		return foldCase(pair[0], sensitive), nil
	})
	return pyvalue.OfList(items), err
}

func filterUnique(m *pyvalue.Run, c *call) (pyvalue.Val, error) {
	sensitive, err := c.boolArg(0, false)
	if err != nil {
		return pyvalue.None, err
	}
	g, err := newGetter(c.args[1], pyvalue.Missing)
	if err != nil {
		return pyvalue.None, err
	}
	in := c.in
	return newGenerator("unique", func() ([]pyvalue.Val, error) {
		items, err := m.ItemsOf(in)
		if err != nil {
			return nil, err
		}
		seen := map[string]bool{}
		var out []pyvalue.Val
		for _, item := range items {
			k, err := g.memberOf(m, item)
			if err != nil {
				return nil, err
			}
			h, err := pyvalue.HashKey(foldCase(k, sensitive))
			if err != nil {
				return nil, err
			}
			if !seen[h] {
				seen[h] = true
				out = append(out, item)
			}
		}
		return out, nil
	})
}

// findExtreme is min and max: the first of the smallest or greatest elements.
func findExtreme(m *pyvalue.Run, c *call, sign int) (pyvalue.Val, error) {
	sensitive, err := c.boolArg(0, false)
	if err != nil {
		return pyvalue.None, err
	}
	g, err := newGetter(c.args[1], pyvalue.Missing)
	if err != nil {
		return pyvalue.None, err
	}
	items, err := m.ItemsOf(c.in)
	if err != nil {
		return pyvalue.None, err
	}
	if len(items) == 0 {
		return noElement(m, "smallest or greatest"), nil
	}
	best, bestKey := pyvalue.None, pyvalue.None
	for i, item := range items {
		k, err := g.memberOf(m, item)
		if err != nil {
			return pyvalue.None, err
		}
		k = foldCase(k, sensitive)
		if i == 0 {
			best, bestKey = item, k
			continue
		}
		n, ordered, err := m.CompareValues("<", k, bestKey)
		if err != nil {
			return pyvalue.None, err
		}
		if ordered && n*sign > 0 {
			best, bestKey = item, k
		}
	}
	return best, nil
}

func filterGroupBy(m *pyvalue.Run, c *call) (pyvalue.Val, error) {
	g, err := newGetter(c.args[0], c.args[1])
	if err != nil {
		return pyvalue.None, err
	}
	sensitive, err := c.boolArg(2, false)
	if err != nil {
		return pyvalue.None, err
	}
	key := func(item pyvalue.Val) (pyvalue.Val, error) {
		k, err := g.memberOf(m, item)
		if err != nil {
			return pyvalue.None, err
		}
		return foldCase(k, sensitive), k.CheckDefined()
	}
	items, err := m.ItemsOf(c.in)
	if err != nil {
		return pyvalue.None, err
	}
	items, err = sortBy(m, items, false, key)
	if err != nil {
		return pyvalue.None, err
	}
	var groups []pyvalue.Val
	for start := 0; start < len(items); {
		k, err := key(items[start])
		if err != nil {
			return pyvalue.None, err
		}
		end := start + 1
		for ; end < len(items); end++ {
			next, err := key(items[end])
			if err != nil {
				return pyvalue.None, err
			}
			if same, err := m.EqualValues(k, next); err != nil {
				return pyvalue.None, err
			} else if !same {
				break
			}
		}
		first, err := g.memberOf(m, items[start])
		if err != nil {
			return pyvalue.None, err
		}
		groups = append(groups, pyvalue.OfPython(&pyvalue.GroupTuple{Key: first, List: pyvalue.OfList(items[start:end])}))
		start = end
	}
	return pyvalue.OfList(groups), nil
}
