package flow

import (
	"bytes"
	"fmt"
	"slices"
	"sync"
	"unicode/utf8"

	"github.com/callnode/scheduler/llm/value/yaml"
)

// flowText is the text of a flow file and the places in it.
type flowText struct {
	file string
	text []byte
	// yamlLines are the offsets at which lines begin as YAML counts them (it also
	// ends a line at a lone \r and at the Unicode line breaks), lines those that
	// editors show.
	yamlLines, lines []int
	// runes counts the characters before every block of runeBlock bytes, so that no
	// line is too long to be measured.
	runes []int
}

const runeBlock = 256

var byteOrderMark = []byte("\uFEFF")

func newFlowText(file string, src []byte) *flowText {
	t := &flowText{file: file, text: bytes.TrimPrefix(src, byteOrderMark), yamlLines: []int{0}, lines: []int{0}}
	for i := 0; i < len(t.text); {
		n := yaml.LineBreak(t.text[i:])
		if n == 0 {
			i++
			continue
		}
		i += n
		t.yamlLines = append(t.yamlLines, i)
		if t.text[i-1] == '\n' {
			t.lines = append(t.lines, i)
		}
	}
	for i, n := 0, 0; i <= len(t.text); i += runeBlock {
		t.runes = append(t.runes, n)
		n += countRunes(t.text[i:min(i+runeBlock, len(t.text))])
	}
	return t
}

// offset returns the byte that YAML calls line and col, both from 1.
func (t *flowText) offset(line, col int) int {
	if line < 1 || line > len(t.yamlLines) {
		return len(t.text)
	}
	want := t.runesBefore(t.yamlLines[line-1]) + max(col, 1) - 1
	block, _ := slices.BinarySearch(t.runes, want+1)
	at := (block - 1) * runeBlock
	for n := t.runes[block-1]; at < len(t.text); at++ {
		if utf8.RuneStart(t.text[at]) {
			if n == want {
				return at
			}
			n++
		}
	}
	return len(t.text)
}

// runesBefore counts the characters before a byte.
func (t *flowText) runesBefore(offset int) int {
	block := offset / runeBlock
	return t.runes[block] + countRunes(t.text[block*runeBlock:offset])
}

func countRunes(s []byte) (n int) {
	for _, c := range s {
		if utf8.RuneStart(c) {
			n++
		}
	}
	return n
}

// position returns the place of a byte as editors show it.
func (t *flowText) position(offset int) Position {
	offset = min(offset, len(t.text))
	line, found := slices.BinarySearch(t.lines, offset)
	if !found {
		line--
	}
	return Position{File: t.file, Line: line + 1, Col: t.runesBefore(offset) - t.runesBefore(t.lines[line]) + 1}
}

// positionOf returns the place where a node begins, its tag and anchor included.
func (t *flowText) positionOf(n *yaml.Node) Position { return t.position(t.offset(n.Line, n.Column)) }

// positionsWithin returns the place of each byte offset in the decoded text of a scalar:
// where the character stands in the file, through quotes, escapes, folded lines
// and indentation. The work is done when it is first asked.
func (t *flowText) positionsWithin(n *yaml.Node) func(offset int) Position {
	places := sync.OnceValue(func() []int { return t.traceScalar(n) })
	return func(offset int) Position {
		at := places()
		return t.position(at[max(0, min(offset, len(at)-1))])
	}
}

// traceScalar lists the offset in the file of every byte of a scalar's decoded text,
// and of its end.
func (t *flowText) traceScalar(n *yaml.Node) []int {
	s := &scalarTrace{src: t.text, want: n.Value, at: make([]int, 0, len(n.Value)+1)}
	s.pos = t.skipProperties(t.offset(n.Line, n.Column))
	start, ok := s.pos, false
	switch first := s.peek(); {
	case n.Style&(yaml.Literal|yaml.Folded) != 0:
		ok = s.traceBlock(n.Style&yaml.Folded != 0)
	case n.Style&yaml.DoubleQuoted != 0 && first == '"':
		s.pos++
		ok = s.traceFlow('"')
	case n.Style&yaml.SingleQuoted != 0 && first == '\'':
		s.pos++
		ok = s.traceFlow('\'')
	default:
		ok = s.traceFlow(0)
	}
	if !ok { // not understood: all of it is where it begins
		return []int{start}
	}
	return append(s.at, s.pos)
}

// skipProperties steps over the tag and the anchor before a node's content.
func (t *flowText) skipProperties(at int) int {
	for at < len(t.text) && (t.text[at] == '!' || t.text[at] == '&') {
		for at < len(t.text) && !isBlank(t.text[at]) && yaml.LineBreak(t.text[at:]) == 0 {
			at++
		}
		at += t.gapLength(at)
	}
	return at
}

// gapLength returns the number of bytes of blanks, line breaks and comments from a byte on.
func (t *flowText) gapLength(from int) int {
	at := from
	for at < len(t.text) {
		switch n := yaml.LineBreak(t.text[at:]); {
		case n > 0:
			at += n
		case isBlank(t.text[at]):
			at++
		case t.text[at] == '#':
			at += restOfLine(t.text[at:])
		default:
			return at - from
		}
	}
	return at - from
}

func isBlank(c byte) bool { return c == ' ' || c == '\t' }

// restOfLine returns the number of bytes before the next line break.
func restOfLine(s []byte) int {
	for i := range s {
		if yaml.LineBreak(s[i:]) > 0 {
			return i
		}
	}
	return len(s)
}

// Position is a place in a flow file. Line and Col count from 1, Col in
// characters.
type Position struct {
	File      string
	Line, Col int
}

// String is file:line:col.
func (p Position) String() string { return fmt.Sprintf("%s:%d:%d", p.File, p.Line, p.Col) }
