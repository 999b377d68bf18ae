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

// formatter is one run of str.format.
type formatter struct {
	m     *machine
	argv  argv
	names *val // the mapping of format_map
	auto  int  // fields without a number so far
	mode  byte // a: automatic numbers, m: written ones
}

// format is str.format, inside the sandbox: fields reach members as expressions
// do.
func (m *machine) format(s string, a argv, names *val) (string, error) {
	f := &formatter{m: m, argv: a, names: names}
	return f.run(s, 0)
}

func (f *formatter) run(s string, depth int) (string, error) {
	if depth > 1 {
		return "", errorf(Other, "a format inside the format of a format")
	}
	var b strings.Builder
	for i := 0; i < len(s); {
		c := s[i]
		if c != '{' && c != '}' {
			b.WriteByte(c)
			i++
			continue
		}
		if i+1 < len(s) && s[i+1] == c {
			b.WriteByte(c)
			i += 2
			continue
		}
		if c == '}' {
			return "", errorf(Other, "single '}' in a format")
		}
		end, open := i+1, 1
		for ; end < len(s) && open > 0; end++ {
			switch s[end] {
			case '{':
				open++
			case '}':
				open--
			}
		}
		if open > 0 {
			return "", errorf(Other, "single '{' in a format")
		}
		out, err := f.field(s[i+1:end-1], depth)
		if err != nil {
			return "", err
		}
		b.WriteString(out)
		if err := f.m.room(b.Len()); err != nil {
			return "", err
		}
		i = end
	}
	return b.String(), nil
}

// field writes what stands between braces: name[.member][index][!conversion][:spec].
func (f *formatter) field(s string, depth int) (string, error) {
	name, format, conversion := s, "", byte(0)
	bracket := false
scan:
	for i := range len(s) {
		switch {
		case s[i] == '[':
			bracket = true
		case s[i] == ']':
			bracket = false
		case bracket:
		case s[i] == '!' || s[i] == ':':
			name = s[:i]
			rest := s[i:]
			if rest[0] == '!' {
				if len(rest) < 2 || len(rest) > 2 && rest[2] != ':' {
					return "", errorf(Other, "expected ':' after the conversion in a format")
				}
				conversion, rest = rest[1], rest[2:]
			}
			format = strings.TrimPrefix(rest, ":")
			break scan
		}
	}
	v, err := f.lookup(name)
	if err != nil {
		return "", err
	}
	if v, err = f.convert(v, conversion); err != nil {
		return "", err
	}
	if strings.ContainsAny(format, "{}") {
		if format, err = f.run(format, depth+1); err != nil {
			return "", err
		}
	}
	sp, err := parseSpec(format)
	if err != nil {
		return "", err
	}
	return sp.write(f.m, v)
}

func (f *formatter) convert(v val, conversion byte) (val, error) {
	switch conversion {
	case 0:
		return v, v.use()
	case 's':
		return f.m.ofText(v)
	case 'r', 'a':
		p := printer{max: maxBytes}
		p.repr(v)
		return ofStr(string(p.b)), p.err
	}
	return none, errorf(Other, "unknown conversion %q in a format", conversion)
}

// lookup finds the value of a field's name and members.
func (f *formatter) lookup(name string) (val, error) {
	first := name
	if i := strings.IndexAny(name, ".["); i >= 0 {
		first = name[:i]
	}
	v, err := f.argument(first)
	if err != nil {
		return none, err
	}
	for rest := name[len(first):]; rest != ""; {
		var key val
		var ok bool
		if rest[0] == '.' {
			end := len(rest)
			if i := strings.IndexAny(rest[1:], ".["); i >= 0 {
				end = i + 1
			}
			key, rest = ofStr(rest[1:end]), rest[end:]
			s, _ := key.str()
			n := &attrNode{place: place(f.m.here), name: s, path: s}
			v, err = f.m.attr(v, n)
			ok = true
		} else {
			end := strings.IndexByte(rest, ']')
			if end < 2 || rest[0] != '[' {
				return none, errorf(Other, "an index that is empty or has no end in a format")
			}
			part := rest[1:end]
			rest = rest[end+1:]
			key = ofStr(part)
			if i, numErr := strconv.Atoi(part); numErr == nil && i >= 0 {
				key = ofInt(i)
			}
			if v, ok, err = getitem(v, key); err == nil && !ok {
				if s, isStr := key.str(); isStr && isInternal(s) {
					v, ok = refused(v, s), true
				}
			}
		}
		if err != nil {
			return none, err
		}
		if !ok {
			return none, errorf(Other, "the format asks for %s, which is not there", quoted(name))
		}
		if err := v.use(); err != nil {
			return none, err
		}
	}
	return v, nil
}

func (f *formatter) argument(name string) (val, error) {
	i, err := strconv.Atoi(name)
	switch {
	case name == "":
		i, err = f.auto, nil
		f.auto++
		if f.mode == 'm' {
			return none, errorf(Other, "a format cannot number some fields and not others")
		}
		f.mode = 'a'
	case err == nil && f.mode == 'a':
		return none, errorf(Other, "a format cannot number some fields and not others")
	case err == nil:
		f.mode = 'm'
	}
	if err == nil {
		if i < 0 || i >= len(f.argv.pos) {
			return none, errorf(Other, "the format has no argument %d", i)
		}
		return f.argv.pos[i], nil
	}
	if f.names != nil {
		v, ok, err := getitem(*f.names, ofStr(name))
		if err != nil || ok {
			return v, err
		}
	}
	for _, kw := range f.argv.kw {
		if kw.name == name {
			return kw.v, nil
		}
	}
	return none, errorf(Other, "the format has no argument %s", quoted(name))
}

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
