package builtins

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/callnode/scheduler/llm/prompt/internal/fault"
	"github.com/callnode/scheduler/llm/prompt/internal/lettercase"
	"github.com/callnode/scheduler/llm/prompt/internal/pyvalue"
	"github.com/callnode/scheduler/llm/prompt/internal/trace"
)

// The methods by their names.
var (
	strMethods  = newStrTable()
	listMethods = newListTable()
	dictMethods = newDictTable()
)

// methodsOf returns the methods of a value: the methods of Python's str, list, tuple and dict that prompts use and
// that change nothing.
func methodsOf(o pyvalue.Val) map[string]*Def {
	if o.IsDict() {
		return dictMethods
	}
	if pyvalue.IsSequence(o) {
		return listMethods
	}
	if _, ok := o.AsString(); ok {
		return strMethods
	}
	return nil
}

// HasMethod reports whether a value has a method of that name.
func HasMethod(o pyvalue.Val, name string) bool { return methodsOf(o)[name] != nil }

// CallMethod calls a method that [HasMethod] has found.
func CallMethod(m *pyvalue.Run, o pyvalue.Val, name string, a pyvalue.CallArgs) (pyvalue.Val, error) {
	return methodsOf(o)[name].ApplyTo(m, name, o, a)
}

func newDictTable() map[string]*Def {
	viewOf := func(kind byte) *Def {
		return &Def{fn: func(_ *pyvalue.Run, c *call) (pyvalue.Val, error) {
			return pyvalue.OfPython(&pyvalue.DictView{Of: c.in, Kind: kind}), nil
		}}
	}
	return map[string]*Def{
		"keys": viewOf('k'), "values": viewOf('v'), "items": viewOf('i'),
		"copy": {fn: func(_ *pyvalue.Run, c *call) (pyvalue.Val, error) { return c.in, nil }},
		"get": {params: []string{"key", "default"}, need: 1, fn: func(_ *pyvalue.Run, c *call) (pyvalue.Val, error) {
			v, ok, err := pyvalue.DictGet(c.in, c.args[0])
			if err == nil && !ok && c.hasArg(1) {
				return c.args[1], nil
			}
			return v, err
		}},
	}
}

func newListTable() map[string]*Def {
	return map[string]*Def{
		"index": {params: []string{"value"}, need: 1, fn: func(m *pyvalue.Run, c *call) (pyvalue.Val, error) {
			first, _, err := findEqual(m, c)
			if err == nil && first < 0 {
				err = fault.Errorf(fault.Other, "the value is not in the list")
			}
			return pyvalue.OfInt(first), err
		}},
		"count": {params: []string{"value"}, need: 1, fn: func(m *pyvalue.Run, c *call) (pyvalue.Val, error) {
			_, n, err := findEqual(m, c)
			return pyvalue.OfInt(n), err
		}},
	}
}

// findEqual returns the first index of the first argument in the input, -1 for
// nowhere, and how often it occurs.
func findEqual(m *pyvalue.Run, c *call) (first, count int, err error) {
	items, err := m.ItemsOf(c.in)
	first = -1
	for i, x := range items {
		same, err := m.EqualValues(x, c.args[0])
		if err != nil {
			return 0, 0, err
		}
		if !same {
			continue
		}
		count++
		if first < 0 {
			first = i
		}
	}
	return first, count, err
}

