// Package jsonc is the door to the hujson library: JSON as people write it by hand, with a byte order mark, // and
// /* */ comments and trailing commas, turned into a value that remembers the place of everything. For example,
// [Document.At] returns the line and column of /a/0.
package jsonc

import (
	"bytes"
	"errors"
	"fmt"
	"strings"

	"github.com/tailscale/hujson"

	"github.com/callnode/scheduler/llm/value"
	"github.com/callnode/scheduler/llm/value/wording"
)

// maxDepth bounds nesting before the library, which recurses, sees the text.
const maxDepth = 1000

// Document is a parsed text. [Parse] makes it; it does not change.
type Document struct {
	// Value is the content: keys in order, numbers with their spelling.
	Value value.Value

	text string // without the byte order mark
	tree hujson.Value
}

// Error is a fault in the text. Line and Col count from 1, Col in characters.
type Error struct {
	Line, Col int
	Msg       string

	text wording.Text // Msg in the built-in languages
}

// Text returns the message in the built-in languages, without the place.
func (e *Error) Text() wording.Text { return e.text }

// In returns the place and the message in a language.
func (e *Error) In(language string) string {
	return fmt.Sprintf("%d:%d: %s", e.Line, e.Col, e.text.In(language))
}

// Error is line:col: message.
func (e *Error) Error() string { return fmt.Sprintf("%d:%d: %s", e.Line, e.Col, e.Msg) }

// Parse reads exactly one value. A duplicate key in an object is an
// error. All errors are of type *[Error].
func Parse(data []byte) (*Document, error) {
	data = value.WithoutMark(data)
	d := &Document{text: string(data)}
	if len(bytes.TrimSpace(data)) == 0 {
		return nil, d.newError(0, "the text is empty")
	}
	if wrong := value.FindEncodingError(data); wrong != nil {
		message, _ := wrong.Text()
		return nil, d.newError(wrong.Offset, "%s", message)
	}
	if i := tooDeep(data); i >= 0 {
		return nil, d.newError(i, "nested deeper than %d", maxDepth)
	}
	var err error
	data = append(bytes.Clone(data), '\n') // the library wants an end after the last // comment
	d.tree, err = hujson.Parse(data)
	if err != nil {
		return nil, d.libraryError(err)
	}
	if err := d.checkUniqueKeys(&d.tree); err != nil {
		return nil, err
	}
	if err := d.checkPairs(&d.tree); err != nil {
		return nil, err
	}
	plain := d.tree.Clone()
	plain.Standardize() // puts spaces in place of comments, so that offsets stay
	d.Value, err = value.ParseJSON(plain.Pack())
	if err != nil {
		return nil, d.newError(0, "%v", err)
	}
	return d, nil
}

// At returns the line and column of the first byte of the element or member that an RFC 6901 pointer names; if it
// does not exist, the place of the nearest container.
func (d *Document) At(pointer string) (line, col int) {
	return value.LineCol(d.text, d.OffsetAt(pointer))
}

// OffsetAt is At as a byte offset of the text, which does not count a byte-order mark.
func (d *Document) OffsetAt(pointer string) int {
	for {
		if found := d.tree.Find(pointer); found != nil {
			return found.StartOffset
		}
		i := strings.LastIndexByte(pointer, '/')
		if i < 0 {
			return 0
		}
		pointer = pointer[:i]
	}
}

// NameOffset returns the byte at which the name of the member that a pointer names begins; ok is false if there is
// no such member.
func (d *Document) NameOffset(pointer string) (offset int, ok bool) {
	tokens, ok := value.SplitPointer(pointer)
	if !ok || len(tokens) == 0 {
		return 0, false
	}
	last := len(tokens) - 1
	found := d.tree.Find(value.FormatPointer(tokens[:last]...))
	if found == nil {
		return 0, false
	}
	object, isObject := found.Value.(*hujson.Object)
	if !isObject {
		return 0, false
	}
	for i := range object.Members {
		m := &object.Members[i]
		if name, isName := m.Name.Value.(hujson.Literal); isName && name.String() == tokens[last] {
			return m.Name.StartOffset, true
		}
	}
	return 0, false
}

