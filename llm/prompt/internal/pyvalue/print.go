package pyvalue

import (
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/callnode/scheduler/llm/prompt/internal/fault"
	"github.com/callnode/scheduler/llm/prompt/internal/trace"
	"github.com/callnode/scheduler/llm/value"
)

// Text returns the printed form of a value in a template: strings unchanged, other values as Python prints them
// (True, None, 3.0, ['a']).
func Text(v value.Value) string {
	if s, ok := v.Str(); ok {
		return s
	}
	p := printer{max: math.MaxInt}
	p.addValue(Val{V: v})
	return string(p.b)
}

// TextOf is Text of any value that a filter or an operator may work on: an undefined
// one is an error, and so is the text that escape made.
func (m *Run) TextOf(v Val) (string, error) {
	if v.isMarkup() {
		e := fault.Errorf(fault.Type, "the text that escape makes can only be printed or joined")
		e.Hint = escapeLast
		return "", e
	}
	return m.PrintedText(v)
}

// PrintedText returns the text that {{ }} prints for a value.
func (m *Run) PrintedText(v Val) (string, error) {
	if s, ok := v.AsString(); ok {
		return s, nil
	}
	if i, ok := v.V.Int(); ok && v.Py() == nil { // such as loop.index
		return strconv.FormatInt(i, 10), nil
	}
	p := printer{max: fault.MaxBytes}
	p.addValue(v)
	if p.err != nil {
		return "", p.err
	}
	return string(p.b), m.CountSteps(len(p.b) >> 8)
}

// printer writes values as Python's str and repr do.
type printer struct {
	b     []byte
	max   int // bytes
	depth int
	// Sorted writes dicts in the order of their keys.
	Sorted bool
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

func (p *printer) addValue(v Val) {
	if s, ok := v.Py().(Markup); ok {
		p.addText(string(s))
		return
	}
	p.addRepr(v)
}

func (p *printer) addRepr(v Val) {
	if p.err != nil {
		return
	}
	p.depth++
	if p.depth > fault.MaxValue {
		p.setError(valueTooDeep())
	}
	defer func() { p.depth-- }()
	switch x := v.Py().(type) {
	case nil:
		p.addJSON(v.V)
	case *UndefinedValue:
		if !x.Soft || p.depth > 1 {
			p.setError(x.ToError())
		}
	case Tuple:
		tail := ")"
		if len(x) == 1 {
			tail = ",)"
		}
		p.addSequence("(", Elements{Other: x}, tail)
	case *GroupTuple:
		p.addSequence("(", Elements{Other: x.asPair()}, ")")
	case *PyList:
		p.addSequence("[", Elements{Other: x.Items}, "]")
	case *PyDict:
		p.addDict(v)
	case Markup:
		p.addText("Markup(")
		p.addQuoted(string(x))
		p.addText(")")
	case nonFinite:
		p.addText(floatText(float64(x)))
	case *RangeOf:
		p.addText("range(" + strconv.FormatInt(x.Start, 10) + ", " + strconv.FormatInt(x.Stop, 10))
		if x.Step != 1 {
			p.addText(", " + strconv.FormatInt(x.Step, 10))
		}
		p.addText(")")
	case *DictView:
		p.addView(x)
	case *Namespace:
		d := NewDict(len(x.names))
		for i, name := range x.names {
			_ = d.SetItem(OfStr(name), x.vals[i]) // strings can be keys
		}
		p.addText("<Namespace ")
		p.addDict(OfPython(d))
		p.addText(">")
	default:
		p.setError(wrongTypeError(v, "a %s cannot be printed", v.PyType()))
	}
}

func (p *printer) addView(x *DictView) {
	p.addText(x.PyType() + "(")
	p.addSequence("[", Elements{Other: x.allItems()}, "]")
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
		p.addSequence("[", Elements{plain: v.List()}, "]")
	case value.Object:
		p.addDict(Val{V: v})
	}
}

