package yaml

import (
	"bytes"
	"errors"
	"unicode/utf8"

	"go.yaml.in/yaml/v3"

	"github.com/callnode/scheduler/llm/value"
	"github.com/callnode/scheduler/llm/value/jsonc"
	"github.com/callnode/scheduler/llm/value/wording"
)

// beginsLikeJSON reports whether a text begins as a JSON object or list does, or as YAML in braces; sure is true
// if the first key is quoted, as only JSON must.
func beginsLikeJSON(src []byte) (likely, sure bool) {
	src = skipBlank(src)
	if len(src) == 0 || !isOpening(src[0]) {
		return false, false
	}
	rest := skipBlank(src[1:])
	return true, src[0] == '{' && len(rest) > 0 && rest[0] == '"'
}

// skipBlank cuts white space and the comments of JSONC off the front.
func skipBlank(src []byte) []byte {
	for {
		src = bytes.TrimLeft(src, " \t\r\n")
		end := ""
		switch {
		case bytes.HasPrefix(src, []byte("//")):
			end = "\n"
		case bytes.HasPrefix(src, []byte("/*")):
			end = "*/"
		default:
			return src
		}
		_, src, _ = bytes.Cut(src[2:], []byte(end))
	}
}

// readJSON returns the root node of a JSON text. YAML has nearly all of JSON: not surrogate
// escapes, some control characters, tabs in front of keys.
func readJSON(src []byte) (*Node, error) {
	root, err := jsonc.ParseElements(src)
	var fault *jsonc.Error
	if errors.As(err, &fault) {
		e := newError(fault.Line, fault.Col, wording.Say("not JSON: %s", fault.Text()))
		e.JSON = true
		return nil, e
	}
	return (&jsonReader{src: src, line: 1, col: 1}).readNode(&root), err
}

// jsonReader turns elements, which come in the order of the text, into nodes. It reads each byte once, so that a
// text of one long line takes no longer than one of many.
type jsonReader struct {
	src       []byte
	at        int // the bytes before it are counted
	line, col int // the place of the byte at
}

func (r *jsonReader) readNode(e *jsonc.Element) *Node {
	n := &Node{}
	n.Line, n.Column = r.positionOf(e.Start)
	switch e.Kind {
	case value.Object:
		n.Kind, n.Tag, n.Style = yaml.MappingNode, "!!map", yaml.FlowStyle
	case value.List:
		n.Kind, n.Tag, n.Style = yaml.SequenceNode, "!!seq", yaml.FlowStyle
	case value.String:
		n.Kind, n.Tag, n.Style, n.Value = yaml.ScalarNode, "!!str", yaml.DoubleQuotedStyle, e.Text
	case value.Int:
		n.Kind, n.Tag, n.Value = yaml.ScalarNode, "!!int", e.Raw
	case value.Float:
		n.Kind, n.Tag, n.Value = yaml.ScalarNode, "!!float", e.Raw
	case value.Bool:
		n.Kind, n.Tag, n.Value = yaml.ScalarNode, "!!bool", e.Raw
	case value.Null:
		n.Kind, n.Tag, n.Value = yaml.ScalarNode, "!!null", e.Raw
	}
	for i := range e.Items {
		n.Content = append(n.Content, r.readNode(&e.Items[i]))
	}
	return n
}

// positionOf returns the line and column of a byte that is not before the last one asked for,
// as YAML counts them: columns are runes, and bytes that are not UTF-8 count as one each.
func (r *jsonReader) positionOf(offset int) (line, col int) {
	for r.at < offset {
		if n := LineBreak(r.src[r.at:]); n > 0 {
			r.at += n
			r.line, r.col = r.line+1, 1
			continue
		}
		_, size := utf8.DecodeRune(r.src[r.at:])
		r.at += size
		r.col++
	}
	return r.line, r.col
}

// LineBreak returns the length of the line break that s begins with, as YAML knows them, 0
// for none.
func LineBreak(s []byte) int {
	switch {
	case len(s) == 0:
		return 0
	case s[0] == '\n':
		return 1
	case s[0] == '\r':
		if len(s) > 1 && s[1] == '\n' {
			return 2
		}
		return 1
	case bytes.HasPrefix(s, []byte("\u0085")):
		return 2
	case bytes.HasPrefix(s, []byte("\u2028")), bytes.HasPrefix(s, []byte("\u2029")):
		return 3
	}
	return 0
}
