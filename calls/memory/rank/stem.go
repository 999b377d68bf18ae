package rank

import (
	"hash/maphash"
	"strings"
	"sync/atomic"
	"unicode"
	"unicode/utf8"

	"github.com/kljensen/snowball/english"
	"golang.org/x/text/unicode/norm"
)

// Stem returns the form under which a word is found; "" for a stop word.
func Stem(s string) string {
	s = strings.ToLower(s)
	ascii := true
	for i := range len(s) {
		if s[i] >= utf8.RuneSelf {
			ascii = false
			break
		}
	}
	if !ascii {
		s = removeAccents(s)
	}
	if stopWords(s) {
		return ""
	}
	if regular, ok := irregular()[s]; ok {
		s = regular
	}
	for i := range len(s) {
		if s[i] < 'a' || s[i] > 'z' {
			return s
		}
	}
	return cachedStem(s)
}

// removeAccents removes the accents of letters, so that cafe finds café, and writes ß as ss, as on keyboards
// without ß.
func removeAccents(s string) string {
	var b strings.Builder
	for _, r := range norm.NFD.String(s) {
		switch {
		case r == 'ß':
			b.WriteString("ss")
		case !unicode.Is(unicode.Mn, r):
			b.WriteRune(r)
		}
	}
	return norm.NFC.String(b.String())
}

// stems remembers the stems of words: the stemmer takes longer than all the rest of
// reading a text. A word has one place, which the last word there takes.
var (
	stems    [1 << 14]atomic.Pointer[stem]
	stemSeed = maphash.MakeSeed()
)

type stem struct{ word, stem string }

func cachedStem(word string) string {
	place := &stems[maphash.String(stemSeed, word)%uint64(len(stems))]
	if known := place.Load(); known != nil && known.word == word {
		return known.stem
	}
	fresh := &stem{strings.Clone(word), english.Stem(americanSpelling(word), false)} // a clone does not keep the text
	place.Store(fresh)
	return fresh.stem
}

// americanSpelling returns the spelling that the stemmer expects. Some words that are
// not British change as well, in all their forms alike.
func americanSpelling(s string) string {
	if len(s) < 6 {
		return s
	}
	if i := strings.Index(s[3:], "our"); i >= 0 {
		s = s[:3+i] + "or" + s[3+i+3:]
	}
	for _, end := range []string{"tre", "tres"} {
		if rest, ok := strings.CutSuffix(s, end); ok {
			return rest + "ter" + end[3:]
		}
	}
	for _, end := range britishEndings {
		if rest, ok := strings.CutSuffix(s, end); ok && len(rest) >= 3 {
			return rest + end[:1] + "z" + end[2:]
		}
	}
	return s
}
