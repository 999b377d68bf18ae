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
	if o.isDict() {
		return dictTable()
	}
	if isSequence(o) {
		return listTable()
	}
	if _, ok := o.asString(); ok {
		return strTable()
	}
	return nil
}

func hasMethod(o val, name string) bool { return methodsOf(o)[name] != nil }

func (m *evaluator) callMethod(o val, name string, a callArgs) (val, error) {
	return methodsOf(o)[name].applyTo(m, name, o, a)
}

func newDictTable() map[string]*builtin {
	viewOf := func(kind byte) *builtin {
		return &builtin{fn: func(_ *evaluator, c *call) (val, error) { return val{x: &dictView{c.in, kind}}, nil }}
	}
	return map[string]*builtin{
		"keys": viewOf('k'), "values": viewOf('v'), "items": viewOf('i'),
		"copy": {fn: func(_ *evaluator, c *call) (val, error) { return c.in, nil }},
		"get": {params: []string{"key", "default"}, need: 1, fn: func(_ *evaluator, c *call) (val, error) {
			v, ok, err := dictGet(c.in, c.args[0])
			if err == nil && !ok && c.hasArg(1) {
				return c.args[1], nil
			}
			return v, err
		}},
	}
}

func newListTable() map[string]*builtin {
	return map[string]*builtin{
		"index": {params: []string{"value"}, need: 1, fn: func(m *evaluator, c *call) (val, error) {
			first, _, err := m.findEqual(c)
			if err == nil && first < 0 {
				err = errorf(Other, "the value is not in the list")
			}
			return ofInt(first), err
		}},
		"count": {params: []string{"value"}, need: 1, fn: func(m *evaluator, c *call) (val, error) {
			_, n, err := m.findEqual(c)
			return ofInt(n), err
		}},
	}
}

// findEqual returns the first index of the first argument in the input, -1 for
// nowhere, and how often it occurs.
func (m *evaluator) findEqual(c *call) (first, count int, err error) {
	items, err := m.itemsOf(c.in)
	first = -1
	for i, x := range items {
		same, err := m.equalValues(x, c.args[0])
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
		return textTestMethod(func(s string) bool { return isEvery(s, ok) })
	}
	t := map[string]*builtin{
		"upper": textMethod(toUpper), "lower": textMethod(toLower), "title": textMethod(pyTitle), "capitalize": textMethod(capitalizeText),
		"strip": stripMethod(true, true), "lstrip": stripMethod(true, false), "rstrip": stripMethod(false, true),
		"startswith": affixMethod(strings.HasPrefix), "endswith": affixMethod(strings.HasSuffix),
		"removeprefix": cutAffixMethod(strings.TrimPrefix), "removesuffix": cutAffixMethod(strings.TrimSuffix),
		"find": findMethod(strings.Index, false), "rfind": findMethod(strings.LastIndex, false), "index": findMethod(strings.Index, true),
		"partition": partitionMethod(strings.Index, false), "rpartition": partitionMethod(strings.LastIndex, true),
		"split": splitMethod(false), "rsplit": splitMethod(true),
		"isupper": textTestMethod(func(s string) bool { return isCased(s, unicode.IsUpper) }),
		"islower": textTestMethod(func(s string) bool { return isCased(s, unicode.IsLower) }),
		"isspace": isIn(isSpace), "isalpha": isIn(unicode.IsLetter), "isdigit": isIn(isDigit),
		"isalnum": isIn(func(r rune) bool { return unicode.IsLetter(r) || unicode.IsNumber(r) }),
	}
	t["splitlines"] = &builtin{fn: func(m *evaluator, c *call) (val, error) { return m.listOfTexts(splitLines(c.inputText())) }}
	t["join"] = &builtin{params: []string{"iterable"}, need: 1, fn: func(m *evaluator, c *call) (val, error) {
		items, err := m.itemsOf(c.args[0])
		if err != nil {
			return none, err
		}
		s, err := m.joinTexts(c.inputText(), items, true)
		return ofStr(s), err
	}}
	t["replace"] = &builtin{params: []string{"old", "new", "count"}, need: 2, fn: replaceMethod}
	t["count"] = &builtin{params: []string{"sub"}, need: 1, fn: func(_ *evaluator, c *call) (val, error) {
		sub, err := c.stringArg(0, "")
		return ofInt(strings.Count(c.inputText(), sub)), err
	}}
	t["format"] = &builtin{rest: true, fn: func(m *evaluator, c *call) (val, error) {
		s, err := m.formatFields(c.inputText(), c.argv)
		return ofStr(s), err
	}}
	return t
}

func textMethod(f func(string) string) *builtin {
	return &builtin{fn: func(m *evaluator, c *call) (val, error) {
		s := c.inputText()
		if err := m.checkTextSize(len(s)); err != nil {
			return none, err
		}
		return ofStr(f(s)), nil
	}}
}

func textTestMethod(f func(string) bool) *builtin {
	return &builtin{fn: func(m *evaluator, c *call) (val, error) {
		s := c.inputText()
		return ofBool(f(s)), m.countSteps(len(s) >> 8)
	}}
}

