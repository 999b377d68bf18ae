// Package lettercase has the letter-case functions of Python's str, which differ from
// Go's: one character may become several, and words are found another way.
package lettercase

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/cases"
	"golang.org/x/text/language"
)

// IsCased reports whether s has letters with a case, and want holds for all of them.
func IsCased(s string, want func(rune) bool) bool {
	found := false
	for _, r := range s {
		if unicode.IsUpper(r) || unicode.IsLower(r) || unicode.IsTitle(r) {
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
	return cases.Lower(language.Und).String(s)
}

// Title is str.title: every letter after a non-letter is a capital.
func Title(s string) string {
	var b strings.Builder
	inWord := false
	for _, r := range s {
		isLetter := unicode.IsUpper(r) || unicode.IsLower(r) || unicode.IsTitle(r)
		if isLetter && !inWord {
			b.WriteString(titleRune(string(r)))
		} else {
			b.WriteString(Lower(string(r)))
		}
		inWord = isLetter
	}
	return b.String()
}

// IsDigit is Python's str.isdigit, which counts superscripts.
func IsDigit(r rune) bool {
	return unicode.IsDigit(r) || strings.ContainsRune("²³¹⁰⁴⁵⁶⁷⁸⁹₀₁₂₃₄₅₆₇₈₉", r)
}

func titleRune(s string) string { return cases.Title(language.Und, cases.NoLower).String(s) }

// Capitalize returns s with its first character in title case and the rest in lower case.
func Capitalize(s string) string {
	_, n := utf8.DecodeRuneInString(s)
	return titleRune(s[:n]) + Lower(s[n:])
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
