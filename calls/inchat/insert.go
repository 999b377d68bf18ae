package inchat

import (
	"cmp"
	"slices"
)

// sortEntries sorts entries in the order of the chat: by order, then assistant before user
// before the rest, then as they were given. It is _sort_sources in the documents.
func sortEntries(entries []*candidate) { slices.SortFunc(entries, compareEntries) }

func compareEntries(a, b *candidate) int {
	return cmp.Or(
		cmp.Compare(a.order, b.order),
		cmp.Compare(roleRank(a.role), roleRank(b.role)),
		cmp.Compare(a.index, b.index),
	)
}

func roleRank(role string) int {
	switch role {
	case "assistant":
		return 0
	case "user":
		return 1
	}
	return 2
}

// insertEntries puts entries into the messages, by depth. Its result is the result of this code, but in linear
// time after the sorting:
//
//	for each depth, the largest first:
//		at = max(0, len(messages) - depth)
//		for each entry of that depth, the last first:
//			messages = messages with the entry inserted at index at, or at the end
//
// So a depth counts the entries that went in before, and a shallow group that still reaches beyond the start lands
// above a deeper one.
func insertEntries(messages []message, entries []*candidate) []message {
	slices.SortFunc(entries, func(a, b *candidate) int {
		return cmp.Or(cmp.Compare(b.depth, a.depth), compareEntries(a, b))
	})
	// The messages before the place of insertion, and those behind it, the last
	// one first. Only those between the places of two groups move.
	left := append(make([]message, 0, len(messages)+len(entries)), messages...)
	var right []message
	for len(entries) > 0 {
		depth := entries[0].depth
		n := slices.IndexFunc(entries, func(c *candidate) bool { return c.depth != depth })
		if n < 0 {
			n = len(entries)
		}
		behind := int(min(max(depth, 0), int64(len(left)+len(right))))
		for len(right) > behind {
			left = append(left, right[len(right)-1])
			right = right[:len(right)-1]
		}
		for len(right) < behind {
			right = append(right, left[len(left)-1])
			left = left[:len(left)-1]
		}
		for _, c := range groupOrder(entries[:n], depth) {
			left = append(left, message{role: c.role, content: c.content, entry: c})
		}
		entries = entries[n:]
	}
	slices.Reverse(right)
	return liftFromToolCalls(append(left, right...))
}

// liftFromToolCalls moves entries that came between a message with tool calls and its results in front of that
// message, because model servers refuse a request in which anything is between them.
func liftFromToolCalls(messages []message) []message {
	for i := 0; i < len(messages); i++ {
		if !messages[i].callsTools() {
			continue
		}
		end, results := i+1, i+1 // the results follow, the entries among them
		for ; end < len(messages) && (messages[end].entry != nil || messages[end].role == roleTool); end++ {
			if messages[end].role == roleTool {
				results = end + 1
			}
		}
		block := messages[i:results]
		slices.SortStableFunc(block, func(a, b message) int { return cmp.Compare(liftRank(a), liftRank(b)) })
		i = results - 1
	}
	return messages
}

// liftRank is 0 for entries, and 1 for messages of the history.
func liftRank(m message) int {
	if m.entry != nil {
		return 0
	}
	return 1
}

// groupOrder returns a group in the order of the chat. At a depth
// below zero the place of insertion is that far behind the end: the last entries
// are appended, the last one first, until the place is reached.
func groupOrder(group []*candidate, depth int64) []*candidate {
	if depth >= 0 {
		return group
	}
	n := len(group)
	beyond := n
	if depth > -int64(n) {
		beyond = int(-depth)
	}
	out := make([]*candidate, 0, n)
	for i := n - 1; i >= n-beyond; i-- {
		out = append(out, group[i])
	}
	return append(out, group[:n-beyond]...)
}
