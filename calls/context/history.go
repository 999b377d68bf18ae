package context

import (
	"github.com/callnode/scheduler/calls/context/media"
	"github.com/callnode/scheduler/llm"
	"github.com/callnode/scheduler/llm/value"
)

// history is the messages of before, which are cut from the oldest on.
type history struct {
	messages []*value.Map
	costs    []int
	// from is the first message that stays.
	from int
}

func newHistory(messages []*value.Map, count llm.Counter) *history {
	h := &history{messages: messages, costs: make([]int, len(messages))}
	for i, m := range messages {
		h.costs[i] = messageTokens(m, count) + llm.MessageOverhead
	}
	return h
}

func (h *history) label() string { return "history" }
func (h *history) share() int    { return 30 }

func (h *history) need() int {
	n := 0
	for _, cost := range h.costs {
		n += cost
	}
	return n
}

// fit keeps the newest turns that cost at most room.
func (h *history) fit(room int) int {
	used, cost := 0, 0
	starts := turns(h.messages)
	h.from = len(h.messages)
	for i := len(h.messages) - 1; i >= 0; i-- {
		if cost += h.costs[i]; cost > room {
			break
		}
		if starts[i] {
			h.from, used = i, cost
		}
	}
	return used
}

// turns says for every message whether the history may begin with it: a user
// message, with no tool call before it that is answered after it. A history
// without a user message may begin with anything that leaves calls and answers
// together.
func turns(messages []*value.Map) []bool {
	starts := make([]bool, len(messages))
	users := false
	for _, m := range messages {
		users = users || role(m) == "user"
	}
	for i, m := range messages {
		starts[i] = i == 0 || role(m) == "user" || !users && role(m) != "tool"
	}
	calledAt := map[string]int{}
	for i, m := range messages {
		for _, call := range member(m, "tool_calls").List() {
			id, _ := call.Get("id")
			calledAt[id.JSON()] = i
		}
		if at, ok := calledAt[member(m, "tool_call_id").JSON()]; ok && role(m) == "tool" {
			for j := at + 1; j <= i; j++ {
				starts[j] = false
			}
		}
	}
	return starts
}

func role(m *value.Map) string {
	s, _ := member(m, "role").Str()
	return s
}

func member(m *value.Map, key string) value.Value {
	v, _ := m.Get(key)
	return v
}

// contentText is the text of a message: its content, or the text parts of it.
func contentText(m *value.Map) string {
	content := member(m, "content")
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

// messageTokens is what a message costs without the overhead. Images count as
// images, not as their base64 text.
func messageTokens(m *value.Map, count llm.Counter) int {
	n := 0
	for key, v := range m.All() {
		switch s, isText := v.Str(); {
		case key == "role" || v.IsNull():
		case isText:
			n += count.Count(s)
		case key == "content" && v.Kind() == value.List:
			for _, part := range v.List() {
				n += partTokens(part, count)
			}
		default:
			n += count.Count(v.JSON())
		}
	}
	return n
}

func partTokens(part value.Value, count llm.Counter) int {
	if text, ok := part.Get("text"); ok {
		s, _ := text.Str()
		return count.Count(s)
	}
	kind, _ := part.Get("type")
	if s, _ := kind.Str(); s == "image_url" || s == "image" || s == "input_image" {
		return media.Unknown
	}
	return count.Count(part.JSON())
}
