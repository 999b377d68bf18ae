package schema

import (
	"fmt"
	"regexp/syntax"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf16"

	"github.com/callnode/scheduler/llm/value"
)

// rewritePatterns rewrites the regular expressions of a schema from the dialect of
// JSON Schema to that of Go. names means that the keys of v are names of
// the schema's own, not keywords.
func rewritePatterns(v value.Value, names bool) value.Value {
	if list := v.List(); len(list) > 0 {
		items := make([]value.Value, len(list))
		for i, item := range list {
			items[i] = rewritePatterns(item, false)
		}
		return value.OfList(items...)
	}
	if v.Kind() != value.Object {
		return v
	}
	m := value.NewMap(v.Map().Len())
	for k, member := range v.Map().All() {
		text, isText := member.Str()
		switch {
		case names:
			member = rewritePatterns(member, false)
		case k == "pattern" && isText:
			member = value.OfString(rewritePattern(text))
		case k == "patternProperties" && member.Kind() == value.Object:
			patterns := value.NewMap(member.Map().Len())
			for pattern, sub := range member.Map().All() {
				patterns.Set(rewritePattern(pattern), rewritePatterns(sub, false))
			}
			member = value.OfMap(patterns)
		case !isData(k):
			member = rewritePatterns(member, isNaming(k))
		}
		m.Set(k, member)
	}
	return value.OfMap(m)
}

// rewritePattern rewrites the \uHHHH of ECMA's regular expressions, which Go does not
// know. Letters are put in as they are, so that messages show them.
func rewritePattern(pattern string) string {
	if !strings.Contains(pattern, `\u`) {
		return pattern
	}
	var b strings.Builder
	for i := 0; i < len(pattern); {
		if pattern[i] != '\\' || i+1 == len(pattern) {
			b.WriteByte(pattern[i])
			i++
			continue
		}
		r, n := unicodeEscape(pattern[i:])
		switch {
		case n == 0:
			b.WriteString(pattern[i : i+2])
			n = 2
		case r > unicode.MaxASCII && unicode.IsLetter(r):
			b.WriteRune(r)
		default:
			fmt.Fprintf(&b, `\x{%x}`, r)
		}
		i += n
	}
	return b.String()
}

// unicodeEscape reads \uHHHH, or two of them that make a surrogate pair; n is 0
// where s begins with neither.
func unicodeEscape(s string) (r rune, n int) {
	unit := func(s string) (rune, bool) {
		if len(s) < 6 || s[:2] != `\u` {
			return 0, false
		}
		x, err := strconv.ParseUint(s[2:6], 16, 16)
		return rune(x), err == nil
	}
	r, ok := unit(s)
	if !ok {
		return 0, 0
	}
	if !utf16.IsSurrogate(r) {
		return r, 6
	}
	low, _ := unit(s[6:])
	if r = utf16.DecodeRune(r, low); r == unicode.ReplacementChar {
		return 0, 0
	}
	return r, 12
}

// weightOf is about how many steps a regular expression takes at the most for
// each character that it looks at: what is repeated counts as often as it may
// come. One that is none has no weight.
func weightOf(pattern string) int {
	re, err := syntax.Parse(pattern, syntax.Perl)
	if err != nil {
		return 0
	}
	return weightOfNode(re)
}

func weightOfNode(re *syntax.Regexp) int {
	const classUnit = 16 // bounds of a class that count as one step
	total := 1
	if re.Op == syntax.OpLiteral {
		return len(re.Rune)
	}
	if re.Op == syntax.OpCharClass {
		return 1 + len(re.Rune)/classUnit
	}
	for _, sub := range re.Sub {
		total += weightOfNode(sub)
	}
	if re.Op == syntax.OpRepeat {
		total *= max(1, re.Min, re.Max)
	}
	return min(total, 1<<30)
}

// patternWeight is the weight of all the regular expressions of a schema. names
// means that the keys of v are names of the schema's own, not keywords.
func patternWeight(v value.Value, names bool) (total int) {
	for _, item := range v.List() {
		total += patternWeight(item, false)
	}
	for k, member := range v.Map().All() {
		text, isText := member.Str()
		switch {
		case names:
			total += patternWeight(member, false)
		case k == "pattern" && isText:
			total += weightOf(rewritePattern(text))
		case k == "patternProperties":
			for pattern := range member.Map().All() {
				total += weightOf(rewritePattern(pattern))
			}
			total += patternWeight(member, true)
		case !isData(k):
			total += patternWeight(member, isNaming(k))
		}
	}
	return total
}

// isData reports whether the value of a keyword is data, not schemas.
func isData(keyword string) bool {
	return keyword == "const" || keyword == "enum" || keyword == "default" || keyword == "examples"
}

// isNaming reports whether the members of a keyword's value are schemas by name.
func isNaming(keyword string) bool {
	return keyword == "properties" || keyword == "definitions" || keyword == "$defs" ||
		keyword == "dependencies" || keyword == "dependentSchemas"
}
