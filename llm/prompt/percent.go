package prompt

import (
	"math"
	"math/big"
	"strings"
	"unicode/utf8"
)

// percents is one run of the % operator on a string.
type percents struct {
	m    *machine
	s    string
	i    int // where it reads
	args val
	list tuple // the arguments by place
	next int
}

// percent is Python's '...' % args.
func (m *machine) percent(s string, args val) (string, error) {
	p := &percents{m: m, s: s, args: args}
	list, isTuple := args.x.(tuple)
	if p.list = list; !isTuple {
		p.list = tuple{args}
	}
	var b strings.Builder
	for ; p.i < len(s); p.i++ {
		if s[p.i] != '%' {
			b.WriteByte(s[p.i])
			continue
		}
		p.i++
		out, err := p.conversion()
		if err != nil {
			return "", err
		}
		b.WriteString(out)
		if err := m.room(b.Len()); err != nil {
			return "", err
		}
	}
	if p.next < len(p.list) && (isTuple || !args.isDict() && !isSequence(args)) {
		return "", errorf(Type, "not all arguments converted during string formatting")
	}
	return b.String(), nil
}

// conversion writes what %(key)flags width.precision letter asks for.
func (p *percents) conversion() (string, error) {
	key, hasKey, err := p.key()
	if err != nil {
		return "", err
	}
	f := p.flags()
	if f.width, err = p.number(); err != nil {
		return "", err
	}
	if f.width < 0 {
		f.width, f.align = -f.width, '<'
	}
	if p.i < len(p.s) && p.s[p.i] == '.' {
		p.i++
		if f.precision, err = p.number(); err != nil {
			return "", err
		}
	}
	if f.width > maxPad || f.precision > maxPad/1000 {
		return "", errorf(Limit, "a width or precision that is too big")
	}
	if p.i < len(p.s) && strings.IndexByte("hlL", p.s[p.i]) >= 0 {
		p.i++
	}
	if p.i >= len(p.s) {
		return "", errorf(Other, "incomplete format")
	}
	if p.s[p.i] == '%' {
		return "%", nil
	}
	v, err := p.value(key, hasKey)
	if err != nil {
		return "", err
	}
	return f.percent(p.m, p.s[p.i], v)
}

// key reads (name).
func (p *percents) key() (key string, ok bool, err error) {
	if p.i >= len(p.s) || p.s[p.i] != '(' {
		return "", false, nil
	}
	end := strings.IndexByte(p.s[p.i:], ')')
	if end < 0 {
		return "", false, errorf(Other, "incomplete format key")
	}
	key = p.s[p.i+1 : p.i+end]
	p.i += end + 1
	return key, true, nil
}

func (p *percents) flags() spec {
	f := spec{fill: ' ', sign: '-', precision: -1}
	for ; p.i < len(p.s); p.i++ {
		switch p.s[p.i] {
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
		default:
			return f
		}
	}
	return f
}

// number reads a width or precision; * takes it from the arguments.
func (p *percents) number() (int, error) {
	if p.i < len(p.s) && p.s[p.i] == '*' {
		p.i++
		v, err := p.value("", false)
		if err != nil {
			return 0, err
		}
		return asInt(v)
	}
	n := 0
	for ; p.i < len(p.s) && p.s[p.i] >= '0' && p.s[p.i] <= '9' && n <= maxPad; p.i++ {
		n = n*10 + int(p.s[p.i]-'0')
	}
	return n, nil
}

// value takes the next argument, or the one of that key.
func (p *percents) value(key string, hasKey bool) (val, error) {
	if !hasKey {
		if p.next >= len(p.list) {
			return none, errorf(Type, "not enough arguments for format string")
		}
		p.next++
		return p.list[p.next-1], nil
	}
	if !p.args.isDict() {
		return none, errorf(Type, "format requires a mapping")
	}
	v, ok, err := dictGet(p.args, ofStr(key))
	if err == nil && !ok {
		err = errorf(Other, "the format has no argument %s", quoted(key))
	}
	p.next = len(p.list)
	return v, err
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
		if f.align == 0 {
			f.align = '>'
		}
		return f.integer(n)
	}
	return f.float(n)
}
