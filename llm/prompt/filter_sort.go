package prompt

import (
	"slices"
	"strings"

	"github.com/callnode/scheduler/llm/prompt/internal/fault"
)

// sortBy sorts items by keys that are made of them; it is stable, also in
// reverse.
func sortBy(m *run, items []val, reverse bool, key func(val) (val, error)) ([]val, error) {
	type entry struct{ key, item val }
	entries := make([]entry, len(items))
	for i, item := range items {
		k, err := key(item)
		if err != nil {
			return nil, err
		}
		if err := k.checkDefined(); err != nil {
			return nil, err
		}
		entries[i] = entry{k, item}
	}
	var failed error
	slices.SortStableFunc(entries, func(a, b entry) int {
		if failed != nil {
			return 0
		}
		n, ordered, err := m.compareValues("<", a.key, b.key)
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
	out := make([]val, len(items))
	for i, e := range entries {
		out[i] = e.item
	}
	return out, failed
}

func filterSort(m *run, c *call) (val, error) {
	items, err := m.itemsOf(c.in)
	if err != nil {
		return none, err
	}
	reverse, err := c.boolArg(0, false)
	if err != nil {
		return none, err
	}
	sensitive, err := c.boolArg(1, false)
	if err != nil {
		return none, err
	}
	var getters []*getter
	if s, ok := c.args[2].asString(); ok && strings.Contains(s, ",") {
		for part := range strings.SplitSeq(s, ",") {
			g, err := newGetter(m, ofStr(part), missing)
			if err != nil {
				return none, err
			}
			getters = append(getters, g)
		}
	} else {
		g, err := newGetter(m, c.args[2], missing)
		if err != nil {
			return none, err
		}
		getters = []*getter{g}
	}
	items, err = sortBy(m, items, reverse, func(item val) (val, error) {
		keys := make(tuple, len(getters))
		for i, g := range getters {
			v, err := g.memberOf(m, item)
			if err != nil {
				return none, err
			}
			if err := v.checkDefined(); err != nil {
				return none, err
			}
			keys[i] = foldCase(v, sensitive)
		}
		if len(keys) == 1 {
			return keys[0], nil
		}
		return ofPython(keys), nil
	})
	return ofList(items), err
}

func filterDictSort(m *run, c *call) (val, error) {
	if !c.in.isDict() {
		return none, fault.Errorf(fault.Other, "dictsort needs a dict, not a '%s'", c.in.pyType())
	}
	sensitive, err := c.boolArg(0, false)
	if err != nil {
		return none, err
	}
	by, err := c.stringArg(1, "key")
	if err != nil {
		return none, err
	}
	if by != "key" && by != "value" {
		return none, fault.Errorf(fault.Other, "dictsort sorts by 'key' or by 'value'")
	}
	reverse, err := c.boolArg(2, false)
	if err != nil {
		return none, err
	}
	items, err := m.viewItems(&dictView{of: c.in, kind: 'i'})
	if err != nil {
		return none, err
	}
	items, err = sortBy(m, items, reverse, func(item val) (val, error) {
		pair, _ := item.py().(tuple)
		if by == "value" {
			return foldCase(pair[1], sensitive), nil
		}
		return foldCase(pair[0], sensitive), nil
	})
	return ofList(items), err
}

func filterUnique(m *run, c *call) (val, error) {
	sensitive, err := c.boolArg(0, false)
	if err != nil {
		return none, err
	}
	g, err := newGetter(m, c.args[1], missing)
	if err != nil {
		return none, err
	}
	in := c.in
	return newGenerator("unique", func() ([]val, error) {
		items, err := m.itemsOf(in)
		if err != nil {
			return nil, err
		}
		seen := map[string]bool{}
		var out []val
		for _, item := range items {
			k, err := g.memberOf(m, item)
			if err != nil {
				return nil, err
			}
			h, err := hashKey(foldCase(k, sensitive))
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
func findExtreme(m *run, c *call, sign int) (val, error) {
	sensitive, err := c.boolArg(0, false)
	if err != nil {
		return none, err
	}
	g, err := newGetter(m, c.args[1], missing)
	if err != nil {
		return none, err
	}
	items, err := m.itemsOf(c.in)
	if err != nil {
		return none, err
	}
	if len(items) == 0 {
		return noElement(m, "smallest or greatest"), nil
	}
	best, bestKey := none, none
	for i, item := range items {
		k, err := g.memberOf(m, item)
		if err != nil {
			return none, err
		}
		k = foldCase(k, sensitive)
		if i == 0 {
			best, bestKey = item, k
			continue
		}
		n, ordered, err := m.compareValues("<", k, bestKey)
		if err != nil {
			return none, err
		}
		if ordered && n*sign > 0 {
			best, bestKey = item, k
		}
	}
	return best, nil
}

func filterGroupBy(m *run, c *call) (val, error) {
	g, err := newGetter(m, c.args[0], c.args[1])
	if err != nil {
		return none, err
	}
	sensitive, err := c.boolArg(2, false)
	if err != nil {
		return none, err
	}
	key := func(item val) (val, error) {
		k, err := g.memberOf(m, item)
		if err != nil {
			return none, err
		}
		return foldCase(k, sensitive), k.checkDefined()
	}
	items, err := m.itemsOf(c.in)
	if err != nil {
		return none, err
	}
	items, err = sortBy(m, items, false, key)
	if err != nil {
		return none, err
	}
	var groups []val
	for start := 0; start < len(items); {
		k, err := key(items[start])
		if err != nil {
			return none, err
		}
		end := start + 1
		for ; end < len(items); end++ {
			next, err := key(items[end])
			if err != nil {
				return none, err
			}
			if same, err := m.equalValues(k, next); err != nil {
				return none, err
			} else if !same {
				break
			}
		}
		first, err := g.memberOf(m, items[start])
		if err != nil {
			return none, err
		}
		groups = append(groups, ofPython(&groupTuple{first, ofList(items[start:end])}))
		start = end
	}
	return ofList(groups), nil
}
