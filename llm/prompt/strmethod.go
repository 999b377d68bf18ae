package prompt

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

func newStrTable() map[string]*builtin {
	t := map[string]*builtin{
		"upper": textMethod(upper), "lower": textMethod(lower), "casefold": textMethod(casefold),
		"title": textMethod(pyTitle), "capitalize": textMethod(capitalize), "swapcase": textMethod(swapCase),
		"strip": strip(true, true), "lstrip": strip(true, false), "rstrip": strip(false, true),
		"startswith": affix(strings.HasPrefix), "endswith": affix(strings.HasSuffix),
		"find": find(strings.Index, false), "rfind": find(strings.LastIndex, false),
		"index": find(strings.Index, true), "rindex": find(strings.LastIndex, true),
		"partition": partition(strings.Index, false), "rpartition": partition(strings.LastIndex, true),
		"split": split(false), "rsplit": split(true),
		"center": pad(func(space, width int) int { return space/2 + space&width&1 }),
		"ljust":  pad(func(int, int) int { return 0 }), "rjust": pad(func(space, _ int) int { return space }),
		"isupper":   textTest(func(s string) bool { return cased(s, unicode.IsUpper) }),
		"islower":   textTest(func(s string) bool { return cased(s, unicode.IsLower) }),
		"isspace":   textTest(func(s string) bool { return every(s, isSpace) }),
		"isalpha":   textTest(func(s string) bool { return every(s, unicode.IsLetter) }),
		"isdecimal": textTest(func(s string) bool { return every(s, unicode.IsDigit) }),
		"isdigit":   textTest(func(s string) bool { return every(s, isDigit) }),
		"isnumeric": textTest(func(s string) bool { return every(s, unicode.IsNumber) }),
		"isascii":   textTest(isASCII),
		"istitle":   textTest(func(s string) bool { return cased(s, func(rune) bool { return true }) && pyTitle(s) == s }),
		"isalnum": textTest(func(s string) bool {
			return every(s, func(r rune) bool { return unicode.IsLetter(r) || unicode.IsNumber(r) })
		}),
		"isidentifier": textTest(func(s string) bool {
			r, _ := utf8.DecodeRuneInString(s)
			return every(s, isNamePart) && isNameStart(r)
		}),
		"isprintable": textTest(func(s string) bool { return s == "" || every(s, unicode.IsPrint) }),
	}
	t["removeprefix"] = cutter(strings.TrimPrefix)
	t["removesuffix"] = cutter(strings.TrimSuffix)
	t["splitlines"] = &builtin{params: []string{"keepends"}, fn: func(m *machine, c *call) (val, error) {
		keep, err := c.bool(0, false)
		if err != nil {
			return none, err
		}
		return m.texts(splitLines(c.self(), keep))
	}}
	t["join"] = &builtin{params: []string{"iterable"}, need: 1, fn: func(m *machine, c *call) (val, error) {
		items, err := m.items(c.args[0])
		if err != nil {
			return none, err
		}
		s, err := m.join(c.self(), items, true)
		return c.like(s), err
	}}
	t["replace"] = &builtin{params: []string{"old", "new", "count"}, need: 2, fn: replaceMethod}
	t["count"] = &builtin{params: []string{"sub", "start", "stop"}, need: 1, fn: func(m *machine, c *call) (val, error) {
		s, _, err := m.part(c)
		if err != nil {
			return none, err
		}
		sub, err := c.str(0, "")
		return ofInt(strings.Count(s, sub)), err
	}}
	t["zfill"] = &builtin{params: []string{"width"}, need: 1, fn: func(m *machine, c *call) (val, error) {
		width, err := c.width(0)
		if err != nil {
			return none, err
		}
		s, sign := c.self(), ""
		if s != "" && (s[0] == '-' || s[0] == '+') {
			s, sign = s[1:], s[:1]
		}
		zeros := max(width-utf8.RuneCountInString(s)-len(sign), 0)
		return ofStr(sign + strings.Repeat("0", zeros) + s), m.room(zeros)
	}}
	t["expandtabs"] = &builtin{params: []string{"tabsize"}, fn: func(m *machine, c *call) (val, error) {
		size, err := c.int(0, 8)
		if err != nil {
			return none, err
		}
		return m.expandTabs(c.self(), size)
	}}
	t["translate"] = &builtin{params: []string{"table"}, need: 1, fn: translate}
	t["encode"] = &builtin{params: []string{"encoding", "errors"}, fn: func(m *machine, c *call) (val, error) {
		return val{x: bytestr(c.self())}, c.utf8Only(m)
	}}
	t["format"] = &builtin{rest: true, fn: func(m *machine, c *call) (val, error) {
		s, err := m.format(c.self(), c.argv, nil)
		return c.like(s), err
	}}
	t["format_map"] = &builtin{params: []string{"mapping"}, need: 1, fn: func(m *machine, c *call) (val, error) {
		s, err := m.format(c.self(), argv{}, &c.args[0])
		return c.like(s), err
	}}
	return t
}

