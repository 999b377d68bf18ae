// Package recent is the short-term memory: a window over the newest utterances
// of a dialogue that is bounded in two ways at once and needs no store.
package recent

import (
	"slices"
	"sort"
	"strings"

	"github.com/callnode/scheduler/llm"
	"github.com/callnode/scheduler/plugins"
)

// The bounds of the short-term memory where nobody sets others.
const (
	MaxTurns  = 200
	MaxTokens = 5000
)

// Marker ends an utterance that was cut.
const Marker = " […]"

// Window keeps the newest utterances. Both bounds hold after every Add, and both
// may be reached exactly: the oldest are dropped until they do, a user's
// utterance together with the assistant's that follows it. The newest is always
// kept; when it alone is over the bound of tokens, its end is cut off and
// [Marker] says so.
//
// Every utterance is counted once, when it comes in. A Window is not safe for
// concurrent use.
type Window struct {
	maxTurns, maxTokens int
	tokens              llm.Counter
	items               []item // items[first:] are in the window
	first               int
	total               int
}

type item struct {
	turn   plugins.Turn
	tokens int
}

// New makes a window of at most maxTurns utterances and maxTokens tokens; bounds
// below 1 count as 1.
func New(maxTurns, maxTokens int, tokens llm.Counter) *Window {
	return &Window{maxTurns: max(maxTurns, 1), maxTokens: max(maxTokens, 1), tokens: tokens}
}

// Add puts the newest utterance into the window.
func (w *Window) Add(turn plugins.Turn) {
	n := w.tokens.Count(turn.Content)
	if n > w.maxTokens {
		turn.Content, n = cut(turn.Content, w.maxTokens, w.tokens)
	}
	w.items = append(w.items, item{turn, n})
	w.total += n
	for w.Len() > w.maxTurns || w.total > w.maxTokens && w.Len() > 1 {
		w.evict()
	}
	if w.first > len(w.items)/2 { // moves each item at most once on average
		w.items = slices.Delete(w.items, 0, w.first)
		w.first = 0
	}
}

// evict drops the oldest utterance, and the answer to it.
func (w *Window) evict() {
	role := w.drop()
	if role == "user" && w.Len() > 1 && w.items[w.first].turn.Role == "assistant" {
		w.drop()
	}
}

func (w *Window) drop() (role string) {
	oldest := &w.items[w.first]
	role = oldest.turn.Role
	w.total -= oldest.tokens
	*oldest = item{}
	w.first++
	return role
}

// Len is the number of utterances in the window.
func (w *Window) Len() int { return len(w.items) - w.first }

// Turns is the utterances, oldest first.
func (w *Window) Turns() []plugins.Turn {
	turns := make([]plugins.Turn, 0, w.Len())
	for _, it := range w.items[w.first:] {
		turns = append(turns, it.turn)
	}
	return turns
}

// cut gives the longest beginning of text that costs at most budget tokens
// together with the marker, and what it costs. A budget too small for the marker
// leaves it out.
func cut(text string, budget int, tokens llm.Counter) (string, int) {
	marker := Marker
	if tokens.Count(marker) > budget {
		marker = ""
	}
	ends := runeEnds(text, budget, tokens)
	// Counts may fall a little where text grows, for tokens merge; sort.Search finds
	// a boundary all the same, and the loop makes sure of it.
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

// runeEnds lists the ends of the characters at the beginning of text, at least as
// many as budget tokens can hold. It looks at twice the text that fits, not at the
// whole of a text without end.
func runeEnds(text string, budget int, tokens llm.Counter) []int {
	size := 4 * budget
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
