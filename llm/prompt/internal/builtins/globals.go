package builtins

import (
	"github.com/callnode/scheduler/llm/prompt/internal/fault"
	"github.com/callnode/scheduler/llm/prompt/internal/pyvalue"
)

// FindGlobal returns a built-in function of templates.
func FindGlobal(name string) (pyvalue.Val, bool) {
	v, ok := globals[name]
	return v, ok
}

var globals = map[string]pyvalue.Val{
	"range": pyvalue.OfFunc("range", makeRange), "dict": pyvalue.OfFunc("dict", makeDict), "namespace": pyvalue.OfFunc("namespace", makeNamespace),
	"cycler": pyvalue.OfFunc("cycler", makeCycler), "joiner": pyvalue.OfFunc("joiner", makeJoiner),
}

func makeRange(_ *pyvalue.Run, a pyvalue.CallArgs) (pyvalue.Val, error) {
	if len(a.Kw) > 0 {
		return pyvalue.None, fault.Errorf(fault.Type, "range takes no arguments by name")
	}
	if len(a.Pos) < 1 || len(a.Pos) > 3 {
		return pyvalue.None, fault.Errorf(fault.Type, "range takes 1 to 3 arguments, %d are given", len(a.Pos))
	}
	bounds := [3]int64{0, 0, 1}
	for i, x := range a.Pos {
		n, err := pyvalue.AsInt(x)
		if err != nil {
			return pyvalue.None, err
		}
		bounds[i] = int64(n)
	}
	if len(a.Pos) == 1 {
		bounds[0], bounds[1] = 0, bounds[0]
	}
	return rangeValue(bounds[0], bounds[1], bounds[2])
}

func rangeValue(start, stop, step int64) (pyvalue.Val, error) {
	r := &pyvalue.RangeOf{Start: start, Stop: stop, Step: step}
	switch {
	case r.Step == 0:
		return pyvalue.None, fault.Errorf(fault.Other, "the step of a range must not be zero")
	case r.Step > 0 && r.Start < r.Stop:
		r.N = (r.Stop-r.Start-1)/r.Step + 1
	case r.Step < 0 && r.Start > r.Stop:
		r.N = (r.Start-r.Stop-1)/-r.Step + 1
	}
	if r.N > fault.MaxRange {
		return pyvalue.None, fault.Errorf(fault.Other, "a range of more than %d elements", fault.MaxRange)
	}
	return pyvalue.OfPython(r), nil
}

// addPairs adds the items of a dict, or pairs of key and value, to a dict.
func addPairs(m *pyvalue.Run, d *pyvalue.PyDict, v pyvalue.Val) error {
	if v.IsDict() {
		for i := range pyvalue.DictLen(v) {
			k, x := pyvalue.DictAt(v, i)
			if err := d.SetItem(k, x); err != nil {
				return err
			}
		}
		return m.CountSteps(pyvalue.DictLen(v))
	}
	items, err := m.ItemsOf(v)
	if err != nil {
		return err
	}
	for _, item := range items {
		pair, err := m.ItemsOf(item)
		if err != nil {
			return err
		}
		if len(pair) != 2 {
			return fault.Errorf(fault.Other, "a dict needs pairs of key and value")
		}
		if err := d.SetItem(pair[0], pair[1]); err != nil {
			return err
		}
	}
	return nil
}

func newDictFrom(m *pyvalue.Run, name string, a pyvalue.CallArgs) (*pyvalue.PyDict, error) {
	if len(a.Pos) > 1 {
		return nil, fault.Errorf(fault.Type, "%s takes at most 1 argument without a name, %d are given", name, len(a.Pos))
	}
	d := pyvalue.NewDict(len(a.Kw))
	for _, x := range a.Pos {
		if err := addPairs(m, d, x); err != nil {
			return nil, err
		}
	}
	for _, kw := range a.Kw {
		if err := d.SetItem(pyvalue.OfStr(kw.Name), kw.V); err != nil {
			return nil, err
		}
	}
	return d, nil
}

func makeDict(m *pyvalue.Run, a pyvalue.CallArgs) (pyvalue.Val, error) {
	d, err := newDictFrom(m, "dict", a)
	if err != nil {
		return pyvalue.None, err
	}
	return d.ToJSON(), nil
}

func makeNamespace(m *pyvalue.Run, a pyvalue.CallArgs) (pyvalue.Val, error) {
	d, err := newDictFrom(m, "namespace", a)
	if err != nil {
		return pyvalue.None, err
	}
	ns := &pyvalue.Namespace{}
	for i, k := range d.Keys {
		name, ok := k.AsString()
		if !ok {
			return pyvalue.None, fault.Errorf(fault.Type, "the names of a namespace must be strings, not '%s'", k.PyType())
		}
		if err := ns.SetMember(name, d.Vals[i]); err != nil {
			return pyvalue.None, err
		}
	}
	return pyvalue.OfPython(ns), nil
}

// cycler is the value of cycler('a', 'b'): its next() returns one item after the other.
type cycler struct {
	items []pyvalue.Val
	i     int
}

// PyType returns the name of the type.
func (*cycler) PyType() string { return "Cycler" }

func makeCycler(_ *pyvalue.Run, a pyvalue.CallArgs) (pyvalue.Val, error) {
	if len(a.Pos) == 0 || len(a.Kw) > 0 {
		return pyvalue.None, fault.Errorf(fault.Type, "cycler needs items to choose from, and none by name")
	}
	return pyvalue.OfPython(&cycler{items: a.Pos}), nil
}

// Member returns a member of the cycler.
func (c *cycler) Member(_ *pyvalue.Run, name string) (pyvalue.Val, bool, error) {
	switch name {
	case "current":
		return c.items[c.i], true, nil
	case "next":
		return c.method(name, func() pyvalue.Val {
			v := c.items[c.i]
			c.i = (c.i + 1) % len(c.items)
			return v
		}), true, nil
	case "reset":
		return c.method(name, func() pyvalue.Val { c.i = 0; return pyvalue.None }), true, nil
	}
	return pyvalue.None, false, nil
}

// method returns a method of the cycler, which takes no arguments.
func (c *cycler) method(name string, call func() pyvalue.Val) pyvalue.Val {
	return pyvalue.OfFunc(name, func(_ *pyvalue.Run, a pyvalue.CallArgs) (pyvalue.Val, error) {
		if len(a.Pos)+len(a.Kw) > 0 {
			return pyvalue.None, fault.Errorf(fault.Type, "%s of a cycler takes no arguments", name)
		}
		return call(), nil
	})
}

// joiner is the value of joiner(', '): called for the first time it returns "", then the separator.
type joiner struct {
	sep  pyvalue.Val
	used bool
}

// PyType returns the name of the type.
func (*joiner) PyType() string { return "Joiner" }

var joinerParams = &Def{params: []string{"sep"}}

func makeJoiner(m *pyvalue.Run, a pyvalue.CallArgs) (pyvalue.Val, error) {
	args, err := joinerParams.bindArgs(m, "joiner", a, nil)
	if err != nil {
		return pyvalue.None, err
	}
	if args[0].IsAbsent() {
		return pyvalue.OfPython(&joiner{sep: pyvalue.OfStr(", ")}), nil
	}
	return pyvalue.OfPython(&joiner{sep: args[0]}), nil
}

// CallWith returns the separator, or "" for the first call.
func (j *joiner) CallWith(*pyvalue.Run, pyvalue.CallArgs) (pyvalue.Val, error) {
	if j.used {
		return j.sep, nil
	}
	j.used = true
	return pyvalue.OfStr(""), nil
}
