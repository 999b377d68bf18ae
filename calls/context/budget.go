package context

import (
	"github.com/callnode/scheduler/calls"
	"github.com/callnode/scheduler/llm"
	"github.com/callnode/scheduler/llm/value"
	"github.com/callnode/scheduler/llm/value/wording"
)

// fixedTokens returns the tokens of the parts that are never cut.
func (b *builder) fixedTokens(identity, session string, user *userWords, tail []*value.Map) int {
	count := b.env.Tokens.Count
	before, after := b.surroundings()
	n := count(before) + count(identity) + count(after) + count(session) + llm.MessageOverhead
	if user != nil {
		n += count(user.text) + count(user.runtime.text) + llm.MessageOverhead
		for _, x := range user.skills {
			n += count(blankLine + skillText(x))
		}
		for _, p := range user.images {
			n += p.tokens
		}
	}
	for _, m := range tail {
		n += messageTokens(m, b.env.Tokens) + llm.MessageOverhead
	}
	return n
}

// applyBudget cuts the parts that can be cut.
func (b *builder) applyBudget(fixed int, all []shrinkable) error {
	limit := b.params.MaxTokens
	if limit == 0 {
		return nil
	}
	if fixed > limit {
		return calls.Errorf(calls.Budget, "the identity, the current message and what is appended, with the tool calls that it answers, need %d tokens, more than max_tokens %d", fixed, limit).
			WithHint("raise max_tokens to %d or more, or shorten identity, current_message, media or append", fixed)
	}
	before := make([]int, len(all))
	for i, c := range all {
		before[i] = c.neededTokens()
	}
	allocateBudget(all, limit-fixed)
	for i, c := range all {
		if after := c.neededTokens(); after < before[i] {
			b.warn("max_tokens %d: %s cut from %d to %d tokens", limit, wording.Of(c.label()), before[i], after)
		}
	}
	return nil
}

// shrinkable is a part that shrinks when the budget is short: a section or the history.
type shrinkable interface {
	// label names it in messages.
	label() string
	// sharePercent returns the percentage of the room that is promised to it.
	sharePercent() int
	// neededTokens returns its current tokens.
	neededTokens() int
	// askedTokens returns the part of need that comes before all shares.
	askedTokens() int
	// shrinkTo cuts it to at most room tokens and returns its tokens then.
	shrinkTo(room int) int
}

// allocateBudget cuts to room tokens altogether. Parts that the user asked for come first; of the rest, each gets
// as many as it needs up to its share; the remaining tokens go to the first that lack some. For example, if the
// history needs 10 % of the room and may have 30, the other 20 go to the first section that lacks some.
func allocateBudget(all []shrinkable, room int) {
	promised := make([]int, len(all))
	need, shared := 0, room
	for i, c := range all {
		need += c.neededTokens()
		promised[i] = min(c.askedTokens(), shared)
		shared -= promised[i]
	}
	if need <= room {
		return
	}
	spare := room
	for i, c := range all {
		promised[i] = min(c.neededTokens(), promised[i]+shared*c.sharePercent()/100)
		spare -= promised[i]
	}
	for i, c := range all {
		allowed := promised[i] + spare
		spare = allowed - c.shrinkTo(allowed)
	}
}
