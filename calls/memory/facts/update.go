package facts

import (
	"slices"
	"strings"
	"time"
	"unicode/utf8"
)

// Updates orders memories for questions about the speaker's present that no fact answers: a later memory that says
// the same of the same things with a word of change, such as "now" or "instead", comes before the older one. [ReadUpdates]
// makes it; it does not change.
type Updates struct{ words []string }

// ReadUpdates returns nil unless a question asks for the asker's own present.
func ReadUpdates(question string, now time.Time) *Updates {
	question = lastQuestion(strings.TrimSpace(strings.ToValidUTF8(question, "")))
	t := tableOf(question)
	lower := foldASCII(question)
	var q Question
	_, ok := q.readMode(question, now, t)
	if !ok || q.Mode != Now || len(question) > maxQuestion || t.find("qself", lower) == nil || t.find("qrelation", lower) != nil {
		return nil
	}
	return &Updates{words: contentOf(question)}
}

// Replaces reports whether a later memory of the same speaker updates an older one.
func (u *Updates) Replaces(older, later string) bool {
	if tableOf(later).find("changed", foldASCII(later)) == nil || strings.ContainsAny(later, "?？") {
		return false
	}
	old, shared, asked := contentOf(older), 0, false
	for _, w := range contentOf(later) {
		if slices.Contains(old, w) {
			shared++
			asked = asked || slices.Contains(u.words, w)
		}
	}
	return shared >= 2 && asked
}

func tableOf(text string) *table {
	if strings.ContainsFunc(text, isHan) {
		return chinese()
	}
	return english()
}

// contentOf returns the stems of a text, and of Chinese the pairs of characters, without words that say little.
func contentOf(text string) (out []string) {
	text = foldASCII(text[:min(len(text), MaxContent)])
	for _, w := range stemsOf(text) {
		if r, _ := utf8.DecodeRuneInString(w); isHan(r) {
			runes := []rune(w)
			for i := range max(0, len(runes)-1) {
				if pair := string(runes[i : i+2]); chinese().find("qdrop", pair) == nil {
					out = append(out, pair)
				}
			}
			continue
		}
		if !english().sets["filler"][w] && !english().sets["number"][w] {
			out = append(out, w)
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}
