package builtins

import (
	"strings"
	"unicode/utf8"

	"github.com/callnode/scheduler/llm/prompt/internal/fault"
	"github.com/callnode/scheduler/llm/prompt/internal/pyvalue"
)

// filterPprint is Python's pprint.pformat: a value wider than 80 columns has one item per line, and keys are
// sorted.
func filterPprint(m *pyvalue.Run, c *call) (pyvalue.Val, error) {
	p := prettyPrinter{m: m}
	err := p.addValue(c.in, 0, 0, 0)
	return pyvalue.OfStr(p.b.String()), err
}

// pprintWidth is how many columns a line has.
const pprintWidth = 80

type prettyPrinter struct {
	m *pyvalue.Run
	b strings.Builder
}

func (p *prettyPrinter) add(s string) error {
	p.b.WriteString(s)
	return p.m.CheckTextSize(p.b.Len())
}

// addValue writes a value that begins at a column, with so many characters after it on its last
// line; level is how many values are around it.
func (p *prettyPrinter) addValue(v pyvalue.Val, indent, after, level int) error {
	if level > fault.MaxValue {
		return fault.Errorf(fault.Limit, "a value nested deeper than %d", fault.MaxValue)
	}
	repr, err := p.m.SortedRepr(v)
	if err != nil {
		return err
	}
	if utf8.RuneCountInString(repr) <= pprintWidth-indent-after {
		return p.add(repr)
	}
	text, isText := v.AsString()
	_, isTuple := v.Py().(pyvalue.Tuple)
	switch {
	case isText:
		return p.addText(text, indent, after, level+1)
	case v.IsDict():
		return p.addDict(v, indent, after+1, level+1)
	case v.IsList():
		return p.addItems("[", "]", v, indent, after, level+1)
	case isTuple && pyvalue.ListElements(v).Len() == 1:
		return p.addItems("(", ",)", v, indent, after, level+1)
	case isTuple:
		return p.addItems("(", ")", v, indent, after, level+1)
	}
	return p.add(repr)
}

func (p *prettyPrinter) addItems(open, end string, v pyvalue.Val, indent, after, level int) error {
	if err := p.add(open); err != nil {
		return err
	}
	items := pyvalue.ListElements(v)
	for i := range items.Len() {
		if i > 0 {
			if err := p.add(",\n" + strings.Repeat(" ", indent+1)); err != nil {
				return err
			}
		}
		behind := 1
		if i == items.Len()-1 {
			behind = after + len(end)
		}
		if err := p.addValue(items.At(i), indent+1, behind, level); err != nil {
			return err
		}
	}
	return p.add(end)
}

func (p *prettyPrinter) addDict(v pyvalue.Val, indent, after, level int) error {
	if err := p.add("{"); err != nil {
		return err
	}
	order := pyvalue.SortedMembers(v)
	for i, at := range order {
		if i > 0 {
			if err := p.add(",\n" + strings.Repeat(" ", indent+1)); err != nil {
				return err
			}
		}
		k, member := pyvalue.DictAt(v, at)
		key, err := p.m.SortedRepr(k)
		if err != nil {
			return err
		}
		if err := p.add(key + ": "); err != nil {
			return err
		}
		behind := 1
		if i == len(order)-1 {
			behind = after
		}
		if err := p.addValue(member, indent+1+utf8.RuneCountInString(key)+2, behind, level); err != nil {
			return err
		}
	}
	return p.add("}")
}

// splitWords cuts a line into words, each with the white space after it.
func splitWords(line string) (words []string) {
	for line != "" {
		end := strings.IndexFunc(line, pyvalue.IsSpace)
		if end < 0 {
			return append(words, line)
		}
		rest := strings.TrimLeftFunc(line[end:], pyvalue.IsSpace)
		words = append(words, line[:len(line)-len(rest)])
		line = rest
	}
	return words
}

// addText writes a long text as several literals, one below the other, in parentheses unless
// something is around it.
func (p *prettyPrinter) addText(text string, indent, after, level int) error {
	if level == 1 {
		indent, after = indent+1, after+1
	}
	chunks := textChunks(text, pprintWidth-indent, after)
	literal := strings.Join(chunks, "\n"+strings.Repeat(" ", indent))
	if len(chunks) > 1 && level == 1 {
		literal = "(" + literal + ")"
	}
	return p.add(literal)
}

// textChunks cuts a text into literals that fit a width, at the ends of lines and words.
func textChunks(text string, width, after int) (chunks []string) {
	fits := func(literal string, room int) bool { return utf8.RuneCountInString(literal) <= room }
	lines := keepLines(text)
	for i, line := range lines {
		isLast := i == len(lines)-1
		room := width
		if isLast {
			room -= after
		}
		if literal := pyvalue.QuoteText(line); fits(literal, room) {
			chunks = append(chunks, literal)
			continue
		}
		words := splitWords(line)
		current := ""
		for j, word := range words {
			room := width
			if isLast && j == len(words)-1 {
				room -= after
			}
			if current != "" && !fits(pyvalue.QuoteText(current+word), room) {
				chunks = append(chunks, pyvalue.QuoteText(current))
				current = ""
			}
			current += word
		}
		if current != "" {
			chunks = append(chunks, pyvalue.QuoteText(current))
		}
	}
	return chunks
}

// keepLines splits a text into lines that keep their ends.
func keepLines(text string) (lines []string) {
	parts := splitLines(text)
	for i, part := range parts {
		end := len(text)
		if i+1 < len(parts) {
			end = parts[i+1].from
		}
		lines = append(lines, text[part.from:end])
	}
	return lines
}
