package facts

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/callnode/scheduler/calls/memory/rank"
)

// The types of values: only values of one type replace each other.
const (
	wordType   = iota // dirty
	numberType        // 9:45, 15 August, 三点
	nameType          // Dana Petrov
	phraseType        // a small bakery
)

// valueType returns the type of a value.
func valueType(value string) int {
	lower := foldASCII(value)
	if hasNumber(lower) {
		return numberType
	}
	first, _ := utf8.DecodeRuneInString(value)
	switch {
	case unicode.IsUpper(first), unicode.Is(unicode.Han, first):
		return nameType
	case startsWithDeterminer(lower), strings.ContainsFunc(value, unicode.IsUpper), strings.Contains(value, " "):
		return phraseType
	}
	return wordType
}

func startsWithDeterminer(lower string) bool {
	first, _, _ := strings.Cut(lower, " ")
	return english().set("determiner")[first]
}

// hasNumber reports whether a text has a number, a weekday or a month.
func hasNumber(lower string) bool {
	if strings.ContainsFunc(lower, unicode.IsDigit) {
		return true
	}
	for _, w := range rank.Words(lower) {
		if english().set("number")[w] {
			return true
		}
	}
	for w := range chinese().set("number") {
		if strings.Contains(lower, w) {
			return true
		}
	}
	return false
}

// foldASCII lowers ASCII letters: unlike [strings.ToLower] it keeps the length.
func foldASCII(text string) string {
	return strings.Map(func(r rune) rune {
		if 'A' <= r && r <= 'Z' {
			return r + 'a' - 'A'
		}
		return r
	}, text)
}

// stemsOf returns the stems of a text, sorted and without repetitions, and of Chinese the text itself.
func stemsOf(text string) []string { return english().stems(text) }

// stems is [stemsOf] with the synonyms of a table.
func (t *table) stems(text string) (stems []string) {
	han := ""
	for _, w := range rank.Words(text) {
		if r, _ := utf8.DecodeRuneInString(w); unicode.Is(unicode.Han, r) {
			han += w
			continue
		}
		if s := t.fold(rank.Stem(strings.TrimSuffix(strings.TrimSuffix(w, "'s"), "’s"))); s != "" {
			stems = append(stems, s)
		}
	}
	if han != "" {
		stems = append(stems, han)
	}
	slices.Sort(stems)
	return slices.Compact(stems)
}

// fold returns the stem that represents several, such as manag for boss.
func (t *table) fold(stem string) string {
	if same, ok := t.synonyms[stem]; ok {
		return same
	}
	return stem
}

// sameValue reports whether two facts state the same value: all stems of one are among the other's.
func sameValue(a, b *Fact) bool {
	if a.Kind == End || b.Kind == End {
		return a.Kind == b.Kind && a.Attribute != Ending
	}
	if a.Attribute == Amount || numberType == valueType(a.Value) {
		return strings.EqualFold(strings.Join(stemsOf(a.Value), topicSep), strings.Join(stemsOf(b.Value), topicSep))
	}
	return mentions(a.Value, b.Value) || mentions(b.Value, a.Value)
}

// mentions reports whether a text has all stems of a value.
func mentions(text, value string) bool {
	if strings.TrimSpace(value) == "" {
		return false
	}
	stems := stemsOf(text)
	for _, s := range stemsOf(value) {
		r, _ := utf8.DecodeRuneInString(s)
		if unicode.Is(unicode.Han, r) {
			if utf8.RuneCountInString(s) < 2 || !strings.Contains(text, s) {
				return false
			}
			continue
		}
		if !slices.Contains(stems, s) {
			return false
		}
	}
	return len(stemsOf(value)) > 0
}
