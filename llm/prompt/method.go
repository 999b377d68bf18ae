package prompt

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// methodsOf returns the methods of a value: those of Python's str, list, tuple and
// dict that prompts use and that change nothing.
func methodsOf(o val) map[string]*builtin {
	switch {
	case o.isDict():
		return dictTable()
	case isSequence(o):
		return listTable()
	}
	if _, ok := o.str(); ok {
		return strTable()
	}
	return nil
}

func hasMethod(o val, name string) bool { return methodsOf(o)[name] != nil }

func (m *machine) callMethod(o val, name string, a argv) (val, error) {
	return methodsOf(o)[name].apply(m, name, o, a)
}

func newDictTable() map[string]*builtin {
	viewOf := func(kind byte) *builtin {
		return &builtin{fn: func(_ *machine, c *call) (val, error) { return val{x: &view{c.in, kind}}, nil }}
	}
	return map[string]*builtin{
		"keys": viewOf('k'), "values": viewOf('v'), "items": viewOf('i'),
		"copy": {fn: func(_ *machine, c *call) (val, error) { return c.in, nil }},
		"get": {params: []string{"key", "default"}, need: 1, fn: func(_ *machine, c *call) (val, error) {
			v, ok, err := dictGet(c.in, c.args[0])
			if err == nil && !ok && c.given(1) {
				return c.args[1], nil
			}
			return v, err
		}},
	}
}

func newListTable() map[string]*builtin {
	return map[string]*builtin{
		"index": {params: []string{"value"}, need: 1, fn: func(m *machine, c *call) (val, error) {
			first, _, err := m.findEqual(c)
			if err == nil && first < 0 {
				err = errorf(Other, "the value is not in the list")
			}
			return ofInt(first), err
		}},
		"count": {params: []string{"value"}, need: 1, fn: func(m *machine, c *call) (val, error) {
			_, n, err := m.findEqual(c)
			return ofInt(n), err
		}},
	}
}

// findEqual returns where the first argument stands first in the input, -1 for
// nowhere, and how often it is there.
func (m *machine) findEqual(c *call) (first, count int, err error) {
	items, err := m.items(c.in)
	first = -1
	for i, x := range items {
		same, err := m.equal(x, c.args[0])
		if err != nil {
			return 0, 0, err
		}
		if !same {
			continue
		}
		if count++; first < 0 {
			first = i
		}
	}
	return first, count, err
}

func newStrTable() map[string]*builtin {
	isIn := func(ok func(rune) bool) *builtin {
		return testText(func(s string) bool { return isEvery(s, ok) })
	}
	t := map[string]*builtin{
		"upper": changeText(upper), "lower": changeText(lower), "title": changeText(pyTitle), "capitalize": changeText(capitalize),
		"strip": strip(true, true), "lstrip": strip(true, false), "rstrip": strip(false, true),
		"startswith": affix(strings.HasPrefix), "endswith": affix(strings.HasSuffix),
		"removeprefix": cutAffix(strings.TrimPrefix), "removesuffix": cutAffix(strings.TrimSuffix),
		"find": find(strings.Index, false), "rfind": find(strings.LastIndex, false), "index": find(strings.Index, true),
		"partition": partition(strings.Index, false), "rpartition": partition(strings.LastIndex, true),
		"split": split(false), "rsplit": split(true),
		"isupper": testText(func(s string) bool { return isCased(s, unicode.IsUpper) }),
		"islower": testText(func(s string) bool { return isCased(s, unicode.IsLower) }),
		"isspace": isIn(isSpace), "isalpha": isIn(unicode.IsLetter), "isdigit": isIn(isDigit),
		"isalnum": isIn(func(r rune) bool { return unicode.IsLetter(r) || unicode.IsNumber(r) }),
	}
	t["splitlines"] = &builtin{fn: func(m *machine, c *call) (val, error) { return m.texts(splitLines(c.self())) }}
	t["join"] = &builtin{params: []string{"iterable"}, need: 1, fn: func(m *machine, c *call) (val, error) {
		items, err := m.items(c.args[0])
		if err != nil {
			return none, err
		}
		s, err := m.join(c.self(), items, true)
		return ofStr(s), err
	}}
	t["replace"] = &builtin{params: []string{"old", "new", "count"}, need: 2, fn: replaceMethod}
	t["count"] = &builtin{params: []string{"sub"}, need: 1, fn: func(_ *machine, c *call) (val, error) {
		sub, err := c.str(0, "")
		return ofInt(strings.Count(c.self(), sub)), err
	}}
	t["format"] = &builtin{rest: true, fn: func(m *machine, c *call) (val, error) {
		s, err := m.formatFields(c.self(), c.argv)
		return ofStr(s), err
	}}
	return t
}

