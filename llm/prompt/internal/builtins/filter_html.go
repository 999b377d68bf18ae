package builtins

import (
	"html"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/callnode/scheduler/llm/prompt/internal/fault"
	"github.com/callnode/scheduler/llm/prompt/internal/pyvalue"
)

// htmlFilters are the filters that write or read HTML.
func htmlFilters() map[string]*Def {
	return map[string]*Def{
		"escape":      {fn: filterEscape},
		"forceescape": {fn: filterForceEscape},
		"safe":        {fn: filterSafe},
		"striptags":   {fn: filterStripTags},
		"xmlattr":     {params: []string{"autospace"}, fn: filterXMLAttr},
		"urlize":      {params: []string{"trim_url_limit", "nofollow", "target", "rel", "extra_schemes"}, fn: filterUrlize},
	}
}

func filterSafe(m *pyvalue.Run, c *call) (pyvalue.Val, error) {
	s, err := m.PrintedText(c.in)
	return pyvalue.OfPython(pyvalue.Markup(s)).WithOrigin(pyvalue.PrintedOrigin(c.in)), err
}

func filterEscape(m *pyvalue.Run, c *call) (pyvalue.Val, error) {
	if _, ok := c.in.Py().(pyvalue.Markup); ok {
		return c.in, nil
	}
	return filterForceEscape(m, c)
}

// maxEscape is how many bytes a character has that is written as HTML writes it.
const maxEscape = 6

// filterForceEscape escapes text even if it is escaped already.
func filterForceEscape(m *pyvalue.Run, c *call) (pyvalue.Val, error) {
	s, err := m.PrintedText(c.in)
	if err == nil {
		err = m.CheckTextSize(maxEscape * len(s))
	}
	if err != nil {
		return pyvalue.None, err
	}
	return pyvalue.OfPython(pyvalue.Markup(pyvalue.EscapeHTML(s))), nil
}

func filterStripTags(m *pyvalue.Run, c *call) (pyvalue.Val, error) {
	s, err := m.PrintedText(c.in)
	if err == nil {
		err = m.CheckTextSize(len(s))
	}
	if err != nil {
		return pyvalue.None, err
	}
	words := strings.FieldsFunc(cutTags(cutComments(s)), pyvalue.IsSpace)
	return pyvalue.OfStr(html.UnescapeString(strings.Join(words, " "))), nil
}

// cutComments drops the comments of HTML, up to one that is not closed. The remaining text may contain a comment
// again, as in <!<!-- -->-- -->.
func cutComments(s string) string {
	const open, inner, end = "<!--", "--", "-->"
	out := make([]byte, 0, len(s))
	for i := 0; i < len(s); {
		out = append(out, s[i])
		i++
		if !strings.HasSuffix(string(out[max(0, len(out)-len(open)):]), open) {
			continue
		}
		n := strings.Index(inner+s[i:i+min(len(s)-i, 1)], end) // <!--> is a whole comment
		if n < 0 {
			n = strings.Index(s[i:], end)
			if n >= 0 {
				n += len(inner)
			}
		}
		if n < 0 {
			return string(out) + s[i:]
		}
		out = out[:len(out)-len(open)]
		i += n + len(end) - len(inner)
	}
	return string(out)
}

// cutTags drops the tags of HTML, up to one that is not closed.
func cutTags(s string) string {
	var b strings.Builder
	for {
		start := strings.IndexByte(s, '<')
		if start < 0 {
			break
		}
		length := strings.IndexByte(s[start:], '>')
		if length < 0 {
			break
		}
		b.WriteString(s[:start])
		s = s[start+length+1:]
	}
	return b.String() + s
}

