package prompt

import (
	"math"
	"math/big"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/callnode/scheduler/llm/value"
)

// spec is how a value is to be written: [[fill]align][sign][#][0][width][,][.precision][type].
type spec struct {
	fill      rune
	align     byte // < > ^ = or 0
	sign      byte // + - or space
	alt, zero bool
	width     int
	group     byte // , or _ or 0
	precision int  // -1: none
	kind      byte // 0: none
}

func parseSpec(s string) (spec, error) {
	f := spec{fill: ' ', sign: '-', precision: -1}
	bad := errorf(Other, "invalid format specifier %s", quoted(s))
	if r, n := utf8.DecodeRuneInString(s); n > 0 && len(s) > n && strings.IndexByte("<>^=", s[n]) >= 0 {
		f.fill, f.align = r, s[n]
		s = s[n+1:]
	} else if s != "" && strings.IndexByte("<>^=", s[0]) >= 0 {
		f.align = s[0]
		s = s[1:]
	}
	take := func(set string) byte {
		if s != "" && strings.IndexByte(set, s[0]) >= 0 {
			c := s[0]
			s = s[1:]
			return c
		}
		return 0
	}
	number := func() (int, bool) {
		n := 0
		for n < len(s) && s[n] >= '0' && s[n] <= '9' {
			n++
		}
		if n == 0 {
			return 0, false
		}
		i, err := strconv.Atoi(s[:n])
		if err != nil {
			i = math.MaxInt
		}
		s = s[n:]
		return i, true
	}
	if c := take("+- "); c != 0 {
		f.sign = c
	}
	f.alt = take("#") != 0
	if f.zero = take("0") != 0; f.zero && f.align == 0 {
		f.fill, f.align = '0', '='
	}
	f.width, _ = number()
	f.group = take(",_")
	if take(".") != 0 {
		p, ok := number()
		if !ok {
			return f, bad
		}
		f.precision = p
	}
	f.kind = take("bcdeEfFgGnosxX%")
	if s != "" {
		return f, bad
	}
	if f.width > maxPad || f.precision > maxPad/1000 {
		return f, errorf(Limit, "a width or precision that is too big")
	}
	return f, nil
}

// write formats a value by the rules of Python's format().
func (f spec) write(m *machine, v val) (string, error) {
	if err := v.use(); err != nil {
		return "", err
	}
	n, isNum := toNum(v)
	_, isStr := v.str()
	if isBool(v) && f.kind == 0 {
		isNum = f != (spec{fill: ' ', sign: '-', precision: -1})
	}
	switch {
	case isNum && (f.kind == 0 && n.kind != 'f' || f.kind != 0 && strings.IndexByte("bcdoxX", f.kind) >= 0 || f.kind == 'n' && n.kind != 'f'):
		return f.integer(n)
	case isNum && f.kind != 's':
		return f.float(n)
	case isStr || f == (spec{fill: ' ', sign: '-', precision: -1}):
		if f.kind != 0 && f.kind != 's' || f.align == '=' && !f.zero || f.group != 0 {
			return "", errorf(Other, "a '%s' cannot be written in this format", v.pyType())
		}
		s, err := m.text(v)
		if err != nil {
			return "", err
		}
		if f.precision >= 0 {
			if r := []rune(s); len(r) > f.precision {
				s = string(r[:f.precision])
			}
		}
		if f.align == '=' {
			f.align = '<'
		}
		return f.pad("", s, '<'), nil
	}
	return "", errorf(Type, "a '%s' cannot be written in this format", v.pyType())
}

func isBool(v val) bool { return v.x == nil && v.v.Kind() == value.Bool }

func (f spec) signOf(negative bool) string {
	switch {
	case negative:
		return "-"
	case f.sign == '+' || f.sign == ' ':
		return string(f.sign)
	}
	return ""
}

