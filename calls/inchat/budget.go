package inchat

import (
	"cmp"
	"context"
	"slices"

	"github.com/callnode/scheduler/calls/inchat/macro"
)

// applyBudget counts the tokens of the included entries, and leaves out entries that do not fit the budget; nil
// means no limit.
func (b *builder) applyBudget(ctx context.Context, budget *int) error {
	in := b.included()
	for i, c := range in {
		c.tokens = b.env.Tokens.Count(c.content)
		if i%64 == 0 && ctx.Err() != nil {
			return ctx.Err()
		}
	}
	if budget == nil {
		return nil
	}
	type claim struct {
		*candidate
		free     bool
		priority float64
	}
	claims := make([]claim, len(in))
	for i, c := range in {
		claims[i] = claim{candidate: c, free: isTrue(loreField(c.entry, "ignoreBudget"))}
		v, _ := c.entry.Get("priority")
		if f, isNumber := v.Float(); isNumber {
			claims[i].priority = f
		} else if n, isText := macro.Int(v); isText {
			claims[i].priority = float64(n)
		}
	}
	slices.SortFunc(claims, func(a, b claim) int {
		if a.free != b.free {
			if a.free {
				return -1
			}
			return 1
		}
		return cmp.Or(
			cmp.Compare(b.priority, a.priority), cmp.Compare(b.order, a.order), cmp.Compare(a.index, b.index),
		)
	})
	left := *budget
	for _, c := range claims {
		if c.tokens > left && !c.free {
			c.code = codeBudget
			c.leaveOut("budget: it takes %d tokens, %d of %d are left", c.tokens, max(left, 0), *budget)
			continue
		}
		left -= c.tokens
	}
	return nil
}

// included returns the entries that nothing has left out yet.
func (b *builder) included() []*candidate {
	in := make([]*candidate, 0, len(b.candidates))
	for i := range b.candidates {
		if !b.candidates[i].out {
			in = append(in, &b.candidates[i])
		}
	}
	return in
}

// inChat returns the entries that go into the chat.
func (b *builder) inChat() []*candidate {
	return slices.DeleteFunc(b.included(), func(c *candidate) bool { return c.slot != "" })
}
