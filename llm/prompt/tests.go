package prompt

import (
	"strings"
	"unicode"

	"github.com/callnode/scheduler/llm/value"
)

// newTestTable is Jinja2's tests.
func newTestTable() map[string]*builtin {
	t := map[string]*builtin{
		"defined":   kindTest(func(v val) bool { return v.undef() == nil }),
		"undefined": kindTest(func(v val) bool { return v.undef() != nil }),
		"none":      kindTest(val.isNone),
		"boolean":   kindTest(isBool),
		"true":      kindTest(func(v val) bool { b, ok := v.v.Bool(); return v.x == nil && ok && b }),
		"false":     kindTest(func(v val) bool { b, ok := v.v.Bool(); return v.x == nil && ok && !b }),
		"integer":   kindTest(func(v val) bool { return v.x == nil && v.v.Kind() == value.Int }),
		"float":     kindTest(func(v val) bool { n, ok := toNum(v); return ok && n.kind == 'f' }),
		"number":    kindTest(func(v val) bool { _, ok := toNum(v); return ok }),
		"string":    kindTest(isText),
		"mapping":   kindTest(val.isDict),
		"sequence":  kindTest(hasLength),
		"iterable":  {fn: func(_ *machine, c *call) (val, error) { return ofBool(isIterable(c.in)), nil }},
		"odd":       parity(1),
		"even":      parity(0),
		"divisibleby": {params: []string{"num"}, need: 1, fn: func(m *machine, c *call) (val, error) {
			v, err := m.binary("%", c.in, c.args[0])
			if err != nil {
				return none, err
			}
			zero, err := m.equal(v, ofInt(0))
			return ofBool(zero), err
		}},
		"in": {params: []string{"seq"}, need: 1, lax: true, fn: func(m *machine, c *call) (val, error) {
			ok, err := m.contains(c.args[0], c.in)
			return ofBool(ok), err
		}},
		"upper": {fn: func(m *machine, c *call) (val, error) {
			s, err := m.text(c.in)
			return ofBool(isCased(s, unicode.IsUpper)), err
		}},
		"lower": {fn: func(m *machine, c *call) (val, error) {
			s, err := m.text(c.in)
			return ofBool(isCased(s, unicode.IsLower)), err
		}},
	}
	for names, op := range map[string]string{
		"eq == equalto": "==", "ne !=": "!=", "lt < lessthan": "<", "le <=": "<=", "gt > greaterthan": ">", "ge >=": ">=",
	} {
		for _, name := range strings.Fields(names) {
			t[name] = comparison(op)
		}
	}
	return t
}

func isBool(v val) bool { return v.x == nil && v.v.Kind() == value.Bool }

func isText(v val) bool {
	_, isStr := v.str()
	return isStr || v.isMarkup()
}

func kindTest(is func(val) bool) *builtin {
	return &builtin{lax: true, fn: func(_ *machine, c *call) (val, error) { return ofBool(is(c.in)), nil }}
}

func comparison(op string) *builtin {
	return &builtin{params: []string{"other"}, need: 1, fn: func(m *machine, c *call) (val, error) {
		ok, err := m.ordered(op, c.in, c.args[0])
		return ofBool(ok), err
	}}
}

func parity(want int) *builtin {
	return &builtin{fn: func(m *machine, c *call) (val, error) {
		v, err := m.binary("%", c.in, ofInt(2))
		if err != nil {
			return none, err
		}
		same, err := m.equal(v, ofInt(want))
		return ofBool(same), err
	}}
}

// hasLength is what Jinja2 calls a sequence: what has a length and items.
func hasLength(v val) bool {
	_, isStr := v.str()
	return isStr || v.isDict() || isSequence(v)
}

func isIterable(v val) bool {
	switch v.x.(type) {
	case *view, *gen, *groupTuple, *loopState:
		return true
	}
	return hasLength(v)
}
