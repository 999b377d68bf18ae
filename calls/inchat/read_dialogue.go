package inchat

import (
	"slices"
	"strings"

	"github.com/callnode/scheduler/calls"
	"github.com/callnode/scheduler/llm/value"
)

// message is one message on its way to the output.
type message struct {
	role    string
	content string     // of an entry, or of a message with a text as content
	index   int        // in the history
	entry   *candidate // nil for a message of the history
	// given is the content of a message of the history: a text, parts, or anything else.
	given value.Value
	// others are its members beside role and content, for example name and tool_calls.
	others *value.Map
	// origins are the sources of the content if no parameter gives it.
	origins []calls.Origin
}

// hasParts reports whether the content of the message is a list of parts.
func (m message) hasParts() bool { return len(m.given.List()) > 0 }

// text returns the text of the message, of its parts if it has parts.
func (m message) text() string {
	if m.hasParts() {
		text, _ := textOf(m.given)
		return text
	}
	return m.content
}

// callsTools reports whether the message asks for tools, whose results have to follow at once.
func (m message) callsTools() bool {
	called, _ := m.others.Get("tool_calls")
	return len(called.List()) > 0
}

// isOfTools reports whether the message calls tools, or is the result of one.
func (m message) isOfTools() bool {
	_, calls := m.others.Get("tool_calls")
	return calls || m.role == roleTool
}

// keptMembers are the members of a message, beside role and content, that model servers know.
// Others, for example the id that a chat program gives its messages, stay out of the prompt.
var keptMembers = []string{"name", "tool_calls", "tool_call_id", "reasoning_content", "reasoning", "reasoning_details", "response_items", "content_blocks"}

// roleTool is the role of a tool's result, which only messages of the history have.
const roleTool = "tool"

// roleDeveloper is the name of the system role in clients of newer models; a conversation may have it.
const roleDeveloper = "developer"

// readHistory reads the messages. The first one that is wrong ends the call.
func readHistory(history value.Value) ([]message, error) {
	messages := make([]message, len(history.List()))
	for i, v := range history.List() {
		m, err := readMessage(v, i)
		if err != nil {
			return nil, err
		}
		messages[i] = m
	}
	return messages, nil
}

// repairHistory leaves out the tool calls and results that providers refuse, each with a warning.
func (b *builder) repairHistory(messages []message) []message {
	if !slices.ContainsFunc(messages, message.isOfTools) {
		return messages
	}
	given := make([]*value.Map, len(messages))
	for i, m := range messages {
		given[i] = value.Pairs("role", m.role, "content", m.given)
		for name, member := range m.others.All() {
			given[i].Set(name, member)
		}
	}
	kept, notes := calls.RepairMessages(given, nil)
	for _, n := range notes {
		b.warnOf(calls.Warning{Code: "messages"}, "history[%d]: %s", n.Index, n.Text)
	}
	repaired := make([]message, len(kept))
	for i, k := range kept {
		repaired[i] = messages[k.Index]
		if repaired[i].others == nil {
			continue
		}
		repaired[i].others = k.Clone()
		repaired[i].others.Delete("role")
		repaired[i].others.Delete("content")
	}
	return repaired
}

// readMessage reads the message at an index of the history.
func readMessage(v value.Value, i int) (message, error) {
	if v.Kind() != value.Object {
		return message{}, calls.Errorf(calls.Invalid, "history[%d] is %s, not a message", i, v.Kind()).
			WithHint("a message is an object {role, content}")
	}
	given, has := v.Get("role")
	role := ""
	if has {
		role = strings.ToLower(plainText(given))
	}
	_, answers := v.Get("tool_call_id")
	isOfChat := role == roleDeveloper || answers && role == roleTool
	if !isRole(role) && !isOfChat {
		return message{}, calls.Errorf(calls.Invalid, "invalid message role at history[%d]: %s", i, role).
			WithHint("a role is system, user, assistant, tool or thinking")
	}
	m := message{role: role, index: i}
	if content, _ := v.Get("content"); !content.IsNull() {
		m.given = content
		if len(content.List()) == 0 {
			m.content = plainText(content)
		}
	}
	for name, member := range v.Map().All() {
		if !slices.Contains(keptMembers, name) || member.IsNull() {
			continue
		}
		if m.others == nil {
			m.others = value.NewMap(1)
		}
		m.others.Set(name, member)
	}
	return m, nil
}

// textOf returns the text of a content: the text itself, or the text parts, one per line. A
// content of another kind, such as a number, has none.
func textOf(content value.Value) (text string, ok bool) {
	if content.Kind() != value.List {
		return content.Str()
	}
	var texts []string
	for _, part := range content.List() {
		if text, isText := textField(part.Map(), "text"); isText {
			texts = append(texts, text)
		}
	}
	return strings.Join(texts, "\n"), len(texts) > 0
}

// scanText returns the text in which keywords are searched: the contents that are text
// of the newest depth messages, one per line. It is _collect_history_text in the documents,
// and conditions read it as chat_history_text.
func scanText(history value.Value, depth *int) string {
	items := history.List()
	if depth != nil {
		items = items[max(0, len(items)-max(0, *depth)):]
	}
	texts := make([]string, 0, len(items))
	for _, v := range items {
		content, _ := v.Get("content")
		if s, ok := textOf(content); ok {
			texts = append(texts, s)
		}
	}
	return strings.Join(texts, "\n")
}