func (p *printer) addSequence(open string, e Elements, tail string) {
	p.addText(open)
	for i := range e.Len() {
		if i > 0 {
			p.addText(", ")
		}
		p.addRepr(e.At(i))
		if p.err != nil {
			return
		}
	}
	p.addText(tail)
}

func (p *printer) addDict(v Val) {
	p.addText("{")
	for i, at := range p.memberOrder(v) {
		if i > 0 {
			p.addText(", ")
		}
		k, x := DictAt(v, at)
		p.addRepr(k)
		p.addText(": ")
		p.addRepr(x)
		if p.err != nil {
			return
		}
	}
	p.addText("}")
}

// memberOrder returns the positions of a dict's members in the order of writing.
func (p *printer) memberOrder(v Val) []int {
	if p.Sorted {
		return SortedMembers(v)
	}
	at := make([]int, DictLen(v))
	for i := range at {
		at[i] = i
	}
	return at
}

// SortedMembers returns the positions of a dict's members in the order of their keys; keys of different types are
// ordered by the names of the types.
func SortedMembers(v Val) []int {
	at := make([]int, DictLen(v))
	for i := range at {
		at[i] = i
	}
	slices.SortStableFunc(at, func(a, b int) int {
		x, _ := DictAt(v, a)
		y, _ := DictAt(v, b)
		return compareKeys(x, y)
	})
	return at
}

func compareKeys(a, b Val) int {
	s, isText := a.AsString()
	t, isOtherText := b.AsString()
	if isText && isOtherText {
		return strings.Compare(s, t)
	}
	x, isNumber := ToNum(a)
	y, isOtherNumber := ToNum(b)
	if isNumber && isOtherNumber {
		c, _ := compareNums(x, y)
		return c
	}
	return strings.Compare(a.PyType(), b.PyType())
}

// SortedRepr returns the text of a value as a literal of Python's, with dicts in the order of their
// keys.
func (m *Run) SortedRepr(v Val) (string, error) {
	p := printer{max: fault.MaxBytes, Sorted: true}
	p.addRepr(v)
	if p.err != nil {
		return "", p.err
	}
	return string(p.b), m.CountSteps(1 + len(p.b)>>8)
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

// IsSpace is Python's str.isspace.
func IsSpace(r rune) bool {
	isSeparator := 0x1c <= r && r <= 0x1f
	return isSeparator || unicode.IsSpace(r)
}

// TrimLeftSpace returns a text without the white space at its beginning.
func TrimLeftSpace(s string) string {
	for i := range len(s) {
		switch {
		case s[i] >= utf8.RuneSelf:
			return strings.TrimLeftFunc(s[i:], IsSpace)
		case !IsSpace(rune(s[i])):
			return s[i:]
		}
	}
	return ""
}

// TrimRightSpace returns a text without the white space at its end.
func TrimRightSpace(s string) string {
	for n := len(s); n > 0; n-- {
		switch {
		case s[n-1] >= utf8.RuneSelf:
			return strings.TrimRightFunc(s[:n], IsSpace)
		case !IsSpace(rune(s[n-1])):
			return s[:n]
		}
	}
	return ""
}

// QuoteText returns a text as a string literal of Python's.
func QuoteText(s string) string {
	p := printer{max: fault.MaxBytes}
	p.addQuoted(s)
	return string(p.b)
}

// AsText returns the printed form of a value as a text.
func (m *Run) AsText(v Val) (Val, error) {
	if _, ok := v.AsString(); ok {
		return v, nil
	}
	s, err := m.TextOf(v)
	return OfStr(s).WithOrigin(PrintedOrigin(v)), err
}

// PrintedOrigin returns the origin of the text that a value prints as. The text of
// a list or a dict is computed from it.
func PrintedOrigin(v Val) *trace.Origin {
	if v.Origin() == nil || IsText(v) || !IsIterable(v) {
		return v.Origin()
	}
	return trace.ComputedOrigin([]*trace.Origin{v.Origin()})
}
