package prompt

import (
	"strings"
	"unicode/utf8"
)

// methodsOf gives the methods of a value: those of Python's str, list, tuple,
// dict and bytes that change nothing.
func methodsOf(o val) map[string]*builtin {
	switch {
	case o.isDict():
		return dictTable()
	case o.isList():
		return listTable()
	case isSequence(o):
		return tupleTable()
	}
	if _, ok := o.str(); ok {
		return strTable()
	}
	if _, ok := o.x.(bytestr); ok {
		return bytesTable()
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
			switch {
			case err != nil || ok:
				return v, err
			case c.args[1].isAbsent():
				return none, nil
			}
			return c.args[1], nil
		}},
		"fromkeys": {params: []string{"iterable", "value"}, need: 1, fn: func(m *machine, c *call) (val, error) {
			return dictFromKeys(m, argv{pos: c.args})
		}},
	}
}

func newListTable() map[string]*builtin {
	return map[string]*builtin{
		"index": {params: []string{"value", "start", "stop"}, need: 1, fn: func(m *machine, c *call) (val, error) {
			items, from, err := m.window(c)
			if err != nil {
				return none, err
			}
			for i, x := range items {
				if same, err := m.equal(x, c.args[0]); err != nil || same {
					return ofInt(from + i), err
				}
			}
			return none, errorf(Other, "the value is not in the list")
		}},
		"count": {params: []string{"value"}, need: 1, fn: func(m *machine, c *call) (val, error) {
			items, err := m.items(c.in)
			n := 0
			for _, x := range items {
				same, err := m.equal(x, c.args[0])
				if err != nil {
					return none, err
				}
				if same {
					n++
				}
			}
			return ofInt(n), err
		}},
		"copy": {fn: func(_ *machine, c *call) (val, error) { return c.in, nil }},
	}
}

// window is the part of a list between the second and the third argument.
func (m *machine) window(c *call) ([]val, int, error) {
	items, err := m.items(c.in)
	if err != nil {
		return nil, 0, err
	}
	from, err := c.int(1, 0)
	if err != nil {
		return nil, 0, err
	}
	to, err := c.int(2, len(items))
	if err != nil {
		return nil, 0, err
	}
	from, to, _, err = sliceRange(len(items), &from, &to, nil)
	return items[from:max(from, to)], from, err
}

func newBytesTable() map[string]*builtin {
	return map[string]*builtin{
		"decode": {params: []string{"encoding", "errors"}, fn: func(m *machine, c *call) (val, error) {
			s, _ := c.in.x.(bytestr)
			if !utf8.ValidString(string(s)) {
				return none, errorf(Other, "the bytes are not UTF-8")
			}
			return ofStr(string(s)), c.utf8Only(m)
		}},
	}
}

// utf8Only checks an encoding argument.
func (c *call) utf8Only(*machine) error {
	enc, err := c.str(0, "utf-8")
	if err != nil {
		return err
	}
	if e := strings.ReplaceAll(strings.ToLower(enc), "_", "-"); e != "utf-8" && e != "utf8" {
		return errorf(Other, "only utf-8 is offered, not %s", quoted(enc))
	}
	return nil
}

// text method helpers

func textMethod(f func(string) string) *builtin {
	return &builtin{fn: func(m *machine, c *call) (val, error) {
		s := c.self()
		if err := m.room(len(s)); err != nil {
			return none, err
		}
		return c.like(f(s)), nil
	}}
}

func textTest(f func(string) bool) *builtin {
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

// like makes a text that is markup when the input is.
func (c *call) like(s string) val {
	if _, ok := c.in.x.(markup); ok {
		return val{x: markup(s)}
	}
	return ofStr(s)
}

func strip(left, right bool) *builtin {
	return &builtin{params: []string{"chars"}, fn: func(m *machine, c *call) (val, error) {
		s := c.self()
		cut := isSpace
		if a := c.args[0]; !a.isAbsent() && !a.isNone() {
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
		return c.like(s), nil
	}}
}

// affix is startswith or endswith, of one string or a tuple of them.
func affix(has func(s, part string) bool) *builtin {
	return &builtin{params: []string{"part", "start", "stop"}, need: 1, fn: func(m *machine, c *call) (val, error) {
		s, _, err := m.part(c)
		if err != nil {
			return none, err
		}
		parts := []val{c.args[0]}
		if t, ok := c.args[0].x.(tuple); ok {
			parts = t
		}
		for _, p := range parts {
			text, ok := p.str()
			if !ok {
				return none, errorf(Type, "needs a string or a tuple of strings, not '%s'", p.pyType())
			}
			if has(s, text) {
				return ofBool(true), nil
			}
		}
		return ofBool(false), nil
	}}
}

// part is the text between the second and the third argument, and how many
// characters stand before it.
func (m *machine) part(c *call) (string, int, error) {
	s := c.self()
	if c.args[1].isAbsent() && c.args[2].isAbsent() {
		return s, 0, nil
	}
	start, err := c.int(1, 0)
	if err != nil {
		return "", 0, err
	}
	n := utf8.RuneCountInString(s)
	stop, err := c.int(2, n)
	if err != nil {
		return "", 0, err
	}
	from, to, _, err := sliceRange(n, &start, &stop, nil)
	if err != nil || from >= to {
		return "", from, err
	}
	v, err := m.slice(ofStr(s), &from, &to, nil)
	out, _ := v.str()
	return out, from, err
}

// find is find, rfind, index and rindex: positions count characters.
func find(search func(s, sub string) int, must bool) *builtin {
	return &builtin{params: []string{"sub", "start", "stop"}, need: 1, fn: func(m *machine, c *call) (val, error) {
		s, before, err := m.part(c)
		if err != nil {
			return none, err
		}
		sub, err := c.str(0, "")
		if err != nil {
			return none, err
		}
		i := search(s, sub)
		if i < 0 {
			if must {
				return none, errorf(Other, "substring not found")
			}
			return ofInt(-1), nil
		}
		return ofInt(before + utf8.RuneCountInString(s[:i])), m.spend(len(s) >> 8)
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

// pad is center, ljust, rjust of the method kind: with a fill character.
func pad(share func(space, width int) int) *builtin {
	return &builtin{params: []string{"width", "fillchar"}, need: 1, fn: func(m *machine, c *call) (val, error) {
		width, err := c.width(0)
		if err != nil {
			return none, err
		}
		fill, err := c.str(1, " ")
		if err != nil {
			return none, err
		}
		if utf8.RuneCountInString(fill) != 1 {
			return none, errorf(Type, "the fill character must be exactly one character long")
		}
		s := c.self()
		space := width - utf8.RuneCountInString(s)
		if space <= 0 {
			return c.in, nil
		}
		if err := m.room(len(s) + space*len(fill)); err != nil {
			return none, err
		}
		left := share(space, width)
		return c.like(strings.Repeat(fill, left) + s + strings.Repeat(fill, space-left)), nil
	}}
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

// join puts sep between the texts of the items.
func (m *machine) join(sep string, items []val, strict bool) (string, error) {
	parts, size := make([]string, len(items)), 0
	for i, x := range items {
		s, ok := x.str()
		if !ok {
			if strict {
				if err := x.use(); err != nil {
					return "", err
				}
				return "", errorf(Type, "element %d is a '%s', not a string", i, x.pyType())
			}
			var err error
			if s, err = m.text(x); err != nil {
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
