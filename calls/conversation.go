package calls

import (
	"slices"

	"github.com/callnode/scheduler/llm/value"
	"github.com/callnode/scheduler/llm/value/wording"
)

// The bounds of a conversation that a caller sends with a request.
const (
	MaxConversationMessages = 2000
	MaxConversationBytes    = 8 << 20 // as JSON
)

// conversationRoles are the roles of the messages of a conversation.
var conversationRoles = []string{"system", "developer", "user", "assistant", "tool"}

// CheckConversation checks the messages that a caller sends before the question: a list of
// {role, content} within the bounds; null is none. The error is of kind Invalid and names the
// place, for example conversation[2].role.
func CheckConversation(messages value.Value) error {
	if messages.IsNull() {
		return nil
	}
	if messages.Kind() != value.List {
		return Errorf(Invalid, "conversation is %s, not a list of messages", messages.Kind()).
			WithHint("write [{role: user, content: Hello}]")
	}
	if n := len(messages.List()); n > MaxConversationMessages {
		return Errorf(Invalid, "conversation has %d messages, and %d are the limit", n, MaxConversationMessages).
			WithHint("send the newest ones")
	}
	size := 0
	for i, m := range messages.List() {
		if err := checkMessage(m); err != nil {
			return Errorf(Invalid, "conversation[%d]: %w", i, err)
		}
		size += len(m.JSON())
	}
	if size > MaxConversationBytes {
		return Errorf(Invalid, "conversation has %d bytes, and %d are the limit", size, MaxConversationBytes).
			WithHint("send the newest messages")
	}
	return nil
}

// checkMessage checks the shape of one message.
func checkMessage(m value.Value) error {
	if m.Kind() != value.Object {
		return wording.Errorf("it is %s, not a message {role, content}", m.Kind())
	}
	role, _ := m.Get("role")
	name, _ := role.Str()
	if !slices.Contains(conversationRoles, name) {
		return wording.Errorf("its role is %s (use system, user, assistant or tool)", value.Truncate(role.JSON(), 40))
	}
	if id, _ := m.Get("tool_call_id"); name == "tool" && id.Kind() != value.String {
		return wording.Errorf("its tool_call_id is %s: a result names the call that it answers", id.Kind())
	}
	content, _ := m.Get("content")
	isText := content.Kind() == value.String
	isEmpty := content.IsNull() && name != "user" // an assistant that calls tools may say nothing
	if isText || isEmpty {
		return nil
	}
	if len(content.List()) == 0 {
		return wording.Errorf("its content is %s, not a text or a list of parts", content.Kind())
	}
	for i, part := range content.List() {
		if err := checkMessagePart(part); err != nil {
			return wording.Errorf("content[%d]: %w", i, err)
		}
	}
	return nil
}

// checkMessagePart checks a part of a content: {type, ...}, and for a text {type: text, text}.
func checkMessagePart(part value.Value) error {
	kind, _ := part.Get("type")
	name, _ := kind.Str()
	text, _ := part.Get("text")
	if name == "" {
		return wording.Errorf("it is not a part {type: text, text: Hello}")
	}
	if name == "text" && text.Kind() != value.String {
		return wording.Errorf("its text is %s", text.Kind())
	}
	return nil
}

// ReadsUnlessGiven returns the [Definition.ReadsConversation] of a call that takes the messages
// before the question if a step gives none of these parameters. For example a step of context
// reads them unless it gives history.
func ReadsUnlessGiven(params ...string) func(value.Value) bool {
	return func(given value.Value) bool {
		return !slices.ContainsFunc(params, func(name string) bool {
			_, isGiven := given.Get(name)
			return isGiven
		})
	}
}
