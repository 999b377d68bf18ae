package prompt

import (
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/callnode/scheduler/llm/prompt/internal/fault"
	"github.com/callnode/scheduler/llm/value"
)

// Text returns what a template prints for a value: strings as they are, the rest as
// Python does (True, None, 3.0, ['a']).
func Text(v value.Value) string {
	if s, ok := v.Str(); ok {
		return s
	}
	p := printer{max: math.MaxInt}
	p.addValue(val{v: v})
	return string(p.b)
}

// textOf is Text of any value that a filter or an operator may work on: an undefined
// one is an error, and so is the text that escape made.
func (m *run) textOf(v val) (string, error) {
	if v.isMarkup() {
		e := fault.Errorf(fault.Type, "the text that escape makes can only be printed or joined")
		e.Hint = escapeLast
		return "", e
	}
	return m.printedText(v)
}

// printedText returns the text that {{ }} prints for a value.
func (m *run) printedText(v val) (string, error) {
	if s, ok := v.asString(); ok {
		return s, nil
	}
	p := printer{max: fault.MaxBytes}
	p.addValue(v)
	if p.err != nil {
		return "", p.err
	}
	return string(p.b), m.countSteps(len(p.b) >> 8)
}

// printer writes values as Python's str and repr do.
type printer struct {
	b     []byte
	max   int // bytes
	depth int
	// sorted writes dicts in the order of their keys.
	sorted bool
	err    error
}

func (p *printer) setError(err error) {
	if p.err == nil {
		p.err = err
	}
}

func (p *printer) addText(s string) {
	if len(p.b)+len(s) > p.max {
		p.setError(fault.Errorf(fault.Limit, "a text of more than %d bytes", p.max))
		return
	}
	p.b = append(p.b, s...)
}

func (p *printer) addValue(v val) {
	if s, ok := v.py().(markup); ok {
		p.addText(string(s))
		return
	}
	p.addRepr(v)
}

func (p *printer) addRepr(v val) {
	if p.err != nil {
		return
	}
	p.depth++
	if p.depth > fault.MaxValue {
		p.setError(valueTooDeep())
	}
	defer func() { p.depth-- }()
	switch x := v.py().(type) {
	case nil:
		p.addJSON(v.v)
	case *undefinedValue:
		if !x.soft || p.depth > 1 {
			p.setError(x.toError())
		}
	case tuple:
		tail := ")"
		if len(x) == 1 {
			tail = ",)"
		}
		p.addSequence("(", elements{other: x}, tail)
	case *groupTuple:
		p.addSequence("(", elements{other: x.asPair()}, ")")
	case *pyList:
		p.addSequence("[", elements{other: x.items}, "]")
	case *pyDict:
		p.addDict(v)
	case markup:
		p.addText("Markup(")
		p.addQuoted(string(x))
		p.addText(")")
	case nonFinite:
		p.addText(floatText(float64(x)))
	case *rangeOf:
		p.addText("range(" + strconv.FormatInt(x.start, 10) + ", " + strconv.FormatInt(x.stop, 10))
		if x.step != 1 {
			p.addText(", " + strconv.FormatInt(x.step, 10))
		}
		p.addText(")")
	case *dictView:
		p.addView(x)
	case *namespace:
		d := newDict(len(x.names))
		for i, name := range x.names {
			_ = d.setItem(ofStr(name), x.vals[i]) // strings can be keys
		}
		p.addText("<Namespace ")
		p.addDict(ofPython(d))
		p.addText(">")
	default:
		p.setError(wrongTypeError(v, "a %s cannot be printed", v.pyType()))
	}
}

func (p *printer) addView(x *dictView) {
	p.addText(x.pyType() + "(")
	p.addSequence("[", elements{other: x.allItems()}, "]")
	p.addText(")")
}

