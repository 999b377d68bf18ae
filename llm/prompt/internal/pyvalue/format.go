package pyvalue

import (
	"math"
	"math/big"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/callnode/scheduler/llm/prompt/internal/fault"
)

// layout is how one value is written by '%6.2f' % x or '{:>6.2f}'.format(x). It has the options that prompts use
// for aligned columns: width, alignment, sign, thousands, decimals.
type layout struct {
	fill      rune
	align     byte // < > ^, or = for zeros between sign and digits; 0 if not given
	sign      byte // + or space; 0 if only a minus is written
	comma     bool // thousands are separated
	width     int
	precision int  // -1 if not given
	kind      byte // s d f e g x X or %; 0 if not given
}

// readPrecision reads .2 at the start of s into the layout.
func (l *layout) readPrecision(s string) (rest string, ok bool) {
	if !strings.HasPrefix(s, ".") {
		return s, true
	}
	l.precision, ok, rest = ReadNumber(s[1:])
	return rest, ok
}

func (l *layout) checkSize() error {
	if l.width > fault.MaxPad || l.precision > fault.MaxPad/1000 {
		return fault.Errorf(fault.Limit, "a width or precision that is too large")
	}
	return nil
}

// parseLayout reads the text after the colon of a {} field.
func parseLayout(s string) (layout, error) {
	l := layout{fill: ' ', precision: -1}
	invalid := fault.Errorf(fault.Other, "invalid format %s", QuoteText(s))
	invalid.Hint = "a format has the form [fill][<>^][+][0][width][,][.digits][s, d, f, e, g, x or %]"
	isAlign := func(i int) bool { return i < len(s) && strings.IndexByte("<>^", s[i]) >= 0 }
	_, n := utf8.DecodeRuneInString(s)
	if n > 0 && isAlign(n) {
		l.fill, _ = utf8.DecodeRuneInString(s)
		l.align, s = s[n], s[n+1:]
	} else if isAlign(0) {
		l.align, s = s[0], s[1:]
	}
	if s != "" && strings.IndexByte("+- ", s[0]) >= 0 {
		if s[0] != '-' {
			l.sign = s[0]
		}
		s = s[1:]
	}
	if strings.HasPrefix(s, "0") && l.align == 0 {
		l.fill, l.align = '0', '='
	}
	l.width, _, s = ReadNumber(s)
	s, l.comma = strings.CutPrefix(s, ",")
	s, ok := l.readPrecision(s)
	if !ok || len(s) > 1 || !strings.Contains("sdfegxX%", s) {
		return l, invalid
	}
	if s != "" {
		l.kind = s[0]
	}
	return l, l.checkSize()
}

// writeValue returns the text of a value in the layout.
func (l layout) writeValue(m *Run, v Val) (string, error) {
	if err := v.CheckDefined(); err != nil {
		return "", err
	}
	n, isNum := ToNum(v)
	isNum = isNum && !IsBool(v)
	_, isStr := v.AsString()
	isEmpty := l == layout{fill: ' ', precision: -1}
	if isNum && l.kind != 's' {
		return l.writeNumber(n)
	}
	if isStr && (l.kind == 's' || l.kind == 0) || isEmpty {
		if l.comma || l.sign != 0 || l.align == '=' {
			return "", fault.Errorf(fault.Other, "a sign, a comma and leading zeros are for numbers, not for a '%s'", v.PyType())
		}
		return l.writeText(m, v, '<')
	}
	e := fault.Errorf(fault.Type, "a '%s' cannot be written in this format", v.PyType())
	e.Hint = "make a text of it first: | string"
	return "", e
}

// writeText pads the printed form of a value, cut to the precision.
func (l layout) writeText(m *Run, v Val, align byte) (string, error) {
	s, err := m.TextOf(v)
	if err != nil {
		return "", err
	}
	if r := []rune(s); l.precision >= 0 && len(r) > l.precision {
		s = string(r[:l.precision])
	}
	return l.padText("", s, align), nil
}

func (l layout) writeNumber(n Num) (string, error) {
	wantsInt := l.kind == 'd' || l.kind|0x20 == 'x'
	hasDecimals := l.precision >= 0
	isFloat := wantsInt && n.Kind == 'f'
	roundsDecimals := hasDecimals && (wantsInt || l.kind == 0)
	if isFloat || roundsDecimals {
		e := fault.Errorf(fault.Other, "the format does not fit the number")
		e.Hint = "'d' is for integers and takes no decimals; decimals need 'f', 'e' or 'g'"
		return "", e
	}
	var digits, tail string
	var negative bool
	isPlainInt := l.kind == 0 && n.Kind != 'f'
	if wantsInt || isPlainInt {
		i := n.Big()
		negative = i.Sign() < 0
		base := 10
		if l.kind|0x20 == 'x' {
			base = 16
		}
		digits = new(big.Int).Abs(i).Text(base)
		if l.kind == 'X' {
			digits = strings.ToUpper(digits)
		}
	} else {
		f := n.Float()
		negative = math.Signbit(f) && !math.IsNaN(f)
		digits, tail = l.floatDigits(math.Abs(f))
	}
	sign := ""
	if negative {
		sign = "-"
	} else if l.sign != 0 {
		sign = string(l.sign)
	}
	if l.comma && digits[0] <= '9' {
		digits = withCommas(digits, l.zeroWidth(len(sign)+len(tail)))
	}
	return l.padText(sign, digits+tail, '>'), nil
}

