package prompt

import (
	"html"
	"net/url"
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"
)

var htmlEscaper = strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;", "'", "&#39;", `"`, "&#34;")

func escapeHTML(s string) string { return htmlEscaper.Replace(s) }

// escapeText is the text of a string as HTML, unless it is HTML already.
func escapeText(v val) string {
	s, _ := v.str()
	if _, ok := v.x.(markup); ok {
		return s
	}
	return escapeHTML(s)
}

// escapeArgs escapes the strings that % puts into markup.
func escapeArgs(v val) val {
	t, ok := v.x.(tuple)
	if !ok {
		return escapeArg(v)
	}
	out := make(tuple, len(t))
	for i, item := range t {
		out[i] = escapeArg(item)
	}
	return val{x: out}
}

func escapeArg(v val) val {
	if _, ok := v.str(); ok {
		return ofStr(escapeText(v))
	}
	return v
}

func textFilters() map[string]*builtin {
	t := map[string]*builtin{
		"trim":      {params: []string{"chars"}, fn: filterTrim},
		"replace":   {params: []string{"old", "new", "count"}, need: 2, fn: filterReplace},
		"indent":    {params: []string{"width", "first", "blank"}, fn: filterIndent},
		"truncate":  {params: []string{"length", "killwords", "end", "leeway"}, fn: filterTruncate},
		"wordwrap":  {params: []string{"width", "break_long_words", "wrapstring", "break_on_hyphens"}, fn: filterWordwrap},
		"wordcount": {fn: filterWordcount},
		"center":    {params: []string{"width"}, fn: filterCenter},
		"format":    {rest: true, fn: filterFormat},
		"urlencode": {fn: filterURLEncode},
		"xmlattr":   {params: []string{"autospace"}, fn: filterXMLAttr},
		"striptags": {fn: filterStripTags},
		"safe":      {fn: func(m *machine, c *call) (val, error) { s, err := m.text(c.in); return val{x: markup(s)}, err }},
		"escape":    {fn: filterEscape},
		"forceescape": {fn: func(m *machine, c *call) (val, error) {
			s, err := m.text(c.in)
			return val{x: markup(escapeHTML(s))}, err
		}},
	}
	for name, f := range map[string]func(string) string{
		"upper": upper, "lower": lower, "capitalize": capitalize, "title": titleWords,
	} {
		t[name] = &builtin{fn: func(m *machine, c *call) (val, error) {
			s, err := m.text(c.in)
			if err == nil {
				err = m.room(len(s))
			}
			return c.like(f(s)), err
		}}
	}
	return t
}

func filterEscape(m *machine, c *call) (val, error) {
	if _, ok := c.in.x.(markup); ok {
		return c.in, nil
	}
	s, err := m.text(c.in)
	if err == nil {
		err = m.room(6 * len(s))
	}
	return val{x: markup(escapeHTML(s))}, err
}

// titleWords is the title filter: unlike str.title, an apostrophe is no border
// of a word.
func titleWords(s string) string {
	start := true
	return strings.Map(func(r rune) rune {
		border := isSpace(r) || strings.ContainsRune("-({[<", r)
		defer func() { start = border }()
		if start {
			return unicode.ToUpper(r)
		}
		return unicode.ToLower(r)
	}, s)
}

func filterTrim(m *machine, c *call) (val, error) {
	if s, ok := c.in.str(); ok && !c.given(0) {
		return c.like(strings.TrimFunc(s, isSpace)), nil
	}
	s, err := m.text(c.in)
	if err != nil {
		return none, err
	}
	if !c.given(0) {
		return c.like(strings.TrimFunc(s, isSpace)), nil
	}
	return m.callMethod(c.like(s), "strip", argv{pos: c.args})
}

func filterReplace(m *machine, c *call) (val, error) {
	s, err := m.text(c.in)
	if err != nil {
		return none, err
	}
	old, err := m.text(c.args[0])
	if err != nil {
		return none, err
	}
	with, err := m.text(c.args[1])
	if err != nil {
		return none, err
	}
	count, err := c.int(2, -1)
	if err != nil {
		return none, err
	}
	if _, ok := c.in.x.(markup); ok {
		with = escapeText(c.args[1])
	}
	s, err = m.replace(s, old, with, count)
	return c.like(s), err
}

func filterIndent(m *machine, c *call) (val, error) {
	pad := "    "
	if s, ok := c.args[0].str(); ok {
		pad = s
	} else if c.given(0) {
		n, err := c.width(0)
		if err != nil {
			return none, err
		}
		pad = strings.Repeat(" ", max(n, 0))
	}
	first, err := c.bool(1, false)
	if err != nil {
		return none, err
	}
	blank, err := c.bool(2, false)
	if err != nil {
		return none, err
	}
	s, ok := c.in.str()
	if !ok {
		return none, errorf(Type, "indent needs a string, not a '%s'", c.in.pyType())
	}
	s += "\n" // as Jinja2 does, so that the last line counts
	lines := splitLines(s, false)
	if err := m.room(len(s) + len(lines)*len(pad)); err != nil {
		return none, err
	}
	var b strings.Builder
	for i, line := range lines {
		if i > 0 {
			b.WriteByte('\n')
		}
		if i == 0 && first || i > 0 && (blank || line != "") {
			b.WriteString(pad)
		}
		b.WriteString(line)
	}
	return c.like(b.String()), nil
}