func newStrTable() map[string]*Def {
	isIn := func(ok func(rune) bool) *Def {
		return textTestMethod(func(s string) bool { return lettercase.IsEvery(s, ok) })
	}
	t := map[string]*Def{
		"upper": textMethod(lettercase.Upper), "lower": textMethod(lettercase.Lower), "title": textMethod(lettercase.Title), "capitalize": textMethod(lettercase.Capitalize),
		"strip": stripMethod(true, true), "lstrip": stripMethod(true, false), "rstrip": stripMethod(false, true),
		"startswith": affixMethod(strings.HasPrefix), "endswith": affixMethod(strings.HasSuffix),
		"removeprefix": {params: []string{"part"}, need: 1, fn: cutPrefix}, "removesuffix": {params: []string{"part"}, need: 1, fn: cutSuffix},
		"find": findMethod(strings.Index, false), "rfind": findMethod(strings.LastIndex, false), "index": findMethod(strings.Index, true),
		"partition": partitionMethod(strings.Index, false), "rpartition": partitionMethod(strings.LastIndex, true),
		"split": splitMethod(false), "rsplit": splitMethod(true),
		"isupper": textTestMethod(func(s string) bool { return lettercase.IsCased(s, lettercase.IsUpper) }),
		"islower": textTestMethod(func(s string) bool { return lettercase.IsCased(s, lettercase.IsLower) }),
		"isspace": isIn(pyvalue.IsSpace), "isalpha": isIn(unicode.IsLetter), "isdigit": isIn(lettercase.IsDigit),
		"isalnum": isIn(func(r rune) bool { return unicode.IsLetter(r) || unicode.IsNumber(r) }),
	}
	t["splitlines"] = &Def{fn: func(m *pyvalue.Run, c *call) (pyvalue.Val, error) {
		return listOfTexts(m, c.in, splitLines(c.inputText()))
	}}
	t["join"] = &Def{params: []string{"iterable"}, need: 1, fn: func(m *pyvalue.Run, c *call) (pyvalue.Val, error) {
		items, err := m.ItemsOf(c.args[0])
		if err != nil {
			return pyvalue.None, err
		}
		return joinTexts(m, c.in, items, true)
	}}
	t["replace"] = &Def{params: []string{"old", "new", "count"}, need: 2, fn: replaceMethod}
	t["count"] = &Def{params: []string{"sub"}, need: 1, fn: func(_ *pyvalue.Run, c *call) (pyvalue.Val, error) {
		sub, err := c.stringArg(0, "")
		return pyvalue.OfInt(strings.Count(c.inputText(), sub)), err
	}}
	t["format"] = &Def{rest: true, fn: func(m *pyvalue.Run, c *call) (pyvalue.Val, error) {
		s, err := m.FormatFields(c.inputText(), c.argv)
		return pyvalue.OfStr(s), err
	}}
	return t
}

func textMethod(f func(string) string) *Def {
	return &Def{fn: func(m *pyvalue.Run, c *call) (pyvalue.Val, error) {
		s := c.inputText()
		if err := m.CheckTextSize(len(s)); err != nil {
			return pyvalue.None, err
		}
		return pyvalue.OfStr(f(s)), nil
	}}
}

func textTestMethod(f func(string) bool) *Def {
	return &Def{fn: func(m *pyvalue.Run, c *call) (pyvalue.Val, error) {
		s := c.inputText()
		return pyvalue.OfBool(f(s)), m.CountSteps(len(s) >> 8)
	}}
}

func stripMethod(left, right bool) *Def {
	return &Def{params: []string{"chars"}, fn: func(m *pyvalue.Run, c *call) (pyvalue.Val, error) {
		return stripText(m, c.in, c, left, right)
	}}
}

// stripText returns a text without the characters at its ends that are in the first argument of c, or without
// white space there if c has no argument or none.
func stripText(m *pyvalue.Run, in pyvalue.Val, c *call, left, right bool) (pyvalue.Val, error) {
	s, _ := in.AsString()
	trimLeft, trimRight := pyvalue.TrimLeftSpace, pyvalue.TrimRightSpace
	if c.hasArg(0) && !c.args[0].IsNone() {
		chars, err := c.stringArg(0, "")
		if err != nil {
			return pyvalue.None, err
		}
		cut := func(r rune) bool { return strings.ContainsRune(chars, r) }
		trimLeft = func(s string) string { return strings.TrimLeftFunc(s, cut) }
		trimRight = func(s string) string { return strings.TrimRightFunc(s, cut) }
		if err := m.CountSteps(len(s) * len(chars) >> 8); err != nil {
			return pyvalue.None, err
		}
	}
	offset := 0
	if left {
		offset = len(s) - len(trimLeft(s))
	}
	s = s[offset:]
	if right {
		s = trimRight(s)
	}
	return in.SubText(offset, s), nil
}

// affixMethod is startswith or endswith, of one string or a tuple of them.
func affixMethod(has func(s, part string) bool) *Def {
	return &Def{params: []string{"part"}, need: 1, fn: func(_ *pyvalue.Run, c *call) (pyvalue.Val, error) {
		parts := []pyvalue.Val{c.args[0]}
		if t, ok := c.args[0].Py().(pyvalue.Tuple); ok {
			parts = t
		}
		for _, p := range parts {
			text, ok := p.AsString()
			if !ok {
				return pyvalue.None, fault.Errorf(fault.Type, "needs a string or a tuple of strings, not '%s'", p.PyType())
			}
			if has(c.inputText(), text) {
				return pyvalue.OfBool(true), nil
			}
		}
		return pyvalue.OfBool(false), nil
	}}
}

