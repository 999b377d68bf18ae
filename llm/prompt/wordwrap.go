package prompt

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

func filterWordwrap(m *machine, c *call) (val, error) {
	s, ok := c.in.str()
	if !ok {
		return none, errorf(Other, "wordwrap needs a string, not a '%s'", c.in.pyType())
	}
	width, err := c.int(0, 79)
	if err != nil {
		return none, err
	}
	long, err := c.bool(1, true)
	if err != nil {
		return none, err
	}
	sep := "\n"
	if c.given(2) && !c.args[2].isNone() {
		if sep, err = c.str(2, sep); err != nil {
			return none, err
		}
	}
	hyphens, err := c.bool(3, true)
	if err != nil {
		return none, err
	}
	if width <= 0 {
		return none, errorf(Other, "wordwrap needs a width of at least 1")
	}
	if err := m.spend(len(s)); err != nil {
		return none, err
	}
	var lines []string
	for _, line := range splitLines(s, false) {
		wrapped := wrap(line, width, long, hyphens)
		lines = append(lines, strings.Join(wrapped, sep))
	}
	if err := m.room(len(s) + len(s)*len(sep)); err != nil {
		return none, err
	}
	return ofStr(strings.Join(lines, sep)), nil
}

// wrap breaks a line as Python's textwrap does when it neither expands nor
// replaces white space.
func wrap(line string, width int, long, hyphens bool) []string {
	chunks := wrapChunks(line, hyphens)
	var lines []string
	for i := 0; i < len(chunks); {
		if len(lines) > 0 && strings.TrimSpace(chunks[i]) == "" {
			i++
			continue
		}
		var row []string
		used := 0
		for i < len(chunks) {
			n := utf8.RuneCountInString(chunks[i])
			if used+n > width {
				break
			}
			row, used = append(row, chunks[i]), used+n
			i++
		}
		if i < len(chunks) && utf8.RuneCountInString(chunks[i]) > width {
			if long {
				r := []rune(chunks[i])
				room := max(width-used, 1)
				if hyphens && len(r) > room {
					// a break after a hyphen is better than one in a word
					if h := strings.LastIndexByte(string(r[:room]), '-'); h > 0 && strings.Trim(string(r[:h]), "-") != "" {
						room = utf8.RuneCountInString(string(r[:room])[:h]) + 1
					}
				}
				row = append(row, string(r[:room]))
				chunks[i] = string(r[room:])
			} else if len(row) == 0 {
				row = append(row, chunks[i])
				i++
			}
		}
		if n := len(row); n > 0 && strings.TrimSpace(row[n-1]) == "" {
			row = row[:n-1]
		}
		if len(row) > 0 {
			lines = append(lines, strings.Join(row, ""))
		}
	}
	return lines
}

// wrapChunks cuts a line into words, runs of white space and, with hyphens,
// parts of words that end in a hyphen between letters.
func wrapChunks(line string, hyphens bool) []string {
	var chunks []string
	start := 0
	space := func(r rune) bool { return strings.ContainsRune("\t\n\v\f\r ", r) }
	runes := []rune(line)
	cut := func(end int) {
		if end > start {
			chunks = append(chunks, string(runes[start:end]))
			start = end
		}
	}
	letter := func(i int) bool { return i >= 0 && i < len(runes) && unicode.IsLetter(runes[i]) }
	for i := range runes {
		if i > 0 && space(runes[i]) != space(runes[i-1]) {
			cut(i)
		}
		if hyphens && i > 1 && runes[i-1] == '-' && letter(i) && letter(i-2) && (letter(i+1) || i+1 < len(runes) && runes[i+1] == '-') && letter(i-3) {
			cut(i)
		}
	}
	cut(len(runes))
	return chunks
}
