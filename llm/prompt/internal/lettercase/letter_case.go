// Package lettercase has the letter-case functions of Python's str, which differ from
// Go's: one character may become several, for example ß becomes SS, and words are found another way.
package lettercase

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/cases"
	"golang.org/x/text/language"
)

// IsUpper reports whether r is upper case: a capital letter, or a numeral or symbol
// that is like one (Ⅳ, Ⓐ).
func IsUpper(r rune) bool { return unicode.In(r, unicode.Lu, unicode.Other_Uppercase) }

// IsLower reports whether r is lower case: a small letter, or a character like one (ª, ⅳ).
func IsLower(r rune) bool { return unicode.In(r, unicode.Ll, unicode.Other_Lowercase) }

// hasCase reports whether r has a case.
func hasCase(r rune) bool { return IsUpper(r) || IsLower(r) || unicode.IsTitle(r) }

// IsCased reports whether s has characters with a case, and want holds for all of them.
func IsCased(s string, want func(rune) bool) bool {
	found := false
	for _, r := range s {
		if hasCase(r) {
			if !want(r) {
				return false
			}
			found = true
		}
	}
	return found
}

// IsEvery reports whether s is not empty and ok holds for each of its characters.
func IsEvery(s string, ok func(rune) bool) bool {
	return s != "" && strings.IndexFunc(s, func(r rune) bool { return !ok(r) }) < 0
}

// Upper returns s in upper case: one character may become several (ß, SS).
func Upper(s string) string {
	if IsASCII(s) {
		return strings.ToUpper(s)
	}
	return cases.Upper(language.Und).String(s)
}

// Lower returns s in lower case.
func Lower(s string) string {
	if IsASCII(s) {
		return strings.ToLower(s)
	}
	var b strings.Builder
	for i, r := range s {
		b.WriteString(lowerAt(s, i, r))
	}
	return b.String()
}

// Title is str.title: every character with a case is a capital unless it follows one.
func Title(s string) string {
	var b strings.Builder
	inWord := false
	for i, r := range s {
		if inWord {
			b.WriteString(lowerAt(s, i, r))
		} else {
			b.WriteString(titleRune(string(r)))
		}
		inWord = hasCase(r)
	}
	return b.String()
}

// Capitalize returns s with its first character in title case and the rest in lower case.
func Capitalize(s string) string {
	_, n := utf8.DecodeRuneInString(s)
	var b strings.Builder
	b.WriteString(titleRune(s[:n]))
	for i, r := range s[n:] {
		b.WriteString(lowerAt(s, n+i, r))
	}
	return b.String()
}

func titleRune(s string) string { return cases.Title(language.Und, cases.NoLower).String(s) }

// lowerAt returns the lower case of r, which is at offset i of s: a sigma at the end of
// a word has a form of its own.
func lowerAt(s string, i int, r rune) string {
	switch {
	case r == 'İ':
		return "i̇"
	case r != 'Σ':
		return string(unicode.ToLower(r))
	}
	before := strings.TrimRightFunc(s[:i], isCaseIgnorable)
	after := strings.TrimLeftFunc(s[i+utf8.RuneLen(r):], isCaseIgnorable)
	last, _ := utf8.DecodeLastRuneInString(before)
	next, _ := utf8.DecodeRuneInString(after)
	if before != "" && hasCase(last) && (after == "" || !hasCase(next)) {
		return "ς"
	}
	return "σ"
}

// isCaseIgnorable is the property Case_Ignorable of Unicode: characters allowed in a word without ending it.
func isCaseIgnorable(r rune) bool {
	return unicode.In(r, unicode.Mn, unicode.Me, unicode.Cf, unicode.Lm, unicode.Sk) || strings.ContainsRune("'.:·\u0387՟״‘’․‧︓﹒﹕＇．：", r)
}

// otherDigits are the digits other than decimal digits: superscripts, circled digits and similar ones.
var otherDigits = &unicode.RangeTable{
	R16: []unicode.Range16{
		{Lo: 0xb2, Hi: 0xb3, Stride: 1},
		{Lo: 0xb9, Hi: 0xb9, Stride: 1},
		{Lo: 0x1369, Hi: 0x1371, Stride: 1},
		{Lo: 0x19da, Hi: 0x19da, Stride: 1},
		{Lo: 0x2070, Hi: 0x2070, Stride: 1},
		{Lo: 0x2074, Hi: 0x2079, Stride: 1},
		{Lo: 0x2080, Hi: 0x2089, Stride: 1},
		{Lo: 0x2460, Hi: 0x2468, Stride: 1},
		{Lo: 0x2474, Hi: 0x247c, Stride: 1},
		{Lo: 0x2488, Hi: 0x2490, Stride: 1},
		{Lo: 0x24ea, Hi: 0x24ea, Stride: 1},
		{Lo: 0x24f5, Hi: 0x24fd, Stride: 1},
		{Lo: 0x24ff, Hi: 0x24ff, Stride: 1},
		{Lo: 0x2776, Hi: 0x277e, Stride: 1},
		{Lo: 0x2780, Hi: 0x2788, Stride: 1},
		{Lo: 0x278a, Hi: 0x2792, Stride: 1},
	},
	R32: []unicode.Range32{
		{Lo: 0x10a40, Hi: 0x10a43, Stride: 1},
		{Lo: 0x10e60, Hi: 0x10e68, Stride: 1},
		{Lo: 0x11052, Hi: 0x1105a, Stride: 1},
		{Lo: 0x1f100, Hi: 0x1f10a, Stride: 1},
	},
	LatinOffset: 2,
}

// IsDigit is Python's str.isdigit, which counts superscripts too.
func IsDigit(r rune) bool { return unicode.In(r, unicode.Nd, otherDigits) }

// DigitValue returns the value of a decimal digit of any script. The digits of a script
// are ten in a row that begin with zero, and several such rows may touch.
func DigitValue(r rune) (value int, ok bool) {
	for _, block := range unicode.Nd.R16 {
		if r >= rune(block.Lo) && r <= rune(block.Hi) {
			return int(r-rune(block.Lo)) % 10, true
		}
	}
	for _, block := range unicode.Nd.R32 {
		if r >= rune(block.Lo) && r <= rune(block.Hi) {
			return int(r-rune(block.Lo)) % 10, true
		}
	}
	return 0, false
}

// IsASCII reports whether s has only ASCII characters.
func IsASCII(s string) bool {
	for i := range len(s) {
		if s[i] >= utf8.RuneSelf {
			return false
		}
	}
	return true
}