func cutPrefix(_ *pyvalue.Run, c *call) (pyvalue.Val, error) {
	part, err := c.stringArg(0, "")
	s := c.inputText()
	rest := strings.TrimPrefix(s, part)
	return c.in.SubText(len(s)-len(rest), rest), err
}

func cutSuffix(_ *pyvalue.Run, c *call) (pyvalue.Val, error) {
	part, err := c.stringArg(0, "")
	return c.in.SubText(0, strings.TrimSuffix(c.inputText(), part)), err
}

// findMethod is find, rfind or index: positions count characters.
func findMethod(search func(s, sub string) int, must bool) *Def {
	return &Def{params: []string{"sub"}, need: 1, fn: func(m *pyvalue.Run, c *call) (pyvalue.Val, error) {
		s := c.inputText()
		sub, err := c.stringArg(0, "")
		if err != nil {
			return pyvalue.None, err
		}
		i := search(s, sub)
		if i >= 0 {
			i = utf8.RuneCountInString(s[:i])
		} else if must {
			return pyvalue.None, fault.Errorf(fault.Other, "substring not found")
		}
		return pyvalue.OfInt(i), m.CountSteps(len(s) >> 8)
	}}
}

func partitionMethod(search func(s, sep string) int, last bool) *Def {
	return &Def{params: []string{"sep"}, need: 1, fn: func(_ *pyvalue.Run, c *call) (pyvalue.Val, error) {
		s := c.inputText()
		sep, err := c.stringArg(0, "")
		if err != nil {
			return pyvalue.None, err
		}
		if sep == "" {
			return pyvalue.None, fault.Errorf(fault.Other, "empty separator")
		}
		from, to := len(s), len(s) // the separator
		if i := search(s, sep); i >= 0 {
			from, to = i, i+len(sep)
		} else if last {
			from, to = 0, 0
		}
		in := c.in
		return pyvalue.OfPython(pyvalue.Tuple{in.SubText(0, s[:from]), in.SubText(from, s[from:to]), in.SubText(to, s[to:])}), nil
	}}
}

func replaceMethod(m *pyvalue.Run, c *call) (pyvalue.Val, error) {
	old, err := c.stringArg(0, "")
	if err != nil {
		return pyvalue.None, err
	}
	with, err := c.stringArg(1, "")
	if err != nil {
		return pyvalue.None, err
	}
	count, err := c.intArg(2, -1)
	if err != nil {
		return pyvalue.None, err
	}
	s, err := replaceText(m, c.inputText(), old, with, count)
	return pyvalue.OfStr(s), err
}

// replaceText replaces old by new, count times, or everywhere when count < 0.
func replaceText(m *pyvalue.Run, s, old, new string, count int) (string, error) {
	n := strings.Count(s, old)
	if count >= 0 {
		n = min(n, count)
	}
	if grow := len(new) - len(old); grow > 0 && n > fault.MaxBytes/grow {
		return "", m.CheckTextSize(fault.MaxBytes + 1)
	} else if err := m.CheckTextSize(len(s) + n*grow); err != nil {
		return "", err
	}
	return strings.Replace(s, old, new, count), nil
}

// joinTexts puts sep between the texts of the items; strict refuses other values than text.
func joinTexts(m *pyvalue.Run, sep pyvalue.Val, items []pyvalue.Val, strict bool) (pyvalue.Val, error) {
	between, _ := sep.AsString()
	texts, size := make([]string, len(items)), 0
	var parts []trace.Part
	for i, x := range items {
		if err := x.CheckRead(); err != nil {
			return pyvalue.None, err
		}
		s, ok := x.AsString()
		if strict && !ok {
			return pyvalue.None, fault.Errorf(fault.Type, "element %d is a '%s', not a string", i, x.PyType())
		}
		if !ok {
			var err error
			s, err = m.PrintedText(x)
			if err != nil {
				return pyvalue.None, err
			}
		}
		texts[i] = s
		size += len(s) + len(between)
		if size > fault.MaxBytes {
			return pyvalue.None, m.CheckTextSize(size)
		}
		if m.Trace {
			if i > 0 {
				parts = trace.AppendParts(parts, sep.Origin().DecidedBy(trace.DecidersOf(x.Origin())), len(between))
			}
			parts = trace.AppendParts(parts, pyvalue.PrintedOrigin(x), len(s))
		}
	}
	return m.JoinedText(strings.Join(texts, between), parts), m.CheckTextSize(size)
}

