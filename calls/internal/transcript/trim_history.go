// Package transcript trims a dialogue to its newest turns: at most so many turns and so many tokens at once. It is
// shared by the short-term memory of the calls input, context and memory-recent, and needs no store. For example,
// a limit of 2 turns keeps the last two questions with their answers.
package transcript

import (
	"slices"

	"github.com/callnode/scheduler/llm"
	"github.com/callnode/scheduler/plugins"
)

// The default limits of the short-term memory. The tags of the parameters of input and memory-recent say the same.
const (
	DefaultMaxTurns  = 200
	DefaultMaxTokens = 5000
)

// Trimmer keeps the newest turns of a dialogue. Both limits hold after every Add and may
// be reached exactly: the oldest turns are dropped until they hold, a user's turn
// together with the assistant's turn that answers it. The newest turn is always kept;
// if it alone exceeds the token limit, it is truncated and ends with
// [llm.TruncationMarker].
//
// A call creates a Trimmer with [NewTrimmer] for one prompt. Every turn is counted once,
// when it is added. A Trimmer must not be used by several goroutines at once.
type Trimmer struct {
	maxTurns, maxTokens int
	tokens              llm.Counter
	entries             []entry // entries[first:] are kept
	first               int
	totalTokens         int
}

// entry is a turn with its token count.
type entry struct {
	turn   plugins.Turn
	tokens int
}

// NewTrimmer returns an empty Trimmer of at most maxTurns turns and maxTokens tokens. Limits
// below 1 count as 1.
func NewTrimmer(maxTurns, maxTokens int, tokens llm.Counter) *Trimmer {
	return &Trimmer{maxTurns: max(maxTurns, 1), maxTokens: max(maxTokens, 1), tokens: tokens}
}

// Add appends the newest turn and drops the oldest ones that no longer fit.
func (t *Trimmer) Add(turn plugins.Turn) {
	n := t.tokens.Count(turn.Content)
	if n > t.maxTokens {
		turn.Content, n = llm.TruncateTokens(turn.Content, t.maxTokens, t.tokens)
	}
	t.entries = append(t.entries, entry{turn, n})
	t.totalTokens += n
	for t.exceedsLimits() {
		t.dropOldestExchange()
	}
	if t.first > len(t.entries)/2 { // moves each entry at most once on average
		t.entries = slices.Delete(t.entries, 0, t.first)
		t.first = 0
	}
}

// exceedsLimits reports whether turns must be dropped. The newest one stays.
func (t *Trimmer) exceedsLimits() bool {
	if t.Len() > t.maxTurns {
		return true
	}
	return t.totalTokens > t.maxTokens && t.Len() > 1
}

// dropOldestExchange drops the oldest turn, and with a user's turn the answer to it.
func (t *Trimmer) dropOldestExchange() {
	role := t.dropOldest()
	if role == "user" && t.Len() > 1 && t.entries[t.first].turn.Role == "assistant" {
		t.dropOldest()
	}
}

// dropOldest drops one turn and returns its role.
func (t *Trimmer) dropOldest() (role string) {
	oldest := &t.entries[t.first]
	role = oldest.turn.Role
	t.totalTokens -= oldest.tokens
	*oldest = entry{}
	t.first++
	return role
}

// Len returns the number of turns that are kept.
func (t *Trimmer) Len() int { return len(t.entries) - t.first }

// Turns returns the turns that are kept, oldest first.
func (t *Trimmer) Turns() []plugins.Turn {
	turns := make([]plugins.Turn, 0, t.Len())
	for _, e := range t.entries[t.first:] {
		turns = append(turns, e.turn)
	}
	return turns
}
