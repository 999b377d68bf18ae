package prompt

import (
	"strconv"
	"strings"
)

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
