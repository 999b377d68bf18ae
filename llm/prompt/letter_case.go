package prompt

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/cases"
	"golang.org/x/text/language"
)

func isCased(s string, want func(rune) bool) bool {
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

func isEvery(s string, ok func(rune) bool) bool {
	return s != "" && strings.IndexFunc(s, func(r rune) bool { return !ok(r) }) < 0
}

// toUpper and lower are Python's: one character may become several (ß, SS).
func toUpper(s string) string {
	if isASCII(s) {
		return strings.ToUpper(s)
	}
	return cases.Upper(language.Und).String(s)
}

func toLower(s string) string {
	if isASCII(s) {
		return strings.ToLower(s)
	}
	return cases.Lower(language.Und).String(s)
}

// pyTitle is str.title: every letter after a non-letter is a capital.
func pyTitle(s string) string {
	var b strings.Builder
	inWord := false
	for _, r := range s {
		isLetter := unicode.IsUpper(r) || unicode.IsLower(r) || unicode.IsTitle(r)
		if isLetter && !inWord {
			b.WriteString(titleRune(string(r)))
		} else {
			b.WriteString(toLower(string(r)))
		}
		inWord = isLetter
	}
	return b.String()
}

// isDigit is Python's str.isdigit, which counts superscripts.
func isDigit(r rune) bool {
	return unicode.IsDigit(r) || strings.ContainsRune("²³¹⁰⁴⁵⁶⁷⁸⁹₀₁₂₃₄₅₆₇₈₉", r)
}

func titleRune(s string) string { return cases.Title(language.Und, cases.NoLower).String(s) }

func capitalizeText(s string) string {
	_, n := utf8.DecodeRuneInString(s)
	return titleRune(s[:n]) + toLower(s[n:])
}