func (p *printer) addJSON(v value.Value) {
	switch v.Kind() {
	case value.Null:
		p.addText("None")
	case value.Bool:
		if b, _ := v.Bool(); b {
			p.addText("True")
		} else {
			p.addText("False")
		}
	case value.Int:
		if i, ok := v.Int(); ok {
			p.b = strconv.AppendInt(p.b, i, 10)
			return
		}
		p.addText(v.JSON())
	case value.Float:
		f, _ := v.Float()
		p.addText(floatText(f))
	case value.String:
		s, _ := v.Str()
		p.addQuoted(s)
	case value.List:
		p.addSequence("[", elements{plain: v.List()}, "]")
	case value.Object:
		p.addDict(val{v: v})
	}
}

func (p *printer) addSequence(open string, e elements, tail string) {
	p.addText(open)
	for i := range e.len() {
		if i > 0 {
			p.addText(", ")
		}
		p.addRepr(e.at(i))
		if p.err != nil {
			return
		}
	}
	p.addText(tail)
}

func (p *printer) addDict(v val) {
	p.addText("{")
	for i, at := range p.memberOrder(v) {
		if i > 0 {
			p.addText(", ")
		}
		k, x := dictAt(v, at)
		p.addRepr(k)
		p.addText(": ")
		p.addRepr(x)
		if p.err != nil {
			return
		}
	}
	p.addText("}")
}

// memberOrder returns the positions of a dict's members as they are to be written.
func (p *printer) memberOrder(v val) []int {
	at := make([]int, dictLen(v))
	for i := range at {
		at[i] = i
	}
	if p.sorted {
		slices.SortStableFunc(at, func(a, b int) int {
			x, _ := dictAt(v, a)
			y, _ := dictAt(v, b)
			s, _ := x.asString()
			t, _ := y.asString()
			return strings.Compare(s, t)
		})
	}
	return at
}

// addQuoted writes a string literal: single quotes unless only they are inside.
func (p *printer) addQuoted(s string) {
	if len(p.b)+len(s) > p.max {
		p.addText(s) // fails
		return
	}
	q := byte('\'')
	if strings.IndexByte(s, '\'') >= 0 && strings.IndexByte(s, '"') < 0 {
		q = '"'
	}
	p.b = append(p.b, q)
	for i := 0; i < len(s); {
		r, n := utf8.DecodeRuneInString(s[i:])
		isInvalid := r == utf8.RuneError && n == 1
		switch {
		case r == rune(q) || r == '\\':
			p.b = append(p.b, '\\', byte(r))
		case r == '\n':
			p.b = append(p.b, `\n`...)
		case r == '\r':
			p.b = append(p.b, `\r`...)
		case r == '\t':
			p.b = append(p.b, `\t`...)
		case unicode.IsPrint(r) && !isInvalid:
			p.b = append(p.b, s[i:i+n]...)
		default:
			p.b = appendEscaped(p.b, r)
		}
		i += n
	}
	p.b = append(p.b, q)
}

func appendEscaped(b []byte, r rune) []byte {
	hex := strconv.FormatInt(int64(r), 16)
	if r < 0x100 {
		return append(append(b, `\x`...), ("00" + hex)[len(hex):]...)
	}
	if r < 0x10000 {
		return append(append(b, `\u`...), ("0000" + hex)[len(hex):]...)
	}
	return append(append(b, `\U`...), ("00000000" + hex)[len(hex):]...)
}

// floatText is Python's repr of a float: the shortest text that reads back.
func floatText(f float64) string {
	switch {
	case math.IsNaN(f):
		return "nan"
	case math.IsInf(f, 1):
		return "inf"
	case math.IsInf(f, -1):
		return "-inf"
	}
	return value.OfFloat(f).JSON()
}

// isSpace is Python's str.isspace.
func isSpace(r rune) bool {
	isSeparator := 0x1c <= r && r <= 0x1f
	return isSeparator || unicode.IsSpace(r)
}

func quoteText(s string) string {
	p := printer{max: fault.MaxBytes}
	p.addQuoted(s)
	return string(p.b)
}

// asText returns the printed form of a value as a text.
func (m *run) asText(v val) (val, error) {
	if _, ok := v.asString(); ok {
		return v, nil
	}
	s, err := m.textOf(v)
	return ofStr(s).withOrigin(printedOrigin(v)), err
}
