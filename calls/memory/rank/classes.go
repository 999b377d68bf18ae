package rank

import (
	_ "embed" // the lists of words
	"slices"
	"strings"
	"sync"
)

//go:embed classes.txt
var classesText string

// classes returns the members of a class by the terms that name it, for example hike and paint by activ.
var classes = sync.OnceValue(func() map[string][]string {
	byName := map[string][]string{}
	for line := range strings.Lines(classesText) {
		names, members, ok := strings.Cut(line, ":")
		if !ok || strings.HasPrefix(line, "#") {
			continue
		}
		terms := termsOfWords(members)
		for _, name := range termsOfWords(names) {
			byName[name] = slices.Compact(slices.Sorted(slices.Values(slices.Concat(byName[name], terms))))
		}
	}
	return byName
})

// memberWords returns the words of the classes by their terms, to show.
var memberWords = sync.OnceValue(func() map[string]string {
	words := map[string]string{}
	for line := range strings.Lines(classesText) {
		_, members, _ := strings.Cut(line, ":")
		for w := range strings.FieldsSeq(members) {
			words[Stem(w)] = w
		}
	}
	return words
})

// termsOfWords returns the terms under which words are indexed: stems, and Chinese words of two characters
// unchanged.
func termsOfWords(words string) (terms []string) {
	for w := range strings.FieldsSeq(words) {
		if term := Stem(w); term != "" {
			terms = append(terms, term)
		}
	}
	return terms
}

//go:embed endings.txt
var endingsText string

// endings returns the terms of texts that say that something has ended.
var endings = sync.OnceValue(func() (terms []string) {
	for line := range strings.Lines(endingsText) {
		if !strings.HasPrefix(line, "#") {
			terms = append(terms, termsOfWords(line)...)
		}
	}
	return terms
})
