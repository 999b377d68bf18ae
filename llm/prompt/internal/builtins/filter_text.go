package builtins

import (
	"net/url"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/callnode/scheduler/llm/prompt/internal/fault"
	"github.com/callnode/scheduler/llm/prompt/internal/lettercase"
	"github.com/callnode/scheduler/llm/prompt/internal/pyvalue"
	"github.com/callnode/scheduler/llm/value"
)

func textFilters() map[string]*Def {
	t := map[string]*Def{
		"trim":      {params: []string{"chars"}, fn: filterTrim},
		"replace":   {params: []string{"old", "new", "count"}, need: 2, fn: filterReplace},
		"indent":    {params: []string{"width", "first", "blank"}, fn: filterIndent},
		"truncate":  {params: []string{"length", "killwords", "end", "leeway"}, fn: filterTruncate},
		"wordcount": {fn: filterWordcount},
		"wordwrap":  {params: []string{"width", "break_long_words", "wrapstring", "break_on_hyphens"}, fn: filterWordwrap},
		"center":    {params: []string{"width"}, fn: filterCenter},
		"pprint":    {fn: filterPprint},
		"format":    {rest: true, fn: formatFilter},
		"urlencode": {fn: filterURLEncode},
	}
	for name, f := range map[string]func(string) string{
		"upper": lettercase.Upper, "lower": lettercase.Lower, "capitalize": lettercase.Capitalize, "title": titleWords,
	} {
		t[name] = &Def{fn: func(m *pyvalue.Run, c *call) (pyvalue.Val, error) {
			s, err := m.TextOf(c.in)
			if err == nil {
				err = m.CheckTextSize(len(s))
			}
			return pyvalue.OfStr(f(s)), err
		}}
	}
	return t
}

// titleWords returns the title filter: unlike str.title, an apostrophe does not
// end a word.
func titleWords(s string) string {
	isBreak := func(r rune) bool { return pyvalue.IsSpace(r) || strings.ContainsRune("-({[<", r) }
	var b strings.Builder
	for s != "" {
		end := strings.IndexFunc(s, isBreak)
		if end < 0 {
			end = len(s)
		}
		word := s[:end]
		_, n := utf8.DecodeRuneInString(word)
		b.WriteString(lettercase.Upper(word[:n]) + lettercase.Lower(word[n:]))
		_, n = utf8.DecodeRuneInString(s[end:])
		b.WriteString(s[end : end+n])
		s = s[end+n:]
	}
	return b.String()
}

func filterTrim(m *pyvalue.Run, c *call) (pyvalue.Val, error) {
	in, err := m.AsText(c.in)
	if err != nil {
		return pyvalue.None, err
	}
	return stripText(m, in, c, true, true)
}

func filterReplace(m *pyvalue.Run, c *call) (pyvalue.Val, error) {
	s, err := m.TextOf(c.in)
	if err != nil {
		return pyvalue.None, err
	}
	old, err := m.TextOf(c.args[0])
	if err != nil {
		return pyvalue.None, err
	}
	with, err := m.TextOf(c.args[1])
	if err != nil {
		return pyvalue.None, err
	}
	count, err := c.intArg(2, -1)
	if err != nil {
		return pyvalue.None, err
	}
	s, err = replaceText(m, s, old, with, count)
	return pyvalue.OfStr(s), err
}

func filterIndent(m *pyvalue.Run, c *call) (pyvalue.Val, error) {
	pad := "    "
	if s, ok := c.args[0].AsString(); ok {
		pad = s
	} else if c.hasArg(0) {
		n, err := c.widthArg(0, 0)
		if err != nil {
			return pyvalue.None, err
		}
		pad = strings.Repeat(" ", max(n, 0))
	}
	first, err := c.boolArg(1, false)
	if err != nil {
		return pyvalue.None, err
	}
	blank, err := c.boolArg(2, false)
	if err != nil {
		return pyvalue.None, err
	}
	s, ok := c.in.AsString()
	if !ok {
		return pyvalue.None, fault.Errorf(fault.Type, "indent needs a string, not a '%s'", c.in.PyType())
	}
	s += "\n" // as Jinja2 does, so that the last line counts
	lines := splitLines(s)
	if err := m.CheckTextSize(len(s) + len(lines)*len(pad)); err != nil {
		return pyvalue.None, err
	}
	items := make([]pyvalue.Val, len(lines))
	for i, line := range lines {
		indented := blank || line.from < line.to
		if i == 0 {
			indented = first
		}
		items[i] = c.in.SubText(line.from, s[line.from:line.to])
		if indented {
			items[i], err = m.AddValues(pyvalue.OfStr(pad), items[i])
			if err != nil {
				return pyvalue.None, err
			}
		}
	}
	return joinTexts(m, pyvalue.OfStr("\n"), items, true)
}