func changeText(f func(string) string) *builtin {
	return &builtin{fn: func(m *machine, c *call) (val, error) {
		s := c.self()
		if err := m.room(len(s)); err != nil {
			return none, err
		}
		return ofStr(f(s)), nil
	}}
}

func testText(f func(string) bool) *builtin {
	return &builtin{fn: func(m *machine, c *call) (val, error) {
		s := c.self()
		return ofBool(f(s)), m.spend(len(s) >> 8)
	}}
}

// self is the text of the input.
func (c *call) self() string {
	s, _ := c.in.str()
	return s
}

func strip(left, right bool) *builtin {
	return &builtin{params: []string{"chars"}, fn: func(m *machine, c *call) (val, error) {
		s := c.self()
		cut := isSpace
		if c.given(0) && !c.args[0].isNone() {
			chars, err := c.str(0, "")
			if err != nil {
				return none, err
			}
			cut = func(r rune) bool { return strings.ContainsRune(chars, r) }
			if err := m.spend(len(s) * len(chars) >> 8); err != nil {
				return none, err
			}
		}
		if left {
			s = strings.TrimLeftFunc(s, cut)
		}
		if right {
			s = strings.TrimRightFunc(s, cut)
		}
		return ofStr(s), nil
	}}
}

// affix is startswith or endswith, of one string or a tuple of them.
func affix(has func(s, part string) bool) *builtin {
	return &builtin{params: []string{"part"}, need: 1, fn: func(_ *machine, c *call) (val, error) {
		parts := []val{c.args[0]}
		if t, ok := c.args[0].x.(tuple); ok {
			parts = t
		}
		for _, p := range parts {
			text, ok := p.str()
			if !ok {
				return none, errorf(Type, "needs a string or a tuple of strings, not '%s'", p.pyType())
			}
			if has(c.self(), text) {
				return ofBool(true), nil
			}
		}
		return ofBool(false), nil
	}}
}

func cutAffix(cut func(s, part string) string) *builtin {
	return &builtin{params: []string{"part"}, need: 1, fn: func(_ *machine, c *call) (val, error) {
		part, err := c.str(0, "")
		return ofStr(cut(c.self(), part)), err
	}}
}

// find is find, rfind or index: positions count characters.
func find(search func(s, sub string) int, must bool) *builtin {
	return &builtin{params: []string{"sub"}, need: 1, fn: func(m *machine, c *call) (val, error) {
		s := c.self()
		sub, err := c.str(0, "")
		if err != nil {
			return none, err
		}
		i := search(s, sub)
		if i >= 0 {
			i = utf8.RuneCountInString(s[:i])
		} else if must {
			return none, errorf(Other, "substring not found")
		}
		return ofInt(i), m.spend(len(s) >> 8)
	}}
}