func filterXMLAttr(m *pyvalue.Run, c *call) (pyvalue.Val, error) {
	if !c.in.IsDict() {
		return pyvalue.None, fault.Errorf(fault.Type, "xmlattr needs a dict, not a '%s'", c.in.PyType())
	}
	space, err := c.boolArg(0, true)
	if err != nil {
		return pyvalue.None, err
	}
	var b strings.Builder
	for i := range pyvalue.DictLen(c.in) {
		k, v := pyvalue.DictAt(c.in, i)
		if v.IsNone() || v.AsUndefined() != nil {
			continue
		}
		key, isText := k.AsString()
		if !isText {
			return pyvalue.None, fault.Errorf(fault.Type, "the names of xmlattr must be strings, not '%s'", k.PyType())
		}
		if strings.ContainsAny(key, " \t\n\r\f\v/>=") {
			return pyvalue.None, fault.Errorf(fault.Other, "%s cannot be the name of an attribute", pyvalue.QuoteText(key))
		}
		text, err := escapedText(m, v)
		if err != nil {
			return pyvalue.None, err
		}
		if b.Len() > 0 || space {
			b.WriteByte(' ')
		}
		b.WriteString(pyvalue.EscapeHTML(key) + `="` + text + `"`)
		if err := m.CheckTextSize(b.Len()); err != nil {
			return pyvalue.None, err
		}
	}
	return pyvalue.OfStr(b.String()), nil
}

// escapedText returns the text of a value as HTML.
func escapedText(m *pyvalue.Run, v pyvalue.Val) (string, error) {
	s, err := m.PrintedText(v)
	if _, isEscaped := v.Py().(pyvalue.Markup); isEscaped || err != nil {
		return s, err
	}
	return pyvalue.EscapeHTML(s), m.CheckTextSize(maxEscape * len(s))
}

func filterUrlize(m *pyvalue.Run, c *call) (pyvalue.Val, error) {
	links, err := readLinkOptions(m, c)
	if err != nil {
		return pyvalue.None, err
	}
	text, err := escapedText(m, c.in)
	if err != nil {
		return pyvalue.None, err
	}
	if err := m.CountSteps(len(text) >> 4); err != nil {
		return pyvalue.None, err
	}
	var b strings.Builder
	for text != "" {
		end := strings.IndexFunc(text, pyvalue.IsSpace)
		if end < 0 {
			end = len(text)
		}
		links.writeWord(&b, text[:end])
		if err := m.CheckTextSize(b.Len()); err != nil {
			return pyvalue.None, err
		}
		rest := strings.TrimLeftFunc(text[end:], pyvalue.IsSpace)
		b.WriteString(text[end : len(text)-len(rest)])
		text = rest
	}
	return pyvalue.OfStr(b.String()), nil
}

// readLinkOptions reads the arguments of urlize.
func readLinkOptions(m *pyvalue.Run, c *call) (*linkWriter, error) {
	limit, err := c.intArg(0, -1)
	if err != nil {
		return nil, err
	}
	noFollow, err := c.boolArg(1, false)
	if err != nil {
		return nil, err
	}
	var texts [2]string // target and rel
	for i := range texts {
		if arg := 2 + i; c.hasArg(arg) && !c.args[arg].IsNone() {
			texts[i], err = c.stringArg(arg, "")
			if err != nil {
				return nil, err
			}
		}
	}
	rel := append(strings.Fields(texts[1]), "noopener")
	if noFollow {
		rel = append(rel, "nofollow")
	}
	slices.Sort(rel)
	w := &linkWriter{limit: limit, attributes: ` rel="` + pyvalue.EscapeHTML(strings.Join(slices.Compact(rel), " ")) + `"`}
	if texts[0] != "" {
		w.attributes += ` target="` + pyvalue.EscapeHTML(texts[0]) + `"`
	}
	if !c.hasArg(4) || c.args[4].IsNone() {
		return w, nil
	}
	schemes, err := m.ItemsOf(c.args[4])
	if err != nil {
		return nil, err
	}
	for _, v := range schemes {
		scheme, _ := v.AsString()
		if !schemePattern().MatchString(scheme) {
			return nil, fault.Errorf(fault.Other, "%s is not the prefix of a URI, such as ftp:// or tel:", pyvalue.QuoteText(scheme))
		}
		w.schemes = append(w.schemes, scheme)
	}
	return w, nil
}

// cutRunes returns the first n characters of a text.
func cutRunes(s string, n int) string {
	for i := range s {
		if n == 0 {
			return s[:i]
		}
		n--
	}
	return s
}

// trimLink returns the text that a link shows.
func (w *linkWriter) trimLink(link string) string {
	if w.limit < 0 || utf8.RuneCountInString(link) <= w.limit {
		return link
	}
	return cutRunes(link, w.limit) + "..."
}
