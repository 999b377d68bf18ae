package context

import (
	"slices"

	"github.com/callnode/scheduler/llm"
	"github.com/callnode/scheduler/llm/value"
)

// history is the messages of before, which are cut from the oldest on.
type history struct {
	messages []*value.Map
	costs    []int
	// starts reports for each message whether the history may begin with it.
	starts []bool
	// pinned is the first message that must stay, because the messages after the user's answer its tool calls; the
	// number of messages if none must.
	pinned int
	// from is the first message that stays.
	from int
}

// newHistory prepares the messages for a cut; tail are the messages after the user's.
func newHistory(messages, tail []*value.Map, count llm.Counter) *history {
	h := &history{messages: messages, costs: make([]int, len(messages)), pinned: len(messages)}
	torn := splitCalls(slices.Concat(messages, tail))
	h.starts = turnStarts(messages, torn)
	if len(tail) > 0 && torn[len(messages)] {
		h.pinned--
		for !h.starts[h.pinned] {
			h.pinned--
		}
	}
	for i, m := range messages {
		h.costs[i] = messageTokens(m, count) + llm.MessageOverhead
	}
	return h
}

func (h *history) label() string     { return "history" }
func (h *history) sharePercent() int { return 30 }

func (h *history) askedTokens() int { return 0 }

// fixedTokens returns the tokens of the messages that must stay.
func (h *history) fixedTokens() int { return sumCosts(h.costs[h.pinned:]) }

func (h *history) neededTokens() int { return sumCosts(h.costs[min(h.from, h.pinned):h.pinned]) }

func sumCosts(costs []int) int {
	n := 0
	for _, cost := range costs {
		n += cost
	}
	return n
}

// shrinkTo keeps the newest turns that cost at most room.
func (h *history) shrinkTo(room int) int {
	used, cost := 0, 0
	h.from = h.pinned
	for i := h.pinned - 1; i >= 0; i-- {
		cost += h.costs[i]
		if cost > room {
			break
		}
		if h.starts[i] {
			h.from, used = i, cost
		}
	}
	return used
}

// turnStarts reports for every message whether the history may begin with it: a user message, if that tears no
// tool call from its results. A history without a user message may begin with anything but a result. For example,
// it cannot begin between a tool call and its result.
func turnStarts(messages []*value.Map, torn []bool) []bool {
	users := slices.ContainsFunc(messages, func(m *value.Map) bool { return roleOf(m) == "user" })
	starts := make([]bool, len(messages))
	for i, m := range messages {
		mayStart := roleOf(m) == "user"
		if !users {
			mayStart = roleOf(m) != "tool"
		}
		isWholeTurn := mayStart && !torn[i]
		starts[i] = i == 0 || isWholeTurn
	}
	return starts
}

// splitCalls reports for every message whether a cut before it would leave a tool
// call on one side and one of its results on the other. A result belongs to the
// newest call of its id.
func splitCalls(messages []*value.Map) []bool {
	open := make([]int, len(messages)+1) // how many pairs begin or end here
	calledAt := map[string]int{}
	for i, m := range messages {
		for _, call := range memberOf(m, "tool_calls").List() {
			id, _ := call.Get("id")
			calledAt[id.JSON()] = i
		}
		if at, ok := calledAt[memberOf(m, "tool_call_id").JSON()]; ok && roleOf(m) == "tool" {
			open[at+1]++
			open[i+1]--
		}
	}
	torn := make([]bool, len(messages))
	pairs := 0
	for i := range torn {
		pairs += open[i]
		torn[i] = pairs > 0
	}
	return torn
}

func roleOf(m *value.Map) string {
	s, _ := memberOf(m, "role").Str()
	return s
}

func memberOf(m *value.Map, key string) value.Value {
	v, _ := m.Get(key)
	return v
}

// contentText returns the text of a message: its content, or the text parts of it.
func contentText(m *value.Map) string {
	content := memberOf(m, "content")
	if s, ok := content.Str(); ok {
		return s
	}
	text := ""
	for _, part := range content.List() {
		t, _ := part.Get("text")
		s, _ := t.Str()
		text += s
	}
	return text
}

// messageTokens returns the tokens of a message without the overhead.
func messageTokens(m *value.Map, count llm.Counter) int {
	return llm.MessageTokens(count, value.OfMap(m).AppendJSON(nil)) - llm.MessageOverhead
}