// zeroWidth returns how many columns of digits a layout with leading zeros wants.
func (l layout) zeroWidth(taken int) int {
	if l.align != '=' {
		return 0
	}
	return l.width - taken
}

// floatDigits returns the digits before the point and everything after them.
func (l layout) floatDigits(f float64) (digits, tail string) {
	kind, precision := l.kind, l.precision
	if precision < 0 {
		precision = 6
	}
	end := ""
	if kind == '%' {
		f, kind, end = f*100, 'f', "%"
	}
	var s string
	switch {
	case kind == 0 || math.IsInf(f, 0) || math.IsNaN(f):
		s = floatText(f)
	case kind == 'g':
		s = strconv.FormatFloat(f, 'g', max(precision, 1), 64)
	default:
		s = strconv.FormatFloat(f, kind, precision, 64)
	}
	if i := strings.IndexAny(s, ".e"); i >= 0 {
		return s[:i], s[i:] + end
	}
	return s, end
}

// withCommas separates thousands; zeros in front fill up to that many columns.
func withCommas(digits string, columns int) string {
	for len(digits)+(len(digits)-1)/3 < columns {
		digits = "0" + digits
	}
	var b strings.Builder
	for i := range len(digits) {
		if i > 0 && (len(digits)-i)%3 == 0 {
			b.WriteByte(',')
		}
		b.WriteByte(digits[i])
	}
	return b.String()
}

// padText fills up to the width; align applies if the layout has none.
func (l layout) padText(sign, s string, align byte) string {
	if l.align != 0 {
		align = l.align
	}
	space := max(l.width-utf8.RuneCountInString(sign)-utf8.RuneCountInString(s), 0)
	fill := func(n int) string { return strings.Repeat(string(l.fill), n) }
	switch align {
	case '<':
		return sign + s + fill(space)
	case '^':
		return fill(space/2) + sign + s + fill(space-space/2)
	case '=':
		return sign + fill(space) + s
	}
	return fill(space) + sign + s
}

// percentFormat is one run of the % operator on a string, or of the filter format.
type percentFormat struct {
	m    *Run
	args Val
	list Tuple // the arguments by place
	next int   // which of them comes next
}

// FormatPercent writes '...' % args.
func (m *Run) FormatPercent(s string, args Val) (string, error) {
	p := &percentFormat{m: m, args: args}
	list, isTuple := args.Py().(Tuple)
	p.list = list
	if !isTuple {
		p.list = Tuple{args}
	}
	var b strings.Builder
	for {
		before, after, found := strings.Cut(s, "%")
		b.WriteString(before)
		if !found {
			break
		}
		text, rest, err := p.writeConversion(after)
		if err != nil {
			return "", err
		}
		b.WriteString(text)
		if err := m.CheckTextSize(b.Len()); err != nil {
			return "", err
		}
		s = rest
	}
	isContainer := args.IsDict() || IsSequence(args)
	mayHaveMore := isContainer && !isTuple
	if p.next < len(p.list) && !mayHaveMore {
		return "", fault.Errorf(fault.Type, "not all arguments converted during string formatting")
	}
	return b.String(), nil
}

// writeConversion writes the conversion (key)flags width.precision letter at the start of s.
func (p *percentFormat) writeConversion(s string) (text, rest string, err error) {
	key, named := "", strings.HasPrefix(s, "(")
	if named {
		key, s, named = strings.Cut(s[1:], ")")
		if !named {
			return "", "", fault.Errorf(fault.Other, "incomplete format key")
		}
	}
	l := layout{fill: ' ', precision: -1}
	zeros := false
	for s != "" && strings.IndexByte("-+ 0", s[0]) >= 0 {
		switch s[0] {
		case '-':
			l.align = '<'
		case '0':
			zeros = true
		default:
			if l.sign != '+' {
				l.sign = s[0]
			}
		}
		s = s[1:]
	}
	l.width, _, s = ReadNumber(s)
	if dot := strings.HasPrefix(s, "."); dot {
		l.precision, _, s = ReadNumber(s[1:])
	}
	if err := l.checkSize(); err != nil {
		return "", "", err
	}
	if s == "" {
		return "", "", fault.Errorf(fault.Other, "incomplete format")
	}
	kind, rest := s[0], s[1:]
	if kind == '%' {
		return "%", rest, nil
	}
	if strings.IndexByte("sdifegxX", kind) < 0 {
		e := fault.Errorf(fault.Other, "unsupported format character %q", kind)
		e.Hint = "use %s, %d, %f, %e, %g or %x"
		return "", "", e
	}
	v, err := p.takeArgument(key, named)
	if err != nil {
		return "", "", err
	}
	l.kind = kind
	if kind == 'i' {
		l.kind = 'd'
	}
	if zeros && l.align == 0 && kind != 's' {
		l.fill, l.align = '0', '='
	}
	text, err = l.writePercent(p.m, v)
	return text, rest, err
}

