package memory

import (
	"regexp"
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

// wordsKey returns a key that is equal for contents with the same words: ContentKey without case, the marks at the
// end and blanks beside a Chinese character. For example "I like tea" and "i like  tea!" have one key, and so have
// 我喜欢绿茶 and 我喜欢 绿茶！.
func wordsKey(content string) string {
	key := blankBesideHan.ReplaceAllString(cases.Fold().String(ContentKey(content)), "$1$2")
	if words := strings.TrimRightFunc(key, func(r rune) bool { return unicode.IsPunct(r) || unicode.IsSpace(r) }); words != "" {
		return words
	}
	return key
}

// blankBesideHan is a blank after or before a Chinese character. Korean has blanks between words.
var blankBesideHan = regexp.MustCompile(`([\p{Han}\p{Hiragana}\p{Katakana}]) +| +([\p{Han}\p{Hiragana}\p{Katakana}])`)

// ContentKey returns the form in which contents are compared to find exact duplicates: with the same spaces and
// characters, but with upper and lower case unchanged.
func ContentKey(content string) string {
	return strings.Join(strings.Fields(norm.NFKC.String(content)), " ")
}
