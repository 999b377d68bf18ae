package prompt

import "github.com/callnode/scheduler/llm/prompt/internal/fault"

// findGlobal returns a built-in function of templates.
func findGlobal(name string) (val, bool) {
	v, ok := globalTable()[name]
	return v, ok
}

func newGlobalTable() map[string]val {
	return map[string]val{
		"range": ofFunc("range", makeRange), "dict": ofFunc("dict", makeDict), "namespace": ofFunc("namespace", makeNamespace),
	}
}

func makeRange(_ *run, a callArgs) (val, error) {
	if len(a.kw) > 0 {
		return none, fault.Errorf(fault.Type, "range takes no arguments by name")
	}
	if len(a.pos) < 1 || len(a.pos) > 3 {
		return none, fault.Errorf(fault.Type, "range takes 1 to 3 arguments, %d are given", len(a.pos))
	}
	bounds := [3]int64{0, 0, 1}
	for i, x := range a.pos {
		n, err := asInt(x)
		if err != nil {
			return none, err
		}
		bounds[i] = int64(n)
	}
	if len(a.pos) == 1 {
		bounds[0], bounds[1] = 0, bounds[0]
	}
	return rangeValue(bounds[0], bounds[1], bounds[2])
}

func rangeValue(start, stop, step int64) (val, error) {
	r := &rangeOf{start: start, stop: stop, step: step}
	switch {
	case r.step == 0:
		return none, fault.Errorf(fault.Other, "the step of a range must not be zero")
	case r.step > 0 && r.start < r.stop:
		r.n = (r.stop-r.start-1)/r.step + 1
	case r.step < 0 && r.start > r.stop:
		r.n = (r.start-r.stop-1)/-r.step + 1
	}
	if r.n > fault.MaxRange {
		return none, fault.Errorf(fault.Other, "a range of more than %d elements", fault.MaxRange)
	}
	return ofPython(r), nil
}

// addPairs adds the items of a dict, or pairs of key and value, to a dict.
func addPairs(m *run, d *pyDict, v val) error {
	if v.isDict() {
		for i := range dictLen(v) {
			k, x := dictAt(v, i)
			if err := d.setItem(k, x); err != nil {
				return err
			}
		}
		return m.countSteps(dictLen(v))
	}
	items, err := m.itemsOf(v)
	if err != nil {
		return err
	}
	for _, item := range items {
		pair, err := m.itemsOf(item)
		if err != nil {
			return err
		}
		if len(pair) != 2 {
			return fault.Errorf(fault.Other, "a dict needs pairs of key and value")
		}
		if err := d.setItem(pair[0], pair[1]); err != nil {
			return err
		}
	}
	return nil
}

func newDictFrom(m *run, name string, a callArgs) (*pyDict, error) {
	if len(a.pos) > 1 {
		return nil, fault.Errorf(fault.Type, "%s takes at most 1 argument without a name, %d are given", name, len(a.pos))
	}
	d := newDict(len(a.kw))
	for _, x := range a.pos {
		if err := addPairs(m, d, x); err != nil {
			return nil, err
		}
	}
	for _, kw := range a.kw {
		if err := d.setItem(ofStr(kw.name), kw.v); err != nil {
			return nil, err
		}
	}
	return d, nil
}

func makeDict(m *run, a callArgs) (val, error) {
	d, err := newDictFrom(m, "dict", a)
	if err != nil {
		return none, err
	}
	return d.toJSON(), nil
}

func makeNamespace(m *run, a callArgs) (val, error) {
	d, err := newDictFrom(m, "namespace", a)
	if err != nil {
		return none, err
	}
	ns := &namespace{}
	for i, k := range d.keys {
		name, ok := k.asString()
		if !ok {
			return none, fault.Errorf(fault.Type, "the names of a namespace must be strings, not '%s'", k.pyType())
		}
		if err := ns.setMember(name, d.vals[i]); err != nil {
			return none, err
		}
	}
	return ofPython(ns), nil
}
