package memory

import (
	"strings"
	"unicode"

	"golang.org/x/text/cases"
	"golang.org/x/text/unicode/norm"
)

// CategoryKey returns the form in which categories are compared: Food, food and " FOOD"
// are one.
func CategoryKey(category string) string {
	return cases.Fold().String(strings.TrimSpace(norm.NFKC.String(category)))
}

// wordsKey returns the form in which two contents say the same thing twice: as ContentKey, without
// case and the marks at the end. "I like tea" and "i like  tea!" are one.
func wordsKey(content string) string {
	key := cases.Fold().String(ContentKey(content))
	if words := strings.TrimRightFunc(key, func(r rune) bool { return unicode.IsPunct(r) || unicode.IsSpace(r) }); words != "" {
		return words
	}
	return key
}

// ContentKey returns the form in which contents are compared to find exact duplicates:
// with the same spaces and characters, but upper and lower case as they are.
func ContentKey(content string) string {
	return strings.Join(strings.Fields(norm.NFKC.String(content)), " ")
}
