package builtins

import (
	"strings"
	"sync"

	"github.com/callnode/scheduler/llm/prompt/internal/lettercase"
	"github.com/callnode/scheduler/llm/prompt/internal/pyvalue"
	"github.com/callnode/scheduler/llm/value"
)

// tests holds Jinja2's tests by their names, built at their first use as filters are.
var tests struct {
	once  sync.Once
	table map[string]*Def
}

func testTable() map[string]*Def {
	tests.once.Do(func() { tests.table = newTestTable() })
	return tests.table
}

func newTestTable() map[string]*Def {
	t := map[string]*Def{
		"defined":   kindTest(func(v pyvalue.Val) bool { return v.AsUndefined() == nil }),
		"undefined": kindTest(func(v pyvalue.Val) bool { return v.AsUndefined() != nil }),
		"none":      kindTest(pyvalue.Val.IsNone),
		"boolean":   kindTest(pyvalue.IsBool),
		"true":      kindTest(func(v pyvalue.Val) bool { b, ok := v.V.Bool(); return v.Py() == nil && ok && b }),
		"false":     kindTest(func(v pyvalue.Val) bool { b, ok := v.V.Bool(); return v.Py() == nil && ok && !b }),
		"integer":   kindTest(func(v pyvalue.Val) bool { return v.Py() == nil && v.V.Kind() == value.Int }),
		"float":     kindTest(func(v pyvalue.Val) bool { n, ok := pyvalue.ToNum(v); return ok && n.Kind == 'f' }),
		"number":    kindTest(func(v pyvalue.Val) bool { _, ok := pyvalue.ToNum(v); return ok }),
		"string":    kindTest(pyvalue.IsText),
		"mapping":   kindTest(pyvalue.Val.IsDict),
		"sequence":  kindTest(pyvalue.IsSequenceLike),
		"iterable": {fn: func(_ *pyvalue.Run, c *call) (pyvalue.Val, error) {
			return pyvalue.OfBool(pyvalue.IsIterable(c.in)), nil
		}},
		"callable": kindTest(pyvalue.IsCallable),
		"escaped":  kindTest(func(v pyvalue.Val) bool { _, ok := v.Py().(pyvalue.Markup); return ok }),
		"sameas": {params: []string{"other"}, need: 1, lax: true, fn: func(_ *pyvalue.Run, c *call) (pyvalue.Val, error) {
			return pyvalue.OfBool(pyvalue.IsSameAs(c.in, c.args[0])), nil
		}},
		"filter": nameTest(func(name string) bool { _, ok := FindFilter(name); return ok }),
		"test":   nameTest(func(name string) bool { _, ok := FindTest(name); return ok }),
		"odd":    parityTest(1),
		"even":   parityTest(0),
		"divisibleby": {params: []string{"num"}, need: 1, fn: func(m *pyvalue.Run, c *call) (pyvalue.Val, error) {
			v, err := m.ApplyOperator("%", c.in, c.args[0])
			if err != nil {
				return pyvalue.None, err
			}
			zero, err := m.EqualValues(v, pyvalue.OfInt(0))
			return pyvalue.OfBool(zero), err
		}},
		"in": {params: []string{"seq"}, need: 1, lax: true, fn: func(m *pyvalue.Run, c *call) (pyvalue.Val, error) {
			ok, err := m.HasElement(c.args[0], c.in)
			return pyvalue.OfBool(ok), err
		}},
		"upper": {fn: func(m *pyvalue.Run, c *call) (pyvalue.Val, error) {
			s, err := m.TextOf(c.in)
			return pyvalue.OfBool(lettercase.IsCased(s, lettercase.IsUpper)), err
		}},
		"lower": {fn: func(m *pyvalue.Run, c *call) (pyvalue.Val, error) {
			s, err := m.TextOf(c.in)
			return pyvalue.OfBool(lettercase.IsCased(s, lettercase.IsLower)), err
		}},
	}
	for names, op := range map[string]string{
		"eq == equalto": "==", "ne !=": "!=", "lt < lessthan": "<", "le <=": "<=", "gt > greaterthan": ">", "ge >=": ">=",
	} {
		for _, name := range strings.Fields(names) {
			t[name] = comparisonTest(op)
		}
	}
	return t
}

func kindTest(is func(pyvalue.Val) bool) *Def {
	return &Def{lax: true, fn: func(_ *pyvalue.Run, c *call) (pyvalue.Val, error) { return pyvalue.OfBool(is(c.in)), nil }}
}

// nameTest is a test of a text, whether it names something.
func nameTest(isName func(string) bool) *Def {
	return &Def{fn: func(_ *pyvalue.Run, c *call) (pyvalue.Val, error) {
		name, _ := c.in.AsString()
		return pyvalue.OfBool(isName(name)), nil
	}}
}

func comparisonTest(op string) *Def {
	return &Def{params: []string{"other"}, need: 1, fn: func(m *pyvalue.Run, c *call) (pyvalue.Val, error) {
		ok, err := m.CompareWith(op, c.in, c.args[0])
		return pyvalue.OfBool(ok), err
	}}
}

func parityTest(want int) *Def {
	return &Def{fn: func(m *pyvalue.Run, c *call) (pyvalue.Val, error) {
		v, err := m.ApplyOperator("%", c.in, pyvalue.OfInt(2))
		if err != nil {
			return pyvalue.None, err
		}
		same, err := m.EqualValues(v, pyvalue.OfInt(want))
		return pyvalue.OfBool(same), err
	}}
}
