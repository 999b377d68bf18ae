package prompt

import (
	"net/url"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/callnode/scheduler/llm/prompt/internal/fault"
	"github.com/callnode/scheduler/llm/prompt/internal/lettercase"
	"github.com/callnode/scheduler/llm/value"
)

var htmlEscaper = strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;", "'", "&#39;", `"`, "&#34;")

func escapeHTML(s string) string { return htmlEscaper.Replace(s) }

func textFilters() map[string]*builtin {
	t := map[string]*builtin{
		"trim":      {params: []string{"chars"}, fn: filterTrim},
		"replace":   {params: []string{"old", "new", "count"}, need: 2, fn: filterReplace},
		"indent":    {params: []string{"width", "first", "blank"}, fn: filterIndent},
		"truncate":  {params: []string{"length", "killwords", "end", "leeway"}, fn: filterTruncate},
		"wordcount": {fn: filterWordcount},
		"format":    {rest: true, fn: formatFilter},
		"urlencode": {fn: filterURLEncode},
		"safe": {fn: func(m *run, c *call) (val, error) {
			s, err := m.printedText(c.in)
			return ofPython(markup(s)).withOrigin(printedOrigin(c.in)), err
		}},
		"escape": {fn: filterEscape},
	}
	for name, f := range map[string]func(string) string{
		"upper": lettercase.Upper, "lower": lettercase.Lower, "capitalize": lettercase.Capitalize, "title": titleWords,
	} {
		t[name] = &builtin{fn: func(m *run, c *call) (val, error) {
			s, err := m.textOf(c.in)
			if err == nil {
				err = m.checkTextSize(len(s))
			}
			return ofStr(f(s)), err
		}}
	}
	return t
}

func filterEscape(m *run, c *call) (val, error) {
	if _, ok := c.in.py().(markup); ok {
		return c.in, nil
	}
	s, err := m.textOf(c.in)
	if err == nil {
		err = m.checkTextSize(6 * len(s))
	}
	return ofPython(markup(escapeHTML(s))), err
}

// titleWords returns the title filter: unlike str.title, an apostrophe does not
// end a word.
func titleWords(s string) string {
	var b strings.Builder
	start := true
	for _, r := range s {
		if start {
			b.WriteString(lettercase.Upper(string(r)))
		} else {
			b.WriteString(lettercase.Lower(string(r)))
		}
		start = isSpace(r) || strings.ContainsRune("-({[<", r)
	}
	return b.String()
}

func filterTrim(m *run, c *call) (val, error) {
	in, err := m.asText(c.in)
	if err != nil {
		return none, err
	}
	return stripText(m, in, c, true, true)
}

func filterReplace(m *run, c *call) (val, error) {
	s, err := m.textOf(c.in)
	if err != nil {
		return none, err
	}
	old, err := m.textOf(c.args[0])
	if err != nil {
		return none, err
	}
	with, err := m.textOf(c.args[1])
	if err != nil {
		return none, err
	}
	count, err := c.intArg(2, -1)
	if err != nil {
		return none, err
	}
	s, err = replaceText(m, s, old, with, count)
	return ofStr(s), err
}

func filterIndent(m *run, c *call) (val, error) {
	pad := "    "
	if s, ok := c.args[0].asString(); ok {
		pad = s
	} else if c.hasArg(0) {
		n, err := c.widthArg(0)
		if err != nil {
			return none, err
		}
		pad = strings.Repeat(" ", max(n, 0))
	}
	first, err := c.boolArg(1, false)
	if err != nil {
		return none, err
	}
	blank, err := c.boolArg(2, false)
	if err != nil {
		return none, err
	}
	s, ok := c.in.asString()
	if !ok {
		return none, fault.Errorf(fault.Type, "indent needs a string, not a '%s'", c.in.pyType())
	}
	s += "\n" // as Jinja2 does, so that the last line counts
	lines := splitLines(s)
	if err := m.checkTextSize(len(s) + len(lines)*len(pad)); err != nil {
		return none, err
	}
	items := make([]val, len(lines))
	for i, line := range lines {
		indented := blank || line.from < line.to
		if i == 0 {
			indented = first
		}
		items[i] = c.in.subText(line.from, s[line.from:line.to])
		if indented {
			items[i], err = m.addValues(ofStr(pad), items[i])
			if err != nil {
				return none, err
			}
		}
	}
	return joinTexts(m, ofStr("\n"), items, true)
}

func filterTruncate(m *run, c *call) (val, error) {
	length, err := c.intArg(0, 255)
	if err != nil {
		return none, err
	}
	kill, err := c.boolArg(1, false)
	if err != nil {
		return none, err
	}
	end, err := c.stringArg(2, "...")
	if err != nil {
		return none, err
	}
	leeway, err := c.intArg(3, 5)
	if err != nil {
		return none, err
	}
	tail := utf8.RuneCountInString(end)
	if length < tail || leeway < 0 {
		return none, fault.Errorf(fault.Other, "truncate needs a length of at least %d and a leeway of at least 0", tail)
	}
	if n, err := m.lengthOf(c.in); err != nil || n <= length+leeway {
		return c.in, err
	}
	s, ok := c.in.asString()
	if !ok {
		return none, fault.Errorf(fault.Type, "truncate needs a string, not a '%s'", c.in.pyType())
	}
	runes := []rune(s)
	cut := string(runes[:length-tail])
	if i := strings.LastIndexByte(cut, ' '); !kill && i >= 0 {
		cut = cut[:i]
	}
	if err := m.countSteps(len(runes) >> 8); err != nil {
		return none, err
	}
	return m.addValues(c.in.subText(0, cut), val{v: value.OfString(end)}.withOrigin(c.args[2].origin()))
}

func filterWordcount(m *run, c *call) (val, error) {
	s, err := m.textOf(c.in)
	if err != nil {
		return none, err
	}
	n, in := 0, false
	for _, r := range s {
		word := r == '_' || unicode.IsLetter(r) || unicode.IsNumber(r)
		if word && !in {
			n++
		}
		in = word
	}
	return ofInt(n), m.countSteps(len(s) >> 8)
}

func formatFilter(m *run, c *call) (val, error) {
	s, err := m.textOf(c.in)
	if err != nil {
		return none, err
	}
	if len(c.argv.kw) > 0 && len(c.argv.pos) > 0 {
		return none, fault.Errorf(fault.Type, "format takes arguments either by place or by name")
	}
	args := ofPython(tuple(c.argv.pos))
	if len(c.argv.kw) > 0 {
		d, err := newDictFrom(m, "format", callArgs{kw: c.argv.kw})
		if err != nil {
			return none, err
		}
		args = ofPython(d)
	}
	s, err = m.formatPercent(s, args)
	return ofStr(s), err
}

func filterURLEncode(m *run, c *call) (val, error) {
	if c.in.isDict() || isSequence(c.in) {
		e := fault.Errorf(fault.Type, "urlencode needs a text, not a '%s'", c.in.pyType())
		e.Hint = "encode each part: key ~ '=' ~ (value | urlencode)"
		return none, e
	}
	s, err := m.textOf(c.in)
	if err != nil {
		return none, err
	}
	s = strings.NewReplacer("+", "%20", "%7E", "~", "%2F", "/").Replace(url.QueryEscape(s))
	return ofStr(s), m.checkTextSize(len(s))
}