// inputText is the text of the input.
func (c *call) inputText() string {
	s, _ := c.in.asString()
	return s
}

func stripMethod(left, right bool) *builtin {
	return &builtin{params: []string{"chars"}, fn: func(m *evaluator, c *call) (val, error) {
		s := c.inputText()
		cut := isSpace
		if c.hasArg(0) && !c.args[0].isNone() {
			chars, err := c.stringArg(0, "")
			if err != nil {
				return none, err
			}
			cut = func(r rune) bool { return strings.ContainsRune(chars, r) }
			if err := m.countSteps(len(s) * len(chars) >> 8); err != nil {
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

// affixMethod is startswith or endswith, of one string or a tuple of them.
func affixMethod(has func(s, part string) bool) *builtin {
	return &builtin{params: []string{"part"}, need: 1, fn: func(_ *evaluator, c *call) (val, error) {
		parts := []val{c.args[0]}
		if t, ok := c.args[0].x.(tuple); ok {
			parts = t
		}
		for _, p := range parts {
			text, ok := p.asString()
			if !ok {
				return none, errorf(Type, "needs a string or a tuple of strings, not '%s'", p.pyType())
			}
			if has(c.inputText(), text) {
				return ofBool(true), nil
			}
		}
		return ofBool(false), nil
	}}
}

func cutAffixMethod(cut func(s, part string) string) *builtin {
	return &builtin{params: []string{"part"}, need: 1, fn: func(_ *evaluator, c *call) (val, error) {
		part, err := c.stringArg(0, "")
		return ofStr(cut(c.inputText(), part)), err
	}}
}

// findMethod is find, rfind or index: positions count characters.
func findMethod(search func(s, sub string) int, must bool) *builtin {
	return &builtin{params: []string{"sub"}, need: 1, fn: func(m *evaluator, c *call) (val, error) {
		s := c.inputText()
		sub, err := c.stringArg(0, "")
		if err != nil {
			return none, err
		}
		i := search(s, sub)
		if i >= 0 {
			i = utf8.RuneCountInString(s[:i])
		} else if must {
			return none, errorf(Other, "substring not found")
		}
		return ofInt(i), m.countSteps(len(s) >> 8)
	}}
}

func partitionMethod(search func(s, sep string) int, last bool) *builtin {
	return &builtin{params: []string{"sep"}, need: 1, fn: func(_ *evaluator, c *call) (val, error) {
		s := c.inputText()
		sep, err := c.stringArg(0, "")
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

func replaceMethod(m *evaluator, c *call) (val, error) {
	old, err := c.stringArg(0, "")
	if err != nil {
		return none, err
	}
	with, err := c.stringArg(1, "")
	if err != nil {
		return none, err
	}
	count, err := c.intArg(2, -1)
	if err != nil {
		return none, err
	}
	s, err := m.replaceText(c.inputText(), old, with, count)
	return ofStr(s), err
}

// replaceText replaces old by new, count times, or everywhere when count < 0.
func (m *evaluator) replaceText(s, old, new string, count int) (string, error) {
	n := strings.Count(s, old)
	if count >= 0 {
		n = min(n, count)
	}
	if grow := len(new) - len(old); grow > 0 && n > maxBytes/grow {
		return "", m.checkTextSize(maxBytes + 1)
	} else if err := m.checkTextSize(len(s) + n*grow); err != nil {
		return "", err
	}
	return strings.Replace(s, old, new, count), nil
}

// joinTexts puts sep between the texts of the items; strict refuses what is not text.
func (m *evaluator) joinTexts(sep string, items []val, strict bool) (string, error) {
	parts, size := make([]string, len(items)), 0
	for i, x := range items {
		s, ok := x.asString()
		if !ok {
			if err := x.checkDefined(); err != nil {
				return "", err
			}
			if strict {
				return "", errorf(Type, "element %d is a '%s', not a string", i, x.pyType())
			}
			var err error
			if s, err = m.printedText(x); err != nil {
				return "", err
			}
		}
		parts[i] = s
		if size += len(s) + len(sep); size > maxBytes {
			return "", m.checkTextSize(size)
		}
	}
	return strings.Join(parts, sep), m.checkTextSize(size)
}

// splitMethod is split and rsplit.
func splitMethod(fromRight bool) *builtin {
	return &builtin{params: []string{"sep", "maxsplit"}, fn: func(m *evaluator, c *call) (val, error) {
		s := c.inputText()
		limit, err := c.intArg(1, -1)
		if err != nil {
			return none, err
		}
		if !c.hasArg(0) || c.args[0].isNone() {
			return m.listOfTexts(splitSpace(s, limit, fromRight))
		}
		sep, err := c.stringArg(0, "")
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
		return m.listOfTexts(parts)
	}}
}

func (m *evaluator) listOfTexts(parts []string) (val, error) {
	if err := m.checkListSize(len(parts)); err != nil {
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