func isDigit(r rune) bool {
	return unicode.IsDigit(r) || strings.ContainsRune("²³¹⁰⁴⁵⁶⁷⁸⁹₀₁₂₃₄₅₆₇₈₉", r)
}

func casefold(s string) string { return strings.ToLower(strings.ReplaceAll(s, "ß", "ss")) }

func cutter(cut func(s, part string) string) *builtin {
	return &builtin{params: []string{"part"}, need: 1, fn: func(_ *machine, c *call) (val, error) {
		part, err := c.str(0, "")
		return c.like(cut(c.self(), part)), err
	}}
}

func replaceMethod(m *machine, c *call) (val, error) {
	old, err := c.str(0, "")
	if err != nil {
		return none, err
	}
	with, err := c.str(1, "")
	if err != nil {
		return none, err
	}
	if _, ok := c.in.x.(markup); ok {
		with = escapeText(c.args[1])
	}
	count, err := c.int(2, -1)
	if err != nil {
		return none, err
	}
	s, err := m.replace(c.self(), old, with, count)
	return c.like(s), err
}

func (m *machine) expandTabs(s string, size int) (val, error) {
	if size > maxPad {
		return none, m.room(maxBytes + 1)
	}
	if err := m.room(len(s) + strings.Count(s, "\t")*max(size, 0)); err != nil {
		return none, err
	}
	var b strings.Builder
	col := 0
	for _, r := range s {
		switch r {
		case '\t':
			if size > 0 {
				n := size - col%size
				b.WriteString(strings.Repeat(" ", n))
				col += n
			}
			continue
		case '\n', '\r':
			col = -1
		}
		b.WriteRune(r)
		col++
	}
	return ofStr(b.String()), nil
}

// translate maps characters by a dict of code points.
func translate(m *machine, c *call) (val, error) {
	if !c.args[0].isDict() {
		return none, errorf(Type, "translate needs a dict of code points, not a '%s'", c.args[0].pyType())
	}
	var b strings.Builder
	for _, r := range c.self() {
		to, ok, err := dictGet(c.args[0], ofInt(int(r)))
		if err != nil {
			return none, err
		}
		if !ok {
			b.WriteRune(r)
			continue
		}
		if to.isNone() {
			continue
		}
		s, isStr := to.str()
		if n, isNum := toNum(to); isNum && n.kind == 'i' && n.i >= 0 && n.i <= unicode.MaxRune {
			s, isStr = string(rune(n.i)), true
		}
		if !isStr {
			return none, errorf(Type, "translate maps to strings, code points and None, not to a '%s'", to.pyType())
		}
		b.WriteString(s)
		if b.Len() > maxBytes {
			return none, m.room(b.Len())
		}
	}
	return ofStr(b.String()), m.room(b.Len())
}
