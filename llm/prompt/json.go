package prompt

import (
	"fmt"
	"strings"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/callnode/scheduler/llm/value"
)

// filterToJSON writes JSON as Hugging Face's chat templates do: nothing escaped
// for HTML, other scripts as they are, keys in their order.
func filterToJSON(m *machine, c *call) (val, error) {
	if err := c.in.use(); err != nil {
		return none, err
	}
	w := jsonWriter{printer: printer{max: maxBytes}, item: ", ", key: ": "}
	if c.given(0) && !c.args[0].isNone() {
		w.item, w.lines = ",", true
		if s, ok := c.args[0].str(); ok {
			w.indent = s
		} else {
			n, err := c.width(0)
			if err != nil {
				return none, err
			}
			w.indent = strings.Repeat(" ", max(n, 0))
		}
	}
	var err error
	if w.ascii, err = c.bool(1, false); err != nil {
		return none, err
	}
	if c.given(2) && !c.args[2].isNone() {
		seps, err := m.items(c.args[2])
		if err != nil {
			return none, err
		}
		if len(seps) != 2 {
			return none, errorf(Other, "separators must be two strings")
		}
		w.item, _ = seps[0].str()
		w.key, _ = seps[1].str()
	}
	if w.sorted, err = c.bool(3, false); err != nil {
		return none, err
	}
	w.write(c.in)
	if w.err != nil {
		return none, w.err
	}
	return ofStr(string(w.b)), m.spend(len(w.b) >> 8)
}

// jsonWriter writes JSON in the manner of Python's json.dumps.
type jsonWriter struct {
	printer
	item, key, indent string
	lines, ascii      bool
}

func (w *jsonWriter) write(v val) {
	if w.err != nil {
		return
	}
	if w.depth++; w.depth > maxValue {
		w.fail(tooDeep())
	}
	defer func() { w.depth-- }()
	if s, ok := v.str(); ok {
		w.text(s)
		return
	}
	if n, ok := toNum(v); ok && n.kind == 'f' {
		key, _ := keyText(v)
		w.add(key)
		return
	}
	if v.isDict() {
		w.members(v)
		return
	}
	switch x := v.x.(type) {
	case nil:
		if v.v.Kind() == value.List {
			w.elements(elems{plain: v.v.List()})
			return
		}
		w.add(v.v.JSON())
	case tuple:
		w.elements(elems{other: x})
	case *xlist:
		w.elements(elems{other: x.items})
	case *groupTuple:
		w.elements(elems{other: x.pair()})
	case *undefined:
		w.fail(x.err())
	default:
		w.fail(errorf(Type, "a '%s' has no form in JSON", v.pyType()))
	}
}

func (w *jsonWriter) text(s string) {
	if len(w.b)+len(s) > w.max {
		w.add(s) // fails
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
		if s = s[n:]; s != "" {
			w.b = append(w.b, '\\', map[byte]byte{'\b': 'b', '\f': 'f'}[s[0]])
			s = s[1:]
		}
	}
	w.b = append(w.b, '"')
	if w.ascii {
		quoted := string(w.b[start:])
		w.b = appendASCII(w.b[:start], quoted)
	}
}

// appendASCII escapes what is not ASCII as JSON does.
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

func (w *jsonWriter) line(depth int) {
	if w.lines {
		w.add("\n")
		for range depth {
			w.add(w.indent)
		}
	}
}

func (w *jsonWriter) elements(e elems) {
	w.add("[")
	for i := range e.len() {
		if i > 0 {
			w.add(w.item)
		}
		w.line(w.depth)
		if w.write(e.at(i)); w.err != nil {
			return
		}
	}
	if e.len() > 0 {
		w.line(w.depth - 1)
	}
	w.add("]")
}

func (w *jsonWriter) members(v val) {
	w.add("{")
	for i, at := range w.order(v) {
		if i > 0 {
			w.add(w.item)
		}
		w.line(w.depth)
		k, x := dictAt(v, at)
		key, err := keyText(k)
		if err != nil {
			w.fail(err)
			return
		}
		w.text(key)
		w.add(w.key)
		if w.write(x); w.err != nil {
			return
		}
	}
	if dictLen(v) > 0 {
		w.line(w.depth - 1)
	}
	w.add("}")
}
