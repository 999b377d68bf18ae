package calls

import (
	"fmt"
	"slices"

	"github.com/callnode/scheduler/llm/value"
	"github.com/callnode/scheduler/llm/value/wording"
)

// RepairedMessage is a message that [RepairMessages] keeps, and its index among the given ones.
type RepairedMessage struct {
	*value.Map
	Index int
}

// MessageNote names the parts that [RepairMessages] left out of the message at an index.
type MessageNote struct {
	Index int
	Text  wording.Text
}

// RepairMessages returns the messages of a conversation from outside that providers take, oldest
// first. Every provider refuses a request in which a tool call has no result at once behind it, or
// a result no call before it: such calls and results are left out with a note, as are messages
// without a role. Of calls with one id the later ones get another, and so do their results. later
// are the messages that follow in the prompt: their results answer calls, too.
func RepairMessages(messages, later []*value.Map) ([]RepairedMessage, []MessageNote) {
	r := &messageRepair{asking: -1, ids: map[string]bool{}}
	for i, m := range messages {
		r.add(i, m)
	}
	for _, m := range later {
		id, isText := textMember(m, "tool_call_id")
		at := r.findOpen(id)
		if !isText || at < 0 {
			break
		}
		r.open[at].isAnswered = true
	}
	r.settle()
	slices.SortStableFunc(r.notes, func(a, b MessageNote) int { return a.Index - b.Index })
	return r.kept, r.notes
}

// Repaired is [RepairMessages] of a dialogue. One from the memory has no calls of tools.
func (d Dialogue) Repaired(later []*value.Map) ([]RepairedMessage, []MessageNote) {
	if !d.IsRemembered() {
		return RepairMessages(d.Messages, later)
	}
	kept := make([]RepairedMessage, len(d.Messages))
	for i, m := range d.Messages {
		kept[i] = RepairedMessage{m, i}
	}
	return kept, nil
}

// messageRepair is the state of one [RepairMessages].
type messageRepair struct {
	kept  []RepairedMessage
	notes []MessageNote
	// ids has the ids of all calls so far.
	ids map[string]bool
	// open are the calls of the last message that calls tools, which is at asking of kept, until
	// another message than a result follows; asking is -1 then.
	open   []openCall
	asking int
}

// openCall is a call of a tool: the id that was given, the one that is sent, and its place among
// the calls of the message.
type openCall struct {
	given, sent string
	at          int
	isAnswered  bool
}

func (r *messageRepair) note(index int, format string, args ...any) {
	r.notes = append(r.notes, MessageNote{index, wording.Say(format, args...)})
}

func (r *messageRepair) add(index int, m *value.Map) {
	role, isText := textMember(m, "role")
	switch {
	case !isText || role == "":
		r.note(index, "the message is left out: it has no role")
	case role == "tool":
		r.addResult(index, m)
	case role == "thinking": // no provider gets it
		r.kept = append(r.kept, RepairedMessage{m, index})
	default:
		r.settle()
		list, isGiven := m.Get("tool_calls")
		if isGiven && len(list.List()) == 0 { // providers refuse an empty list, and null
			m = m.Clone()
			m.Delete("tool_calls")
		}
		r.kept = append(r.kept, RepairedMessage{m, index})
		if len(list.List()) > 0 {
			r.openCalls(list.List())
		}
	}
}

// openCalls remembers the calls of the newest message, with an id of its own for each.
func (r *messageRepair) openCalls(list []value.Value) {
	r.asking, r.open = len(r.kept)-1, nil
	for i, call := range list {
		given, isText := textMember(call.Map(), "id")
		if !isText || given == "" {
			r.note(r.kept[r.asking].Index, "a tool call is left out: it has no id")
			continue
		}
		sent := given
		for n := 2; r.ids[sent]; n++ {
			sent = fmt.Sprintf("%s_%d", given, n)
		}
		r.ids[sent] = true
		r.open = append(r.open, openCall{given: given, sent: sent, at: i})
	}
}

// findOpen returns the first call of an id that has no result yet; -1 if there is none.
func (r *messageRepair) findOpen(id string) int {
	return slices.IndexFunc(r.open, func(c openCall) bool { return c.given == id && !c.isAnswered })
}

// addResult keeps a result that answers a call of the message before it.
func (r *messageRepair) addResult(index int, m *value.Map) {
	id, isText := textMember(m, "tool_call_id")
	at := r.findOpen(id)
	switch {
	case !isText:
		r.note(index, "the tool result is left out: it has no tool_call_id")
		return
	case at < 0 && slices.ContainsFunc(r.open, func(c openCall) bool { return c.given == id }):
		r.note(index, "the tool result is left out: it is another result of the call %s", quoteID(id))
		return
	case at < 0:
		r.note(index, "the tool result is left out: no message before it calls %s", quoteID(id))
		return
	}
	r.open[at].isAnswered = true
	if sent := r.open[at].sent; sent != id {
		m = m.Clone()
		m.Set("tool_call_id", value.OfString(sent))
	}
	r.kept = append(r.kept, RepairedMessage{m, index})
}

// quoteID returns the id of a call as messages show it: senders choose it.
func quoteID(id string) string { return fmt.Sprintf("%q", value.Truncate(id, 64)) }

// settle ends a group of calls and results: calls without a result are left out, and their message
// with them if it says nothing else.
func (r *messageRepair) settle() {
	if r.asking < 0 {
		return
	}
	message := r.kept[r.asking]
	given, _ := message.Get("tool_calls")
	answered := make([]value.Value, 0, len(given.List()))
	isChanged := len(r.open) < len(given.List())
	for _, c := range r.open {
		call := given.List()[c.at]
		if !c.isAnswered {
			isChanged = true
			r.note(message.Index, "the tool call %s is left out: no result follows it", quoteID(c.given))
			continue
		}
		if c.sent != c.given {
			isChanged = true
			renamed := call.Map().Clone()
			renamed.Set("id", value.OfString(c.sent))
			call = value.OfMap(renamed)
		}
		answered = append(answered, call)
	}
	if isChanged {
		r.replaceCalls(answered)
	}
	r.asking, r.open = -1, nil
}

// replaceCalls sets the tool calls of the message that is being repaired.
func (r *messageRepair) replaceCalls(list []value.Value) {
	m := r.kept[r.asking].Clone()
	m.Set("tool_calls", value.OfList(list...))
	if len(list) == 0 {
		m.Delete("tool_calls")
	}
	if content, _ := m.Get("content"); len(list) == 0 && isEmptyContent(content) {
		r.kept = slices.Delete(r.kept, r.asking, r.asking+1)
		return
	}
	r.kept[r.asking].Map = m
}

func isEmptyContent(content value.Value) bool {
	text, isText := content.Str()
	return content.IsNull() || isText && text == "" || !isText && len(content.List()) == 0
}

func textMember(m *value.Map, key string) (string, bool) {
	v, _ := m.Get(key)
	return v.Str()
}

// MessagesIn returns the messages of a list.
func MessagesIn(list value.Value) []*value.Map {
	messages := make([]*value.Map, len(list.List()))
	for i, m := range list.List() {
		messages[i] = m.Map()
	}
	return messages
}

// MapsOf returns the messages without their indexes.
func MapsOf(kept []RepairedMessage) []*value.Map {
	messages := make([]*value.Map, len(kept))
	for i, m := range kept {
		messages[i] = m.Map
	}
	return messages
}
