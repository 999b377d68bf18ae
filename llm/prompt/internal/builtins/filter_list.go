package builtins

import (
	"slices"

	"github.com/callnode/scheduler/llm/prompt/internal/fault"
	"github.com/callnode/scheduler/llm/prompt/internal/pyvalue"
)

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

// filterRandom returns an item, chosen by the random numbers of the rendering.
func filterRandom(m *pyvalue.Run, c *call) (pyvalue.Val, error) {
	if !pyvalue.IsSequence(c.in) && !pyvalue.IsText(c.in) {
		return pyvalue.None, fault.Errorf(fault.Type, "random needs a list or a text, not a '%s'", c.in.PyType())
	}
	items, err := m.ItemsOf(c.in)
	if err != nil {
		return pyvalue.None, err
	}
	if len(items) == 0 {
		return noElement(m, "random"), nil
	}
	return items[m.RandomIndex(len(items))], nil
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
			if len(row) == size { // also at the first item, when size is 0
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
