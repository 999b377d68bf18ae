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
		"defined":   kindTest(func(v val) bool { return v.asUndefined() == nil }),
		"undefined": kindTest(func(v val) bool { return v.asUndefined() != nil }),
		"none":      kindTest(val.isNone),
		"boolean":   kindTest(isBool),
		"true":      kindTest(func(v val) bool { b, ok := v.v.Bool(); return v.py() == nil && ok && b }),
		"false":     kindTest(func(v val) bool { b, ok := v.v.Bool(); return v.py() == nil && ok && !b }),
		"integer":   kindTest(func(v val) bool { return v.py() == nil && v.v.Kind() == value.Int }),
		"float":     kindTest(func(v val) bool { n, ok := toNum(v); return ok && n.kind == 'f' }),
		"number":    kindTest(func(v val) bool { _, ok := toNum(v); return ok }),
		"string":    kindTest(isText),
		"mapping":   kindTest(val.isDict),
		"sequence":  kindTest(isSequenceLike),
		"iterable":  {fn: func(_ *run, c *call) (val, error) { return ofBool(isIterable(c.in)), nil }},
		"odd":       parityTest(1),
		"even":      parityTest(0),
		"divisibleby": {params: []string{"num"}, need: 1, fn: func(m *run, c *call) (val, error) {
			v, err := m.applyOperator("%", c.in, c.args[0])
			if err != nil {
				return none, err
			}
			zero, err := m.equalValues(v, ofInt(0))
			return ofBool(zero), err
		}},
		"in": {params: []string{"seq"}, need: 1, lax: true, fn: func(m *run, c *call) (val, error) {
			ok, err := m.hasElement(c.args[0], c.in)
			return ofBool(ok), err
		}},
		"upper": {fn: func(m *run, c *call) (val, error) {
			s, err := m.textOf(c.in)
			return ofBool(lettercase.IsCased(s, unicode.IsUpper)), err
		}},
		"lower": {fn: func(m *run, c *call) (val, error) {
			s, err := m.textOf(c.in)
			return ofBool(lettercase.IsCased(s, unicode.IsLower)), err
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

func kindTest(is func(val) bool) *builtin {
	return &builtin{lax: true, fn: func(_ *run, c *call) (val, error) { return ofBool(is(c.in)), nil }}
}

func comparisonTest(op string) *builtin {
	return &builtin{params: []string{"other"}, need: 1, fn: func(m *run, c *call) (val, error) {
		ok, err := m.compareWith(op, c.in, c.args[0])
		return ofBool(ok), err
	}}
}

func parityTest(want int) *builtin {
	return &builtin{fn: func(m *run, c *call) (val, error) {
		v, err := m.applyOperator("%", c.in, ofInt(2))
		if err != nil {
			return none, err
		}
		same, err := m.equalValues(v, ofInt(want))
		return ofBool(same), err
	}}
}
