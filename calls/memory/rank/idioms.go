package rank

import (
	_ "embed" // the idioms
	"slices"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"
)

//go:embed idioms.txt
var idiomsText string

// idiom is a fixed phrase, in lower case, and its terms.
type idiom struct {
	phrase string
	terms  []Frequency
}

// idiomsByTerm returns the idioms that have a term, by the term.
var idiomsByTerm = sync.OnceValue(func() map[string][]*idiom {
	byTerm := map[string][]*idiom{}
	for line := range strings.Lines(idiomsText) {
		phrase := strings.TrimSpace(line)
		if phrase == "" || strings.HasPrefix(phrase, "#") {
			continue
		}
		i := &idiom{phrase: phrase, terms: Analyze(phrase, "").Terms}
		for _, f := range i.terms {
			byTerm[f.Term] = append(byTerm[f.Term], i)
		}
	}
	return byTerm
})

// isOnlyInIdioms reports whether a text has a term only in fixed phrases that the query does not have. text is in lower case.
func (a *Analysis) isOnlyInIdioms(f Frequency, text string) bool {
	left := f.N
	for _, i := range idiomsByTerm()[f.Term] {
		if hasPhrase(strings.ToLower(a.texts[0]), i.phrase) || !hasPhrase(text, i.phrase) {
			continue
		}
		at := slices.IndexFunc(i.terms, func(x Frequency) bool { return x.Term == f.Term })
		left -= i.terms[at].N
	}
	return left <= 0
}

// hasPhrase reports whether a text has a phrase as whole words.
func hasPhrase(text, phrase string) bool {
	for at := range occurrences(text, phrase) {
		before, _ := utf8.DecodeLastRuneInString(text[:at])
		after, _ := utf8.DecodeRuneInString(text[at+len(phrase):])
		first, _ := utf8.DecodeRuneInString(phrase)
		isWhole := !unicode.IsLetter(before) && !unicode.IsLetter(after)
		if isWhole || isSpaceless(first) {
			return true
		}
	}
	return false
}
