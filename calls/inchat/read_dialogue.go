package inchat

import (
	"strings"

	"github.com/callnode/scheduler/calls"
	"github.com/callnode/scheduler/llm/value"
)

// message is one message on its way to the output.
type message struct {
	role    string
	content string
	index   int        // in the history
	entry   *candidate // nil for a message of the history
	// given is the content of the history.
	given value.Value
}

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
	if !isRole(role) {
		return message{}, calls.Errorf(calls.Invalid, "invalid message role at history[%d]: %s", i, role).
			WithHint("a role is system, user, assistant or thinking")
	}
	m := message{role: role, index: i}
	if content, _ := v.Get("content"); !content.IsNull() {
		m.content = plainText(content)
		m.given = content
	}
	return m, nil
}

// scanText returns the text in which keywords are searched: the contents that are text
// of the newest depth messages, one per line.
func scanText(history value.Value, depth *int) string {
	items := history.List()
	if depth != nil {
		items = items[max(0, len(items)-max(0, *depth)):]
	}
	texts := make([]string, 0, len(items))
	for _, v := range items {
		content, _ := v.Get("content")
		if s, ok := content.Str(); ok {
			texts = append(texts, s)
		}
	}
	return strings.Join(texts, "\n")
}
