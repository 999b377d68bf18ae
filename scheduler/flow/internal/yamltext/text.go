// Package yamltext knows the place of every byte of a YAML file, including decoded scalars. For example, it finds
// the line and column of each character of a folded text.
package yamltext

import (
	"bytes"
	"slices"
	"unicode/utf8"

	"github.com/callnode/scheduler/llm/value/yaml"
)

// Text is the text of a YAML file and the places in it. [New] makes it; it does not change.
type Text struct {
	Bytes []byte // without a byte order mark
	// Lines are the offsets at which lines begin as YAML counts them: it also
	// ends a line at a lone \r and at the Unicode line breaks.
	Lines []int
	// shown has the offsets at which the lines shown by editors begin.
	shown []int
	// runes counts the characters before every block of runeBlock bytes, so that no
	// line is too long to be measured.
	runes []int
}

const runeBlock = 256

// ByteOrderMark may begin a file, and is not part of its text.
var ByteOrderMark = []byte("\uFEFF")

// New returns the text of a file.
func New(src []byte) *Text {
	t := &Text{Bytes: bytes.TrimPrefix(src, ByteOrderMark), Lines: []int{0}, shown: []int{0}}
	for i := 0; i < len(t.Bytes); {
		n := yaml.LineBreak(t.Bytes[i:])
		if n == 0 {
			i++
			continue
		}
		i += n
		t.Lines = append(t.Lines, i)
		if t.Bytes[i-1] == '\n' {
			t.shown = append(t.shown, i)
		}
	}
	for i, n := 0, 0; i <= len(t.Bytes); i += runeBlock {
		t.runes = append(t.runes, n)
		n += countRunes(t.Bytes[i:min(i+runeBlock, len(t.Bytes))])
	}
	return t
}

// Offset returns the byte that YAML calls line and col, both from 1.
func (t *Text) Offset(line, col int) int {
	if line < 1 || line > len(t.Lines) {
		return len(t.Bytes)
	}
	want := t.runesBefore(t.Lines[line-1]) + max(col, 1) - 1
	block, _ := slices.BinarySearch(t.runes, want+1)
	at := (block - 1) * runeBlock
	for n := t.runes[block-1]; at < len(t.Bytes); at++ {
		if utf8.RuneStart(t.Bytes[at]) {
			if n == want {
				return at
			}
			n++
		}
	}
	return len(t.Bytes)
}

// runesBefore counts the characters before a byte.
func (t *Text) runesBefore(offset int) int {
	block := offset / runeBlock
	return t.runes[block] + countRunes(t.Bytes[block*runeBlock:offset])
}

func countRunes(s []byte) (n int) {
	for _, c := range s {
		if utf8.RuneStart(c) {
			n++
		}
	}
	return n
}

// Place returns the line and the column of a byte as editors show them: from 1, the column in characters.
func (t *Text) Place(offset int) (line, col int) {
	offset = min(offset, len(t.Bytes))
	line, found := slices.BinarySearch(t.shown, offset)
	if !found {
		line--
	}
	return line + 1, t.runesBefore(offset) - t.runesBefore(t.shown[line]) + 1
}

// Trace lists the offset in the file of every byte of a scalar's decoded text,
// and of its end.
func (t *Text) Trace(n *yaml.Node) []int {
	s := &scalarTrace{src: t.Bytes, want: n.Value, at: make([]int, 0, len(n.Value)+1)}
	s.pos = t.skipProperties(t.Offset(n.Line, n.Column))
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
	if !ok { // not understood: every byte gets the place of its beginning
		return []int{start}
	}
	return append(s.at, s.pos)
}

// skipProperties steps over the tag and the anchor before a node's content.
func (t *Text) skipProperties(at int) int {
	for at < len(t.Bytes) && (t.Bytes[at] == '!' || t.Bytes[at] == '&') {
		for at < len(t.Bytes) && !isBlank(t.Bytes[at]) && yaml.LineBreak(t.Bytes[at:]) == 0 {
			at++
		}
		at += t.gapLength(at)
	}
	return at
}

// gapLength returns the number of bytes of blanks, line breaks and comments from a byte on.
func (t *Text) gapLength(from int) int {
	at := from
	for at < len(t.Bytes) {
		switch n := yaml.LineBreak(t.Bytes[at:]); {
		case n > 0:
			at += n
		case isBlank(t.Bytes[at]):
			at++
		case t.Bytes[at] == '#':
			at += RestOfLine(t.Bytes[at:])
		default:
			return at - from
		}
	}
	return at - from
}

func isBlank(c byte) bool { return c == ' ' || c == '\t' }

// RestOfLine returns the number of bytes before the next line break.
func RestOfLine(s []byte) int {
	for i := range s {
		if yaml.LineBreak(s[i:]) > 0 {
			return i
		}
	}
	return len(s)
}