// takeArgument takes the next argument, or the one of that key.
func (p *percentFormat) takeArgument(key string, named bool) (Val, error) {
	if !named {
		if p.next >= len(p.list) {
			return None, fault.Errorf(fault.Type, "not enough arguments for format string")
		}
		p.next++
		return p.list[p.next-1], nil
	}
	p.next = len(p.list)
	if !p.args.IsDict() {
		return None, fault.Errorf(fault.Type, "format requires a mapping")
	}
	v, ok, err := DictGet(p.args, OfStr(key))
	if err == nil && !ok {
		err = fault.Errorf(fault.Other, "the format has no argument %s", QuoteText(key))
	}
	return v, err
}

// writePercent writes one value as the % operator does: unlike a {} field it
// aligns everything to the right and cuts floats to integers for %d.
func (l layout) writePercent(m *Run, v Val) (string, error) {
	if err := v.CheckRead(); err != nil {
		return "", err
	}
	if l.kind == 's' {
		return l.writeText(m, v, '>')
	}
	n, isNum := ToNum(v)
	isHex := l.kind|0x20 == 'x'
	isHexOfFloat := isHex && n.Kind == 'f'
	if !isNum || isHexOfFloat {
		return "", fault.Errorf(fault.Type, "%%%c format: a number is required, not %s", l.kind, v.PyType())
	}
	if n.Kind == 'f' && l.kind == 'd' {
		whole, ok := ToNum(TruncateFloat(n.F, None))
		if !ok {
			return "", fault.Errorf(fault.Other, "cannot convert %s to an integer", floatText(n.F))
		}
		n = whole
	}
	return l.writeNumber(n)
}

// fieldFormat is one run of str.format.
type fieldFormat struct {
	m    *Run
	args CallArgs
	auto int  // fields without a number so far
	mode byte // a: automatic numbers, m: written ones; 0 until the first
}

// FormatFields writes '...'.format(args). A field is a number or a name with a
// layout; it reaches no members, so that a text cannot look into values.
func (m *Run) FormatFields(s string, args CallArgs) (string, error) {
	f := &fieldFormat{m: m, args: args}
	var b strings.Builder
	for s != "" {
		i := strings.IndexAny(s, "{}")
		if i < 0 {
			b.WriteString(s)
			break
		}
		b.WriteString(s[:i])
		if i+1 < len(s) && s[i+1] == s[i] {
			b.WriteByte(s[i])
			s = s[i+2:]
			continue
		}
		end := strings.IndexByte(s, '}')
		if s[i] == '}' || end < 0 {
			return "", fault.Errorf(fault.Other, "single %q in a format", s[i])
		}
		text, err := f.writeField(s[i+1 : end])
		if err != nil {
			return "", err
		}
		b.WriteString(text)
		if err := m.CheckTextSize(b.Len()); err != nil {
			return "", err
		}
		s = s[end+1:]
	}
	return b.String(), nil
}

// writeField writes the field name[:layout].
func (f *fieldFormat) writeField(field string) (string, error) {
	name, form, _ := strings.Cut(field, ":")
	if strings.ContainsAny(name, ".[") || strings.Contains(field, "{") {
		e := fault.Errorf(fault.Security, "a field of a format reaches no members and contains no field: {%s}", field)
		e.Hint = "give the value itself as an argument"
		return "", e
	}
	if i := strings.IndexByte(name, '!'); i >= 0 {
		return "", fault.Errorf(fault.Other, "conversions such as %s are not supported in a format", name[i:])
	}
	v, err := f.findArgument(name)
	if err != nil {
		return "", err
	}
	l, err := parseLayout(form)
	if err != nil {
		return "", err
	}
	return l.writeValue(f.m, v)
}

// findArgument returns the argument that the name of a field means.
func (f *fieldFormat) findArgument(name string) (Val, error) {
	i, err := strconv.Atoi(name)
	mode := byte('m')
	if name == "" {
		i, err, mode = f.auto, nil, 'a'
		f.auto++
	}
	if err != nil {
		for _, kw := range f.args.Kw {
			if kw.Name == name {
				return kw.V, nil
			}
		}
		return None, fault.Errorf(fault.Other, "the format has no argument %s", QuoteText(name))
	}
	if f.mode != 0 && f.mode != mode {
		return None, fault.Errorf(fault.Other, "a format numbers all of its fields or none")
	}
	f.mode = mode
	if i < 0 || i >= len(f.args.Pos) {
		return None, fault.Errorf(fault.Other, "the format has no argument %d", i)
	}
	return f.args.Pos[i], nil
}
