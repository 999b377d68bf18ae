package prompt

import (
	"math"
	"math/big"
	"strings"
	"unicode/utf8"
)

// percent is Python's '...' % args.
func (m *machine) percent(s string, args val) (string, error) {
	list, isTuple := args.x.(tuple)
	if !isTuple {
		list = tuple{args}
	}
	next := 0
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		if s[i] != '%' {
			b.WriteByte(s[i])
			continue
		}
		i++
		var v val
		var key *string
		if i < len(s) && s[i] == '(' {
			end := strings.IndexByte(s[i:], ')')
			if end < 0 {
				return "", errorf(Other, "incomplete format key")
			}
			k := s[i+1 : i+end]
			key = &k
			i += end + 1
		}
		f := spec{fill: ' ', sign: '-', precision: -1}
		for ; i < len(s) && strings.IndexByte("-+ #0", s[i]) >= 0; i++ {
			switch s[i] {
			case '-':
				f.align = '<'
			case '+':
				f.sign = '+'
			case ' ':
				if f.sign != '+' {
					f.sign = ' '
				}
			case '#':
				f.alt = true
			case '0':
				f.zero = true
			}
		}
		number := func() (int, error) {
			if i < len(s) && s[i] == '*' {
				i++
				if next >= len(list) {
					return 0, errorf(Type, "not enough arguments for format string")
				}
				next++
				return asInt(list[next-1])
			}
			n := 0
			for ; i < len(s) && s[i] >= '0' && s[i] <= '9' && n <= maxPad; i++ {
				n = n*10 + int(s[i]-'0')
			}
			return n, nil
		}
		var err error
		if f.width, err = number(); err != nil {
			return "", err
		}
		if f.width < 0 {
			f.width, f.align = -f.width, '<'
		}
		if i < len(s) && s[i] == '.' {
			i++
			if f.precision, err = number(); err != nil {
				return "", err
			}
		}
		if f.width > maxPad || f.precision > maxPad/1000 {
			return "", errorf(Limit, "a width or precision that is too big")
		}
		if i < len(s) && strings.IndexByte("hlL", s[i]) >= 0 {
			i++
		}
		if i >= len(s) {
			return "", errorf(Other, "incomplete format")
		}
		if s[i] == '%' {
			b.WriteByte('%')
			continue
		}
		switch {
		case key != nil:
			if !args.isDict() {
				return "", errorf(Type, "format requires a mapping")
			}
			var ok bool
			if v, ok, err = dictGet(args, ofStr(*key)); err != nil {
				return "", err
			}
			if !ok {
				return "", errorf(Other, "the format has no argument %s", quoted(*key))
			}
			next = len(list)
		case next >= len(list):
			return "", errorf(Type, "not enough arguments for format string")
		default:
			v = list[next]
			next++
		}
		out, err := f.percent(m, s[i], v)
		if err != nil {
			return "", err
		}
		b.WriteString(out)
		if err := m.room(b.Len()); err != nil {
			return "", err
		}
	}
	if next < len(list) && !(len(list) == 1 && !isTuple && (args.isDict() || isSequence(args))) {
		return "", errorf(Type, "not all arguments converted during string formatting")
	}
	return b.String(), nil
}

// percent writes one value by a conversion of the % operator.
func (f spec) percent(m *machine, kind byte, v val) (string, error) {
	if err := v.use(); err != nil {
		return "", err
	}
	n, isNum := toNum(v)
	if f.zero && f.align == 0 && isNum && kind != 's' && kind != 'r' {
		f.fill, f.align = '0', '='
	}
	switch kind {
	case 's', 'r', 'a':
		if kind != 's' {
			var err error
			if v, err = (&formatter{m: m}).convert(v, 'r'); err != nil {
				return "", err
			}
		}
		s, err := m.text(v)
		if err != nil {
			return "", err
		}
		if r := []rune(s); f.precision >= 0 && len(r) > f.precision {
			s = string(r[:f.precision])
		}
		return f.pad("", s, '>'), nil
	case 'c':
		if s, ok := v.str(); ok && utf8.RuneCountInString(s) == 1 {
			return f.pad("", s, '>'), nil
		}
		f.kind = 'c'
	case 'd', 'i', 'u', 'x', 'X', 'o':
		f.kind = kind
		if kind == 'i' || kind == 'u' {
			f.kind = 'd'
		}
		if !isNum || n.kind == 'f' && f.kind != 'd' {
			return "", errorf(Type, "%%%c format: a real number is required, not %s", kind, v.pyType())
		}
		if n.kind == 'f' {
			if math.IsNaN(n.f) || math.IsInf(n.f, 0) {
				return "", errorf(Other, "cannot convert %s to an integer", floatText(n.f))
			}
			n, _ = toNum(truncated(n.f, ofInt(0)))
		}
		if least := f.precision; least >= 0 {
			f.precision = -1
			digits := new(big.Int).Abs(n.big()).String()
			if len(digits) < least {
				return f.pad(f.signOf(n.big().Sign() < 0), strings.Repeat("0", least-len(digits))+digits, '>'), nil
			}
		}
	case 'e', 'E', 'f', 'F', 'g', 'G':
		f.kind = kind
	default:
		return "", errorf(Other, "unsupported format character %q", kind)
	}
	if !isNum {
		return "", errorf(Type, "%%%c format: a number is required, not %s", kind, v.pyType())
	}
	if strings.IndexByte("dxXoc", f.kind) >= 0 {
		return f.pad2(n)
	}
	return f.float(n)
}

func (f spec) pad2(n num) (string, error) {
	if f.align == 0 {
		f.align = '>'
	}
	return f.integer(n)
}
