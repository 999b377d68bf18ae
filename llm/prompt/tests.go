package prompt

import (
	"strings"
	"unicode"

	"github.com/callnode/scheduler/llm/prompt/internal/lettercase"
	"github.com/callnode/scheduler/llm/value"
)

// newTestTable is Jinja2's tests.
func newTestTable() map[string]*builtin {
	t := map[string]*builtin{
		"defined":   kindTest(func(v Val) bool { return v.AsUndefined() == nil }),
		"undefined": kindTest(func(v Val) bool { return v.AsUndefined() != nil }),
		"none":      kindTest(Val.IsNone),
		"boolean":   kindTest(IsBool),
		"true":      kindTest(func(v Val) bool { b, ok := v.V.Bool(); return v.Py() == nil && ok && b }),
		"false":     kindTest(func(v Val) bool { b, ok := v.V.Bool(); return v.Py() == nil && ok && !b }),
		"integer":   kindTest(func(v Val) bool { return v.Py() == nil && v.V.Kind() == value.Int }),
		"float":     kindTest(func(v Val) bool { n, ok := ToNum(v); return ok && n.Kind == 'f' }),
		"number":    kindTest(func(v Val) bool { _, ok := ToNum(v); return ok }),
		"string":    kindTest(IsText),
		"mapping":   kindTest(Val.IsDict),
		"sequence":  kindTest(IsSequenceLike),
		"iterable":  {fn: func(_ *Run, c *call) (Val, error) { return OfBool(IsIterable(c.in)), nil }},
		"odd":       parityTest(1),
		"even":      parityTest(0),
		"divisibleby": {params: []string{"num"}, need: 1, fn: func(m *Run, c *call) (Val, error) {
			v, err := m.ApplyOperator("%", c.in, c.args[0])
			if err != nil {
				return None, err
			}
			zero, err := m.EqualValues(v, OfInt(0))
			return OfBool(zero), err
		}},
		"in": {params: []string{"seq"}, need: 1, lax: true, fn: func(m *Run, c *call) (Val, error) {
			ok, err := m.HasElement(c.args[0], c.in)
			return OfBool(ok), err
		}},
		"upper": {fn: func(m *Run, c *call) (Val, error) {
			s, err := m.TextOf(c.in)
			return OfBool(lettercase.IsCased(s, unicode.IsUpper)), err
		}},
		"lower": {fn: func(m *Run, c *call) (Val, error) {
			s, err := m.TextOf(c.in)
			return OfBool(lettercase.IsCased(s, unicode.IsLower)), err
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

func kindTest(is func(Val) bool) *builtin {
	return &builtin{lax: true, fn: func(_ *Run, c *call) (Val, error) { return OfBool(is(c.in)), nil }}
}

func comparisonTest(op string) *builtin {
	return &builtin{params: []string{"other"}, need: 1, fn: func(m *Run, c *call) (Val, error) {
		ok, err := m.CompareWith(op, c.in, c.args[0])
		return OfBool(ok), err
	}}
}

func parityTest(want int) *builtin {
	return &builtin{fn: func(m *Run, c *call) (Val, error) {
		v, err := m.ApplyOperator("%", c.in, OfInt(2))
		if err != nil {
			return None, err
		}
		same, err := m.EqualValues(v, OfInt(want))
		return OfBool(same), err
	}}
}
