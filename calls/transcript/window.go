// Package transcript trims a dialogue to its newest turns: at most so many turns and so
// many tokens at once. It is what the short-term memory of the calls input, context and
// memory-recent has in common, and needs no store.
package transcript

import (
	"slices"

	"github.com/callnode/scheduler/llm"
	"github.com/callnode/scheduler/plugins"
)

// The default limits of the short-term memory.
const (
	DefaultMaxTurns  = 200
	DefaultMaxTokens = 5000
)

// Window keeps the newest turns of a dialogue. Both limits hold after every Add and may
// be reached exactly: the oldest turns are dropped until they hold, a user's turn
// together with the assistant's turn that answers it. The newest turn is always kept;
// if it alone exceeds the token limit, it is truncated and ends with
// [llm.TruncationMarker].
//
// A call creates a Window with [New] for one prompt. Every turn is counted once, when it
// is added. A Window must not be used by several goroutines at once.
type Window struct {
	maxTurns, maxTokens int
	tokens              llm.Counter
	entries             []entry // entries[first:] are in the window
	first               int
	totalTokens         int
}

// entry is a turn with its token count.
type entry struct {
	turn   plugins.Turn
	tokens int
}

// New returns an empty window of at most maxTurns turns and maxTokens tokens. Limits
// below 1 count as 1.
func New(maxTurns, maxTokens int, tokens llm.Counter) *Window {
	return &Window{maxTurns: max(maxTurns, 1), maxTokens: max(maxTokens, 1), tokens: tokens}
}

// Add appends the newest turn and drops the oldest ones that no longer fit.
func (w *Window) Add(turn plugins.Turn) {
	n := w.tokens.Count(turn.Content)
	if n > w.maxTokens {
		turn.Content, n = llm.TruncateTokens(turn.Content, w.maxTokens, w.tokens)
	}
	w.entries = append(w.entries, entry{turn, n})
	w.totalTokens += n
	for w.exceedsLimits() {
		w.dropOldestExchange()
	}
	if w.first > len(w.entries)/2 { // moves each entry at most once on average
		w.entries = slices.Delete(w.entries, 0, w.first)
		w.first = 0
	}
}

// exceedsLimits reports whether turns must be dropped. The newest one stays.
func (w *Window) exceedsLimits() bool {
	if w.Len() > w.maxTurns {
		return true
	}
	return w.totalTokens > w.maxTokens && w.Len() > 1
}

// dropOldestExchange drops the oldest turn, and with a user's turn the answer to it.
func (w *Window) dropOldestExchange() {
	role := w.dropOldest()
	if role == "user" && w.Len() > 1 && w.entries[w.first].turn.Role == "assistant" {
		w.dropOldest()
	}
}

// dropOldest drops one turn and returns its role.
func (w *Window) dropOldest() (role string) {
	oldest := &w.entries[w.first]
	role = oldest.turn.Role
	w.totalTokens -= oldest.tokens
	*oldest = entry{}
	w.first++
	return role
}

// Len returns the number of turns in the window.
func (w *Window) Len() int { return len(w.entries) - w.first }

// Turns returns the turns in the window, oldest first.
func (w *Window) Turns() []plugins.Turn {
	turns := make([]plugins.Turn, 0, w.Len())
	for _, e := range w.entries[w.first:] {
		turns = append(turns, e.turn)
	}
	return turns
}
