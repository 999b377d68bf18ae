package pyvalue

import (
	"fmt"
	"strings"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/callnode/scheduler/llm/prompt/internal/fault"
	"github.com/callnode/scheduler/llm/value"
)

// JSONWriter writes JSON in the manner of Python's json.dumps.
type JSONWriter struct {
	printer
	Item, Key, Indent string
	Lines, Ascii      bool
}

// NewJSONWriter returns a writer of one line.
func NewJSONWriter() *JSONWriter {
	return &JSONWriter{printer: printer{max: fault.MaxBytes}, Item: ", ", Key: ": "}
}

// Write returns a value as JSON.
func (w *JSONWriter) Write(v Val) (string, error) {
	w.addJSONValue(v)
	return string(w.b), w.err
}

func (w *JSONWriter) addJSONValue(v Val) {
	if w.err != nil {
		return
	}
	w.depth++
	if w.depth > fault.MaxValue {
		w.setError(valueTooDeep())
	}
	defer func() { w.depth-- }()
	if s, ok := v.AsString(); ok {
		w.addString(s)
		return
	}
	if n, ok := ToNum(v); ok && n.Kind == 'f' {
		key, _ := keyText(v)
		w.addText(key)
		return
	}
	if v.IsDict() {
		w.addMembers(v)
		return
	}
	switch x := v.Py().(type) {
	case nil:
		if v.V.Kind() == value.List {
			w.addElements(Elements{plain: v.V.List()})
			return
		}
		w.addText(v.V.JSON())
	case Tuple:
		w.addElements(Elements{Other: x})
	case *PyList:
		w.addElements(Elements{Other: x.Items})
	case *GroupTuple:
		w.addElements(Elements{Other: x.asPair()})
	case *UndefinedValue:
		w.setError(x.ToError())
	default:
		w.setError(fault.Errorf(fault.Type, "a '%s' cannot be written as JSON", v.PyType()))
	}
}

func (w *JSONWriter) addString(s string) {
	if len(w.b)+len(s) > w.max {
		w.addText(s) // fails
		return
	}
	start := len(w.b)
	w.b = append(w.b, '"')
	for s != "" {
		n := strings.IndexAny(s, "\b\f") // which Python writes in their short form
		if n < 0 {
			n = len(s)
		}
		inner := value.AppendQuoted(nil, s[:n])
		w.b = append(w.b, inner[1:len(inner)-1]...)
		s = s[n:]
		if s != "" {
			w.b = append(w.b, '\\', map[byte]byte{'\b': 'b', '\f': 'f'}[s[0]])
			s = s[1:]
		}
	}
	w.b = append(w.b, '"')
	if w.Ascii {
		quoted := string(w.b[start:])
		w.b = appendASCII(w.b[:start], quoted)
	}
}

// appendASCII escapes non-ASCII characters as JSON does.
func appendASCII(b []byte, s string) []byte {
	for _, r := range s {
		switch {
		case r < utf8.RuneSelf:
			b = append(b, byte(r))
		case r < 0x10000:
			b = fmt.Appendf(b, `\u%04x`, r)
		default:
			hi, lo := utf16.EncodeRune(r)
			b = fmt.Appendf(b, `\u%04x\u%04x`, hi, lo)
		}
	}
	return b
}

func (w *JSONWriter) addLineBreak(depth int) {
	if w.Lines {
		w.addText("\n")
		for range depth {
			w.addText(w.Indent)
		}
	}
}

func (w *JSONWriter) addElements(e Elements) {
	w.addText("[")
	for i := range e.Len() {
		if i > 0 {
			w.addText(w.Item)
		}
		w.addLineBreak(w.depth)
		w.addJSONValue(e.At(i))
		if w.err != nil {
			return
		}
	}
	if e.Len() > 0 {
		w.addLineBreak(w.depth - 1)
	}
	w.addText("]")
}

func (w *JSONWriter) addMembers(v Val) {
	w.addText("{")
	for i, at := range w.memberOrder(v) {
		if i > 0 {
			w.addText(w.Item)
		}
		w.addLineBreak(w.depth)
		k, x := DictAt(v, at)
		key, err := keyText(k)
		if err != nil {
			w.setError(err)
			return
		}
		w.addString(key)
		w.addText(w.Key)
		w.addJSONValue(x)
		if w.err != nil {
			return
		}
	}
	if DictLen(v) > 0 {
		w.addLineBreak(w.depth - 1)
	}
	w.addText("}")
}