func filterTruncate(m *machine, c *call) (val, error) {
	length, err := c.int(0, 255)
	if err != nil {
		return none, err
	}
	kill, err := c.bool(1, false)
	if err != nil {
		return none, err
	}
	end, err := c.str(2, "...")
	if err != nil {
		return none, err
	}
	leeway, err := c.int(3, 5)
	if err != nil {
		return none, err
	}
	tail := utf8.RuneCountInString(end)
	if length < tail || leeway < 0 {
		return none, errorf(Other, "truncate needs a length of at least %d and a leeway of at least 0", tail)
	}
	if n, err := m.length(c.in); err != nil || n <= length+leeway {
		return c.in, err
	}
	s, ok := c.in.str()
	if !ok {
		return none, errorf(Type, "truncate needs a string, not a '%s'", c.in.pyType())
	}
	runes := []rune(s)
	cut := string(runes[:length-tail])
	if i := strings.LastIndexByte(cut, ' '); !kill && i >= 0 {
		cut = cut[:i]
	}
	return c.like(cut + end), m.spend(len(runes) >> 8)
}

func filterCenter(m *machine, c *call) (val, error) {
	s, err := m.text(c.in)
	if err != nil {
		return none, err
	}
	width := c.args[0]
	if width.isAbsent() {
		width = ofInt(80)
	}
	return m.callMethod(c.like(s), "center", argv{pos: []val{width}})
}

func filterWordcount(m *machine, c *call) (val, error) {
	s, err := m.text(c.in)
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
	return ofInt(n), m.spend(len(s) >> 8)
}

func filterFormat(m *machine, c *call) (val, error) {
	s, err := m.text(c.in)
	if err != nil {
		return none, err
	}
	if len(c.argv.kw) > 0 && len(c.argv.pos) > 0 {
		return none, errorf(Type, "format takes arguments either by place or by name")
	}
	args := val{x: tuple(c.argv.pos)}
	if len(c.argv.kw) > 0 {
		d := newDict(len(c.argv.kw))
		for _, kw := range c.argv.kw {
			if err := d.set(ofStr(kw.name), kw.v); err != nil {
				return none, err
			}
		}
		args = val{x: d}
	}
	if _, ok := c.in.x.(markup); ok {
		args = escapeArgs(args)
	}
	s, err = m.percent(s, args)
	return c.like(s), err
}

func filterURLEncode(m *machine, c *call) (val, error) {
	quote := func(v val, keep string) (string, error) {
		s, err := m.text(v)
		if err != nil {
			return "", err
		}
		s = strings.ReplaceAll(url.QueryEscape(s), "+", "%20")
		s = strings.ReplaceAll(s, "%7E", "~")
		if keep == "/" {
			s = strings.ReplaceAll(s, "%2F", "/")
		}
		return s, m.room(len(s))
	}
	if _, ok := c.in.str(); ok || !isIterable(c.in) {
		s, err := quote(c.in, "/")
		return ofStr(s), err
	}
	in := c.in
	if in.isDict() {
		in = val{x: &view{of: in, kind: 'i'}}
	}
	items, err := m.items(in)
	if err != nil {
		return none, err
	}
	var parts []string
	for _, item := range items {
		pair, err := m.items(item)
		if err != nil {
			return none, err
		}
		if len(pair) != 2 {
			return none, errorf(Other, "urlencode needs pairs of key and value")
		}
		k, err := quote(pair[0], "")
		if err != nil {
			return none, err
		}
		v, err := quote(pair[1], "")
		if err != nil {
			return none, err
		}
		parts = append(parts, strings.ReplaceAll(k, "%20", "+")+"="+strings.ReplaceAll(v, "%20", "+"))
	}
	return ofStr(strings.Join(parts, "&")), nil
}

func filterXMLAttr(m *machine, c *call) (val, error) {
	if !c.in.isDict() {
		return none, errorf(Type, "xmlattr needs a dict, not a '%s'", c.in.pyType())
	}
	space, err := c.bool(0, true)
	if err != nil {
		return none, err
	}
	var b strings.Builder
	for i := range dictLen(c.in) {
		k, v := dictAt(c.in, i)
		if v.isNone() || v.undef() != nil {
			continue
		}
		key, err := m.text(k)
		if err != nil {
			return none, err
		}
		if strings.ContainsAny(key, " \t\n\r\f/>=") {
			return none, errorf(Other, "%s cannot be the name of an attribute", quoted(key))
		}
		s, err := m.text(v)
		if err != nil {
			return none, err
		}
		if b.Len() > 0 || space {
			b.WriteByte(' ')
		}
		b.WriteString(escapeHTML(key) + `="` + escapeHTML(s) + `"`)
	}
	return val{x: markup(b.String())}, m.room(b.Len())
}

var tagPattern = regexp.MustCompile(`(?s)<!--.*?-->|<[^>]*>`)

func filterStripTags(m *machine, c *call) (val, error) {
	s, err := m.text(c.in)
	if err != nil {
		return none, err
	}
	s = html.UnescapeString(strings.Join(strings.Fields(tagPattern.ReplaceAllString(s, "")), " "))
	return ofStr(s), m.room(len(s))
}
