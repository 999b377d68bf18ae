package builtins

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/callnode/scheduler/llm/prompt/internal/fault"
	"github.com/callnode/scheduler/llm/prompt/internal/pyvalue"
)

func filterCenter(m *pyvalue.Run, c *call) (pyvalue.Val, error) {
	s, err := m.TextOf(c.in)
	if err != nil {
		return pyvalue.None, err
	}
	width, err := c.widthArg(0, 80)
	if err != nil {
		return pyvalue.None, err
	}
	pad := width - utf8.RuneCountInString(s)
	if pad <= 0 {
		return m.AsText(c.in)
	}
	left := pad/2 + pad&width&1 // as Python does it
	return pyvalue.OfStr(strings.Repeat(" ", left) + s + strings.Repeat(" ", pad-left)), m.CheckTextSize(len(s) + pad)
}

func filterWordwrap(m *pyvalue.Run, c *call) (pyvalue.Val, error) {
	s, ok := c.in.AsString()
	if !ok {
		return pyvalue.None, fault.Errorf(fault.Type, "wordwrap needs a string, not a '%s'", c.in.PyType())
	}
	width, err := c.intArg(0, 79)
	if err != nil {
		return pyvalue.None, err
	}
	long, err := c.boolArg(1, true)
	if err != nil {
		return pyvalue.None, err
	}
	sep := "\n"
	if c.hasArg(2) && !c.args[2].IsNone() {
		sep, err = c.stringArg(2, sep)
		if err != nil {
			return pyvalue.None, err
		}
	}
	hyphens, err := c.boolArg(3, true)
	if err != nil {
		return pyvalue.None, err
	}
	if width <= 0 {
		return pyvalue.None, fault.Errorf(fault.Other, "wordwrap needs a width of at least 1")
	}
	if err := m.CountSteps(len(s) >> 2); err != nil {
		return pyvalue.None, err
	}
	w := wrapper{width: width, breakLong: long, hyphens: hyphens}
	var lines []string
	for _, line := range splitLines(s) {
		wrapped := w.wrapLine([]rune(s[line.from:line.to]))
		if len(wrapped) == 0 {
			wrapped = []string{""}
		}
		lines = append(lines, wrapped...)
	}
	if err := m.CheckTextSize(len(s) + len(lines)*len(sep)); err != nil {
		return pyvalue.None, err
	}
	return pyvalue.OfStr(strings.Join(lines, sep)), nil
}

// wrapper breaks lines as Python's textwrap does when it neither expands nor replaces white space.
type wrapper struct {
	width              int
	breakLong, hyphens bool
}

func (w wrapper) wrapLine(line []rune) (lines []string) {
	chunks := w.splitChunks(line)
	for len(chunks) > 0 {
		if len(lines) > 0 && isWrapSpace(chunks[0][0]) {
			chunks = chunks[1:]
		}
		var row [][]rune
		used := 0
		for len(chunks) > 0 && used+len(chunks[0]) <= w.width {
			row, used = append(row, chunks[0]), used+len(chunks[0])
			chunks = chunks[1:]
		}
		if len(chunks) > 0 && len(chunks[0]) > w.width {
			row, chunks = w.placeLongWord(row, chunks, w.width-used)
		}
		if n := len(row); n > 0 && strings.TrimFunc(string(row[n-1]), pyvalue.IsSpace) == "" {
			row = row[:n-1]
		}
		if len(row) > 0 {
			lines = append(lines, string(slices.Concat(row...)))
		}
	}
	return lines
}

// placeLongWord puts the fitting part of a chunk that is longer than a line into the row, or all of it into a row
// of its own if words are not broken.
func (w wrapper) placeLongWord(row, chunks [][]rune, room int) (newRow, rest [][]rune) {
	chunk := chunks[0]
	if !w.breakLong {
		if len(row) == 0 {
			return append(row, chunk), chunks[1:]
		}
		return row, chunks
	}
	end := room
	if w.hyphens && len(chunk) > room {
		hyphen := -1
		for i := room - 1; i >= 0 && hyphen < 0; i-- {
			if chunk[i] == '-' {
				hyphen = i
			}
		}
		isInWord := hyphen > 0 && slices.ContainsFunc(chunk[:hyphen], func(r rune) bool { return r != '-' })
		if isInWord {
			end = hyphen + 1
		}
	}
	chunks[0] = chunk[end:]
	return append(row, chunk[:end]), chunks
}

func isWrapSpace(r rune) bool { return strings.ContainsRune("\t\n\v\f\r ", r) }

// splitChunks cuts a line into words, runs of white space and, with hyphens, the parts of words and
// dashes at which a line may break: well-, known.
func (w wrapper) splitChunks(line []rune) (chunks [][]rune) {
	for start := 0; start < len(line); {
		end := start + 1
		for end < len(line) && !w.isChunkEnd(line, start, end) {
			end++
		}
		chunks = append(chunks, line[start:end])
		start = end
	}
	return chunks
}

// isChunkEnd reports whether the chunk that begins at start ends before i.
func (w wrapper) isChunkEnd(line []rune, start, i int) bool {
	if isWrapSpace(line[start]) != isWrapSpace(line[i]) {
		return true
	}
	if !w.hyphens || isWrapSpace(line[start]) {
		return false
	}
	if beginsDash(line, start) {
		return line[i] != '-'
	}
	return endsHyphenated(line, start, i) || beginsDash(line, i)
}

// beginsDash reports whether two hyphens or more between words begin at i.
func beginsDash(line []rune, i int) bool {
	if i == 0 || line[i] != '-' || !isWrapWord(line[i-1]) && !strings.ContainsRune(`!"'&.,?`, line[i-1]) {
		return false
	}
	n := i
	for n < len(line) && line[n] == '-' {
		n++
	}
	return n-i >= 2 && n < len(line) && isWrapWord(line[n])
}

func isWrapWord(r rune) bool { return r == '_' || unicode.IsLetter(r) || unicode.IsNumber(r) }

// endsHyphenated reports whether a hyphen before i, after two letters or more, divides a word.
func endsHyphenated(line []rune, start, i int) bool {
	letter := func(at int) bool {
		return at >= 0 && at < len(line) && isWrapWord(line[at]) && !unicode.IsDigit(line[at])
	}
	isHyphen := i-1 > start && line[i-1] == '-'
	isAfterLetters := letter(i-2) && (letter(i-3) || i >= 4 && line[i-3] == '-' && letter(i-4))
	isBeforeLetters := letter(i) && (letter(i+1) || i+1 < len(line) && line[i+1] == '-' && letter(i+2))
	return isHyphen && isAfterLetters && isBeforeLetters
}
