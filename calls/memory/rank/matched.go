package rank

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// maxMatchedText bounds the text of a memory that is searched for words to show.
const maxMatchedText = 16 << 10

// MatchedWords returns the words of the query that a memory has, as the query has them,
// the longest first. matches reports whether it has any term of the query; there may be no
// word to show, because the terms of scripts without spaces are not words.
func (a *Analysis) MatchedWords(doc *Document, content string) (words []string, matches bool) {
	inRun := false
	for _, t := range a.Terms {
		_, has := slices.BinarySearchFunc(doc.Terms, t.Text, func(f Frequency, term string) int { return strings.Compare(f.Term, term) })
		if !has {
			continue
		}
		matches = true
		if t.spaceless {
			inRun = true
		} else {
			words = append(words, t.Shown)
		}
	}
	if inRun {
		text := norm.NFKC.String(strings.ToValidUTF8(content[:min(len(content), maxMatchedText)], ""))
		for _, searched := range a.texts {
			words = append(words, commonPhrases(searched, text)...)
		}
	}
	slices.SortStableFunc(words, func(a, b string) int { return len(b) - len(a) })
	longest := words[:0]
	for _, w := range words {
		if !slices.ContainsFunc(longest, func(l string) bool { return strings.Contains(l, w) }) {
			longest = append(longest, w)
		}
	}
	return longest, matches
}

// commonPhrases returns the phrases of scripts without spaces that two texts have in
// common: as long as possible, and not cut out of words as far as that can be told.
func commonPhrases(query, text string) (phrases []string) {
	runes := []rune(query)
	runes = runes[:min(len(runes), maxTerms)]
	for i := 0; i < len(runes); {
		end := i
		for end < len(runes) && isSpaceless(runes[end]) && strings.Contains(text, string(runes[i:end+1])) {
			end++
		}
		if end == i {
			i++
			continue
		}
		for _, phrase := range splitAtParticles(string(runes[i:end])) {
			if isWholeIn(phrase, query, text) {
				phrases = append(phrases, phrase)
			}
		}
		i = end
	}
	return phrases
}

// splitAtParticles splits a phrase at particles, and removes pronouns and the like from
// its ends.
func splitAtParticles(phrase string) []string {
	parts := strings.FieldsFunc(phrase, func(r rune) bool { return strings.ContainsRune("的了吗呢吧啊嗎", r) })
	for i, part := range parts {
		parts[i] = strings.TrimRight(strings.TrimLeft(part, "是我你您他她它这那這在也都就和与與"), "是")
	}
	return parts
}

// isWholeIn reports whether a phrase is likely to be whole words. Long phrases are. A
// pair of characters must have a boundary on each side in one of the texts at least, and
// a single character must stand alone in one of them.
func isWholeIn(phrase string, texts ...string) bool {
	n := utf8.RuneCountInString(phrase)
	switch {
	case n == 0:
		return false
	case n > 2:
		return true
	case n == 1 && isCommonCharacter(phrase):
		return false
	}
	left, right, both := false, false, false
	for _, text := range texts {
		for from := 0; ; {
			at := strings.Index(text[from:], phrase)
			if at < 0 {
				break
			}
			start := from + at
			from = start + len(phrase)
			before, _ := utf8.DecodeLastRuneInString(text[:start])
			after, _ := utf8.DecodeRuneInString(text[from:])
			l, r := isBoundary(before), isBoundary(after)
			left, right = left || l, right || r
			if l && r {
				both = true
			}
		}
	}
	if n == 1 {
		return both
	}
	return left && right
}

// isCommonCharacter reports whether a character is in too many texts to find one by.
func isCommonCharacter(s string) bool {
	return stopCharacters[s] || strings.Contains(numerals, s)
}

// numerals are the Chinese characters for numbers.
const numerals = "零〇一二三四五六七八九十百千万两几"

// isBoundary reports whether no word continues with a character next to it.
func isBoundary(r rune) bool {
	return !isSpaceless(r) || unicode.IsPunct(r) || stopCharacters[string(r)]
}