func partition(search func(s, sep string) int, last bool) *builtin {
	return &builtin{params: []string{"sep"}, need: 1, fn: func(_ *machine, c *call) (val, error) {
		s := c.self()
		sep, err := c.str(0, "")
		if err != nil {
			return none, err
		}
		if sep == "" {
			return none, errorf(Other, "empty separator")
		}
		parts := [3]string{s, "", ""}
		if i := search(s, sep); i >= 0 {
			parts = [3]string{s[:i], sep, s[i+len(sep):]}
		} else if last {
			parts = [3]string{"", "", s}
		}
		return val{x: tuple{ofStr(parts[0]), ofStr(parts[1]), ofStr(parts[2])}}, nil
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
	count, err := c.int(2, -1)
	if err != nil {
		return none, err
	}
	s, err := m.replace(c.self(), old, with, count)
	return ofStr(s), err
}

// replace puts new where old stands, count times, or everywhere when count < 0.
func (m *machine) replace(s, old, new string, count int) (string, error) {
	n := strings.Count(s, old)
	if count >= 0 {
		n = min(n, count)
	}
	if grow := len(new) - len(old); grow > 0 && n > maxBytes/grow {
		return "", m.room(maxBytes + 1)
	} else if err := m.room(len(s) + n*grow); err != nil {
		return "", err
	}
	return strings.Replace(s, old, new, count), nil
}

// join puts sep between the texts of the items; strict refuses what is not text.
func (m *machine) join(sep string, items []val, strict bool) (string, error) {
	parts, size := make([]string, len(items)), 0
	for i, x := range items {
		s, ok := x.str()
		if !ok {
			if err := x.use(); err != nil {
				return "", err
			}
			if strict {
				return "", errorf(Type, "element %d is a '%s', not a string", i, x.pyType())
			}
			var err error
			if s, err = m.printed(x); err != nil {
				return "", err
			}
		}
		parts[i] = s
		if size += len(s) + len(sep); size > maxBytes {
			return "", m.room(size)
		}
	}
	return strings.Join(parts, sep), m.room(size)
}

// split is split and rsplit.
func split(fromRight bool) *builtin {
	return &builtin{params: []string{"sep", "maxsplit"}, fn: func(m *machine, c *call) (val, error) {
		s := c.self()
		limit, err := c.int(1, -1)
		if err != nil {
			return none, err
		}
		if !c.given(0) || c.args[0].isNone() {
			return m.texts(splitSpace(s, limit, fromRight))
		}
		sep, err := c.str(0, "")
		if err != nil {
			return none, err
		}
		if sep == "" {
			return none, errorf(Other, "empty separator")
		}
		parts := strings.Split(s, sep)
		if limit >= 0 && len(parts) > limit+1 {
			parts = strings.SplitN(s, sep, limit+1)
			if fromRight {
				parts = splitLast(s, sep, limit)
			}
		}
		return m.texts(parts)
	}}
}

func (m *machine) texts(parts []string) (val, error) {
	if err := m.roomItems(len(parts)); err != nil {
		return none, err
	}
	items := make([]val, len(parts))
	for i, p := range parts {
		items[i] = ofStr(p)
	}
	return ofList(items), nil
}

// splitLast splits at the last separators, of which there are at least limit.
func splitLast(s, sep string, limit int) []string {
	parts := make([]string, limit+1)
	for i := limit; i > 0; i-- {
		at := strings.LastIndex(s, sep)
		parts[i], s = s[at+len(sep):], s[:at]
	}
	parts[0] = s
	return parts
}

// splitSpace splits at runs of white space; what is left beyond the limit keeps
// its white space inside.
func splitSpace(s string, limit int, fromRight bool) []string {
	words := strings.FieldsFunc(s, isSpace)
	if limit < 0 || len(words) <= limit {
		return words
	}
	if fromRight {
		rest := strings.TrimRightFunc(s, isSpace)
		for _, word := range slices.Backward(words[len(words)-limit:]) {
			rest = strings.TrimRightFunc(rest[:len(rest)-len(word)], isSpace)
		}
		return append([]string{rest}, words[len(words)-limit:]...)
	}
	rest := strings.TrimLeftFunc(s, isSpace)
	for _, word := range words[:limit] {
		rest = strings.TrimLeftFunc(rest[len(word):], isSpace)
	}
	return append(words[:limit:limit], rest)
}

// splitLines splits where Python sees the end of a line.
func splitLines(s string) []string {
	var lines []string
	start := 0
	for i := 0; i < len(s); {
		r, w := utf8.DecodeRuneInString(s[i:])
		if !isLineEnd(r) {
			i += w
			continue
		}
		if strings.HasPrefix(s[i:], "\r\n") {
			w = 2
		}
		lines = append(lines, s[start:i])
		i += w
		start = i
	}
	if start < len(s) {
		lines = append(lines, s[start:])
	}
	return lines
}

func isLineEnd(r rune) bool {
	switch r {
	case '\n', '\r', '\v', '\f', 0x1c, 0x1d, 0x1e, 0x85, 0x2028, 0x2029:
		return true
	}
	return false
}
