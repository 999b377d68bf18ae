package builtins

import (
	"strings"
	"unicode"

	"github.com/callnode/scheduler/llm/prompt/internal/lettercase"
	"github.com/callnode/scheduler/llm/prompt/internal/py"
	"github.com/callnode/scheduler/llm/value"
)

// newTestTable is Jinja2's tests.
func newTestTable() map[string]*Def {
	t := map[string]*Def{
		"defined":   kindTest(func(v py.Val) bool { return v.AsUndefined() == nil }),
		"undefined": kindTest(func(v py.Val) bool { return v.AsUndefined() != nil }),
		"none":      kindTest(py.Val.IsNone),
		"boolean":   kindTest(py.IsBool),
		"true":      kindTest(func(v py.Val) bool { b, ok := v.V.Bool(); return v.Py() == nil && ok && b }),
		"false":     kindTest(func(v py.Val) bool { b, ok := v.V.Bool(); return v.Py() == nil && ok && !b }),
		"integer":   kindTest(func(v py.Val) bool { return v.Py() == nil && v.V.Kind() == value.Int }),
		"float":     kindTest(func(v py.Val) bool { n, ok := py.ToNum(v); return ok && n.Kind == 'f' }),
		"number":    kindTest(func(v py.Val) bool { _, ok := py.ToNum(v); return ok }),
		"string":    kindTest(py.IsText),
		"mapping":   kindTest(py.Val.IsDict),
		"sequence":  kindTest(py.IsSequenceLike),
		"iterable":  {fn: func(_ *py.Run, c *call) (py.Val, error) { return py.OfBool(py.IsIterable(c.in)), nil }},
		"odd":       parityTest(1),
		"even":      parityTest(0),
		"divisibleby": {params: []string{"num"}, need: 1, fn: func(m *py.Run, c *call) (py.Val, error) {
			v, err := m.ApplyOperator("%", c.in, c.args[0])
			if err != nil {
				return py.None, err
			}
			zero, err := m.EqualValues(v, py.OfInt(0))
			return py.OfBool(zero), err
		}},
		"in": {params: []string{"seq"}, need: 1, lax: true, fn: func(m *py.Run, c *call) (py.Val, error) {
			ok, err := m.HasElement(c.args[0], c.in)
			return py.OfBool(ok), err
		}},
		"upper": {fn: func(m *py.Run, c *call) (py.Val, error) {
			s, err := m.TextOf(c.in)
			return py.OfBool(lettercase.IsCased(s, unicode.IsUpper)), err
		}},
		"lower": {fn: func(m *py.Run, c *call) (py.Val, error) {
			s, err := m.TextOf(c.in)
			return py.OfBool(lettercase.IsCased(s, unicode.IsLower)), err
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

func kindTest(is func(py.Val) bool) *Def {
	return &Def{lax: true, fn: func(_ *py.Run, c *call) (py.Val, error) { return py.OfBool(is(c.in)), nil }}
}

func comparisonTest(op string) *Def {
	return &Def{params: []string{"other"}, need: 1, fn: func(m *py.Run, c *call) (py.Val, error) {
		ok, err := m.CompareWith(op, c.in, c.args[0])
		return py.OfBool(ok), err
	}}
}

func parityTest(want int) *Def {
	return &Def{fn: func(m *py.Run, c *call) (py.Val, error) {
		v, err := m.ApplyOperator("%", c.in, py.OfInt(2))
		if err != nil {
			return py.None, err
		}
		same, err := m.EqualValues(v, py.OfInt(want))
		return py.OfBool(same), err
	}}
}