func (d *Document) newError(offset int, format string, args ...any) *Error {
	line, col := value.LineCol(d.text, offset)
	text := wording.Say(format, args...)
	return &Error{Line: line, Col: col, Msg: text.En, text: text}
}

// libraryError takes the place out of the library's message, whose columns are
// bytes.
func (d *Document) libraryError(err error) *Error {
	msg := err.Error()
	var line, col int
	if _, scanErr := fmt.Sscanf(msg, "hujson: line %d, column %d:", &line, &col); scanErr != nil {
		return d.newError(0, "%s", msg)
	}
	offset := col - 1
	for range line - 1 {
		i := strings.IndexByte(d.text[offset-(col-1):], '\n')
		if i < 0 {
			offset = len(d.text)
			break
		}
		offset += i + 1
	}
	if below := errors.Unwrap(err); below != nil {
		msg = below.Error()
	}
	return d.newError(offset, "%s", libraryMessage(msg))
}

// libraryMessage returns the library's message.
func libraryMessage(msg string) wording.Text {
	if before, after, cut := strings.Cut(msg, "unexpected EOF"); cut {
		end := wording.Say("the text ends too early")
		return wording.Text{En: before + end.En + after, Zh: end.Zh}
	}
	return wording.RecognizeOr(msg)
}

// checkUniqueKeys refuses objects that have a key twice.
func (d *Document) checkUniqueKeys(v *hujson.Value) *Error {
	switch x := v.Value.(type) {
	case *hujson.Object:
		seen := make(map[string]int, len(x.Members)) // the first place of each key
		for i := range x.Members {
			m := &x.Members[i]
			name, ok := m.Name.Value.(hujson.Literal)
			if !ok {
				continue
			}
			if first, ok := seen[name.String()]; ok {
				line, col := value.LineCol(d.text, first)
				return d.newError(m.Name.StartOffset, "duplicate key %q (first at %d:%d)", name.String(), line, col)
			}
			seen[name.String()] = m.Name.StartOffset
			if err := d.checkUniqueKeys(&m.Value); err != nil {
				return err
			}
		}
	case *hujson.Array:
		for i := range x.Elements {
			if err := d.checkUniqueKeys(&x.Elements[i]); err != nil {
				return err
			}
		}
	}
	return nil
}

// checkPairs refuses escapes that are half a character: as U+FFFD, all of them would be equal.
func (d *Document) checkPairs(root *hujson.Value) *Error {
	for v := range root.All() {
		literal, ok := v.Value.(hujson.Literal)
		if !ok || literal.Kind() != '"' {
			continue
		}
		if i := value.FindHalfPair(string(literal)); i >= 0 {
			return d.newError(v.StartOffset+i, "%s", value.HalfPairMessage(string(literal[i:])))
		}
	}
	return nil
}

// tooDeep returns the offset at which nesting exceeds maxDepth, or -1. Brackets in strings and comments do not
// count.
func tooDeep(data []byte) int {
	depth := 0
	for i := 0; i < len(data); i++ {
		switch data[i] {
		case '[', '{':
			depth++
			if depth > maxDepth {
				return i
			}
		case ']', '}':
			depth--
		case '"':
			for i++; i < len(data) && data[i] != '"' && data[i] != '\n'; i++ {
				if data[i] == '\\' {
					i++
				}
			}
		case '/':
			i += commentLen(data[i:])
		}
	}
	return -1
}

// commentLen returns the length of the comment that text begins with, less one; 0 if it begins with none.
func commentLen(text []byte) int {
	var end string
	switch {
	case bytes.HasPrefix(text, []byte("//")):
		end = "\n"
	case bytes.HasPrefix(text, []byte("/*")):
		end = "*/"
	default:
		return 0
	}
	if i := bytes.Index(text[2:], []byte(end)); i >= 0 {
		return 2 + i + len(end) - 1
	}
	return len(text)
}
