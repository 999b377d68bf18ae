package prompt

import (
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/callnode/scheduler/llm/value"
)

// Text is what a template prints for a value: strings as they are, the rest as
// Python does (True, None, 3.0, ['a']).
func Text(v value.Value) string {
	if s, ok := v.Str(); ok {
		return s
	}
	p := printer{max: math.MaxInt}
	p.str(val{v: v})
	return string(p.b)
}

// escapeLast is the way out where the text that escape made is worked on.
const escapeLast = "escape last, as in {{ text | upper | e }}"

// text is Text of any value that a filter or an operator may work on: an undefined
// one is an error, and so is the text that escape made.
func (m *machine) text(v val) (string, error) {
	if v.isMarkup() {
		e := errorf(Type, "the text that escape makes can only be printed or joined")
		e.Hint = escapeLast
		return "", e
	}
	return m.printed(v)
}

// printed is the text that {{ }} prints for a value.
func (m *machine) printed(v val) (string, error) {
	if s, ok := v.str(); ok {
		return s, nil
	}
	p := printer{max: maxBytes}
	p.str(v)
	if p.err != nil {
		return "", p.err
	}
	return string(p.b), m.spend(len(p.b) >> 8)
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

func (p *printer) fail(err error) {
	if p.err == nil {
		p.err = err
	}
}

func (p *printer) add(s string) {
	if len(p.b)+len(s) > p.max {
		p.fail(errorf(Limit, "a text of more than %d bytes", p.max))
		return
	}
	p.b = append(p.b, s...)
}

func (p *printer) str(v val) {
	if s, ok := v.x.(markup); ok {
		p.add(string(s))
		return
	}
	p.repr(v)
}

func (p *printer) repr(v val) {
	if p.err != nil {
		return
	}
	if p.depth++; p.depth > maxValue {
		p.fail(tooDeep())
	}
	defer func() { p.depth-- }()
	switch x := v.x.(type) {
	case nil:
		p.plain(v.v)
	case *undefined:
		if !x.soft || p.depth > 1 {
			p.fail(x.err())
		}
	case tuple:
		tail := ")"
		if len(x) == 1 {
			tail = ",)"
		}
		p.seq("(", elems{other: x}, tail)
	case *groupTuple:
		p.seq("(", elems{other: x.pair()}, ")")
	case *xlist:
		p.seq("[", elems{other: x.items}, "]")
	case *xdict:
		p.dict(v)
	case markup:
		p.add("Markup(")
		p.quote(string(x))
		p.add(")")
	case special:
		p.add(floatText(float64(x)))
	case *rangeOf:
		p.add("range(" + strconv.FormatInt(x.start, 10) + ", " + strconv.FormatInt(x.stop, 10))
		if x.step != 1 {
			p.add(", " + strconv.FormatInt(x.step, 10))
		}
		p.add(")")
	case *view:
		p.view(x)
	case *namespace:
		d := newDict(len(x.names))
		for i, name := range x.names {
			_ = d.set(ofStr(name), x.vals[i]) // strings can be keys
		}
		p.add("<Namespace ")
		p.dict(val{x: d})
		p.add(">")
	default:
		p.fail(misused(v, "a %s cannot be printed", v.pyType()))
	}
}

func (p *printer) view(x *view) {
	p.add(x.pyType() + "(")
	p.seq("[", elems{other: x.items()}, "]")
	p.add(")")
}

func (p *printer) plain(v value.Value) {
	switch v.Kind() {
	case value.Null:
		p.add("None")
	case value.Bool:
		if b, _ := v.Bool(); b {
			p.add("True")
		} else {
			p.add("False")
		}
	case value.Int:
		if i, ok := v.Int(); ok {
			p.b = strconv.AppendInt(p.b, i, 10)
			return
		}
		p.add(v.JSON())
	case value.Float:
		f, _ := v.Float()
		p.add(floatText(f))
	case value.String:
		s, _ := v.Str()
		p.quote(s)
	case value.List:
		p.seq("[", elems{plain: v.List()}, "]")
	case value.Object:
		p.dict(val{v: v})
	}
}

func (p *printer) seq(open string, e elems, tail string) {
	p.add(open)
	for i := range e.len() {
		if i > 0 {
			p.add(", ")
		}
		if p.repr(e.at(i)); p.err != nil {
			return
		}
	}
	p.add(tail)
}

func (p *printer) dict(v val) {
	p.add("{")
	for i, at := range p.order(v) {
		if i > 0 {
			p.add(", ")
		}
		k, x := dictAt(v, at)
		p.repr(k)
		p.add(": ")
		if p.repr(x); p.err != nil {
			return
		}
	}
	p.add("}")
}

// order is the positions of a dict's members as they are to be written.
func (p *printer) order(v val) []int {
	at := make([]int, dictLen(v))
	for i := range at {
		at[i] = i
	}
	if p.sorted {
		slices.SortStableFunc(at, func(a, b int) int {
			x, _ := dictAt(v, a)
			y, _ := dictAt(v, b)
			s, _ := x.str()
			t, _ := y.str()
			return strings.Compare(s, t)
		})
	}
	return at
}

// quote writes a string literal: single quotes unless only they are inside.
func (p *printer) quote(s string) {
	if len(p.b)+len(s) > p.max {
		p.add(s) // fails
		return
	}
	q := byte('\'')
	if strings.IndexByte(s, '\'') >= 0 && strings.IndexByte(s, '"') < 0 {
		q = '"'
	}
	p.b = append(p.b, q)
	for i := 0; i < len(s); {
		r, n := utf8.DecodeRuneInString(s[i:])
		switch {
		case r == rune(q) || r == '\\':
			p.b = append(p.b, '\\', byte(r))
		case r == '\n':
			p.b = append(p.b, `\n`...)
		case r == '\r':
			p.b = append(p.b, `\r`...)
		case r == '\t':
			p.b = append(p.b, `\t`...)
		case unicode.IsPrint(r) && (r != utf8.RuneError || n > 1):
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
	switch {
	case r < 0x100:
		return append(append(b, `\x`...), ("00" + hex)[len(hex):]...)
	case r < 0x10000:
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
