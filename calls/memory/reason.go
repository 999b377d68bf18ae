package memory

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/callnode/scheduler/calls"
	"github.com/callnode/scheduler/calls/memory/rank"
)

// The pieces of a reason.
var (
	reasonWords    = calls.Text{En: "matches %s", Zh: "匹配%s"}
	reasonMeaning  = calls.Text{En: "means something similar", Zh: "含义相近"}
	reasonNear     = calls.Text{En: "its neighbours match the query", Zh: "相邻的记忆与问题匹配"}
	reasonSaid     = calls.Text{En: "said by %s", Zh: "由%s说"}
	reasonTimed    = calls.Text{En: "speaks of a time", Zh: "提到时间"}
	reasonSnapshot = calls.Text{En: "in snapshot %s", Zh: "见快照%s"}
)

// maxWords bounds the words in a reason.
const maxWords = 4

// explainHit returns why a memory was found, in the language of the query; dates are
// those of the asker's time zone.
func explainHit(a *rank.Analysis, c *candidate, snapshots []string, in *time.Location) string {
	language, quote, and, end := "en", "“%s”", ", ", "; "
	if a.Chinese {
		language, and, end = "zh", "、", "；"
	}
	var parts []string
	add := func(text calls.Text, args ...any) {
		parts = append(parts, fmt.Sprintf(text.In(language), args...))
	}
	if words := matchedWords(a, &c.doc); len(words) > 0 {
		for i, w := range words {
			words[i] = fmt.Sprintf(quote, w)
		}
		add(reasonWords, strings.Join(words, and))
	} else if c.hit.InWindow {
		add(reasonNear)
	}
	if c.byMeaning || c.onlyByMeaning {
		add(reasonMeaning)
	}
	if c.hit.BySpeaker {
		add(reasonSaid, c.doc.Speaker)
	}
	if c.hit.Date > 0 {
		parts = append(parts, dateText(c.memory.Timestamp.In(in), a.Chinese))
	}
	if c.hit.Timed {
		add(reasonTimed)
	}
	if len(snapshots) > 0 {
		add(reasonSnapshot, snapshots[0])
	}
	return strings.Join(parts, end)
}

// matchedWords returns the words of the query that a memory has, as they were written,
// the longest first. Overlapping bigrams of Chinese are joined.
func matchedWords(a *rank.Analysis, doc *rank.Document) (words []string) {
	for _, t := range a.Terms {
		_, has := slices.BinarySearchFunc(doc.Terms, t.Text, func(f rank.Frequency, term string) int { return strings.Compare(f.Term, term) })
		if !has {
			continue
		}
		i := slices.IndexFunc(words, func(w string) bool { return continuesBigram(w, t.Shown) })
		if i < 0 {
			words = append(words, t.Shown)
		} else if _, tail, _ := strings.Cut(t.Shown, lastRune(words[i])); tail != "" {
			words[i] += tail
		}
	}
	slices.SortStableFunc(words, func(a, b string) int { return len(b) - len(a) })
	longest := words[:0]
	for _, w := range words {
		if !slices.ContainsFunc(longest, func(l string) bool { return strings.Contains(l, w) }) {
			longest = append(longest, w)
		}
	}
	return longest[:min(len(longest), maxWords)]
}

// continuesBigram reports whether the next Chinese word begins with the last character
// of before.
func continuesBigram(before, next string) bool {
	last := lastRune(before)
	return len(last) > 1 && len(next) > len(last) && strings.HasPrefix(next, last)
}

func lastRune(s string) string {
	runes := []rune(s)
	return string(runes[len(runes)-1:])
}