// splitMethod is split or rsplit.
func splitMethod(fromRight bool) *Def {
	return &Def{params: []string{"sep", "maxsplit"}, fn: func(m *pyvalue.Run, c *call) (pyvalue.Val, error) {
		limit, err := c.intArg(1, -1)
		if err != nil {
			return pyvalue.None, err
		}
		sep := ""
		if c.hasArg(0) && !c.args[0].IsNone() {
			sep, err = c.stringArg(0, "")
			if err != nil {
				return pyvalue.None, err
			}
			if sep == "" {
				return pyvalue.None, fault.Errorf(fault.Other, "empty separator")
			}
		}
		return listOfTexts(m, c.in, splitText(c.inputText(), sep, limit, fromRight))
	}}
}

// byteRange is a part of a text.
type byteRange struct{ from, to int }

// listOfTexts returns the parts of a text as a list.
func listOfTexts(m *pyvalue.Run, in pyvalue.Val, parts []byteRange) (pyvalue.Val, error) {
	if err := m.CheckListSize(len(parts)); err != nil {
		return pyvalue.None, err
	}
	s, _ := in.AsString()
	items := make([]pyvalue.Val, len(parts))
	for i, p := range parts {
		items[i] = m.ItemOfText(in, p.from, s[p.from:p.to])
	}
	return pyvalue.OfList(items), nil
}

// splitText splits at a separator, or at runs of white space when it is "", at most limit times unless that is
// negative. White space around the text counts only if the limit leaves a rest.
func splitText(s, sep string, limit int, fromRight bool) []byteRange {
	rest := byteRange{0, len(s)}
	var gaps []byteRange
	if sep != "" {
		gaps = findAll(s, sep, fromRight)
		limit = min(limit, len(gaps))
	} else {
		rest = byteRange{len(s) - len(strings.TrimLeftFunc(s, pyvalue.IsSpace)), len(strings.TrimRightFunc(s, pyvalue.IsSpace))}
		if rest.from >= rest.to {
			return nil
		}
		gaps = findSpace(s, rest)
		if isLimited := limit >= 0 && limit <= len(gaps); isLimited && fromRight {
			rest.from = 0
		} else if isLimited {
			rest.to = len(s)
		}
		limit = min(limit, len(gaps))
	}
	if limit >= 0 && fromRight {
		gaps = gaps[len(gaps)-limit:]
	} else if limit >= 0 {
		gaps = gaps[:limit]
	}
	var parts []byteRange
	for _, gap := range gaps {
		parts = append(parts, byteRange{rest.from, gap.from})
		rest.from = gap.to
	}
	return append(parts, rest)
}

// findAll returns the occurrences of sep in s, searching from one end.
func findAll(s, sep string, fromRight bool) (found []byteRange) {
	if !fromRight {
		for at := 0; ; {
			i := strings.Index(s[at:], sep)
			if i < 0 {
				return found
			}
			found = append(found, byteRange{at + i, at + i + len(sep)})
			at += i + len(sep)
		}
	}
	for i := strings.LastIndex(s, sep); i >= 0; i = strings.LastIndex(s[:i], sep) {
		found = append(found, byteRange{i, i + len(sep)})
	}
	slices.Reverse(found)
	return found
}

// findSpace returns the runs of white space in a part of s that begins and ends
// without it.
func findSpace(s string, in byteRange) (runs []byteRange) {
	for at := in.from; at < in.to; {
		i := strings.IndexFunc(s[at:in.to], pyvalue.IsSpace)
		if i < 0 {
			break
		}
		run := byteRange{from: at + i}
		run.to = in.to - len(strings.TrimLeftFunc(s[run.from:in.to], pyvalue.IsSpace))
		runs = append(runs, run)
		at = run.to
	}
	return runs
}

// splitLines splits at Python's line ends.
func splitLines(s string) []byteRange {
	var lines []byteRange
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
		lines = append(lines, byteRange{start, i})
		i += w
		start = i
	}
	if start < len(s) {
		lines = append(lines, byteRange{start, len(s)})
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
