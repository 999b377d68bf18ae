// Package rank finds the memories that matter for a query, by words alone: BM25 of
// a memory, of its neighbours in the dialogue and of its session, with boosts for
// who said it and when. It needs no model and no store: a store gives it an
// [Index] of one user's memories and the postings of terms.
//
// Everything is deterministic. The order in which postings arrive does not matter.
package rank

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// Frequency is how often a term occurs.
type Frequency struct {
	Term string
	N    int
}

// Document is what the index needs to know of a text.
type Document struct {
	// Terms are sorted by their text.
	Terms []Frequency
	// Len is the number of terms, with repetitions.
	Len int
	// Time says that the text speaks of a time: yesterday, in June, 去年.
	Time bool
	// Question says that the text ends with a question mark.
	Question bool
	// Speaker is who said it, as given or as the text begins ("Ann: hello").
	Speaker string
}

// Analyze takes a text apart. speaker is who said it, "" where nobody knows; a name
// in front of the text counts then, and is not indexed.
func Analyze(content, speaker string) Document {
	text := norm.NFKC.String(content)
	name, rest := speakerPrefix(text)
	switch {
	case speaker == "" && name != "":
		speaker, text = name, rest
	case name != "" && strings.EqualFold(name, speaker):
		text = rest
	}
	doc := Document{Speaker: speaker}
	counts := map[string]int{}
	tokenize(text, func(t token) {
		counts[t.term]++
		doc.Len++
	})
	doc.Terms = make([]Frequency, 0, len(counts))
	for term, n := range counts {
		doc.Terms = append(doc.Terms, Frequency{term, n})
	}
	slices.SortFunc(doc.Terms, func(a, b Frequency) int { return strings.Compare(a.Term, b.Term) })
	doc.Time = speaksOfTime(text)
	trimmed := strings.TrimRightFunc(text, func(r rune) bool { return unicode.IsSpace(r) || strings.ContainsRune(`"'”’)`, r) })
	doc.Question = strings.HasSuffix(trimmed, "?")
	return doc
}

// labels look like a name in front of a text, but nobody is called so.
var labels = set(`note notes todo question answer q a warning error info debug title summary re fwd subject from to cc date
http https ps nb tip hint example fact facts reminder update user assistant system tool`)

// speakerPrefix splits "Ann: hello" into the name and the text. Names are up to three
// words with capitals, or two to four Han characters.
func speakerPrefix(text string) (name, rest string) {
	i := strings.IndexByte(text[:min(len(text), 40)], ':')
	if i <= 0 {
		return "", text
	}
	name, rest = text[:i], text[i+1:]
	if labels[strings.ToLower(name)] || !isName(name) {
		return "", text
	}
	if han := strings.TrimSpace(rest); han == "" {
		return "", text
	}
	if r, _ := utf8.DecodeRuneInString(name); !unicode.Is(unicode.Han, r) && !strings.HasPrefix(rest, " ") {
		return "", text
	}
	return name, strings.TrimSpace(rest)
}

func isName(s string) bool {
	if r, _ := utf8.DecodeRuneInString(s); unicode.Is(unicode.Han, r) {
		n := 0
		for _, r := range s {
			if !unicode.Is(unicode.Han, r) {
				return false
			}
			n++
		}
		return 2 <= n && n <= 4
	}
	words := strings.Split(s, " ")
	for _, w := range words {
		for i, r := range w {
			if i == 0 && !unicode.IsUpper(r) || i > 0 && !unicode.IsLetter(r) && r != '.' && r != '-' && r != '\'' {
				return false
			}
		}
		if w == "" {
			return false
		}
	}
	return len(words) <= 3
}
