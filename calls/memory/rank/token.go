package rank

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// kind is what sort of term a piece of text gave.
type kind uint8

const (
	word       kind = iota // stemmed
	identifier             // whole, with its punctuation
	character              // of a script that is written without spaces
	bigram                 // two of them
)

// token is a term with the place that it came from.
type token struct {
	term string
	kind kind
	// start and end are bytes of the normalised text.
	start, end int
}

// tokenize gives the terms of a text that [norm.NFKC] has normalised, in order.
// Words without meaning of their own are left out.
func tokenize(text string, yield func(token)) {
	for i := 0; i < len(text); {
		r, size := utf8.DecodeRuneInString(text[i:])
		switch {
		case spaceless(r):
			i = run(text, i, yield)
		case wordRune(r):
			end := compound(text, i)
			split(text, i, end, yield)
			i = end
		default:
			i += size
		}
	}
}

// spaceless says that a script puts no spaces between words. Hangul does, but its
// words change their endings so much that pairs of characters find more.
func spaceless(r rune) bool {
	if r < 0x0E00 {
		return false
	}
	return unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Hangul,
		unicode.Thai, unicode.Lao, unicode.Khmer, unicode.Myanmar) || r == '々' || r == 'ー'
}

func wordRune(r rune) bool {
	if r < utf8.RuneSelf {
		return 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' || '0' <= r && r <= '9'
	}
	return (unicode.IsLetter(r) || unicode.IsDigit(r) || unicode.IsMark(r)) && !spaceless(r)
}

// run gives the characters and the overlapping pairs of a spaceless run.
func run(text string, start int, yield func(token)) (end int) {
	before := -1
	for i := start; i < len(text); {
		r, size := utf8.DecodeRuneInString(text[i:])
		if !spaceless(r) {
			return i
		}
		yield(token{text[i : i+size], character, i, i + size})
		if before >= 0 {
			yield(token{text[before : i+size], bigram, before, i + size})
		}
		before = i
		i += size
	}
	return len(text)
}

// joiners hold the parts of identifiers, file names, addresses and numbers
// together; the apostrophes those of contractions.
const joiners = "_-./:@#+,'’"

// compound is the end of the word or identifier that begins at start.
func compound(text string, start int) (end int) {
	for i := start; i < len(text); {
		r, size := utf8.DecodeRuneInString(text[i:])
		if wordRune(r) {
			i += size
			end = i
			continue
		}
		next, _ := utf8.DecodeRuneInString(text[i+size:])
		if !strings.ContainsRune(joiners, r) || !wordRune(next) {
			return end
		}
		if r == ',' && !(isDigit(text[i-1]) && isDigit(text[i+size])) {
			return end
		}
		i += size
	}
	return end
}

func isDigit(c byte) bool { return '0' <= c && c <= '9' }

// split gives the terms of a compound: its parts, and the whole where it is an
// identifier.
func split(text string, start, end int, yield func(token)) {
	whole := text[start:end]
	if simple(whole) {
		emitWord(whole, start, end, yield)
		return
	}
	for cut := contraction(whole); cut < len(whole); cut = contraction(whole) {
		whole, end = whole[:cut], start+cut
	}
	if simple(whole) {
		emitWord(whole, start, end, yield)
		return
	}
	parts, marked := partsOf(whole)
	if len(parts) > 1 && marked {
		term := strings.ToLower(strings.ReplaceAll(whole, ",", ""))
		if letters(term) { // camel case: the same word may be written without capitals
			emitWord(whole, start, end, yield)
		} else {
			yield(token{term, identifier, start, end})
		}
	}
	for _, p := range parts {
		emitWord(whole[p.start:p.end], start+p.start, start+p.end, yield)
	}
}

// simple says that there is nothing to split: the usual case.
func simple(s string) bool {
	for i := range len(s) {
		if c := s[i]; !('a' <= c && c <= 'z' || i == 0 && 'A' <= c && c <= 'Z') {
			return false
		}
	}
	return true
}

func letters(s string) bool {
	for _, r := range s {
		if !unicode.IsLetter(r) {
			return false
		}
	}
	return true
}

// contraction is where a word ends before 's, n't and the like.
func contraction(s string) int {
	i := strings.LastIndexAny(s, "'’")
	if i < 0 {
		return len(s)
	}
	_, size := utf8.DecodeRuneInString(s[i:])
	switch strings.ToLower(s[i+size:]) {
	case "s", "re", "ll", "ve", "d", "m":
		return i
	case "t":
		if i > 1 && (s[i-1] == 'n' || s[i-1] == 'N') {
			return i - 1
		}
	}
	return len(s)
}

type span struct{ start, end int }

// partsOf splits at punctuation, at changes between letters and digits and before
// capitals inside a word. marked says that the whole looks like an identifier:
// hyphens between plain words do not make one.
func partsOf(s string) (parts []span, marked bool) {
	const (
		other = iota
		lower
		upper
		digit
	)
	start, last, capitals := 0, other, 0
	version := strings.ContainsAny(s, "-.")
	cut := func(end, next int) {
		if end > start {
			parts = append(parts, span{start, end})
		}
		start = next
	}
	for i, r := range s {
		class := lower
		switch {
		case unicode.IsDigit(r):
			class = digit
		case unicode.IsUpper(r):
			class = upper
		case !wordRune(r):
			class = other
		}
		size := utf8.RuneLen(r)
		switch {
		case class == other:
			cut(i, i+size)
			marked = marked || r != '-' && r != '\'' && r != '’'
		case last != other && (class == digit) != (last == digit):
			cut(i, i)
			marked = true
		case class == upper && last == lower:
			cut(i, i)
			marked = true
		case class == lower && last == upper && capitals > 1: // HTTPServer
			_, before := utf8.DecodeLastRuneInString(s[:i])
			cut(i-before, i-before)
			marked = true
		}
		if class == upper {
			capitals++
		} else {
			capitals = 0
		}
		marked = marked || class == digit && version
		last = class
	}
	cut(len(s), len(s))
	return parts, marked
}

// emitWord gives the stem of a word that is no stop word.
func emitWord(s string, start, end int, yield func(token)) {
	if term := Stem(s); term != "" {
		yield(token{term, word, start, end})
	}
}
