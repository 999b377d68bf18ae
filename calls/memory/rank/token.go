package rank

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// kind tells how a term was made.
type kind uint8

const (
	word       kind = iota // stemmed
	identifier             // whole, with its punctuation
	character              // of a script that is written without spaces
	bigram                 // two of them
)

// token is a term and its place in the text.
type token struct {
	term string
	kind kind
	// start and end are bytes of the normalised text.
	start, end int
}

// tokenize yields the terms of a text that [norm.NFKC] has normalized, in order. Stop
// words are omitted.
func tokenize(text string, yield func(token)) {
	for i := 0; i < len(text); {
		r, size := utf8.DecodeRuneInString(text[i:])
		switch {
		case isSpaceless(r):
			i = emitRun(text, i, yield)
		case isWordRune(r):
			end := compoundEnd(text, i)
			emitCompound(text, i, end, yield)
			i = end
		case isPicture(r):
			yield(token{text[i : i+size], word, i, i + size})
			i += size
		default:
			i += size
		}
	}
}

// isPicture reports whether a character is a picture that says something by itself, an emoji. Skin colors and the
// joiners between pictures do not count: 👍🏽 is found as 👍.
func isPicture(r rune) bool {
	return r >= 0x2300 && unicode.Is(unicode.So, r)
}

// Words returns the words of a text in order, in lower case, and of scripts that are written without
// spaces the characters. Unlike the terms of [Analyze] they have their endings, and stop words are
// among them.
func Words(text string) (words []string) {
	text = norm.NFKC.String(text)
	for i := 0; i < len(text); {
		r, size := utf8.DecodeRuneInString(text[i:])
		end := i + size
		if !isSpaceless(r) && isWordRune(r) {
			end = compoundEnd(text, i)
		}
		if isSpaceless(r) || isWordRune(r) {
			words = append(words, strings.ToLower(text[i:end]))
		}
		i = end
	}
	return words
}

// isSpaceless reports whether a script is written without spaces between words. Hangul
// has spaces, but its words change their endings so much that bigrams find more.
func isSpaceless(r rune) bool {
	if r < 0x0E00 {
		return false
	}
	return unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Hangul,
		unicode.Thai, unicode.Lao, unicode.Khmer, unicode.Myanmar) || r == '々' || r == 'ー'
}

// isWordRune reports whether a character is part of a word in a script with spaces.
func isWordRune(r rune) bool {
	switch {
	case 'a' <= r && r <= 'z', 'A' <= r && r <= 'Z', '0' <= r && r <= '9':
		return true
	case r < utf8.RuneSelf, isSpaceless(r):
		return false
	}
	return unicode.IsLetter(r) || unicode.IsDigit(r) || unicode.IsMark(r)
}

// emitRun yields the characters and the bigrams of a run without spaces.
func emitRun(text string, start int, yield func(token)) (end int) {
	before := -1
	for i := start; i < len(text); {
		r, size := utf8.DecodeRuneInString(text[i:])
		if !isSpaceless(r) {
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

// joiners hold the parts of identifiers, file names, addresses and numbers together; the apostrophes hold
// contractions together.
const joiners = "_-./:@#+,'’"

// compoundEnd returns the end of the word or identifier that begins at start.
func compoundEnd(text string, start int) (end int) {
	for i := start; i < len(text); {
		r, size := utf8.DecodeRuneInString(text[i:])
		if isWordRune(r) {
			i += size
			end = i
			continue
		}
		next, _ := utf8.DecodeRuneInString(text[i+size:])
		if !strings.ContainsRune(joiners, r) || !isWordRune(next) {
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

// emitCompound yields the parts of a compound, and the whole if it is an identifier.
func emitCompound(text string, start, end int, yield func(token)) {
	whole := text[start:end]
	if isPlainWord(whole) {
		emitWord(whole, start, end, yield)
		return
	}
	for cut := contractionStart(whole); cut < len(whole); cut = contractionStart(whole) {
		whole, end = whole[:cut], start+cut
	}
	if isPlainWord(whole) {
		emitWord(whole, start, end, yield)
		return
	}
	parts, marked := partsOf(whole)
	if len(parts) > 1 && marked {
		term := strings.ToLower(strings.ReplaceAll(whole, ",", ""))
		if isLetters(term) { // camel case: the same word may be written without capitals
			emitWord(whole, start, end, yield)
		} else {
			yield(token{term, identifier, start, end})
		}
	}
	for _, p := range parts {
		emitWord(whole[p.start:p.end], start+p.start, start+p.end, yield)
	}
}

// isPlainWord reports whether a compound has no parts to split, as most have not.
func isPlainWord(s string) bool {
	if s != "" && 'A' <= s[0] && s[0] <= 'Z' {
		s = s[1:]
	}
	for i := range len(s) {
		if s[i] < 'a' || s[i] > 'z' {
			return false
		}
	}
	return true
}

func isLetters(s string) bool {
	for _, r := range s {
		if !unicode.IsLetter(r) {
			return false
		}
	}
	return true
}

// contractionStart returns the position of 's, n't and the like at the end of a word,
// or the end of the word.
func contractionStart(s string) int {
	i := strings.LastIndexAny(s, "'’")
	if i < 0 {
		return len(s)
	}
	_, size := utf8.DecodeRuneInString(s[i:])
	switch strings.ToLower(s[i+size:]) {
	case "s", "re", "ll", "ve", "d", "m":
		return i
	case "t":
		if i > 1 && strings.IndexByte("nN", s[i-1]) >= 0 {
			return i - 1
		}
	}
	return len(s)
}

type span struct{ start, end int }

// partsOf splits at punctuation, between letters and digits, and before capitals inside
// a word. marked reports whether the whole looks like an identifier; hyphens between
// plain words do not make it one.
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
		case !isWordRune(r):
			class = other
		}
		size := utf8.RuneLen(r)
		switch {
		case class == other:
			cut(i, i+size)
			if r != '-' && r != '\'' && r != '’' {
				marked = true
			}
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
		isVersionDigit := class == digit && version
		marked = marked || isVersionDigit
		last = class
	}
	cut(len(s), len(s))
	return parts, marked
}

// emitWord yields the stem of a word that is not a stop word.
func emitWord(s string, start, end int, yield func(token)) {
	if term := Stem(s); term != "" {
		yield(token{term, word, start, end})
	}
}