func (f spec) integer(n num) (string, error) {
	if n.kind == 'f' || f.precision >= 0 {
		return "", errorf(Other, "the format %q is for integers without a precision", f.kind)
	}
	i := n.big()
	if f.kind == 'c' {
		if !i.IsInt64() || i.Int64() < 0 || i.Int64() > utf8.MaxRune {
			return "", errorf(Other, "no character has this number")
		}
		return f.pad("", string(rune(i.Int64())), '<'), nil
	}
	base, prefix := 10, ""
	switch f.kind {
	case 'b':
		base, prefix = 2, "0b"
	case 'o':
		base, prefix = 8, "0o"
	case 'x':
		base, prefix = 16, "0x"
	case 'X':
		base, prefix = 16, "0X"
	}
	digits := new(big.Int).Abs(i).Text(base)
	if f.kind == 'X' {
		digits = strings.ToUpper(digits)
	}
	sign := f.signOf(i.Sign() < 0)
	if f.alt && base != 10 {
		sign += prefix
	}
	every := 3
	if base != 10 {
		every = 4
	}
	return f.number(sign, digits, "", every), nil
}

func (f spec) float(n num) (string, error) {
	x := n.float()
	negative := math.Signbit(x) && !math.IsNaN(x)
	x = math.Abs(x)
	sign := f.signOf(negative)
	tail := ""
	kind, precision := f.kind, f.precision
	if precision < 0 && kind != 0 {
		precision = 6
	}
	if kind == '%' {
		x *= 100
		kind, tail = 'f', "%"
	}
	var s string
	switch {
	case math.IsNaN(x):
		s = "nan"
	case math.IsInf(x, 0):
		s = "inf"
	case kind == 0 && precision < 0:
		s = floatText(x)
	case kind == 0:
		if s = general(x, max(precision, 1), 'e', false); !strings.ContainsAny(s, ".e") {
			s += ".0"
		}
	case kind == 'g' || kind == 'G' || kind == 'n':
		s = general(x, max(precision, 1), 'e', f.alt)
	default:
		s = strconv.FormatFloat(x, kind|0x20, precision, 64)
		if f.alt && precision == 0 {
			s += "."
		}
	}
	if kind == 'E' || kind == 'F' || kind == 'G' {
		s = strings.ToUpper(s)
	}
	whole, fraction := s, ""
	if i := strings.IndexAny(s, ".eE"); i >= 0 {
		whole, fraction = s[:i], s[i:]
	}
	return f.number(sign, whole, fraction+tail, 3), nil
}

// general is the g format: precision counts all digits, zeros at the end go
// unless they are wanted.
func general(x float64, precision int, exp byte, keep bool) string {
	s := strconv.FormatFloat(x, exp, precision-1, 64)
	i := strings.IndexByte(s, exp)
	e, _ := strconv.Atoi(s[i+1:])
	tail := s[i:]
	if e >= -4 && e < precision {
		s, tail = strconv.FormatFloat(x, 'f', precision-1-e, 64), ""
	} else {
		s = s[:i]
	}
	if !keep && strings.IndexByte(s, '.') >= 0 {
		s = strings.TrimRight(strings.TrimRight(s, "0"), ".")
	}
	return s + tail
}

// number groups the digits and pads.
func (f spec) number(sign, digits, tail string, every int) string {
	if f.group != 0 && digits[0] <= '9' {
		least := 0
		if f.align == '=' && f.fill == '0' {
			least = f.width - len(sign) - len(tail)
		}
		digits = grouped(digits, f.group, every, least)
	}
	return f.pad(sign, digits+tail, '>')
}

func grouped(digits string, sep byte, every, least int) string {
	for least > 0 && len(digits)+(len(digits)-1)/every < least {
		digits = "0" + digits
	}
	var b strings.Builder
	for i := range len(digits) {
		if i > 0 && (len(digits)-i)%every == 0 {
			b.WriteByte(sep)
		}
		b.WriteByte(digits[i])
	}
	return b.String()
}

func (f spec) pad(sign, s string, align byte) string {
	if f.align != 0 {
		align = f.align
	}
	space := f.width - utf8.RuneCountInString(sign) - utf8.RuneCountInString(s)
	if space <= 0 {
		return sign + s
	}
	fill := func(n int) string { return strings.Repeat(string(f.fill), n) }
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
