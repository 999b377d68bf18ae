package prompt

import (
	"strings"
	"unicode/utf8"
)

// split is split and rsplit.
func split(fromRight bool) *builtin {
	return &builtin{params: []string{"sep", "maxsplit"}, fn: func(m *machine, c *call) (val, error) {
		s := c.self()
		limit, err := c.int(1, -1)
		if err != nil {
			return none, err
		}
		var parts []string
		if a := c.args[0]; a.isAbsent() || a.isNone() {
			parts = splitSpace(s, limit, fromRight)
		} else {
			sep, err := c.str(0, "")
			if err != nil {
				return none, err
			}
			if sep == "" {
				return none, errorf(Other, "empty separator")
			}
			parts = splitAt(s, sep, limit, fromRight)
		}
		return m.texts(parts)
	}}
}

func (m *machine) texts(parts []string) (val, error) {
	if err := m.roomItems(len(parts)); err != nil {
		return none, err
	}
	items := make([]val, len(parts))
	for i, p := range parts {
		items[i] = ofStr(p)
	}
	return ofList(items), nil
}

func splitAt(s, sep string, limit int, fromRight bool) []string {
	if limit < 0 {
		return strings.Split(s, sep)
	}
	if !fromRight {
		return strings.SplitN(s, sep, limit+1)
	}
	var parts []string
	for ; limit > 0; limit-- {
		i := strings.LastIndex(s, sep)
		if i < 0 {
			break
		}
		parts = append(parts, s[i+len(sep):])
		s = s[:i]
	}
	return reversed(append(parts, s))
}

func reversed(s []string) []string {
	for i, j := 0, len(s)-1; i < j; i, j = i+1, j-1 {
		s[i], s[j] = s[j], s[i]
	}
	return s
}

// splitSpace splits at runs of white space; what is left beyond the limit keeps
// its white space inside.
func splitSpace(s string, limit int, fromRight bool) []string {
	if limit < 0 {
		return strings.FieldsFunc(s, isSpace)
	}
	var parts []string
	if fromRight {
		s = strings.TrimRightFunc(s, isSpace)
		for ; limit > 0 && s != ""; limit-- {
			i := strings.LastIndexFunc(s, isSpace)
			_, w := utf8.DecodeRuneInString(s[max(i, 0):])
			if i < 0 {
				w = 0
			}
			parts = append(parts, s[max(i, 0)+w:])
			s = strings.TrimRightFunc(s[:max(i, 0)], isSpace)
		}
		if s != "" {
			parts = append(parts, s)
		}
		return reversed(parts)
	}
	s = strings.TrimLeftFunc(s, isSpace)
	for ; limit > 0 && s != ""; limit-- {
		i := strings.IndexFunc(s, isSpace)
		if i < 0 {
			i = len(s)
		}
		parts = append(parts, s[:i])
		s = strings.TrimLeftFunc(s[i:], isSpace)
	}
	if s != "" {
		parts = append(parts, s)
	}
	return parts
}

// splitLines splits where Python sees the end of a line.
func splitLines(s string, keep bool) []string {
	var lines []string
	start := 0
	for i := 0; i < len(s); {
		r, w := utf8.DecodeRuneInString(s[i:])
		switch r {
		case '\n', '\v', '\f', 0x1c, 0x1d, 0x1e, 0x85, 0x2028, 0x2029:
		case '\r':
			if strings.HasPrefix(s[i+1:], "\n") {
				w = 2
			}
		default:
			i += w
			continue
		}
		end := i
		i += w
		if keep {
			end = i
		}
		lines = append(lines, s[start:end])
		start = i
	}
	if start < len(s) {
		lines = append(lines, s[start:])
	}
	return lines
}