func filterTruncate(m *pyvalue.Run, c *call) (pyvalue.Val, error) {
	length, err := c.intArg(0, 255)
	if err != nil {
		return pyvalue.None, err
	}
	kill, err := c.boolArg(1, false)
	if err != nil {
		return pyvalue.None, err
	}
	end, err := c.stringArg(2, "...")
	if err != nil {
		return pyvalue.None, err
	}
	leeway, err := c.intArg(3, 5)
	if err != nil {
		return pyvalue.None, err
	}
	tail := utf8.RuneCountInString(end)
	if length < tail || leeway < 0 {
		return pyvalue.None, fault.Errorf(fault.Other, "truncate needs a length of at least %d and a leeway of at least 0", tail)
	}
	if n, err := m.LengthOf(c.in); err != nil || n <= length+leeway {
		return c.in, err
	}
	s, ok := c.in.AsString()
	if !ok {
		return pyvalue.None, fault.Errorf(fault.Type, "truncate needs a string, not a '%s'", c.in.PyType())
	}
	runes := []rune(s)
	cut := string(runes[:length-tail])
	if i := strings.LastIndexByte(cut, ' '); !kill && i >= 0 {
		cut = cut[:i]
	}
	if err := m.CountSteps(len(runes) >> 8); err != nil {
		return pyvalue.None, err
	}
	return m.AddValues(c.in.SubText(0, cut), pyvalue.Val{V: value.OfString(end)}.WithOrigin(c.args[2].Origin()))
}

func filterWordcount(m *pyvalue.Run, c *call) (pyvalue.Val, error) {
	s, err := m.TextOf(c.in)
	if err != nil {
		return pyvalue.None, err
	}
	n, in := 0, false
	for _, r := range s {
		word := r == '_' || unicode.IsLetter(r) || unicode.IsNumber(r)
		if word && !in {
			n++
		}
		in = word
	}
	return pyvalue.OfInt(n), m.CountSteps(len(s) >> 8)
}

func formatFilter(m *pyvalue.Run, c *call) (pyvalue.Val, error) {
	s, err := m.TextOf(c.in)
	if err != nil {
		return pyvalue.None, err
	}
	if len(c.argv.Kw) > 0 && len(c.argv.Pos) > 0 {
		return pyvalue.None, fault.Errorf(fault.Type, "format takes arguments either by place or by name")
	}
	args := pyvalue.OfPython(pyvalue.Tuple(c.argv.Pos))
	if len(c.argv.Kw) > 0 {
		d, err := newDictFrom(m, "format", pyvalue.CallArgs{Kw: c.argv.Kw})
		if err != nil {
			return pyvalue.None, err
		}
		args = pyvalue.OfPython(d)
	}
	s, err = m.FormatPercent(s, args)
	return pyvalue.OfStr(s), err
}

// filterURLEncode encodes a text for a path, for example a%20b, and a map or a list of pairs for a query, for example q=a+b&n=1.
func filterURLEncode(m *pyvalue.Run, c *call) (pyvalue.Val, error) {
	if !c.in.IsDict() && !pyvalue.IsSequence(c.in) {
		s, err := m.TextOf(c.in)
		if err != nil {
			return pyvalue.None, err
		}
		s = strings.NewReplacer("+", "%20", "%7E", "~", "%2F", "/").Replace(url.QueryEscape(s))
		return pyvalue.OfStr(s), m.CheckTextSize(len(s))
	}
	pairs, err := urlPairs(m, c.in)
	if err != nil {
		return pyvalue.None, err
	}
	var b strings.Builder
	for i, pair := range pairs {
		if i > 0 {
			b.WriteByte('&')
		}
		for j, part := range pair {
			if j > 0 {
				b.WriteByte('=')
			}
			text, err := m.TextOf(part)
			if err != nil {
				return pyvalue.None, err
			}
			b.WriteString(strings.ReplaceAll(url.QueryEscape(text), "%7E", "~"))
			if err := m.CheckTextSize(b.Len()); err != nil {
				return pyvalue.None, err
			}
		}
	}
	return pyvalue.OfStr(b.String()), nil
}

// urlPairs returns the keys and values of a map, or the items of a list, which must be pairs.
func urlPairs(m *pyvalue.Run, v pyvalue.Val) (pairs [][]pyvalue.Val, err error) {
	items, err := m.ItemsOf(v)
	if v.IsDict() {
		items, err = m.ViewItems(&pyvalue.DictView{Of: v, Kind: 'i'})
	}
	if err != nil {
		return nil, err
	}
	for _, item := range items {
		pair, err := m.ItemsOf(item)
		if err != nil || len(pair) != 2 {
			e := fault.Errorf(fault.Type, "urlencode needs a text, a map or a list of pairs; an item of the list is a '%s'", item.PyType())
			e.Hint = "give a map, or pairs such as ['q', 'tea']"
			return nil, e
		}
		pairs = append(pairs, pair)
	}
	return pairs, nil
}
