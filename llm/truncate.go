package llm

import (
	"sort"
	"strings"
)

// TruncationMarker ends a text that [TruncateTokens] has cut.
const TruncationMarker = " […]"

// WholeKeeper is a [Counter] that knows texts that must not be cut in half, because they are masked only as a
// whole: the secrets of a run. It is as safe for concurrent use.
type WholeKeeper interface {
	Counter
	// KeepWhole returns end, or less if a cut there would leave a part of such a text.
	KeepWhole(text string, end int) int
}

// CutAt returns the offset at which a text is cut that should be cut at end: there, or before a text that the
// counter keeps whole.
func CutAt(tokens Counter, text string, end int) int {
	if keeper, ok := tokens.(WholeKeeper); ok {
		return keeper.KeepWhole(text, end)
	}
	return end
}

// TruncateTokens returns the longest prefix of text that costs at most budget tokens
// together with [TruncationMarker], and its cost. A budget too small for the marker
// omits it. It is for texts that cost more than budget: a long one is not read to its
// end.
func TruncateTokens(text string, budget int, tokens Counter) (string, int) {
	budget = max(budget, 0)
	marker := TruncationMarker
	if tokens.Count(marker) > budget {
		marker = ""
	}
	ends := runeEnds(text, budget, tokens)
	for i, end := range ends {
		ends[i] = CutAt(tokens, text, end)
	}
	// Counts may fall a little as text grows, because tokens merge; sort.Search finds a boundary all the same, and
	// the loop makes sure of it.
	n := sort.Search(len(ends), func(i int) bool {
		return tokens.Count(text[:ends[i]]+marker) > budget
	})
	for ; n > 0; n-- {
		short := strings.TrimRight(text[:ends[n-1]], " \n") + marker
		if count := tokens.Count(short); count <= budget {
			return short, count
		}
	}
	return marker, tokens.Count(marker)
}

// runeEnds returns the end offsets of the first characters of text, at least as many as
// budget tokens can hold. It reads at most about twice the text that fits, however long
// the text is.
func runeEnds(text string, budget int, tokens Counter) []int {
	size := max(4*budget, 1)
	for size < len(text) && tokens.Count(text[:size]) <= budget {
		size *= 2
	}
	var ends []int
	for i := range text {
		if i > size {
			break
		}
		if i > 0 {
			ends = append(ends, i)
		}
	}
	return ends
}
