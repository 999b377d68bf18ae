package schema

import (
	"errors"
	"fmt"
	"regexp/syntax"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf16"

	"github.com/callnode/scheduler/llm/value"
)

// rewritePatterns translates the regular expressions of a schema from the dialect of JSON Schema to Go's.
func rewritePatterns(doc value.Value) value.Value {
	return Rewrite(doc, func(m *value.Map) {
		pattern, _ := m.Get("pattern")
		if text, ok := pattern.Str(); ok {
			m.Set("pattern", value.OfString(rewritePattern(text)))
		}
		if byPattern, _ := m.Get("patternProperties"); byPattern.Kind() == value.Object {
			rewritten := value.NewMap(byPattern.Map().Len())
			for pattern, sub := range byPattern.Map().All() {
				rewritten.Set(rewritePattern(pattern), sub)
			}
			m.Set("patternProperties", value.OfMap(rewritten))
		}
	})
}

// rewritePattern rewrites the \uHHHH of ECMA's regular expressions, which Go does not know. Letters are inserted
// literally, so that messages show them.
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

// IsForeignPattern reports whether a text is a regular expression that cannot be used here although ECMA 262
// allows it: lookaround, back references, repetitions of more than 1000. A pattern that ECMA 262 refuses too is
// not foreign.
func IsForeignPattern(pattern string) bool {
	_, err := syntax.Parse(rewritePattern(pattern), syntax.Perl)
	var fault *syntax.Error
	if !errors.As(err, &fault) {
		return false
	}
	isLookbehind := strings.HasPrefix(fault.Expr, "(?<=") || strings.HasPrefix(fault.Expr, "(?<!")
	return isLookbehind || slices.Contains([]syntax.ErrorCode{syntax.ErrInvalidPerlOp, syntax.ErrInvalidEscape, syntax.ErrInvalidRepeatSize}, fault.Code)
}

// unicodeEscape reads \uHHHH, or two of them that make a surrogate pair; n is 0 if s begins with neither.
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
	r = utf16.DecodeRune(r, low)
	if r == unicode.ReplacementChar {
		return 0, 0
	}
	return r, 12
}

// weightOf is roughly the maximum number of steps that a regular expression takes for each character: a repeated
// part counts as often as it may occur. A pattern that does not compile has the weight 0.
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

// patternWeight returns the weight of all the regular expressions of a schema.
func patternWeight(doc value.Value) (total int) {
	Rewrite(doc, func(m *value.Map) {
		pattern, _ := m.Get("pattern")
		if text, ok := pattern.Str(); ok {
			total += weightOf(rewritePattern(text))
		}
		byPattern, _ := m.Get("patternProperties")
		for pattern := range byPattern.Map().All() {
			total += weightOf(rewritePattern(pattern))
		}
	})
	return total
}
